"""Trained models: predictions, exports, and training on a CSV file of one's own."""

import pytest
import torch
from torch_geometric.data import Data

import gtcourse
from gtcourse import predict
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.encodings import encode
from gtcourse.graphs import GraphBatch, GraphDataset
from gtcourse.graphs.molecules import zinc_data
from gtcourse.predict import available, fine_tuned, load
from gtcourse.recipes import RECIPES
from gtcourse.recipes.adapt import own_recipe, recipe_for, scaffold_split
from gtcourse.runs.run import train
from tests.process import gtcourse as call

# Without symmetry of order three, whose eigenvectors would be any basis of their space.
SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C", "c1ccccc1O", "CCCN(C)CC", "CC1CCCCO1"]


@pytest.mark.parametrize("name", available())
def test_every_shipped_model_predicts_alike_alone_and_in_a_batch(name):
    predictor = load(name)
    together = predictor.predict(SMILES)
    alone = torch.cat([predictor.predict([text]) for text in SMILES])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


def test_csa_trained_on_zinc_predicts_the_penalized_logp_of_other_molecules(molecules):
    graphs = molecules.test[:64]
    predictor = gtcourse.load("csa/zinc")
    y = torch.cat([graph.y for graph in graphs])
    errors = (predictor.predict([graph.smiles for graph in graphs]) - y).abs()
    assert errors.mean() < 0.5 * (y - y.mean()).abs().mean()
    assert predictor.predict(graphs).equal(predictor.predict([graph.smiles for graph in graphs]))


@pytest.mark.parametrize("name", ["csa/zinc", "graphormer-100k/molecules", "egt-100k/molecules"])
def test_attention_comes_without_padding_in_the_order_given(name):
    values, attention = load(name).predict(SMILES, return_attention=True)
    torch.testing.assert_close(values, load(name).predict(SMILES), atol=1e-4, rtol=1e-4)
    assert [each.shape[-2:] for each in attention] == [(n, n) for n in (13, 1, 7, 7, 7)]


def ring(n: int, y: torch.Tensor, floats: bool) -> Data:
    """A directed ring: as many edges as nodes, so that the level of y has to be stated."""
    node = torch.arange(n)
    edge_index = torch.stack([node, (node + 1) % n])
    x = torch.randn(n, 3) if floats else node[:, None] % 2
    return Data(x=x, edge_index=edge_index, edge_attr=node[:, None] % 3, y=y)


