"""What representations cannot tell apart, beside brute force, known numbers and random models."""

from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
import torch

from gtcourse import collate
from gtcourse.course.blindness import (
    UNSEEN,
    VIEWS,
    LabelledGraph,
    View,
    agrees,
    as_data,
    best_accuracy,
    collisions,
    connected_graphs,
    error_floor,
    exact_walks,
    fooled_by,
    from_graph6,
    from_smiles,
    graph_classes,
    labelled,
    ladder,
    num_different,
    refine,
    smallest_pair,
    unlabelled,
)
from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    encode,
)
from gtcourse.models import (
    CGT,
    EGT,
    GAT,
    GIN,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    CGTConfig,
    EGTConfig,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GRPEConfig,
    NeighbourTransformer,
    SignNet,
    SignNetConfig,
)


def test_the_numbers_of_connected_graphs_are_the_known_ones():
    sizes = [len(graph.atoms) for graph in connected_graphs(7)]
    assert np.bincount(sizes).tolist() == [0, 1, 1, 2, 6, 21, 112, 853]
    atlas = [graph for graph in nx.graph_atlas_g()[1:] if nx.is_connected(graph)]
    assert len(atlas) == len(sizes)


def test_no_two_connected_graphs_are_isomorphic():
    networks = [nx.from_numpy_array(graph.adjacency) for graph in connected_graphs(5)]
    assert not any(nx.is_isomorphic(one, other) for one, other in combinations(networks, 2))


def unfolded(network: nx.Graph, node: int, depth: int) -> tuple:
    """What a node receives in so many rounds, written out as nested tuples."""
    if depth == 0:
        return ()
    around = sorted(unfolded(network, other, depth - 1) for other in network[node])
    return unfolded(network, node, depth - 1), tuple(around)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_refinement_equals_unfolding_each_node(rounds):
    graphs = connected_graphs(6)
    ours = View(sees="neighbours", rounds=rounds).classes(graphs)
    networks = [nx.from_numpy_array(graph.adjacency) for graph in graphs]
    slow = [tuple(sorted(unfolded(net, node, rounds) for node in net)) for net in networks]
    pairs = {*zip(ours.tolist(), slow, strict=True)}
    assert len(pairs) == len({*ours.tolist()}) == len({*slow})


