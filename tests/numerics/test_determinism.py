"""One seed, one result: bit for bit where PyTorch promises it, within a bound elsewhere.

PyTorch promises that deterministic algorithms, "given the same input, and when run on the same
software and hardware", give the same output (``torch.use_deterministic_algorithms``). It promises
nothing across numbers of threads, which may add up in another order.

``python -m tests.numerics.test_determinism THREADS FILE`` saves what a seed decides.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

from gtcourse import collate, load_dataset
from gtcourse import encodings as enc
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.encodings import encode
from tests.train.small_run import run

pytestmark = pytest.mark.nightly
TRANSFORMS = (
    enc.AddDegrees(),
    enc.AddShortestPaths(),
    enc.AddPathEdges(5),
    enc.AddPathTree(),
    enc.AddRandomWalks(8),
    enc.AddRings(6),
    enc.AddLaplacianEigenvectors(8),
    enc.AddSVD(8),
    enc.AddAnchorDistances(4, seed=0),
)
MODELS = [name for name in LEADERBOARD if name.endswith("-100k")]
CLOSE = 1e-4
"""Gradients of two thread counts differ by at most this share of the largest: 1,700 roundings of
float32, and five times the largest difference that was met (SignNet's)."""


def step(name: str) -> Tensor:
    """A prediction and its gradients, dropout and all, beside each other."""
    entry = LEADERBOARD[name]
    batch = collate(encode(load_dataset("molecules").test[:2], *entry.transforms))
    torch.manual_seed(0)
    model = entry.build_model().train()
    prediction = model(batch)
    prediction.square().sum().backward()
    gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    return torch.cat([prediction.detach(), *gradients])


def decided_by_the_seed() -> dict:
    found = {"encodings": [], "steps": {name: (step(name), step(name)) for name in MODELS}}
    molecules = load_dataset("molecules").test[:8]
    for graph in encode(molecules, *TRANSFORMS):
        found["encodings"] += [graph[name] for name in sorted(graph.keys()) if name != "smiles"]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cycles", "csl"):
            load_dataset(name, root=folder)
        files = sorted(Path(folder).glob("*.npz"))
        found["data"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        found["training"] = run(Path(folder), epochs=2)[1]
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> list[dict]:
    """Of one thread, of one thread with other hashes, and of four threads."""
    runs = (("1", "0"), ("1", "12345"), ("4", "0"))
    paths = [tmp_path_factory.mktemp("bits") / "found.pt" for _ in runs]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.numerics.test_determinism", threads, path],
            env=os.environ | {"PYTHONHASHSEED": hashes},
        )
        for path, (threads, hashes) in zip(paths, runs, strict=True)
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    return [torch.load(path, weights_only=True) for path in paths]


def assert_same_bits(one, other):
    torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_results_are_bitwise_equal_across_processes_and_hash_seeds(found):
    one, other, _ = found
    for part in ("encodings", "steps"):
        assert_same_bits(one[part], other[part])
    assert (one["data"], one["training"]) == (other["data"], other["training"])


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_is_bitwise_reproducible_and_close_with_more_threads(found, name):
    for process in found:
        assert_same_bits(*process["steps"][name])
    one = found[0]["steps"][name][0]
    other = found[2]["steps"][name][0]
    assert (one - other).abs().max() / one.abs().max() < CLOSE


def test_encodings_and_data_are_bitwise_equal_for_any_number_of_threads(found):
    assert_same_bits(found[0]["encodings"], found[2]["encodings"])
    assert found[0]["data"] == found[2]["data"]


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]))
    torch.use_deterministic_algorithms(True)
    torch.save(decided_by_the_seed(), sys.argv[2])
