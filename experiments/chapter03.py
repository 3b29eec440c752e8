"""Chapter 03: ``python -m experiments.chapter03``, about 15 CPU minutes.

One Transformer, three masks: heads attend to all atoms, half of them, or bonded neighbours only.
"""

from dataclasses import asdict
from functools import partial

from experiments.runs import Run, main
from gtcourse import load_dataset
from gtcourse.models.bag import BagTransformerConfig, NeighbourTransformer

MASKED_HEADS = {"full-attention": 0, "half-attention": 2, "neighbour-attention": 4}
CONFIG = BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128)
RUNS = {
    name: Run(
        partial(NeighbourTransformer, CONFIG, heads),
        asdict(CONFIG) | {"masked_heads": heads},
        epochs=12,
    )
    for name, heads in MASKED_HEADS.items()
}

if __name__ == "__main__":
    main("chapter03", RUNS, load_dataset, title="{}/molecules")
