"""The recorded runs of chapter 08: ``python -m experiments.chapter08``, about two CPU hours.

GSA-Tiny on molecules (a number for each graph) and digits (a class for each graph), whole and with
one term less, with the key context of the authors' code, and with Graphormer's scalars in place of
the contexts. One head with one term alone on the puzzles that ask for it.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial

from experiments.chapter07 import first_training
from experiments.runs import PEAK_LR, command_line, one_group, record_all, record_run
from gtcourse import load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.puzzles import dials, edge_labels
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.training.records import Record
from gtcourse.training.tasks import graph_multiclass, graph_regression, node_classification

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
    scalars_rate: float = 1.0
    """Times the rate of all others."""


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


def groups(model: GRPE, scalars_rate: float) -> list[dict]:
    """All parameters at the usual peak rate, but for Graphormer's scalars."""
    if scalars_rate == 1.0:
        return one_group(model)
    scalars = [*model.tables["bias"].parameters()]
    others = [p for p in model.parameters() if not any(p is q for q in scalars)]
    return [{"params": others, "lr": PEAK_LR}, {"params": scalars, "lr": scalars_rate * PEAK_LR}]


STEPS, LABELS = 8, 4
ONE_HEAD = GRPEConfig(
    d_model=64,
    num_heads=1,
    num_layers=1,
    num_edge_types=(),
    max_distance=STEPS,
    virtual_node=False,
    dropout=0.0,
    attention_dropout=0.0,
)
LISTENER = replace(ONE_HEAD, num_node_types=STEPS + 2, target="node", num_targets=2)
SPEAKER = replace(LISTENER, num_node_types=2 * STEPS + 1)
TREES = replace(
    ONE_HEAD, num_node_types=1, num_edge_types=(LABELS + 1,), num_targets=LABELS, num_layers=2
)
"""Attention twice: once to the ends of the labelled edge, once from them to all others."""


def dials_with(who: str, config: GRPEConfig) -> dict[str, Run]:
    """One head whose logits know the distance in one way alone."""
    forms = {
        "one-head-bias": {"terms": (), "bias": True},
        "one-head-query": {"terms": ("query",)},
        "one-head-key": {"terms": ("key",)},
        "one-head-key-row": {"terms": ("key",), "key_context": "query_row"},
    }
    return {f"{name}/{who}": Run(who, replace(config, **form)) for name, form in forms.items()}


LOGITS = {"terms": ("query", "key"), "bias": True}
RUNS = variants("molecules", MOLECULES) | variants("digits", DIGITS)
RUNS |= {
    f"{name}-fast/molecules": replace(RUNS[f"{name}/molecules"], scalars_rate=10.0)
    for name in ("grpe-bias", "grpe-bias-value")
}
"""As in chapter 06: scalars that start small need larger steps, or it takes long."""

RUNS |= dials_with("listener", LISTENER) | dials_with("speaker", SPEAKER)
RUNS |= {
    "logits/edge_labels": Run("edge_labels", replace(TREES, **LOGITS)),
    "logits-virtual/edge_labels": Run("edge_labels", replace(TREES, **LOGITS, virtual_node=True)),
    "value/edge_labels": Run("edge_labels", replace(TREES, terms=("value",))),
}
DIALS = {"task": partial(node_classification, 2), "batch_size": 64, "epochs": 8}
SETTINGS = {
    "molecules": {"task": graph_regression, "batch_size": 64, "epochs": 20},
    "digits": {"task": partial(graph_multiclass, 10), "batch_size": 32, "epochs": 15},
    "listener": DIALS,
    "speaker": DIALS,
    "edge_labels": {"task": partial(graph_multiclass, LABELS), "batch_size": 64, "epochs": 15},
}


def load(name: str) -> GraphDataset:
    """A data set with what the runs on it read."""
    if name == "edge_labels":
        data = edge_labels((2000, 1000, 1000), LABELS)
    elif name in ("listener", "speaker"):
        data = dials((4000, 200, 2000), STEPS, name)
    else:
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
        config=asdict(run.config) | {"scalars_rate": run.scalars_rate},
        groups=partial(groups, scalars_rate=run.scalars_rate),
        seed=seed,
        epochs=epochs or settings["epochs"],
        task=settings["task"](),
        batch_size=settings["batch_size"],
        command=f"python -m experiments.chapter08 {name} --seeds {seed}",
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], RUNS, epochs=None).parse_args()
    data = {name: load(name) for name in {RUNS[name].data for name in args.names}}
    record_all(args, lambda name, seed: record(name, seed, args.epochs, data[RUNS[name].data]))


if __name__ == "__main__":
    main()
