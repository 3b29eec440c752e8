#!/usr/bin/env bash
# Train a recipe on the GPUs of this machine, one process each:
#
#   GPUS=8 cluster/train.sh csa-small/pcqm4mv2 --data shards --out runs
#
# Called again after an interruption, it goes on at the last checkpoint.

set -euo pipefail

export OMP_NUM_THREADS=1
torchrun --standalone --nproc_per_node "${GPUS:-1}" \
  -m gtcourse train "$@" --checkpoint-every 500 --auto-resume
