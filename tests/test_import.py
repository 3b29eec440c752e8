"""What ``import gtcourse`` and the models need, what they must do without."""

import json
import sys
import warnings
from importlib import import_module

import pytest

import gtcourse
from gtcourse._moved import MOVED, NAMES
from tests.process import run

OF_SOME = "rdkit ogb networkx matplotlib sklearn IPython lightning_fabric pyarrow dask distributed"


IMPORTS = [
    ("sys", "gtcourse.cli", {"torch", "torch_geometric"}),  # so that --help comes at once
    (
        "torch_geometric.data",
        "gtcourse.predict",
        {"torchmetrics", "lightning_fabric", "matplotlib", "pandas"},  # they take seconds
    ),
    # PyG itself imports some of them where they are installed.
    (
        "torch_geometric.data, torch_geometric.nn, torch_geometric.transforms",
        "gtcourse, gtcourse.models, gtcourse.encodings.prepare, gtcourse.cli",
        {*OF_SOME.split()},
    ),
]
"""What is there before, what is then imported, and what that must not load."""

LOAD_EACH = """
import json, os, sys

for first, imported in json.load(sys.stdin):
    exec("import " + first)
    if os.fork() == 0:
        before = set(sys.modules)
        exec("import " + imported)
        names = {name.split(".")[0] for name in set(sys.modules) - before}
        print(json.dumps(sorted(names)), flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        sys.exit(1)
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """What each import loads, in a process forked from one that has loaded what is there before."""
    asked = [(first, imported) for first, imported, _ in IMPORTS]
    lines = run(sys.executable, "-c", LOAD_EACH, input=json.dumps(asked)).splitlines()
    return {imported: {*json.loads(line)} for (_, imported), line in zip(asked, lines, strict=True)}


@pytest.mark.parametrize(("imported", "left_out"), [case[1:] for case in IMPORTS])
def test_importing_the_package_loads_no_optional_library(loaded, imported, left_out):
    assert "gtcourse" in loaded[imported]
    assert loaded[imported] & left_out == set()


def test_listing_the_models_does_not_import_pytorch():
    code = "import sys; from gtcourse.cli import models; models(); print('torch' in sys.modules)"
    assert run(sys.executable, "-c", code).endswith("\nFalse\n")


def test_every_public_name_is_imported_on_first_access():
    assert {getattr(gtcourse, name).__name__ for name in gtcourse.__all__} == {*gtcourse.__all__}
    assert {*gtcourse.__all__} <= {*dir(gtcourse)}
    with pytest.raises(AttributeError, match="module 'gtcourse' has no attribute 'grahps'"):
        gtcourse.grahps  # noqa: B018


def test_training_from_a_graph_file_needs_no_optional_library(tmp_path):
    """Without RDKit, ogb, networkx, scikit-learn, pyarrow or IPython, a model still trains."""
    code = f"""
import sys
for name in ("rdkit", "ogb", "networkx", "sklearn", "pyarrow", "IPython"):
    sys.modules[name] = None
import torch, gtcourse
from gtcourse.graphs import GraphDataset, write_graphs
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.train.loop import fit
from gtcourse.train.tasks import graph_regression
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


@pytest.mark.parametrize("path", MOVED)
def test_an_old_import_path_warns_and_returns_the_new_module(path):
    for name in [name for name in sys.modules if name == path or name.startswith(f"{path}.")]:
        del sys.modules[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of the package that contains the module
        import_module(path.rpartition(".")[0])
    with pytest.warns(
        FutureWarning, match=f"{path} is now {MOVED[path]}; the old path will be removed"
    ):
        module = import_module(path)
    if path != "gtcourse.training":
        assert module is import_module(MOVED[path])


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path, names in NAMES.items() for name in names]
)
def test_a_name_that_moved_is_found_at_its_old_place_with_a_warning(path, name):
    module = import_module(path)
    home = NAMES[path][name]
    with pytest.warns(FutureWarning, match=f"{path}.{name} is now {home}.{name}; the old path"):
        found = getattr(module, name)
    assert found is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match=f"module '{path}' has no attribute 'recroded'"):
        module.recroded  # noqa: B018
