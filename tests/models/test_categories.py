"""Features of nodes and edges: every value has its own vector, or none at all."""

import re
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gtcourse import DenseLoader, collate, models
from gtcourse.encodings import AddDegrees, AddPathTree, AddShortestPaths, encode
from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import GraphDataset
from gtcourse.models.categories import CategoryEmbedding, NumberEmbedding, feature_embedding
from gtcourse.train.loop import evaluate, fit
from gtcourse.train.tasks import graph_regression
from tests.graphs.small import random_features
from tests.models import small
from tests.models.small import encoded
from tests.properties.graphs import Features
from tests.properties.models import MODELS


def graphs_for(variant, count: int = 4) -> list[Data]:
    """Directed graphs of four nodes with valid features for a variant of a model."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]])
    return [
        Data(
            x=features(generator, 4, variant.x),
            edge_index=edge_index,
            edge_attr=features(generator, 4, variant.edges),
            y=torch.tensor([0.5]),
        )
        for _ in range(count)
    ]


def features(generator: torch.Generator, rows: int, of: Features) -> torch.Tensor:
    if not of.types and not of.numbers:
        return torch.zeros(rows, 1).long()
    return random_features(generator, rows, of.types, of.numbers)


def reads_edges(name: str, variant_name: str) -> bool:
    """Whether a model of the registry reads the features of edges."""
    config = getattr(MODELS[name].variants[variant_name].build(), "config", None)
    if name == "Graphormer" and config.edges is None:
        return False
    if name == "CGT" and not config.num_edge_types:
        return False
    return bool(getattr(config, "num_edge_types", ()))


CATEGORICAL = [
    (name, variant_name)
    for name, subject in MODELS.items()
    for variant_name, variant in subject.variants.items()
    if name != "SignNet" and variant.x.types
]
ONE_OF_EACH = list({name: (name, variant) for name, variant in CATEGORICAL}.values())
OF_TWO_COLUMNS = [(name, variant) for name, variant in CATEGORICAL if "two columns" in variant]
SEVERAL = [*ONE_OF_EACH, *OF_TWO_COLUMNS]


@pytest.mark.parametrize(("name", "chosen"), SEVERAL)
@pytest.mark.parametrize("value", [-1, "size"])
@pytest.mark.parametrize("column", [0, -1])
@torch.no_grad()
def test_unknown_category_raises_and_names_its_graph(name, chosen, value, column):
    variant = MODELS[name].variants[chosen]
    model = variant.build().eval()
    attributes = [("x", variant.x.types)]
    if reads_edges(name, chosen):
        attributes.append(("edge_attr", variant.edges.types))
    for attribute, types in attributes:
        graphs = graphs_for(variant)
        unknown = types[column] if value == "size" else value
        data = encode(graphs, *variant.transforms)
        batch = collate(data)
        at = range(len(types))[column]
        if attribute == "x":
            batch.x[2, 1, at] = unknown
        else:
            batch.edge_attr[2, 0, 1, at] = unknown
            if "path_edges" in batch.encodings:
                batch.encodings["path_edges"][2, 0, 1, 0, at] = unknown
        sentence = (
            rf"has category {unknown} in column {at} of graph 2 of the batch; "
            rf"expected 0 to {types[at] - 1}\."
        )
        with pytest.raises(ValueError, match=sentence):
            model(batch)


@pytest.mark.parametrize(("name", "chosen"), SEVERAL)
@torch.no_grad()
def test_unknown_category_gives_nan_in_compiled_models(name, chosen):
    """What an accelerator does, where no value may be read on the host."""
    if name in ("GIN", "GAT", "GCN", "GatedGCN", "GT") or "trees" in chosen:
        pytest.skip("how long a path or a list of edges is depends on the data")
    variant = MODELS[name].variants[chosen]
    model = variant.build().eval()
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=False)
    batch = collate(encode(graphs_for(variant), *variant.transforms))
    torch.testing.assert_close(compiled(batch), model(batch))
    attributes = ["x", "edge_attr"] if reads_edges(name, chosen) else ["x"]
    for attribute in attributes:
        for unknown in (-1, 10_000):
            values = {"x": batch.x.clone(), "edge_attr": batch.edge_attr.clone()}
            others = dict(batch.encodings)
            if attribute == "x":
                values["x"][1, 0, 0] = unknown
            else:
                values["edge_attr"][1, 0, 1, 0] = unknown
                if "path_edges" in others:
                    others["path_edges"] = others["path_edges"].clone()
                    others["path_edges"][1, 0, 1, 0, 0] = unknown
            prediction = compiled(replace(batch, **values, encodings=others))
            is_nan = (
                prediction.isnan().flatten(start_dim=1).any(dim=1)
                if (prediction.dim() > 1)
                else prediction.isnan()
            )
            assert is_nan.tolist() == [False, True, False, False], (attribute, unknown)


@pytest.mark.parametrize(("name", "chosen"), ONE_OF_EACH)
@torch.no_grad()
def test_floats_in_place_of_categories_raise(name, chosen):
    variant = MODELS[name].variants[chosen]
    model = variant.build().eval()
    graphs = graphs_for(variant)
    for graph in graphs:
        graph.x = graph.x.float() + 0.7
    with pytest.raises(ValueError, match=r"x has dtype torch.float32; expected whole numbers"):
        model(collate(encode(graphs, *variant.transforms)))
    if reads_edges(name, chosen):
        graphs = graphs_for(variant)
        for graph in graphs:
            graph.edge_attr = graph.edge_attr.float() + 0.7
        with pytest.raises(ValueError, match=r"edge_attr has dtype torch.float32; expected whole"):
            model(collate(encode(graphs, *variant.transforms)))


@pytest.mark.parametrize(("name", "chosen"), ONE_OF_EACH)
@torch.no_grad()
def test_wrong_number_of_columns_raises(name, chosen):
    variant = MODELS[name].variants[chosen]
    graphs = graphs_for(variant)
    for graph in graphs:
        graph.x = graph.x.repeat(1, 2)
    columns = 2 * len(variant.x.types)
    with pytest.raises(ValueError, match=f"x has {columns} columns; expected {columns // 2}"):
        variant.build().eval()(collate(encode(graphs, *variant.transforms)))


def test_each_column_has_its_own_rows_of_the_table():
    table = CategoryEmbedding((3, 2, 4), 5)
    values = torch.cartesian_prod(torch.arange(3), torch.arange(2), torch.arange(4))
    expected = table.weight[values[:, 0]]
    expected = expected + table.weight[3 + values[:, 1]] + table.weight[5 + values[:, 2]]
    torch.testing.assert_close(table(values), expected)
    with_sets = CategoryEmbedding((3, 2), 5, num_sets=2)
    which = torch.tensor([0, 1])
    values = torch.tensor([[2, 1], [2, 1]])
    rows = torch.stack([with_sets.weight[2], with_sets.weight[5 + 2]])
    rows = rows + torch.stack([with_sets.weight[3 + 1], with_sets.weight[5 + 3 + 1]])
    torch.testing.assert_close(with_sets(values, which), rows)


def test_only_unknown_categories_give_nan():
    table = CategoryEmbedding((3, 2, 4), 5)
    values = torch.cartesian_prod(*[torch.arange(-5, 12)] * 3)
    is_known = ((values >= 0) & (values < torch.tensor([3, 2, 4]))).all(dim=1)
    vectors = torch.compile(table, backend="eager", fullgraph=True)(values)
    assert torch.equal(vectors.isnan().any(dim=1), ~is_known)


def test_embedding_tables_of_earlier_releases_load():
    """512 rows a column, and in two published models one more."""
    for extra in (0, 1):
        stored = torch.randn(2 * 512 + extra, 5)
        table = CategoryEmbedding((3, 7), 5)
        table.load_state_dict({"weight": stored})
        torch.testing.assert_close(table.weight.data, torch.cat([stored[:3], stored[512:519]]))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((), "a number above 0 for each column"), ((3, 0), "1 or more"), ((-1,), "1 or more")],
)
def test_empty_vocabulary_raises(sizes, expected):
    with pytest.raises(ValueError, match=f"expected .*{expected}"):
        CategoryEmbedding(sizes, 5)


def test_declaring_both_categories_and_numbers_raises():
    assert isinstance(feature_embedding("node", (3,), 0, 4), CategoryEmbedding)
    assert isinstance(feature_embedding("edge", (), 2, 4), NumberEmbedding)
    for types, numbers in (((), 0), ((3,), 2)):
        with pytest.raises(
            ValueError, match=r"num_edge_types is .* expected exactly one of the two"
        ):
            feature_embedding("edge", types, numbers, 4)


# Where graphs enter


BAG = models.BagTransformerConfig((5, 3), d_model=8, num_heads=2, d_hidden=8)


def with_unknown(place: int) -> list[Data]:
    """Seven graphs; the one in this place has a category 3 of 3 in column 1."""
    edge_index = torch.tensor([[0, 1], [1, 0]])
    graphs = [
        Data(x=torch.tensor([[i % 5, i % 3], [0, 0]]), edge_index=edge_index, y=torch.tensor([1.0]))
        for i in range(7)
    ]
    graphs[place].x[1, 1] = 3
    return graphs


SENTENCE = r"graph {}: x has category 3 in column 1; expected 0 to 2\."


@pytest.mark.parametrize("place", [0, 5, 6])
def test_fit_and_evaluate_name_the_faulty_graph_before_running(place):
    model = models.BagTransformer(BAG)
    good = DenseLoader(with_unknown(0)[1:], 2)
    bad = DenseLoader(with_unknown(place), 2)
    steps = []
    model.register_forward_hook(lambda *_: steps.append(1))
    sentence = SENTENCE.format(place)
    with pytest.raises(ValueError, match=sentence):
        fit(model, graph_regression(), bad, epochs=1, progress=False)
    with pytest.raises(ValueError, match=sentence):
        fit(model, graph_regression(), good, bad, epochs=1, progress=False)
    with pytest.raises(ValueError, match=sentence):
        evaluate(model, graph_regression(), bad)
    assert not steps


def test_graphs_of_a_folder_are_checked_before_they_move_to_a_device(tmp_path):
    graphs = with_unknown(5)
    data = GraphDataset("tiny", "here", graphs, torch.tensor([0] * 6 + [2]))
    folder = prepare(data, tmp_path, stored=(), progress=False)
    loader = DenseLoader(folder.train, 2)
    model = models.BagTransformer(BAG)
    loader.check_features(model)
    with pytest.raises(ValueError, match=r"x has category 3 in column 1; expected 0 to 2\."):
        list(loader)


def test_models_without_check_features_are_accepted():
    DenseLoader(with_unknown(0), 2).check_features(torch.nn.Linear(2, 2))


# Missing inputs


@pytest.mark.parametrize("name", ["Graphormer", "GRPE", "CGT", "SignNet", "EGT"])
def test_missing_encoding_raises_and_names_its_transform(name):
    for chosen, variant in MODELS[name].variants.items():
        model = variant.build().eval()
        batch = collate(encode(graphs_for(variant), *variant.transforms))
        for left_out in batch.encodings:
            others = {n: values for n, values in batch.encodings.items() if n != left_out}
            sentence = sentence_about(model, replace(batch, encodings=others))
            # Of two that serve, the message names the usual one; some are not read at all.
            names = {"path_tree": "path_edges", "random_walks": "(random_walks|rwse)"}
            name_of = names.get(left_out, left_out)
            pattern = rf"no encoding '{name_of}'; expected graphs that .* Add|nothing was raised"
            assert re.search(pattern, sentence), (chosen, sentence)


def test_every_encoding_that_a_model_reads_is_required():
    for name, chosen, left_out in (
        ("Graphormer", "edges of paths", "in_degree"),
        ("Graphormer", "edges of paths", "distance"),
        ("Graphormer", "edges of paths", "path_edges"),
        ("GRPE", "all terms", "distance"),
        ("CGT", "walks", "random_walks"),
        ("CGT", "distances and added rings", "ring"),
        ("EGT", "graph", "svd"),
        ("EGT", "distance structure", "distance"),
        ("SignNet", "gin, mlp", "laplacian_eigenvectors"),
    ):
        variant = MODELS[name].variants[chosen]
        batch = collate(encode(graphs_for(variant), *variant.transforms))
        del batch.encodings[left_out]
        assert "the graphs have no encoding" in sentence_about(variant.build().eval(), batch)


def sentence_about(model: torch.nn.Module, batch) -> str:
    try:
        model(batch)
    except ValueError as error:
        return str(error)
    return "nothing was raised"


@pytest.mark.parametrize(("name", "chosen"), ONE_OF_EACH)
def test_missing_edge_features_raise(name, chosen):
    if not reads_edges(name, chosen) or name == "Graphormer":
        pytest.skip("it reads no edge_attr of the batch")
    variant = MODELS[name].variants[chosen]
    batch = collate(encode(graphs_for(variant), *variant.transforms))
    with pytest.raises(ValueError, match="edge_attr is missing; expected the features"):
        variant.build().eval()(replace(batch, edge_attr=None))


def test_encoding_of_wrong_width_raises():
    variant = MODELS["EGT"].variants["graph"]
    batch = collate(encode(graphs_for(variant), *variant.transforms))
    batch.encodings["svd"] = batch.encodings["svd"][..., :3]
    with pytest.raises(ValueError, match="svd has 3 columns; expected 4"):
        variant.build()(batch)


# Float features of edges


FLOAT_EDGES = {
    "Graphormer, paths": models.Graphormer(
        replace(small.GRAPHORMER, num_edge_types=(), num_edge_features=2)
    ),
    "Graphormer, nodes": models.Graphormer(
        replace(small.EDGES_AT_NODES, num_edge_types=(), num_edge_features=2)
    ),
    "Graphormer, values": models.Graphormer(
        replace(small.EDGES_OF_VALUES, num_edge_types=(), num_edge_features=2)
    ),
    "CSA": models.CGT(replace(small.CGT, num_edge_types=(), num_edge_features=2)),
    "CSA, rings": models.CGT(
        replace(small.CGT, num_edge_types=(), num_edge_features=2, rings="additive")
    ),
    "GatedGCN": models.GatedGCN(
        models.GatedGCNConfig((28,), 0, d_model=8, num_layers=2, num_edge_features=2)
    ),
}


@pytest.mark.parametrize("name", FLOAT_EDGES)
def test_float_edge_features_enter_through_a_linear_map(name):
    """The prediction changes with them; that of scaled features is that of scaled weights."""
    model = small.in_use(FLOAT_EDGES[name])
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]])
    attributes = torch.randn(4, 2, generator=generator, dtype=torch.float64)
    predictions = []
    for scale in (1.0, 2.0):
        graph = Data(
            x=torch.tensor([[1], [2], [3], [4]]),
            edge_index=edge_index,
            edge_attr=scale * attributes,
        )
        predictions.append(model(collate(encoded(graph))).detach())
    assert not torch.allclose(predictions[0], predictions[1], rtol=1e-6, atol=0)
    for module in model.modules():
        if isinstance(module, NumberEmbedding) and module.name == "edge_attr":
            module.weight.data *= 2
    graph.edge_attr = attributes
    torch.testing.assert_close(model(collate(encoded(graph))).detach(), predictions[1])


def test_float_edge_features_from_paths_and_trees_give_equal_predictions():
    model = small.in_use(FLOAT_EDGES["Graphormer, paths"])
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 3]])
    attributes = torch.randn(6, 2, generator=generator, dtype=torch.float64)
    graph = Data(x=torch.zeros(6, 1).long(), edge_index=edge_index, edge_attr=attributes)
    of_paths = collate(encoded(graph))
    of_trees = collate(encoded(graph, encodings=(AddDegrees(), AddShortestPaths(), AddPathTree())))
    torch.testing.assert_close(model(of_paths), model(of_trees), rtol=1e-10, atol=1e-10)


def test_grpe_rejects_float_edge_features_in_one_sentence():
    model = models.GRPE(small.GRPE)
    graph = Data(
        x=torch.zeros(2, 1).long(),
        edge_index=torch.tensor([[0], [1]]),
        edge_attr=torch.tensor([[0.5]]),
    )
    with pytest.raises(ValueError, match=r"edge_attr has dtype torch.float32.*or edge_step"):
        model(collate(encode([graph], AddShortestPaths())))
    with pytest.raises(ValueError, match="edge_attr holds floats, but GRPEConfig takes categories"):
        models.GRPEConfig.from_graphs([graph])
