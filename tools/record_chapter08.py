"""The recorded runs of chapter 08: ``python -m tools.record_chapter08``, about two CPU hours.

GSA-Tiny on molecules (a number for each graph) and digits (a class for each graph), whole and with
one term less, with the key context of the authors' code, and with Graphormer's scalars in place of
the contexts.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial

from gtcourse import load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.training.records import Record
from gtcourse.training.tasks import graph_multiclass, graph_regression
from tools.record_chapter07 import first_training
from tools.runs import command_line, record_all, record_run

TRAIN_MOLECULES = 4000
TINY = {"d_model": 64, "num_heads": 8, "num_layers": 4}
"""Table 1."""

MOLECULES = GRPEConfig(**TINY)
DIGITS = GRPEConfig(
    **TINY,
    num_node_types=0,
    num_node_features=3,
    num_edge_types=(11,),
    edge_step=0.1,
    num_targets=10,
    max_distance=3,
)


@dataclass(frozen=True)
class Run:
    """What a name stands for."""

    data: str
    config: GRPEConfig


def variants(data: str, config: GRPEConfig) -> dict[str, Run]:
    """The ablation: what the logits know of a pair, and whether the values know it."""
    forms = {
        "grpe": {},
        "grpe-no-query": {"terms": ("key", "value")},
        "grpe-no-key": {"terms": ("query", "value")},
        "grpe-no-value": {"terms": ("query", "key")},
        "grpe-query-row": {"key_context": "query_row"},
        "grpe-bias": {"terms": (), "bias": True},
        "grpe-bias-value": {"terms": ("value",), "bias": True},
    }
    return {f"{name}/{data}": Run(data, replace(config, **form)) for name, form in forms.items()}


RUNS = variants("molecules", MOLECULES) | variants("digits", DIGITS)
SETTINGS = {
    "molecules": {"task": graph_regression, "batch_size": 64, "epochs": 20},
    "digits": {"task": partial(graph_multiclass, 10), "batch_size": 32, "epochs": 15},
}


def load(name: str) -> GraphDataset:
    """A data set with what the runs on it read."""
    data = load_dataset(name)
    if name == "molecules":
        data = first_training(data, TRAIN_MOLECULES)
    return encode(data, AddShortestPaths())


def record(name: str, seed: int, epochs: int | None, data: GraphDataset) -> Record:
    run, settings = RUNS[name], SETTINGS[RUNS[name].data]
    return record_run(
        name,
        partial(GRPE, run.config),
        data,
        config=asdict(run.config),
        seed=seed,
        epochs=epochs or settings["epochs"],
        task=settings["task"](),
        batch_size=settings["batch_size"],
        command=f"python -m tools.record_chapter08 {name} --seeds {seed}",
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], RUNS, epochs=None).parse_args()
    data = {name: load(name) for name in {RUNS[name].data for name in args.names}}
    record_all(args, lambda name, seed: record(name, seed, args.epochs, data[RUNS[name].data]))


if __name__ == "__main__":
    main()