EXPECTED = {
    # Classes of the 996 connected graphs of up to 7 nodes, by enumeration.
    "bag, shares": 1,
    "bag, counts": 7,
    "masked attention": 1,
    "walks and bonds": 996,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_views_have_the_known_numbers_of_classes(name):
    assert 1 + VIEWS[name].classes(connected_graphs(7)).max() == EXPECTED[name]


def test_finer_views_split_the_classes_of_coarser_ones():
    graphs = connected_graphs(6)
    order = ("bag, counts", "bag and number of edges", "1-WL", "distances", "CSA")
    classes = [VIEWS[name].classes(graphs) for name in order]
    for coarse, fine in pairwise(classes):
        assert len({*zip(coarse.tolist(), fine.tolist(), strict=True)}) == 1 + fine.max()
        assert fine.max() > coarse.max()


def test_only_walks_separate_a_prism_from_a_complete_bipartite_graph():
    prism = nx.to_numpy_array(nx.circular_ladder_graph(3))
    bipartite = nx.to_numpy_array(nx.complete_bipartite_graph(3, 3))
    graphs = [unlabelled(prism), unlabelled(bipartite)]
    told_apart = {name: VIEWS[name].classes(graphs).tolist() == [0, 1] for name in VIEWS}
    assert not any(told_apart[name] for name in ("1-WL", "distances", "rings and bonds"))
    assert told_apart["CSA"]


def test_no_view_separates_rook_and_shrikhande_graphs():
    places = [(i, j) for i in range(4) for j in range(4)]
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    steps = ((0, 1), (1, 0), (1, 1))
    shrikhande = nx.Graph(((i, j), ((i + a) % 4, (j + b) % 4)) for i, j in places for a, b in steps)
    assert not nx.is_isomorphic(rook, shrikhande)
    graphs = [unlabelled(nx.to_numpy_array(network)) for network in (rook, shrikhande)]
    for name in ("distances", "CSA", "CSA with rings", "projectors"):
        assert VIEWS[name].classes(graphs).tolist() == [0, 0]


def test_walk_probabilities_are_powers_of_the_transition_matrix():
    """Equal fingerprints exactly where the probabilities, in float64, are equal to rounding."""
    graph = unlabelled(nx.to_numpy_array(nx.barbell_graph(3, 2)))
    [prints] = exact_walks([graph], 6)
    step = graph.adjacency / graph.adjacency.sum(axis=1, keepdims=True)
    powers = np.stack([np.linalg.matrix_power(step, k) for k in range(1, 7)], axis=-1)
    flat = powers.reshape(-1, 6)
    same = np.abs(flat[:, None] - flat[None]).max(axis=-1) < 1e-12
    assert np.array_equal(prints.ravel()[:, None] == prints.ravel()[None], same)


def test_a_directed_edge_sends_messages_to_its_target_only():
    path = unlabelled(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    [colours] = View(sees="neighbours", rounds=1).colours([path])
    assert colours[1] == colours[2] != colours[0]


def test_a_mean_reads_shares_but_not_counts():
    two, four = (np.zeros(n, dtype=np.int64) for n in (2, 4))
    assert graph_classes([two, four], counts=False).tolist() == [0, 0]
    assert graph_classes([two, four]).tolist() == [0, 1]
    labels = [np.full((n, n), 0) for n in (2, 4)]
    assert np.array_equal(refine([two, four], labels, counts=False)[0], [0, 0])
    labels[0][0] = UNSEEN
    assert refine([two, four], labels, rounds=1, counts=False)[0].tolist() == [0, 1]


def test_the_error_floor_is_the_mean_distance_from_class_medians():
    classes = np.array([0, 0, 0, 1, 2, 2])
    y = np.array([1.0, 2, 9, 5, 3, 4])
    assert error_floor(classes, y) == pytest.approx((1 + 0 + 7 + 0 + 0.5 + 0.5) / 6)
    assert collisions(classes) == 3 + 0 + 1


def test_the_smallest_pair_of_one_class_is_found():
    graphs = connected_graphs(4)
    one, other = smallest_pair(VIEWS["bag, counts"].classes(graphs), graphs)
    assert len(one.atoms) == len(other.atoms) == 3
    assert smallest_pair(np.arange(len(graphs)), graphs) is None


def test_classes_by_round_equal_those_of_views_with_that_many_rounds():
    graphs = connected_graphs(5)
    view = View(sees="neighbours")
    *by_round, stable = view.classes_by_round(graphs, 6)
    assert len(by_round) == 7
    for rounds, classes in enumerate(by_round):
        expected = View(sees="neighbours", rounds=rounds).classes(graphs)
        assert np.array_equal(classes, expected)
    assert len({*zip(stable.tolist(), by_round[-1].tolist(), strict=True)}) == 1 + stable.max()


def test_the_best_accuracy_comes_from_the_most_common_label_of_each_class():
    classes = np.array([0, 0, 0, 1, 1, 2])
    assert best_accuracy(classes, np.array([5, 5, 7, 7, 5, 9])) == pytest.approx(4 / 6)


def test_the_smallest_graphs_that_degrees_do_not_separate_are_found():
    one, other = fooled_by(lambda A: A.sum(dim=1).long().bincount(minlength=8), largest=5)
    degrees = [sorted(graph.adjacency.sum(axis=1)) for graph in (one, other)]
    assert degrees[0] == degrees[1]
    assert len(one.atoms) == 5  # there are none with four nodes


def test_no_small_graphs_fool_a_layer_that_reads_the_spectrum():
    def layer(A):
        return torch.stack([torch.trace(torch.matrix_power(A, k)) for k in range(5)])

    assert fooled_by(layer, largest=4) is None


def triangle_classes(graphs):
    """1-WL in which an edge is labelled with the number of triangles that it lies in."""
    labels = []
    for graph in graphs:
        common = graph.adjacency @ graph.adjacency
        labels.append(np.where(graph.adjacency > 0, common, UNSEEN))
    return graph_classes(refine([graph.atoms for graph in graphs], labels))


def test_edges_that_count_their_triangles_separate_all_graphs_of_up_to_seven_nodes():
    """What the solution of chapter 10's fifth exercise says of its own layer."""
    graphs = connected_graphs(7)
    assert len(set(triangle_classes(graphs).tolist())) == len(graphs) == 996
    assert sum(len(graph.atoms) <= 6 for graph in graphs) == 143
    shared = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (5, 7)]
    two = []
    for rest in ([(3, 6), (4, 7)], [(3, 7), (4, 6)]):
        network = nx.Graph([*shared, *rest])
        two.append(unlabelled(nx.to_numpy_array(network, nodelist=range(8))))
    assert not nx.is_isomorphic(*(nx.from_numpy_array(graph.adjacency) for graph in two))
    one, other = triangle_classes(two)
    assert one == other


def test_numbers_that_differ_by_rounding_count_as_equal():
    assert num_different(torch.tensor([3e6, 3e6 + 1e-6, 5.0, -5.0])) == 3


def test_a_layer_without_a_readout_raises():
    with pytest.raises(ValueError, match="depends on the graph; expected a readout"):
        fooled_by(lambda A: A, largest=3)


def test_outputs_that_are_not_finite_raise():
    with pytest.raises(ValueError, match="returns NaN or infinity for a graph of 1 nodes"):
        fooled_by(lambda A: (A / A.sum()).sum(), largest=3)


def test_a_parsed_molecule_has_the_atom_and_bond_types_of_the_data_set():
    graph = from_smiles("C=O")
    assert graph.atoms.tolist() == [0, 1]  # carbon and oxygen
    assert graph.bonds[0, 1] == graph.bonds[1, 0] > from_smiles("CC").bonds[0, 1] > 0
    assert from_graph6("Bw").adjacency.sum() == 6


def test_later_chapters_add_rungs_and_only_the_bag_has_an_error_floor():
    rungs = ladder(9)
    assert [rung.model for rung in ladder(3)] == ["bag", "GAT", "GIN"]
    assert rungs[: len(ladder(5))] == ladder(5)
    assert all(rung.floor < rung.train < rung.test for rung in rungs)
    assert [rung.model for rung in rungs if rung.floor > 0.01] == ["bag"]


def test_a_graph_is_unchanged_by_a_round_trip_through_pyg():
    graph = labelled(as_data(connected_graphs(5)[-1]))
    assert np.array_equal(graph.bonds > 0, connected_graphs(5)[-1].bonds > 0)


GRAPHS = connected_graphs(6)[1:]  # 142 graphs of 2 to 6 nodes
SMALL = {"d_model": 32, "num_heads": 4}
NODES = {"num_node_types": (1,)}
BAG = BagTransformerConfig(**NODES, **SMALL, num_layers=3)
MODELS = {
    "bag": (lambda: BagTransformer(BAG), VIEWS["bag, shares"]),
    "masked attention": (lambda: NeighbourTransformer(BAG, 4), VIEWS["masked attention"]),
    "GIN, 2 layers": (
        lambda: GIN(GINConfig(**NODES, num_node_features=0, d_model=32, num_layers=2)),
        View(sees="neighbours", rounds=2),
    ),
    "GAT": (
        lambda: GAT(GATConfig(**NODES, num_node_features=0, d_model=16, num_heads=4, num_layers=4)),
        VIEWS["GAT"],
    ),
    "Graphormer": (
        lambda: Graphormer(GraphormerConfig(**NODES, num_edge_types=(4,), **SMALL, num_layers=4)),
        VIEWS["distances"],
    ),
    "EGT": (
        lambda: EGT(EGTConfig(**NODES, num_edge_types=(4,), **SMALL, d_edge=16, num_layers=6)),
        VIEWS["EGT"],
    ),
    "GRPE": (
        lambda: GRPE(GRPEConfig(**NODES, num_edge_types=(4,), **SMALL, num_layers=4)),
        VIEWS["GRPE"],
    ),
    "CSA": (
        lambda: CGT(CGTConfig(**NODES, num_edge_types=(4,), **SMALL, d_position=8, num_layers=3)),
        VIEWS["CSA"],
    ),
}
"""Models that separate exactly the graphs that their view separates. GatedGCN and SignNet have
tests of their own at the end: one counts only through a small constant, and the other sees more
than its rung claims."""


def in_double(graphs, *transforms):
    """The graphs as one batch whose encodings are in float64."""
    batch = collate(encode([as_data(graph) for graph in graphs], *transforms))
    batch.encodings = {
        name: value.double() if value.is_floating_point() else value
        for name, value in batch.encodings.items()
    }
    return batch


@pytest.fixture(scope="module")
def batch():
    transforms = (
        AddDegrees(),
        AddShortestPaths(),
        AddPathEdges(20),
        AddRandomWalks(20),
        AddRings(18),
    )
    return in_double(GRAPHS, *transforms)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_with_random_weights_separates_the_classes_of_its_view(batch, name):
    build, view = MODELS[name]
    torch.manual_seed(0)
    classes = view.classes(GRAPHS)
    assert agrees(lambda model: model(batch), build(), classes)


def test_a_model_does_not_agree_with_the_view_of_another(batch):
    model = MODELS["GIN, 2 layers"][0]()
    assert not agrees(lambda m: m(batch), model, VIEWS["bag, counts"].classes(GRAPHS))
    assert not agrees(lambda m: m(batch), model, VIEWS["CSA"].classes(GRAPHS))


def with_one_double_bond(graphs):
    """Each graph once for each of its edges, which is the double bond among single ones."""
    marked = []
    for graph in graphs:
        for i, j in np.argwhere(np.triu(graph.bonds)):
            bonds = graph.bonds.copy()
            bonds[i, j] = bonds[j, i] = 2
            marked.append(LabelledGraph(graph.atoms, bonds))
    return marked


def averages(graphs, rounds):
    """The classes of a sum over nodes that average over their neighbours and read bonds."""
    labels = [np.where(graph.bonds > 0, graph.bonds, UNSEEN) for graph in graphs]
    atoms = [graph.atoms for graph in graphs]
    return graph_classes(refine(atoms, labels, rounds=rounds, counts=False))


def random_predictions(model, batch):
    """Of one set of random weights, relative to the largest."""
    torch.manual_seed(0)
    model = model.double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    with torch.no_grad():
        predictions = model(batch).numpy()
    return predictions / np.abs(predictions).max()


GATED = GatedGCNConfig(**NODES, num_node_features=0, num_edge_types=(4,), d_model=32, num_layers=2)
MARKED = with_one_double_bond(connected_graphs(5))


def test_gatedgcn_counts_neighbours_only_through_the_constant_in_its_denominator():
    """It averages, and 1e-6 in the denominator lets the number of neighbours through.

    So it separates the classes of 1-WL with bonds, which its rung claims, but those that averages
    confuse only by about a millionth.
    """
    marked = in_double(MARKED)
    classes = View(sees="neighbours", pairs=("bond",), rounds=2).classes(MARKED)
    coarser = averages(MARKED, rounds=2)
    assert coarser.max() < classes.max()
    assert agrees(lambda model: model(marked), GatedGCN(GATED), classes)
    predictions = random_predictions(GatedGCN(GATED), marked)
    spread = [np.ptp(predictions[coarser == each]) for each in range(1 + coarser.max())]
    assert 1e-9 < max(spread) < 1e-5


def test_gatedgcn_does_not_separate_all_classes_of_1wl_if_all_nodes_start_alike(batch):
    """The number of nodes decides the prediction up to about a millionth (section 4.8)."""
    classes = View(sees="neighbours", rounds=2).classes(GRAPHS)
    assert not agrees(lambda model: model(batch), GatedGCN(GATED), classes)
    predictions = random_predictions(GatedGCN(GATED), batch)
    sizes = np.array([len(graph.atoms) for graph in GRAPHS])
    spread = [np.ptp(predictions[sizes == size]) for size in range(2, 7)]
    assert 1e-9 < max(spread) < 1e-5


def test_signnet_separates_at_least_the_classes_of_1wl_with_bonds():
    """Its rung claims no more: what else it sees depends on the bases of the eigenspaces."""
    marked = in_double(MARKED, AddLaplacianEigenvectors(4, skip_first=True))
    signnet = SignNet(SignNetConfig(k=4, d_model=32, phi_layers=3, phi_hidden=16, rho_layers=2))
    predictions = random_predictions(GatedGCN(GATED, signnet), marked)
    classes = View(sees="neighbours", pairs=("bond",), rounds=2).classes(MARKED)
    differ = classes[:, None] != classes
    apart = np.abs(predictions[:, None] - predictions) > 1e-9
    assert apart[differ].all()
    assert apart[~differ].any()
