"""Faults among many graphs, whose values are checked together."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.graphs import check_graphs
from gtcourse.graphs.check import GRAPHS_AT_ONCE, _fault, _has_fault
from tests.graphs.small import graph_of

PLACES = (0, 1, GRAPHS_AT_ONCE - 1, GRAPHS_AT_ONCE, GRAPHS_AT_ONCE + 4)


def many_graphs():
    """Graphs of two to four nodes, with encodings of nodes and of pairs."""
    graphs = []
    for index in range(GRAPHS_AT_ONCE + 5):
        n = 2 + index % 3
        graph = graph_of(n, [(0, 1)])
        graph.svd = torch.zeros(n, 2)
        graph.distance = torch.zeros(n, n, dtype=torch.int64)
        graph.random_walks = torch.zeros(n, n, 3)
        graphs.append(graph)
    return graphs


def changed(values, new):
    """The values with another one in their last place."""
    values = values.clone()
    values.view(-1)[-1] = new
    return values


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("x", -1, "with the value -1; expected categories, 0 or more."),
        ("edge_index", -1, "with values from -1 to 0; expected 0 to"),
        ("svd", torch.inf, "with NaN or infinity; expected finite numbers."),
        ("distance", -2, "with the value -2; expected -1 or more."),
        ("random_walks", torch.nan, "with NaN or infinity; expected finite numbers."),
    ],
)
def test_a_wrong_value_is_found_in_any_of_many_graphs(place, name, value, says):
    graphs = many_graphs()
    check_graphs(graphs)
    graphs[place][name] = changed(graphs[place][name], value)
    with pytest.raises(ValueError, match=f"^graph {place} has {name} {says}"):
        check_graphs(graphs)


@pytest.mark.parametrize("place", PLACES)
def test_an_edge_may_not_lead_to_a_node_that_only_a_larger_graph_has(place):
    graphs = many_graphs()
    n = graphs[place].num_nodes
    graphs[place].edge_index = torch.tensor([[0], [n]])
    with pytest.raises(ValueError, match=f"graph {place} has edge_index with values from 0 to {n}"):
        check_graphs(graphs)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_compressed_sparse_features_are_no_dense_tensor():
    graph = graph_of(2, [(0, 1)])
    graph.x = torch.ones(2, 3).to_sparse_csr()
    with pytest.raises(ValueError, match=r"graph 0 has x = torch\.sparse_csr; expected a dense"):
        check_graphs([graph])


def test_features_of_edges_have_the_rows_of_edge_index_whichever_was_set_first():
    graph = graph_of(2, [(0, 1), (1, 0)])
    edge_index = graph.edge_index
    del graph.edge_index
    graph.edge_attr = torch.zeros(3, 1, dtype=torch.int64)
    graph.edge_index = edge_index  # after edge_attr, by which PyG now counts three edges
    with pytest.raises(ValueError, match=r"edge_attr of torch\.int64 \[3, 1\]; expected .* \[2, 1"):
        check_graphs([graph])


def test_the_first_of_several_faults_is_named():
    graphs = many_graphs()
    graphs[3].y = torch.tensor([torch.inf])
    graphs[4].x = graphs[4].x.float()
    with pytest.raises(ValueError, match="graph 3 has y with NaN or infinity"):
        check_graphs(graphs)


def test_eigenvalues_without_an_axis_are_checked_like_others():
    graphs = many_graphs()
    for graph in graphs:
        graph.laplacian_eigenvalues = torch.tensor(0.5)
    check_graphs(graphs)
    graphs[-1].laplacian_eigenvalues = torch.tensor(torch.nan)
    with pytest.raises(ValueError, match="laplacian_eigenvalues with NaN or infinity"):
        check_graphs(graphs)


@pytest.mark.parametrize("place", PLACES)
def test_an_attribute_that_one_graph_lacks_is_named(place):
    graphs = many_graphs()
    del graphs[place].svd
    with pytest.raises(ValueError, match=f"^graph {place} has svd = NoneType; expected a dense"):
        check_graphs(graphs)


@pytest.mark.parametrize("place", PLACES[1:])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("svd", lambda value: value.double()),
        ("svd", lambda value: value[:, :1]),
        ("x", lambda value: value.float()),
        ("x", lambda value: torch.cat([value, value], dim=1)),
        ("edge_attr", lambda value: value.int()),
        ("random_walks", lambda value: value[..., :2]),
    ],
)
def test_another_dtype_or_width_than_that_of_the_first_graph_is_found(place, name, change):
    graphs = many_graphs()
    graphs[place][name] = change(graphs[place][name])
    with pytest.raises(ValueError, match=f"^graph {place} has {name} of .*, as in graph 0"):
        check_graphs(graphs)


@pytest.mark.parametrize("place", PLACES)
def test_categories_that_are_stored_as_floats_are_found(place):
    graphs = many_graphs()
    graphs[place].distance = graphs[place].distance.float()
    with pytest.raises(ValueError, match=rf"^graph {place} has distance of torch\.float32"):
        check_graphs(graphs)


CHANGES = {
    "none": lambda value: value,
    "missing": lambda value: None,
    "a list": lambda value: value.tolist(),
    "sparse": lambda value: value.to_sparse(),
    "float64": lambda value: value.double(),
    "bool": lambda value: value > 0,
    "complex": lambda value: value.to(torch.complex64),
    "one value": lambda value: value.sum(),
    "flat": lambda value: value.flatten(),
    "fewer rows": lambda value: value[:-1],
    "wider": lambda value: torch.cat([value, value], dim=-1),
    "NaN": lambda value: changed(value.float(), torch.nan),
    "infinite": lambda value: changed(value.float(), torch.inf),
    "negative": lambda value: value + -2,
    "large": lambda value: value + 2,
}


@st.composite
def changed_graphs(draw):
    """A few graphs with every kind of attribute, some of which are changed, in one or in all."""
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(2, 4))
        graph = graph_of(n, [(0, 1), (1, 0)])
        graph.laplacian_eigenvalues = torch.ones(3)
        graph.ring = torch.zeros(n, n, dtype=torch.bool)
        graphs.append(graph)
    names = st.sampled_from([*graphs[0].keys()])
    change = st.tuples(st.sampled_from([*CHANGES]), st.booleans())
    for name, (kind, in_all) in draw(st.dictionaries(names, change, max_size=2)).items():
        for graph in graphs if in_all else [draw(st.sampled_from(graphs))]:
            graph[name] = CHANGES[kind](graph[name])
    return graphs


@given(changed_graphs())
def test_values_are_faulty_together_exactly_if_those_of_one_graph_are(graphs):
    others = set(graphs[0].keys()) - {"x", "edge_index"}
    names = ["x", "edge_index", *sorted(others)]
    one_by_one = any(_fault(name, graph, graphs[0]) for graph in graphs for name in names)
    assert _has_fault(graphs, names, graphs[0]) == one_by_one
