"""What every encoding promises of every graph: one test a promise, all encodings, one registry."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse import encodings
from gtcourse.encodings import Encoding, computed_in_batches, encode, encode_batch
from gtcourse.graphs import collate, unbatch
from gtcourse.graphs.batch import ENCODINGS
from tests.models.small import default_dtype
from tests.properties.encodings import EVERY, encodings_of
from tests.properties.graphs import BONDS, NONE, Features, examples, renumbered
from tests.properties.models import enough

EVERY_ENCODING = pytest.mark.parametrize("name", EVERY)
EDGES = st.sampled_from((BONDS, Features((4, 3)), Features(numbers=2)))
DTYPES = st.sampled_from((torch.float32, torch.float64, torch.bfloat16, torch.float16))
HALF = 0.5
"""Of the models' examples of a property: there are five to seven properties of each encoding."""


def drawn(data, name: str, **sizes):
    """One of an encoding's settings, and graphs with edge features if it reads them."""
    transform = data.draw(st.sampled_from(EVERY[name].settings), label="encoding")
    if transform.reads_edge_attr:
        edges = data.draw(EDGES)
    else:
        edges = BONDS if transform.reads == "edge_attr" else NONE  # weights from 0 to 3
    return transform, data.draw(examples(edges=edges, **sizes))


def test_every_encoding_of_the_package_is_tested():
    kinds = vars(encodings).values()
    kinds = {kind.__name__ for kind in kinds if isinstance(kind, type) and kind is not Encoding}
    assert kinds == {*EVERY}


@pytest.mark.parametrize("name", [name for name in EVERY if not EVERY[name].by_number])
@enough(HALF)
@given(data=st.data())
def test_renumbering_the_nodes_renumbers_the_encoding(name, data):
    transform, example = drawn(data, name, most=1)
    (graph,) = example.graphs
    order = torch.randperm(graph.num_nodes, generator=example.generator)
    with default_dtype(torch.float64):
        here = encodings_of(transform(graph))
        there = encodings_of(transform(renumbered(graph, order)))
    for what, values in here.items():
        for axis in range(ENCODINGS[what]):
            values = values.index_select(axis, order)
        torch.testing.assert_close(there[what], values, rtol=0, atol=1e-8)


@EVERY_ENCODING
@enough(HALF)
@given(data=st.data(), padding=st.integers(0, 3))
def test_padding_and_other_graphs_do_not_change_an_encoding(name, data, padding):
    transform, example = drawn(data, name, most=4)
    together = encode(example.graphs, transform)
    padded = unbatch(collate(together, num_nodes=example.longest + padding))
    for graph, encoded, back in zip(example.graphs, together, padded, strict=True):
        for what, values in encodings_of(transform(graph)).items():
            if values.is_floating_point():
                same_but_for_basis(what, encoded, values)
            else:
                assert torch.equal(encoded[what], values)
            assert torch.equal(back[what], encoded[what])


def same_but_for_basis(what: str, encoded, values) -> None:
    """A decomposition of a stack may choose another basis than that of one matrix."""
    if what in ("laplacian_eigenvectors", "svd"):
        encoded = encoded[what].norm(dim=0)
        values = values.norm(dim=0)
    else:
        encoded = encoded[what]
    torch.testing.assert_close(encoded, values, rtol=0, atol=1e-5)


@EVERY_ENCODING
@enough(HALF)
@given(data=st.data(), dtype=DTYPES)
def test_every_encoding_is_finite_and_has_the_default_dtype_and_node_axes(name, data, dtype):
    transform, example = drawn(data, name)
    with default_dtype(dtype):
        for graph, encoded in zip(example.graphs, encode(example.graphs, transform), strict=True):
            for what, values in encodings_of(encoded).items():
                axes = ENCODINGS[what]
                assert list(values.shape[:axes]) == [graph.num_nodes] * axes
                assert bool(values.isfinite().all())
                if values.is_floating_point() and what != "path_edges":
                    assert values.dtype == dtype


@pytest.mark.holds("CS224W, S9 and S10", "EGT, Eqs. 8 and 9", "CSA, Eqs. 10 and 13")
@EVERY_ENCODING
@enough(HALF)
@given(data=st.data())
def test_every_encoding_equals_the_loop_over_nodes_and_pairs(name, data):
    transform, example = drawn(data, name, most=1, max_nodes=7)
    (graph,) = example.graphs
    if "edge_attr" in graph and graph.edge_attr.dim() == 1:  # the loops read rows
        graph.edge_attr = graph.edge_attr[:, None]
    with default_dtype(torch.float64):
        for got, expected in EVERY[name].loop(transform, transform(graph)):
            torch.testing.assert_close(got, expected.to(got.dtype), rtol=0, atol=1e-6)


CPU = torch.device("cpu")
IN_BATCHES = [
    name
    for name, subject in EVERY.items()
    if all(computed_in_batches(each, CPU) for each in subject.settings)
]


def test_rings_are_computed_in_batches_only_on_the_cpu():
    assert "AddRings" in IN_BATCHES
    assert not computed_in_batches(EVERY["AddRings"].settings[0], torch.device("cuda"))


@pytest.mark.parametrize("name", IN_BATCHES)
@enough(HALF)
@given(data=st.data(), padding=st.integers(0, 2))
def test_encoding_a_batch_equals_encoding_its_graphs_one_by_one(name, data, padding):
    transform, example = drawn(data, name, most=4)
    size = example.longest + padding
    found = encode_batch(collate(example.graphs, num_nodes=size), transform).encodings
    expected = collate(encode(example.graphs, transform), num_nodes=size).encodings
    assert found.keys() == expected.keys()
    for what, values in expected.items():
        assert found[what].dtype == values.dtype
        torch.testing.assert_close(found[what], values, rtol=0, atol=1e-6)
