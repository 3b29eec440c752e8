"""The recorded runs of chapter 03: ``python -m experiments.chapter03``, about 15 CPU minutes.

One Transformer, three masks: every head hears all atoms, half of them, or bonded neighbours only.
"""

from dataclasses import asdict

from experiments.runs import command_line, record_all, record_run
from gtcourse import load_dataset
from gtcourse.models.baselines import BagTransformerConfig, NeighbourTransformer
from gtcourse.training.records import Record

MASKED_HEADS = {"full-attention": 0, "half-attention": 2, "neighbour-attention": 4}
CONFIG = BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128)


def record(name: str, seed: int, epochs: int) -> Record:
    return record_run(
        f"{name}/molecules",
        lambda: NeighbourTransformer(CONFIG, MASKED_HEADS[name]),
        load_dataset("molecules"),
        config=asdict(CONFIG) | {"masked_heads": MASKED_HEADS[name]},
        seed=seed,
        epochs=epochs,
        command=f"python -m experiments.chapter03 {name} --seeds {seed} --epochs {epochs}",
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], MASKED_HEADS, epochs=12).parse_args()
    record_all(args, lambda name, seed: record(name, seed, args.epochs))


if __name__ == "__main__":
    main()
