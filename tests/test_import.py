"""What ``import gtcourse`` and the models need, what they must do without, and who imports whom."""

import re
import sys

import pytest

import gtcourse
from tests.process import run
from tools.paths import ROOT

OF_SOME = "rdkit ogb networkx matplotlib sklearn IPython lightning_fabric pyarrow dask distributed"


@pytest.mark.parametrize(
    ("first", "imported", "left_out"),
    [
        # PyG itself imports some of them where they are installed.
        ("torch_geometric.data, torch_geometric.nn, torch_geometric.transforms",
         "gtcourse, gtcourse.models, gtcourse.prepare, gtcourse.cli", {*OF_SOME.split()}),
        ("sys", "gtcourse.cli", {"torch", "torch_geometric"}),  # so that --help comes at once
    ],
)  # fmt: skip
def test_importing_loads_nothing_that_only_some_readers_need(first, imported, left_out):
    code = f"""
import sys, {first}
before = set(sys.modules)
import {imported}
print({{name.split(".")[0] for name in set(sys.modules) - before}} & {left_out})
"""
    assert run(sys.executable, "-c", code) == "set()\n"


def test_every_public_name_is_there_once_it_is_asked_for():
    assert {getattr(gtcourse, name).__name__ for name in gtcourse.__all__} == {*gtcourse.__all__}
    assert {*gtcourse.__all__} <= {*dir(gtcourse)}
    with pytest.raises(AttributeError, match="module 'gtcourse' has no attribute 'grahps'"):
        gtcourse.grahps  # noqa: B018


def test_training_from_a_file_needs_no_chemistry(tmp_path):
    """Without RDKit, ogb, networkx, scikit-learn, pyarrow or IPython, a model still trains."""
    code = f"""
import sys
for name in ("rdkit", "ogb", "networkx", "sklearn", "pyarrow", "IPython"):
    sys.modules[name] = None
import torch, gtcourse
from gtcourse.graphs import GraphDataset, write_graphs
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.training.fit import fit
from gtcourse.training.tasks import graph_regression
from torch_geometric.data import Data

graphs = [
    Data(x=torch.tensor([[0], [1]]), edge_index=torch.tensor([[0, 1], [1, 0]]),
         edge_attr=torch.tensor([[1], [1]]), y=torch.tensor([0.5]))
] * 8
path = {str(tmp_path / "graphs.npz")!r}
write_graphs(path, GraphDataset("tiny", "made here", graphs, torch.tensor([0] * 6 + [1, 2])))
data = gtcourse.load_dataset("zinc", source=path)
model = BagTransformer(BagTransformerConfig(d_model=8, num_heads=2, d_hidden=8))
history = fit(model, graph_regression(), gtcourse.DenseLoader(data.train, 4), epochs=2)
print(len(history.epochs))
"""
    assert run(sys.executable, "-c", code) == "2\n"


ORDER = ("graphs", "encodings", "models", "training", "cli")
ABOVE = {
    f"gtcourse/{name}": [f"gtcourse.{higher}" for higher in ORDER[i:]]
    for i, name in enumerate(ORDER[:-1], start=1)
} | {
    "gtcourse": ["tools", "experiments", "benchmarks", "tests"],
    "tools": ["experiments", "benchmarks", "tests"],
    "experiments": ["tests"],
    "benchmarks": ["tests"],
}


@pytest.mark.parametrize("folder", ABOVE)
def test_nothing_imports_what_is_above_it(folder):
    above = "|".join(map(re.escape, ABOVE[folder]))
    upward = re.compile(rf"^\s*(?:from|import) (?:{above})\b.*", re.M)
    found = {path.name: upward.findall(path.read_text()) for path in (ROOT / folder).rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}
