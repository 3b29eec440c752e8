"""Chapter 08: ``python -m experiments.chapter08``, about two CPU hours.

GSA-Tiny on molecules (a number for each graph) and digits (a class for each graph), complete and
with one term less, with the key context of the authors' code, and with a scalar for each relation
(GRPE, Eq. 4) in place of the contexts. One head with one term alone on the puzzles that need it.
"""

from dataclasses import asdict, replace
from functools import partial

from experiments.runs import RATIO, Run, first_graphs, main
from gtcourse import load_dataset
from gtcourse.course.exercises.chapter08 import dials, edge_labels
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.train.tasks import graph_multiclass, node_classification

TRAIN_MOLECULES = 4000
MOLECULES = GRPEConfig(d_model=64, num_heads=8, num_layers=4)  # Table 1
DIGITS = replace(
    MOLECULES,
    num_node_types=(),
    num_node_features=3,
    num_edge_types=(11,),
    edge_step=0.1,
    num_targets=10,
    max_distance=3,
)
STEPS = 8
LABELS = 4
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
LISTENER = replace(ONE_HEAD, num_node_types=(STEPS + 2,), target="node", num_targets=2)
SPEAKER = replace(LISTENER, num_node_types=(2 * STEPS + 1,))
TREES = replace(
    ONE_HEAD, num_node_types=(1,), num_edge_types=(LABELS + 1,), num_targets=LABELS, num_layers=2
)
"""Attention twice: once to the ends of the labelled edge, once from them to all others."""

ABLATION = {
    "grpe": {},
    "grpe-no-query": {"terms": ("key_context", "value")},
    "grpe-no-key": {"terms": ("query_context", "value")},
    "grpe-no-value": {"terms": ("query_context", "key_context")},
    "grpe-query-row": {"key_context": "query_row"},
    "grpe-bias": {"terms": (), "bias": True},
    "grpe-bias-value": {"terms": ("value",), "bias": True},
}
VALUE_ALONE = {"grpe-value": {"terms": ("value",)}}
"""Nothing in the logits depends on the graph."""

"""What the logits know of a pair, and whether the values know it."""

LOGITS = {"terms": ("query_context", "key_context"), "bias": True}
ONE_TERM = {
    "one-head-bias": {"terms": (), "bias": True},
    "one-head-query": {"terms": ("query_context",)},
    "one-head-key": {"terms": ("key_context",)},
    "one-head-key-row": {"terms": ("key_context",), "key_context": "query_row"},
    "one-head-value": {"terms": ("value",)},
    "one-head-logits": LOGITS,
}
"""One head that knows the distance in one way alone, or in all ways in its logits."""

LONGER = {"one-head-value-30-epochs": ONE_TERM["one-head-value"]}
HEADS = {"two": 2, "four": 4, "eight": 8}
"""With how many heads a layer with a bias is tried on the dials, beside one."""

ON_TREES = {
    "logits": LOGITS,
    "logits-virtual": LOGITS | {"virtual_node": True},
    "value": {"terms": ("value",)},
}


def runs_on(data: str, config: GRPEConfig, forms: dict[str, dict], **settings) -> dict[str, Run]:
    runs = {}
    for name, form in forms.items():
        varied = replace(config, **form)
        runs[f"{name}/{data}"] = Run(partial(GRPE, varied), asdict(varied), data, **settings)
    return runs


DIALS = {"task": partial(node_classification, 2), "batch_size": 64, "epochs": 8}
RUNS = {
    **runs_on("molecules", MOLECULES, ABLATION | VALUE_ALONE, batch_size=64),
    **runs_on(
        "digits", DIGITS, ABLATION, task=partial(graph_multiclass, 10), batch_size=32, epochs=15
    ),
    **runs_on("listener", LISTENER, ONE_TERM, **DIALS),
    **runs_on("speaker", SPEAKER, ONE_TERM, **DIALS),
    **runs_on("listener", LISTENER, LONGER, **DIALS | {"epochs": 30}),
    **runs_on("speaker", SPEAKER, LONGER, **DIALS | {"epochs": 30}),
    **runs_on(
        "edge_labels",
        TREES,
        ON_TREES,
        task=partial(graph_multiclass, LABELS),
        batch_size=64,
        epochs=15,
    ),
}
for count, num_heads in HEADS.items():
    form = {f"{count}-heads-bias": ONE_TERM["one-head-bias"]}
    RUNS |= runs_on("listener", replace(LISTENER, num_heads=num_heads), form, **DIALS)
    RUNS |= runs_on("speaker", replace(SPEAKER, num_heads=num_heads), form, **DIALS)
for name in ("grpe-bias", "grpe-bias-value"):  # as in chapter 06: scalars start small
    run = RUNS[f"{name}/molecules"]
    RUNS[f"{name}-fast/molecules"] = replace(
        run,
        config=run.config | {"scalars_rate": float(RATIO)},
        faster=lambda model: model.tables["bias"],
    )
# Twice as many distances, with as many heads as the distances above have, and with twice as many.
WIDE = {"num_node_types": (2 * STEPS + 2,), "max_distance": 2 * STEPS}
for count, num_heads in {"eight": 8, "sixteen": 16}.items():
    form = {f"{count}-heads-bias": ONE_TERM["one-head-bias"]}
    RUNS |= runs_on("listener-16", replace(LISTENER, num_heads=num_heads, **WIDE), form, **DIALS)
# On the speaker, a model with the term that solves it failed: was it the rate?
OTHER_RATES = {"slower": 5e-4, "faster": 5e-3}
for name in ("one-head-logits", "one-head-value-30-epochs"):
    for speed, peak in OTHER_RATES.items():
        RUNS[f"{name}-{speed}/speaker"] = replace(RUNS[f"{name}/speaker"], peak=peak)


def load(name: str) -> GraphDataset:
    """A data set with what the runs on it read."""
    if name == "molecules":
        data = first_graphs(load_dataset(name), TRAIN_MOLECULES)
    elif name == "edge_labels":
        data = edge_labels((2000, 1000, 1000), LABELS)
    elif name in ("listener", "speaker"):
        data = dials((4000, 200, 2000), STEPS, name)
    elif name == "listener-16":
        data = dials((4000, 200, 2000), 2 * STEPS, "listener")
    else:
        data = load_dataset(name)
    return encode(data, AddShortestPaths())


if __name__ == "__main__":
    main("chapter08", RUNS, load)