def test_predictions_for_a_csv_have_a_reason_where_there_is_none(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("name,smiles\na,CCO\nb,CCX\nc,\n")
    out = tmp_path / "out.csv"
    assert "2 of 3 rows" in call("predict", "csa/zinc", "--csv", table, "--out", out)
    head, first, second, third = out.read_text().splitlines()
    assert head == "name,smiles,prediction,reason"
    assert first.startswith("a,CCO,-1.0")
    assert second.startswith("b,CCX,,'CCX' is no molecule")
    assert third == "c,,,'' has no atoms; expected at least one."


def test_the_explorer_is_one_page_without_other_hosts(tmp_path):
    out = tmp_path / "page.html"
    call("explore", "csa/zinc,egt-100k/molecules", "CCO", "c1ccccc1O", "--out", out)
    page = out.read_text()
    assert "egt-100k/molecules" in page
    assert "src=" not in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://www.rdkit.org", "")


@pytest.mark.parametrize(
    "recipe", ["csa-rings/zinc", "graphormer-slim/zinc", "grpe-small/zinc", "egt-100k/zinc"]
)
def test_training_on_a_csv_and_loading_the_run(recipe, tmp_path, molecules):
    table = tmp_path / "my.csv"
    graphs = molecules.train[:40]
    rows = [f"{g.smiles},{int(g.y.item() > 0)},{'' if i % 5 else 1}" for i, g in enumerate(graphs)]
    table.write_text("\n".join(["smiles,activity,other", *rows, "CCX,1,0"]))
    targets = ["--target", "activity"]
    targets += ["--target", "other"] if recipe.startswith("csa") else []
    few = ("--epochs", 1, "--batch-size", 16, "--out", tmp_path / "runs")
    assert "row 42: 'CCX'" in call("train", recipe, "--csv", table, *targets, *few)
    (folder,) = (tmp_path / "runs").iterdir()
    predictor = load(folder)
    assert len(predictor.targets) == len(targets) // 2
    values = predictor.predict(["CCO", "[U]", "c1ccccc1O"])
    assert values.shape == ((3, 2) if len(predictor.targets) == 2 else (3,))
    assert values.isfinite().all()


def test_fine_tuning_starts_from_the_trained_weights_with_a_new_head(tmp_path, molecules):
    table = tmp_path / "my.csv"
    rows = [f"{g.smiles},{g.y.item()}" for g in molecules.train[:40]]
    table.write_text("\n".join(["smiles,y", *rows]))
    words = f"train csa/zinc --csv {table} --target y --start csa/zinc --out {tmp_path}"
    words += " --epochs 1 --batch-size 8"
    call(*words.split())
    (folder,) = tmp_path.glob("csa-zinc-on-my-*")
    tuned, before = load(folder).model.state_dict(), load("csa/zinc").model.state_dict()
    name = "layers.3.attention.query.weight"
    change = (tuned[name] - before[name]).norm() / before[name].norm()
    assert 0 < change < 0.1
    with pytest.raises(RuntimeError, match="size mismatch"):
        fine_tuned(own_recipe(RECIPES["csa/zinc"], "regression", ["y"]), "csa/zinc").build_model()


def test_a_scaffold_is_in_one_part_alone():
    smiles = [f"{'C' * n}c1ccccc1" for n in range(1, 8)] + [f"{'C' * n}C1CC1" for n in range(1, 4)]
    smiles += ["C" * n for n in range(1, 21)]
    parts = scaffold_split(smiles, seed=0)
    assert len({*parts[:7]}) == len({*parts[7:10]}) == 1
    assert parts == scaffold_split(smiles, seed=0)


def test_sizes_of_older_records_mean_the_same():
    old = {"node_columns": (5,), "edge_columns": (3,)}
    new = {"num_node_types": (5,), "num_edge_types": (3,)}
    configs = [
        own_recipe(RECIPES["csa/zinc"], "regression", ["y"], **sizes).build_model.args[0]
        for sizes in (old, new)
    ]
    assert configs[0] == configs[1] != RECIPES["csa/zinc"].build_model.args[0]


@pytest.mark.parametrize(
    "model",
    ["gin", "gat", "gatedgcn", "signnet", "graphormer-slim", "egt-100k", "grpe-small", "csa-rings"],
)
def test_a_recipe_for_graphs_has_their_vocabularies_and_reads_every_column(model):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x, edge_attr = torch.tensor([[0, 3], [4, 1], [2, 0]]), torch.tensor([[2, 1]] * 4)
    graph = Data(x=x, edge_index=edges, edge_attr=edge_attr, y=torch.tensor([0.5]))
    others = [graph.clone().update({"x": torch.where(torch.arange(2) == c, 1, x)}) for c in (0, 1)]
    if model not in ("gin", "gat"):  # they read no edge features
        others += [
            graph.clone().update({"edge_attr": edge_attr - torch.eye(2).long()[c]}) for c in (0, 1)
        ]
    recipe = recipe_for(RECIPES[f"{model}/zinc"], [graph], "regression")
    network = recipe.build_model().eval()
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_normal_(parameter)
    with torch.no_grad():
        batch = gtcourse.collate(encode([graph, *others], *recipe.transforms))
        assert network(batch).sort().values.diff().min() > 1e-5


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize(
    ("name", "level", "task"),
    [
        ("gin-100k/zinc", "graph", "classes"),
        ("csa-rings/zinc", "node", "classes"),
        ("grpe-small/zinc", "node", "regression"),
        ("egt-100k/zinc", "edge", "classes"),
    ],
)
def test_targets_of_graphs_nodes_and_edges(name, level, task, floats, tmp_path):
    sizes = [*range(3, 13)]
    of = {"graph": lambda n: torch.tensor([n % 3])}.get(level, lambda n: torch.arange(n) % 2)
    as_target = torch.Tensor.float if task == "regression" else torch.Tensor.long
    graphs = [ring(n, as_target(of(n)), floats) for n in sizes]
    split = torch.tensor([0, 0, 0, 1, 2]).repeat(2)
    own = GraphDataset("rings", "rings", graphs, split, target=level)
    recipe = recipe_for(RECIPES[name], graphs, task, level).at(epochs=1)
    train(recipe, own, command="train", out=tmp_path / "run", progress=False)
    predictions = load(tmp_path / "run").predict(graphs)
    classes = {"regression": (), "classes": (3,) if level == "graph" else (2,)}[task]
    rows = [() if level == "graph" else (n,) for n in sizes]
    assert [tuple(p.shape) for p in predictions] == [row + classes for row in rows]


# Compiled, exported, and as ONNX.

ON_EDGES = ("gin", "gat", "gatedgcn", "signnet")
SMALL = [name for name in LEADERBOARD if name.endswith("-100k")]
TRANSFORMERS = [name for name in SMALL if name.partition("-")[0] not in ON_EDGES]
OTHERS = ["CC(=O)Oc1ccccc1C(=O)O", "C", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12", "CCO", "CCCCCCN"]


def small(name):
    """The trained model where its weights are shipped, else one with random weights."""
    if f"{name}/molecules" in predict.available():
        return predict.load(f"{name}/molecules")
    torch.manual_seed(0)
    entry = LEADERBOARD[name]
    return predict.Predictor(name, entry.build_model().eval(), entry.transforms, zinc_data, None)


class Compiled(predict.OnTensors):
    """Without the explicit form that an export needs."""

    def forward(self, tensors):
        given = {name: tensors.get(name) for name in predict.AXES}
        encodings = {name: value for name, value in tensors.items() if name not in predict.AXES}
        return self.model(GraphBatch(**given, encodings=encodings))


def cases(predictor):
    """Batches of other sizes than the example's, with the model's own outputs."""
    model = predict.OnTensors(predictor.model).eval()
    for graphs in (OTHERS, OTHERS[:1]):
        tensors = predict.tensors_of(predictor, graphs)
        with torch.no_grad():
            yield tensors, model(tensors)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_model_compiled_without_graph_breaks_or_exported_agrees_on_other_sizes(name):
    predictor = small(name)
    program = predict.export(predictor).module()
    torch._dynamo.reset()
    model = Compiled(predictor.model).eval()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    for tensors, expected in cases(predictor):
        torch.testing.assert_close(program(tensors), expected, atol=1e-5, rtol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(compiled(tensors), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of the converter
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_onnxruntime_agrees_on_other_sizes(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    predictor, path = small(name), tmp_path / "model.onnx"
    names = predict.save_onnx(predictor, path)
    session = runtime.InferenceSession(str(path))
    for tensors, expected in cases(predictor):
        given = {own: value.numpy() for own, value in zip(names, tensors.values(), strict=True)}
        (values,) = session.run(None, given)
        torch.testing.assert_close(torch.from_numpy(values), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [f"{name}-100k" for name in ON_EDGES])
def test_a_model_on_lists_of_edges_cannot_be_exported(name):
    with pytest.raises(ValueError, match=f"{name}.* cannot be exported: it runs on edges"):
        predict.export(small(name))
