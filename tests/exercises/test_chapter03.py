"""The checkers of chapter 03: each mistake is named."""

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter03
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter03)


def mask(edge_index, n, *, loops=True, transposed=False, both=False):
    m = torch.eye(n).bool() if loops else torch.zeros(n, n).bool()
    source, target = edge_index
    if both or not transposed:
        m[target, source] = True
    if both or transposed:
        m[source, target] = True
    return m


def grouped(logits, index, n):
    weights = logits.exp()
    return weights / torch.zeros(n).index_add(0, index, weights)[index]


def pairs(h, W1, W2):
    return (h @ W1)[:, None] + (h @ W2)[None]


def reachable(adjacency, mask=None, layers=None):
    """Fewest layers after which all is heard; -1 after N of them."""
    m = adjacency.T if mask is None else mask
    heard = torch.eye(len(m)).bool()
    for count in range(len(m) + 1):
        if heard.all():
            return count
        heard = m.float() @ heard.float() > 0
    return -1


def with_loops(adjacency):
    return adjacency.T | torch.eye(len(adjacency)).bool()


def joined(adjacency, *, row=True, column=True, corner=False, symmetric=False):
    old = adjacency | adjacency.T if symmetric else adjacency
    wider = F.pad(old, (0, 1, 0, 1))
    wider[-1], wider[:, -1] = row, column
    if row and not column:
        wider[-1] = True
    wider[-1, -1] = corner
    return wider


def in_place(adjacency):
    result = joined(adjacency)
    adjacency.fill_(True)
    return result


WRONG = [
    ("mask_of", lambda e, n: mask(e, n, transposed=True), "rows and columns are exchanged"),
    ("mask_of", lambda e, n: mask(e, n, loops=False), "the self-loops are missing: node i"),
    (
        "mask_of",
        lambda e, n: mask(e, n, loops=False, transposed=True),
        "the self-loops are missing, and an edge",
    ),
    ("mask_of", lambda e, n: mask(e, n, both=True), "in both directions"),
    ("mask_of", lambda e, n: mask(e, 4), "needs num_nodes rows"),
    ("mask_of", lambda e, n: mask(e, n).float(), "expected the dtype bool"),
    ("mask_of", lambda e, n: [1], "expected a tensor"),
    ("edge_softmax", lambda s, e, n: s.softmax(0), "over all edges together"),
    ("edge_softmax", lambda s, e, n: grouped(s, e[0], n), "where they begin"),
    ("edge_softmax", lambda s, e, n: grouped(s, e[1], n), "exp overflows"),
    ("edge_softmax", lambda s, e, n: grouped(s - s.max(), e[1], n), "another node's softmax"),
    ("edge_softmax", lambda s, e, n: s.exp(), "divide by their sum"),
    (
        "edge_softmax",
        lambda s, e, n: s / torch.zeros(n).index_add(0, e[1], s)[e[1]],
        "take exp first",
    ),
    (
        "gatv2_logits",
        lambda h, W1, W2, a: F.leaky_relu((h @ W1 @ a)[:, None] + h @ W2 @ a, 0.2),
        "this is GAT",
    ),
    (
        "gatv2_logits",
        lambda h, W1, W2, a: F.leaky_relu(pairs(h, W2, W1), 0.2) @ a,
        "rows and columns are exchanged",
    ),
    ("gatv2_logits", lambda h, W1, W2, a: pairs(h, W1, W2) @ a, "the non-linearity is missing"),
    ("gatv2_logits", lambda h, W1, W2, a: pairs(h, W1, W2).relu() @ a, "this is ReLU"),
    ("gatv2_logits", lambda h, W1, W2, a: F.leaky_relu(pairs(h, W1, W2)) @ a, "slope is 0.01"),
    (
        "gatv2_logits",
        lambda h, W1, W2, a: (
            F.leaky_relu(h @ W1, 0.2)[:, None] @ a + F.leaky_relu(h @ W2, 0.2)[None] @ a
        ),
        "to each node before the sum",
    ),
    ("gatv2_logits", lambda h, W1, W2, a: (h @ W1) @ (h @ W2).T, "dot product"),
    ("layers_needed", lambda a: len(a), "that is the number of nodes"),
    ("layers_needed", lambda a: 1, "reaches the neighbours only"),
    ("layers_needed", lambda a: len(a) - 1, "on the complete graph expected 1"),
    ("layers_needed", lambda a: reachable(a), "on a path of five nodes expected 4, got -1"),
    (
        "layers_needed",
        lambda a: reachable(a, with_loops(a | a.T)),
        "on a directed ring of four expected 3, got 2",
    ),
    (
        "layers_needed",
        lambda a: abs(reachable(a, with_loops(a))),
        "a graph of two pieces expected -1",
    ),
    ("layers_needed", lambda a: torch.tensor([4.0, 1.0]), "expected a whole number"),
    ("with_virtual_node", lambda a: joined(a, row=False), "speaks to nobody"),
    ("with_virtual_node", lambda a: joined(a, column=False), "hears nobody"),
    ("with_virtual_node", lambda a: joined(a, corner=True), "an edge to itself"),
    ("with_virtual_node", lambda a: joined(a).roll((1, 1), (0, 1)), "should be the last"),
    ("with_virtual_node", lambda a: joined(a, symmetric=True), "both ways"),
    ("with_virtual_node", lambda a: F.pad(a, (0, 1, 0, 1)), "has no edges yet"),
    ("with_virtual_node", lambda a: a, "the shape is the old one"),
    ("with_virtual_node", in_place, "has been changed"),
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_an_error_in_the_answer_is_reported():
    verdict = chapter03.check_mask(lambda edge_index, n: edge_index[2])
    assert verdict.passed is False
    assert "IndexError" in verdict.message
