"""Known mistakes get their hints, other mistakes are rejected, and every right answer passes.

The tables come from a trial in which readers' likely answers were written without the checkers.
"""

import math
import time

import networkx as nx
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gtcourse.course.blindness import connected_graphs
from gtcourse.course.exercises.checker import random, time_limit
from tests.course.exercises.test_texts import CHECKERS, EXERCISES, MODULES, TEXTS, folded_solutions
from tools.paths import ROOT

c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 = MODULES.values()
GIVEN = {"math": math, "torch": torch, "F": F, "nn": nn}
"""What the solutions use of what the page has imported."""


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch):
    """A search for a hint ends after a tenth of this time."""
    monkeypatch.setattr("gtcourse.course.exercises.checker.SECONDS", 200.0)


@pytest.mark.parametrize(("stem", "exercise"), EXERCISES)
def test_the_printed_solution_passes(stem, exercise):
    names = folded_solutions(TEXTS[stem], **GIVEN) | {"chapter" + stem[:2]: MODULES[stem]}
    names[exercise.checker] = CHECKERS[stem[:2], exercise.checker]
    result = eval(exercise.stub.splitlines()[-1], names)
    assert result.passed, result


KNOWN = [(check, hint) for check in CHECKERS.values() for hint in getattr(check, "mistakes", {})]


@pytest.mark.parametrize(("check", "hint"), KNOWN)
def test_a_known_mistake_gets_its_hint(check, hint):
    result = check(check.mistakes[hint])
    assert result.passed is False
    assert result.message.endswith(hint)  # after the name of the part, if there are several


def test_softmax_over_the_wrong_axis_names_the_weights_whose_columns_sum_to_one():
    """The logits K^T Q themselves need not sum to anything."""
    Q, K = random((9, 4), (9, 4))
    weights = (K.T @ Q / 9**0.5).softmax(0)
    torch.testing.assert_close(weights.sum(0), torch.ones(4))
    assert not torch.allclose((K.T @ Q).sum(0), torch.ones(4))
    result = c1.check_columns(lambda Q, K, V: V @ (K.T @ Q / len(Q) ** 0.5).softmax(1))
    assert "each column of softmax(K^T Q / sqrt(d_k)) has to sum to one" in result.message
    assert result.message.rstrip(".") in (ROOT / "book" / "how_to_read.md").read_text()


def given(check, change):
    """The right answer for other arguments."""
    return check, lambda *arguments: check.reference(*change(*arguments))


def then(check, change):
    return check, lambda *arguments: change(check.reference(*arguments))


def changing(check, argument, change):
    """The right answer from code that also changes one of its arguments."""

    def answer(*arguments):
        result = check.reference(*arguments)
        change(arguments[argument])
        return result

    return check, answer


def forgotten_return(*arguments):
    arguments[0] + arguments[0]


def masked(q, k, v, mask, value=-math.inf):  # finite, but with a gradient that is not
    logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask[:, None], value)
    return (logits.softmax(dim=-1) @ v).nan_to_num()


def in_single_precision(Q, K, V):
    return V @ (K.T @ Q / len(Q) ** 0.5).softmax(0) @ torch.eye(Q.shape[1])


def endless(predict, begin, end, limit):
    written = [begin]
    while written[-1] != end:
        written.append(int(predict(written)[0].argmax()))
    return written


def overflowing(Q, K, V):
    weights = (K.T @ Q / len(Q) ** 0.5).exp()
    return V @ (weights / weights.sum(0))


def shifted_by_the_mean(logits, edge_index, num_nodes):
    groups = [edge_index[1] == node for node in edge_index[1]]
    shift = torch.stack([logits[same].mean() for same in groups])
    weights = (logits - shift).exp()
    return weights / torch.stack([weights[same].sum() for same in groups])


def layers_up_to(A, most):
    reached = torch.eye(len(A))
    for layers in range(most + 1):
        if reached.all():
            return layers
        reached = ((A.T.float() + torch.eye(len(A))) @ reached > 0).float()
    return -1


def layers_without_end(A):
    reached = torch.eye(len(A))
    layers = 0
    while not reached.all():
        reached = ((A.T.float() + torch.eye(len(A))) @ reached > 0).float()
        layers += 1
    return layers


def without_rows_that_hold_a_zero(phi, rho, U):
    columns = [u for u in U.T if u.all()]
    return rho(sum(phi(sign * u[:, None]) for u in columns for sign in (1, -1)) + 0 * phi(U[:, :1]))


def all_at_once(q, k, v, scalars, size):
    place = torch.arange(len(q))
    away = (place[:, None] - place).abs().clamp(max=len(scalars) - 1)
    return (q @ k.T / q.shape[1] ** 0.5 + scalars[away]).softmax(dim=1) @ v


def one_query_after_another(q, k, v, scalars, size):
    rows = []
    for i in range(len(q)):  # one query at a time needs no running maximum
        away = (torch.arange(len(q)) - i).abs().clamp(max=len(scalars) - 1)
        rows.append((k @ q[i] / q.shape[1] ** 0.5 + scalars[away]).softmax(dim=0) @ v)
    return torch.stack(rows)


def compared_with_the_formula(head, distance):
    generator = torch.Generator().manual_seed(0)  # where weights vanish, a wrong head is right
    h = torch.randn(len(distance), 3, generator=generator)
    scalars = torch.randn(4, generator=generator)
    W_Q, W_K, W_V = torch.randn(3, 3, 3, generator=generator)
    bias = scalars[(distance + 1).clamp(max=3)]
    weights = ((h @ W_Q) @ (h @ W_K).T / 3**0.5 + bias).softmax(dim=1)
    return head(h, distance, W_Q, W_K, W_V, scalars), weights @ h @ W_V


def on_an_undirected_path(head):
    distance = c6.FAR
    return torch.allclose(*compared_with_the_formula(head, distance), atol=1e-5)


def with_assertions(head):
    distance = c6.FAR.clone()
    distance[0, 1] = -1
    torch.testing.assert_close(*compared_with_the_formula(head, distance))
    return True


def only_of_the_shape(head):
    got, expected = compared_with_the_formula(head, c6.FAR)
    return got.shape == expected.shape


def refined_by(signature):
    def refine(colours, A):
        near = [[colours[j] for j in row.nonzero().flatten().tolist()] for row in A]
        found = [(own, signature(each)) for own, each in zip(colours, near, strict=True)]
        return [found.index(one) for one in found]

    return refine


def sums_of(near):
    return len(near), sum(near), sum(colour * colour for colour in near)


def ends_of(near):
    return (len(near), min(near), max(near)) if near else ()


def projectors(L, tolerance):
    values, vectors = torch.linalg.eigh(L)
    starts = (values.diff() > tolerance).nonzero().flatten() + 1
    return [V @ V.T for V in vectors.tensor_split(starts, dim=1)]


def one_head_after_another(h, W_Q, W_K, W_V, W_O, num_heads):
    parts = [(h @ W).chunk(num_heads, dim=-1) for W in (W_Q, W_K, W_V)]
    heads = [F.scaled_dot_product_attention(*one) for one in zip(*parts, strict=True)]
    return torch.cat(heads, dim=-1) @ W_O


def angles_in_single_precision(k, d):
    angles = (k * 10000 ** (-2 * torch.arange(d // 2) / d)).double()
    blocks = [torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles]
    return torch.block_diag(*blocks)


def cut_at_the_end(predict, begin, end, limit):
    written = [begin]
    while written[-1] != end:
        written.append(int(predict(written)[-1].argmax()))
    return written[1:-1][:limit]


def with_fixed_tokens(predict, begin, end, limit):
    written = [begin]
    while len(written) <= limit and written[-1] != 2:
        written.append(int(predict(written)[-1].argmax()))
    return written[1 : -1 if written[-1] == 2 else None]


def judged_by_the_sum(phi, rho, U):
    real = [u[:, None] for u in U.T if abs(u.sum()) > 1e-6]
    return rho(sum((phi(u) + phi(-u) for u in real), torch.zeros_like(phi(U[:, :1]))))


def in_place_signs(vectors):
    return vectors.mul_(signs(len(vectors), 1, vectors.shape[2]))


def sum_over_signs_in_place(phi, U):
    total = 0
    for column in range(U.shape[1]):
        total = total + phi(U)
        U[:, column] *= -1
    return total


def sum_over_the_signs_of_two(phi, U):
    signs = torch.tensor([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    return sum(phi(U * both) for both in signs)


def sum_over_signs_by_recursion(phi, U, fixed=0):
    if fixed == U.shape[1]:
        return phi(U)
    other = U.clone()
    other[:, fixed] = -other[:, fixed]
    return sum(sum_over_signs_by_recursion(phi, each, fixed + 1) for each in (U, other))


def plus_one_product(near):
    return math.prod(colour + 1 for colour in near)


def middle_of(near):
    return len(near), sorted(near)[len(near) // 2] if near else 0


def kinds_of(near):
    return len(near), frozenset(near)


def key_by_key(k, R, relation):
    def of_head(key, vectors):
        return (vectors @ key.T).gather(0, relation)

    return torch.stack([*map(of_head, k, R)])


def pair_by_pair_elsewhere(k, R, relation):
    return by_pairs(k, R, relation)


def by_pairs(k, R, relation):
    rows = [[(k[:, j] * R[:, r]).sum(1) for j, r in enumerate(row)] for row in relation.tolist()]
    return torch.stack([torch.stack(row) for row in rows]).permute(2, 0, 1)


def of_two_layers(attention):
    return c11.check_rollout.reference(attention[:2])


def filled_with_a_small_number(q, k, v, mask):
    logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask[:, None], -10.0)
    return logits.softmax(dim=-1) @ v * mask.any(dim=1)[:, None, None]


def layers_if_connected(A):
    layers = layers_up_to(A, len(A))
    return layers if layers >= 0 else layers_up_to(A | A.T, len(A))


def second_nearest(distance, members):
    def of(row, chosen):
        found = sorted(row[chosen & (row >= 0)].tolist())
        return ([-1] if not found else found[:2])[-1]

    return torch.tensor([[of(row, chosen) for chosen in members] for row in distance])


def fitted_to_all(fit, x, y, group):
    return float(abs(fit(x, y)(x) - y).mean())


def over_all_pairs(A, share, N):
    return share.logit()


def reads_the_row(A, share, N):
    return torch.where(A, share + 0 * share.sum(), 0.0).logit() + share.mean()


CUBE = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
CUBE += [(0, 4), (1, 5), (2, 6), (3, 7)]
DIAMETERS = [(n, (n + 1) % 8) for n in range(8)] + [(n, n + 4) for n in range(4)]
HOUSE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]
K23 = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
WITH, WITHOUT = (
    [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), *rest]
    for rest in (
        [(1, 2), (4, 5)],
        [(1, 4), (2, 5)],
    )
)


def triangle_gate(A, share, N):
    return torch.where(A, share, 0.0).logit()


def signs(*shape, low=-1, chance=0.5):
    return torch.where(torch.rand(shape) < chance, low, 1)


def same_signs_again(v):
    generator = torch.Generator().manual_seed(0)
    return v * (2 * torch.randint(0, 2, (len(v), 1, v.shape[2]), generator=generator) - 1)


def dial(size=30.0, first=1):
    R = torch.zeros(11, 8)
    R[first : first + 8] = size * torch.eye(8)
    return R


def maximum(*columns):
    return lambda: c1.check_maximum(*(torch.tensor(column)[:, None] for column in columns))


def one_pattern_for_all_graphs(v):
    """Signs that differ between eigenvectors and graphs, but not independently."""
    pattern = signs(v.shape[2])
    pattern[:2] = torch.tensor([1, -1])
    return v * pattern * signs(len(v), 1, 1)


def projectors_by_rounded_eigenvalues(L, digits):
    values, vectors = torch.linalg.eigh(L)
    values = values.round(decimals=digits)
    spaces = [vectors[:, values == value] for value in values.unique()]
    return torch.stack([V @ V.T for V in spaces])


def projectors_by_relative_differences(L):
    values, vectors = torch.linalg.eigh(L)
    last = values[1:].isclose(values[:-1], rtol=1e-4, atol=1e-6).logical_not().nonzero().flatten()
    return torch.stack([V @ V.T for V in vectors.tensor_split(last + 1, dim=1)])


def signnet_sum_over(real):
    return lambda phi, rho, U: rho(
        sum(phi(s * u[:, None]) for u in U.T if real(u) for s in (1, -1))
    )


def judged_with(**weights):
    """A test of a head with fixed weights, which some wrong heads pass."""

    def is_right(head):
        distance = torch.tensor([[0, 1, 2, 3], [-1, 0, 1, 2], [-1, -1, 0, 1], [-1, -1, -1, 0]])
        h, W_Q, W_K, W_V = random((4, 4, 4))[0]
        scalars = torch.tensor([-1.0, 0.5, 0, 1])
        given = {"W_Q": W_Q / 2, "W_K": W_K / 2, "W_V": W_V, "scalars": scalars}
        given |= {name: make(given) for name, make in weights.items()}
        return torch.allclose(head(h, distance, **given), c6.head(h, distance, **given), atol=1e-4)

    return is_right


def sum_and_ends_of(near):
    return (len(near), min(near), max(near), sum(near)) if near else ()


def sum_and_product_plus(more):
    return lambda near: (len(near), sum(near), math.prod(colour + more for colour in near))


def square_roots_of(near):
    return len(near), round(sum(abs(colour) ** 0.5 for colour in near), 6)


def sum_ends_and_middle_of(near):
    return (*middle_of(near), sum(near), *ends_of(near))


def sums_and_product_of(near):
    return (*sums_of(near), math.prod(near))


def squares_and_product_plus_one(near):
    return len(near), sum((colour + 1) ** 2 for colour in near), plus_one_product(near)


def set_and_sum_of(near):
    return (*kinds_of(near), sum(near))


def digits_of(near):
    return sum(10.0**colour for colour in near)


def five_power_sums_of(near):
    return len(near), *(sum(colour**power for colour in near) for power in range(1, 6))


def attention_by_exp(dots, b, g, real):
    e = (dots.clamp(-5, 5) + b).exp() * real
    return e / e.sum(dim=1, keepdim=True) * g.sigmoid()


def relations_by_adding_bonds(distance, bond, E, L):
    """Where there is no edge, ``bond`` is 0."""
    ids = torch.where(distance > L, E + L, distance + E - 1)
    ids = torch.where(distance < 0, E + L + 1, ids)
    return torch.where((distance == 0) | (distance == 1), distance, ids) + bond


def heat_by_eigenvectors(A, t):
    values, vectors = torch.linalg.eigh(A.sum(dim=1).diag() - A)
    return (vectors * (-t * values).exp() @ vectors.T).log()


def honest_error_of_centred(fit, x, y, group):
    return c10.check_honest_error.reference(fit, x, y - y.mean(), group)


def honest_error_in_place(fit, x, y, group):
    order = group.argsort()
    for part in (x, y, group):
        part[:] = part[order]
    return c10.check_honest_error.reference(fit, x, y, group)


def without_node_by_division(s, v):
    a = s.softmax(dim=0)[:, None]
    z = (a * v).sum(dim=0)
    return z - (z - a * v) / (1 - a)


def everything_but_end(predict, begin, end, limit):
    written = [begin]
    for _ in range(limit):
        written.append(int(predict(written)[-1].argmax()))
    return [token for token in written[1:] if token != end]


VALUES = [
    (maximum([0.0, 0.0], [0.0, 1.0], [0.0, 1.0]), "all weights are equal"),
    (maximum([-50.0, 0.0], [0.0, 1.0], [0.0, 1.0]), "pick the minimum"),
    (maximum([0.0, 50.0], [0.0, 1.0], [0.0, 1.0]), "the tokens disagree"),
    (maximum([1.0, 0.0], [0.0, 1.0], [0.0, 1.0]), "too soft"),
    (maximum([1e30, 0.0], [0.0, 1e30], [0.0, 1.0]), "the logits overflow"),
    (maximum([1.0, 0.0, 1.0], [0.0, 1.0], [0.0, 1.0]), "expected tensors of shapes"),
    (lambda: c1.check_pair(("CCO", "OCC")), "two ways of writing"),
    (lambda: c1.check_pair(("CCO", "CO")), "the bags differ"),
    (lambda: c1.check_pair(("CCO", "COC")), "differ by only"),
    (lambda: c1.check_pair(("CCO", "C(C")), "not a molecule that RDKit can read"),
    (lambda: c1.check_pair("CCO"), "expected two"),
    (lambda: c1.check_pair(("CCCCC.CCCCC", "CCCCCCCCCC")), "consists of 2 molecules"),
    (lambda: c1.check_pair(("C/C=C/C", "C/C=C\\C")), "directions of their bonds in space"),
    (maximum([50.0, 0.1], [0.0, 1.0], [0.0, 1.0]), "must not depend on x_i"),
    (maximum([50.0, 0.0], [0.0, 1.0], [1.0, 1.0]), "is a token's value its number?"),
    (maximum([math.inf, 0.0], [0.0, 1.0], [0.0, 1.0]), "finite numbers"),
    (lambda: c6.check_two_pairs((CUBE, CUBE[::-1]), (HOUSE, K23)), "is one graph, numbered in"),
    (lambda: c6.check_two_pairs((HOUSE, K23), (CUBE, DIAMETERS)), "a node has the return prob"),
    (lambda: c6.check_two_pairs((CUBE, DIAMETERS), (CUBE, DIAMETERS)), "expected at most 5"),
    (lambda: c6.check_two_pairs((CUBE, DIAMETERS), (HOUSE, HOUSE[:-1])), "a node has the distanc"),
    (lambda: c6.check_two_pairs(([*CUBE[:2], (5, 6)], CUBE), (HOUSE, K23)), "is not connected"),
    (lambda: c6.check_two_pairs(CUBE, (HOUSE, K23)), "has to consist of two lists of edges"),
    (lambda: c7.check_triangles(WITH, WITH, triangle_gate), "on 1 triangle in both graphs"),
    (lambda: c7.check_triangles(WITH, WITH[:-1], triangle_gate), "node 4 has different degrees"),
    (
        lambda: c7.check_triangles(
            [(0, 1), (0, 2), (1, 2), (3, 4), (4, 5), (5, 3)],
            [(n, (n + 1) % 6) for n in range(6)],
            triangle_gate,
        ),
        "the distances from node 0",
    ),
    (lambda: c7.check_triangles(WITH, WITHOUT, over_all_pairs), "pairs without an edge are count"),
    (lambda: c7.check_triangles(WITH, WITHOUT, lambda A, share, N: A * share), "inverse of σ"),
    (lambda: c7.check_triangles(WITH, WITHOUT, lambda A, *_: 40.0 * A - 20), "counts neighbours"),
    (
        lambda: c7.check_triangles(
            WITH,
            WITHOUT,
            lambda A, share, N: torch.where(A, (A.float() @ A.float()) / N, 0.0).logit(),
        ),
        "may read only the two numbers of that pair",
    ),
    (
        lambda: c7.check_triangles(
            WITH, WITHOUT, lambda A, share, N: torch.where(A, share, -math.inf)
        ),
        "σ(-inf) is 0, but σ of a share is not the share",
    ),
    (
        lambda: c7.check_triangles(
            WITH, WITHOUT, lambda A, share, N: torch.where(A, 6 * share / N, 0.0).logit()
        ),
        "so z should be",
    ),
    (
        lambda: c7.check_triangles(WITH, WITHOUT, lambda A, share, N: (A * share).log()),
        "the inverse of σ is the logit",
    ),
    (
        lambda: c7.check_triangles(
            WITH, WITHOUT, lambda A, share, N: torch.where(A, share.clamp(max=0.9), 0.0).logit()
        ),
        "for N = 40",
    ),
]


@pytest.mark.parametrize(("check", "cause"), VALUES)
def test_a_wrong_value_is_rejected(check, cause):
    result = check()
    assert result.passed is False
    assert cause in result.message


def key_context_by_product(k, R, relation):
    products = torch.einsum("htc,hjc->hjt", R, k)
    return torch.stack([p[torch.arange(len(relation)), relation] for p in products])


def backward_by_autograd(a, m, keep, g):
    E = a.log().requires_grad_()
    s = torch.zeros_like(a[0], requires_grad=True)
    z = ((s + E).softmax(dim=-1) * keep * m).sum(dim=-1)
    return torch.autograd.grad(z, (E, s), g)


def gradient_by_autograd(a, v, g):
    s = a.log().requires_grad_()
    return torch.autograd.grad(s.softmax(dim=-1) @ v, s, g)[0]


WRONG = [
    (c1.check_columns, forgotten_return, "did you forget `return`?"),
    (c1.check_columns, lambda Q, K, V: V @ (K.T @ Q / 3).softmax(0), "entries"),
    (c1.check_columns, lambda Q, K, V: Q @ K, "raised RuntimeError"),
    (c1.check_columns, in_single_precision, "runs for other sizes or dtypes"),
    (c1.check_masked_attention, masked, "the gradient of `V` is not finite"),
    (*given(c1.check_masked_attention, lambda q, *rest: (q.detach(), *rest)), "gradient of `Q`"),
    (*changing(c1.check_masked_attention, 3, lambda m: m.fill_(True)), "`mask` has been changed"),
    (*given(c1.check_masked_attention, lambda q, k, *rest: (k, q, *rest)), "with `Q` and `K` swap"),
    (*given(c1.check_multi_head, lambda h, q, k, v, o, H: (h, q, k, v, o.T, H)), "`W_O` transp"),
    (*then(c2.check_decoder_mask, torch.Tensor.int), "expected torch.bool"),
    (*given(c2.check_shift_matrix, lambda k, d: (k + 1, d)), "the result for `k` + 1"),
    (c2.check_greedy, lambda *arguments: [5, 3, 5, 4], "limit = 2 the result is [5, 3, 5, 4]"),
    (c2.check_greedy, endless, "never stops"),
    (c2.check_greedy, cut_at_the_end, "never stops"),
    (c2.check_greedy, with_fixed_tokens, "`end` is an argument"),
    (c1.check_multi_head, one_head_after_another, "grows with the number of heads"),
    (c2.check_shift_matrix, angles_in_single_precision, "in single precision"),
    (c5.check_signnet_sum, judged_by_the_sum, "looks only at its sum"),
    (c5.check_random_signs, in_place_signs, "changed in place"),
    (c5.check_random_signs, lambda v: v * signs(200, 1, 3), "raised RuntimeError"),
    (c6.check_refine, refined_by(plus_one_product), "two nodes get equal colours"),
    (c6.check_refine, refined_by(middle_of), "two nodes get equal colours"),
    (c6.check_refine, refined_by(kinds_of), "two nodes get equal colours"),
    (c8.check_key_context, key_by_key, "grows with the number of heads"),
    (c8.check_key_context, pair_by_pair_elsewhere, "there is a loop"),
    (c11.check_rollout, of_two_layers, "entries are wrong"),
    (c1.check_masked_attention, filled_with_a_small_number, "entries are wrong"),
    (
        c6.check_refine,
        refined_by(lambda near: tuple(sum(c**k for c in near) for k in (0, 1, 3))),
        "two nodes get equal colours",
    ),
    (*given(c10.check_gat_logits, lambda a, b, A: (a.abs(), b, A)), "absolute values of"),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A @ h @ U).tanh() * A.sum(1).max(),
        "one of 6 nodes with the edges",
    ),
    (*given(c9.check_filters_without_colour, lambda a, H: (a, 2)), "expected the shape [3, 5, 5]"),
    (
        c9.check_filters_without_colour,
        lambda a, H: F.normalize(a.unflatten(0, (H, -1)).amin(dim=1), p=1, dim=-1),
        "entries are wrong",
    ),
    (
        c9.check_filters_without_colour,
        lambda a, H: a.unflatten(0, (H, -1)).log().mean(dim=1).nan_to_num(neginf=0).softmax(-1),
        "entries are wrong",
    ),
    (c3.check_layers_needed, layers_if_connected, "for a directed graph of 3 nodes"),
    (
        c12.check_distances,
        lambda A, mask: c12.check_distances.reference(A, mask, lambda N, m: 2),
        "entries are wrong",
    ),
    (c4.check_anchor_distances, second_nearest, "entries are wrong"),
    (c10.check_honest_error, fitted_to_all, "by a model that was fitted to it"),
    (c2.check_greedy, lambda predict, *_: [int(predict([3]).argmax())], "is `begin`"),
    (c2.check_cached_step, lambda attention, x, *memory: x, "expected three results"),
    (*then(c3.check_mask, torch.Tensor.float), "expected torch.bool"),
    (*changing(c3.check_edge_softmax, 0, lambda s: s.sub_(s.max())), "`logits` has been changed"),
    (c3.check_layers_needed, lambda A: True, "expected a number"),
    (c4.check_walk_matrix, lambda A: A.float().softmax(1) * A.any(1, keepdim=True), "entries"),
    (*changing(c4.check_rayleigh_quotient, 0, lambda u: u.div_(u.norm())), "`u` has been changed"),
    (c4.check_rayleigh_quotient, lambda u, edges: 2.0, "expected 1.13043, got 2"),
    (c4.check_laplacian_rows, lambda A, k: torch.eye(7), "expected the shape [7, 4]"),
    (*given(c4.check_svd_rows, lambda A, r: (A.T, r)), "`A` transposed"),
    (c1.check_columns, overflowing, "NaN"),
    (c2.check_shift_matrix, lambda k, d: torch.eye(d), "expected float64, got torch.float32"),
    (c3.check_edge_softmax, shifted_by_the_mean, "and no smaller number"),
    (c3.check_layers_needed, lambda A: layers_up_to(A, 5), "the answer is 9, not -1"),
    (c5.check_sum_over_signs, lambda phi, U: phi(U) - phi(-U), "entries are wrong"),
    (c5.check_sum_over_signs, lambda phi, U: 0 * phi(U), "entries are wrong"),
    (c5.check_sum_over_signs, lambda phi, U: phi(U), "phi(U) alone"),
    (c5.check_sum_over_signs, sum_over_signs_in_place, "changed in place"),
    (c5.check_sum_over_signs, sum_over_the_signs_of_two, "for other sizes"),
    (c5.check_signnet_sum, without_rows_that_hold_a_zero, "entries"),
    (c5.check_projectors, lambda L: projectors(L, 0.05), "different eigenvalues were treated"),
    (c5.check_projectors, lambda L: projectors(L, 0), "equal eigenvalues share one"),
    (c6.check_refine, refined_by(sums_of), "two nodes get equal colours"),
    (c6.check_refine, refined_by(ends_of), "two nodes get equal colours"),
    (c6.check_refine, refined_by(lambda near: "".join(map(str, sorted(near)))), "two nodes get"),
    (
        c7.check_counting_head,
        lambda A: (torch.zeros(A.shape), torch.where(A, 1.0, -1) * math.inf),
        "finite numbers only",
    ),
    (c8.check_key_context, key_context_by_product, "there is a loop"),
    (c9.check_backward, backward_by_autograd, "without autograd"),
    (c11.check_logit_gradient, gradient_by_autograd, "without autograd"),
    (c11.check_logit_gradient, lambda *arguments: gradient_by_autograd(*arguments), "without auto"),
    (c5.check_random_signs, lambda v: v * signs(200, 1, 3, low=0), "1 or -1 only"),
    (c5.check_random_signs, lambda v: v * signs(*v.shape), "have different signs"),
    (c5.check_random_signs, lambda v: -v, "every sign is the same"),
    (c5.check_random_signs, lambda v: v * signs(1, 1, 3), "all graphs of the batch"),
    (c5.check_random_signs, lambda v: v * signs(200, 1, 1), "all eigenvectors of a graph"),
    (c5.check_random_signs, same_signs_again, "do not fix the seed"),
    (c5.check_random_signs, lambda v: v * signs(200, 1, 3, chance=0.2), "expected about half"),
    (c6.check_mean_head, lambda d: torch.eye(d), "expected tensors of shapes"),
    (c6.check_refine, lambda colours, A: [f"{c}" for c in colours], "whole numbers"),
    (c7.check_distance_objective, lambda *_: torch.tensor(torch.nan), "is NaN"),
    (c7.check_counting_head, lambda A: 0.0 * A, "expected tensors of shapes"),
    (*given(c8.check_relation_ids, lambda d, bond, E, L: (d, bond, L, E)), "`E` and `L` swapped"),
    (*given(c8.check_relation_ids, lambda d, b, E, L: (d, b, E, L + 1)), "the result for `L` + 1"),
    (c8.check_key_context, lambda k, R, r: (k[:, None] * R[:, r]).sum(3), "vector for every pair"),
    (*given(c8.check_key_context, lambda k, R, r: (k.flip(0), R, r)), "for `k` in reverse"),
    (*given(c8.check_counting_table, lambda E, L: (L, E)), "`E` and `L` swapped"),
    (c8.check_dial_table, lambda: dial(18.0), "gets only 98.64%"),
    (c8.check_dial_table, lambda: dial(first=2), "with dial 1 attends to distance 2"),
    (c8.check_dial_table, lambda: dial(-30.0), "the sign is"),
    (c8.check_dial_table, lambda: dial().log(), "finite"),
    (*then(c9.check_ring_bound, torch.Tensor.int), "expected torch.bool"),
    (*given(c9.check_filters_without_colour, lambda a, H: (a.mT, H)), "`a` transposed"),
    (c9.check_filters_without_colour, lambda a, H: a, "expected the shape"),
    (*then(c9.check_pixel_rows, torch.Tensor.double), "rows of a table are integers"),
    (*given(c9.check_pixel_rows, lambda h, w, M: (w, h, M)), "column by column"),
    (c9.check_backward, lambda a, m, keep, g: a, "expected 2 results"),
    (*given(c10.check_gat_logits, lambda a, b, A: (a, b, A | A.T)), "made symmetric"),
    (c10.check_gate_as_bias, lambda s, g: s + g.sigmoid().log(), "in single precision"),
    (c10.check_ahead_of, lambda errors: {("A", "B"), ("A", "G")}, "('A', 'D') is missing"),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A / A.sum(1).clamp(min=1)[:, None] @ h @ U).tanh(),
        "one of 3 nodes with the edges [[0, 1], [0, 2]]",
    ),
    (c10.check_layer, lambda h, A, W, U: (h @ W + A @ h @ U).tanh(), "one of 6 nodes with the"),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + (A + A @ A) @ h @ U).tanh(),
        "one of 6 nodes with the edges",
    ),
    (c10.check_layer, lambda h, A, W, U: h.cumsum(0) @ W, "renumbering the nodes"),
    (c10.check_layer, lambda h, A, W, U: (h @ W + A @ h @ U).sum(0), "expected the shape"),
    (c11.check_entropy_share, lambda a: torch.special.entr(a).sum(-1) / math.log(4), "hard-coded"),
    (*then(c11.check_leave_out, lambda z: 3 * z), "3 times the right one"),
    (*given(c11.check_logit_gradient, lambda a, v, g: (a, g, v)), "`v` and `g` swapped"),
    (c12.check_padding_share, lambda *_: [0.5], "expected a number, got a list"),
    (*changing(c12.check_padding_share, 0, list.sort), "`sizes` has been changed"),
    (c12.check_attention_in_blocks, all_at_once, "numbers, N · size or N · d"),
    (c6.check_is_right, lambda head: True, "10 of the 10 wrong heads pass"),
    (c6.check_is_right, lambda head: False, "rejects the right head"),
    (c6.check_is_right, lambda head: "yes", "expected True or False, got a str"),
    (c6.check_is_right, on_an_undirected_path, "one that reads the distance from j to i"),
    (c6.check_is_right, only_of_the_shape, "10 of the 10 wrong heads pass"),
    (*given(c12.check_distances, lambda A, mask: (A | A.mT, mask)), "made symmetric"),
    (c5.check_random_signs, one_pattern_for_all_graphs, "1 have the same sign in 0% of the graph"),
    (
        c5.check_random_signs,
        lambda v: v.half() * signs(len(v), 1, v.shape[2]),
        "got torch.float16, which has three digits",
    ),
    (c5.check_signnet_sum, signnet_sum_over(lambda u: (u > 0).any()), "entries are wrong"),
    (
        c5.check_signnet_sum,
        signnet_sum_over(lambda u: u.abs().max() > 0.3),
        "a column of small numbers is left out",
    ),
    (
        c5.check_projectors,
        lambda L: projectors_by_rounded_eigenvalues(L, 2),
        "different eigenvalues were treated as equal",
    ),
    (c5.check_projectors, projectors_by_relative_differences, "were treated as equal"),
    (c5.check_projectors, lambda L: [[]], "expected tensors of shapes [[4, 4]], got [[0]]"),
    (c5.check_projectors, lambda L: 3.0, "expected matrices of shape [4, 4], got 3.0"),
    (c2.check_greedy, everything_but_end, "called again after `end`"),
    (
        *then(c2.check_greedy, lambda tokens: [token for token in tokens if token != 1]),
        "the result is [5, 3], not [5, 1, 3]",
    ),
    (c6.check_is_right, judged_with(W_V=lambda _: torch.eye(4)), "without W_V"),
    (c6.check_is_right, judged_with(W_K=lambda given: given["W_Q"]), "swaps W_Q and W_K"),
    (c6.check_refine, refined_by(sum_and_ends_of), "neighbours of colours [0, 0, 2, 2]"),
    (c7.check_gated_attention, attention_by_exp, "exp of a large logit is infinite"),
    (
        c7.check_gated_attention,
        lambda d, b, g, real: (
            (d.clamp(-5, 5) + b).masked_fill(~real, -10.0).softmax(dim=1) * g.sigmoid()
        ),
        "entries are wrong",
    ),
    (c7.check_distance_objective, lambda *_: torch.zeros(3), "got a Tensor of shape [3]"),
    (c8.check_dial_table, lambda: dial(18.87), "gets only 98.99% of the attention"),
    (
        *given(c8.check_relation_ids, lambda d, b, E, L: (d, torch.maximum(b, b.T), E, L)),
        "`bond` made symmetric",
    ),
    (
        *given(c9.check_backward, lambda a, m, keep, g: (a, m, keep.T, g)),
        "`keep` transposed",
    ),
    (
        c9.check_heat_bias,
        heat_by_eigenvectors,
        "no heat flows between components, so b is -inf there",
    ),
    (
        *given(c10.check_ahead_of, lambda errors: ({n: e[:3] for n, e in errors.items()},)),
        "('S', 'T') is in your answer",
    ),
    (
        *given(
            c10.check_ahead_of,
            lambda errors: ({n: [round(x, 2) for x in e] for n, e in errors.items()},),
        ),
        "('U', 'V') is missing",
    ),
    (c10.check_honest_error, honest_error_of_centred, "expected"),
    (c10.check_honest_error, honest_error_in_place, "`x` has been changed in place"),
    (c10.check_layer, lambda h, A, W, U: h.add_(A @ h @ U).tanh(), "`h` has been changed in place"),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A @ h @ U).tanh() * torch.linalg.eigvalsh(A).amax(),
        "one of 6 nodes with the edges",
    ),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A @ h @ U).tanh() + A.triu().sum(1, keepdim=True),
        "renumbering the nodes",
    ),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A @ h @ U).tanh() + torch.rand(len(h), 1),
        "two calls with the same arguments",
    ),
    (c11.check_leave_out, without_node_by_division, "1 - a_j, or the sum over the others"),
    (
        c11.check_leave_out,
        lambda s, v: c11.check_leave_out.reference(s, v, gone=-9.0),
        "a finite logit still gets weight",
    ),
    (
        c6.check_spatial_bias,
        lambda scalars, d: c6.check_spatial_bias.reference(scalars, d.clamp(max=4)),
        "entries are wrong",
    ),
    (
        c6.check_refine,
        refined_by(lambda near: (len(near), sum(near), math.prod(x + 1 for x in near))),
        "neighbours of colours [0, 2, 3, 3]",
    ),
    (
        *then(c9.check_heat_bias, lambda b: b.clamp(min=-1e4)),
        "b is -inf there; your entry [0, 3] is -1e+04",
    ),
    (c12.check_attention_in_blocks, one_query_after_another, "over all N keys at once"),
    (
        c12.check_distances,
        lambda A, mask: c12.check_distances.reference(A, mask, steps=lambda N, mask: 6),
        "entries are wrong",
    ),
    (
        c12.check_next_batch,
        lambda order, steps, n, b: order(steps // -(-n // b)).chunk(-(-n // b))[steps % -(-n // b)],
        "with 7 graphs in batches of 5 you return",
    ),
    (
        c4.check_anchor_distances,
        lambda distance, members: c4.check_anchor_distances.reference(
            torch.where(distance < 99, distance, -1), members
        ),
        "is -1, not 1099",
    ),
    (
        *given(c3.check_edge_softmax, lambda s, e, n: (s / e[1].bincount()[e[1]], e, n)),
        "entries are wrong",
    ),
    *(
        (c6.check_refine, refined_by(signature), "two nodes get equal colours")
        for signature in (
            sum_and_product_plus(2),
            sum_and_product_plus(3),
            square_roots_of,
            sum_ends_and_middle_of,
            sums_and_product_of,
            squares_and_product_plus_one,
            set_and_sum_of,
            digits_of,
            five_power_sums_of,
        )
    ),
    (
        c9.check_filters_without_colour,
        lambda a, H: c9.check_filters_without_colour.reference(a.clamp(min=1e-12), H),
        "entries are wrong",
    ),
    (
        c12.check_distances,
        lambda A, mask: c12.check_distances.reference(A, mask, steps=lambda N, mask: 20),
        "entries are wrong",
    ),
]


@pytest.mark.parametrize(("check", "answer", "cause"), WRONG)
def test_a_wrong_answer_is_rejected_with_its_cause(check, answer, cause):
    result = check(answer)
    assert result.passed is False
    assert cause in result.message


def flip_every_other_pair(rows):
    return rows * (-1) ** torch.arange(rows.shape[1] // 2).repeat(2)


def masked_by_sentences(q, k, v, mask):
    rows = []
    for b in range(len(q)):
        real = mask[b]
        a = (q[b] @ k[b, real].T / q.shape[-1] ** 0.5).softmax(-1)
        rows.append(a @ v[b, real] if real.any() else 0 * v[b])
    return torch.stack(rows)


def edges_one_by_one(logits, edges, n):
    if not len(logits):
        return []
    target = edges[1].tolist()
    groups = [[e for e, t in enumerate(target) if t == node] for node in target]
    totals = torch.stack([logits[group].logsumexp(0) for group in groups])
    return (logits - totals).exp()


def head_with_large_negatives(d):
    return [-12.0, math.log(2), 0.0, -12.0], 0 * torch.eye(d), torch.eye(d), torch.eye(d)


def rows_masked_too(dots, b, g, real):
    s = (dots.clamp(-5, 5) + b).masked_fill(~(real & real[:, None]), torch.finfo(b.dtype).min)
    return (s.softmax(dim=1) * g.sigmoid()).masked_fill(~real[:, None], 7.0)


def by_detours(A, mask):  # Floyd and Warshall, as floats
    D = torch.where(torch.diag_embed(mask), 0.0, torch.where(A, 1.0, torch.inf))
    for n in range(A.shape[-1]):
        D = torch.minimum(D, D[:, :, n, None] + D[:, n, None])
    return torch.where(D.isinf(), -1.0, D)


def multi_head_by_einsum(h, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = ((h @ W).unflatten(-1, (num_heads, -1)) for W in (W_Q, W_K, W_V))
    weights = (torch.einsum("bnhd,bmhd->bhnm", q, k) / q.shape[-1] ** 0.5).softmax(dim=-1)
    return torch.einsum("bhnm,bmhd->bnhd", weights, v).flatten(2) @ W_O


def cached_step_by_pytorch(attention, x, keys, values):
    query, key, value = (
        attention.split_heads(part(x)) for part in (attention.query, attention.key, attention.value)
    )
    keys = torch.cat([keys, key], dim=2)
    values = torch.cat([values, value], dim=2)
    output = F.scaled_dot_product_attention(query, keys, values)
    return attention.output(attention.join_heads(output)), keys, values


def halves_by_svd(A, r):
    U, S, V = torch.svd(A.double() + torch.eye(len(A)))
    return torch.cat([half[:, :r] * S[:r].sqrt() for half in (U, V)], dim=1)


def ring_bound_by_pairs(rings, N):
    def share(i, j):
        return i != j and any(i in ring and j in ring for ring in rings)

    return torch.tensor([[share(i, j) for j in range(N)] for i in range(N)])


def logit_gradient_by_jacobians(a, v, g):
    rows = [(row.diag() - row.outer(row)) @ (v @ of_z) for row, of_z in zip(a, g, strict=True)]
    return torch.stack(rows)


RIGHT = [
    (c1.check_multi_head, multi_head_by_einsum),
    (c2.check_cached_step, cached_step_by_pytorch),
    (c4.check_svd_rows, halves_by_svd),
    (c9.check_ring_bound, ring_bound_by_pairs),
    (c11.check_logit_gradient, logit_gradient_by_jacobians),
    (c6.check_refine, refined_by(lambda near: sum(1000 ** (colour + 2) for colour in near))),
    (
        c8.check_key_context,  # the products for each key, looked up from its own row
        lambda k, R, r: (k @ R.mT).gather(2, r.T.expand(len(k), -1, -1)).mT,
    ),
    (
        c10.check_layer,
        lambda h, A, W, U: (h @ W + A @ h @ U + (A @ A @ A).diagonal()[:, None]).tanh(),
    ),
    (c10.check_layer, lambda h, A, W, U: (h @ W + (A + (A @ A).tanh()) @ h @ U).tanh()),
    (c10.check_layer, lambda h, A, W, U: (h @ W + A * (1 + A @ A) @ h @ U).relu()),
    (
        c1.check_columns,
        lambda Q, K, V: F.scaled_dot_product_attention(Q.T[None], K.T[None], V.T[None])[0].T,
    ),
    (c1.check_masked_attention, masked_by_sentences),
    (
        c1.check_masked_attention,
        lambda q, k, v, m: masked(q, k, v, m, value=-1e9) * m[..., None],  # queries as well
    ),
    (
        c2.check_decoder_mask,
        lambda t: torch.stack([(row != 0).expand(len(row), -1).tril() for row in t]),
    ),
    (
        c2.check_shift_matrix,
        lambda k, d: torch.matrix_power(c2.check_shift_matrix.reference(1, d), k),
    ),
    then(c2.check_greedy, tuple),
    (c3.check_edge_softmax, edges_one_by_one),
    (
        c3.check_gatv2_logits,
        lambda h, W1, W2, a: torch.stack(
            [torch.stack([a @ F.leaky_relu(x @ W1 + y @ W2, 0.2) for y in h]) for x in h]
        ),
    ),
    then(c3.check_layers_needed, torch.tensor),
    then(c3.check_virtual_node, torch.Tensor.int),
    (c4.check_walk_matrix, lambda A: F.normalize(A.double(), p=1, dim=1)),
    (
        c4.check_rayleigh_quotient,
        lambda u, e: ((u[e[0]] - u[e[1]]) ** 2)[e[0] < e[1]].sum() / (u @ u),
    ),
    then(c4.check_laplacian_rows, lambda rows: -rows.float()),
    then(c4.check_svd_rows, flip_every_other_pair),
    (c5.check_sum_over_signs, sum_over_signs_by_recursion),
    then(c1.check_columns, torch.detach),
    then(c1.check_columns, torch.Tensor.float),  # no statement asks for a precision but one
    then(c10.check_gat_logits, lambda logits: torch.tensor(logits.tolist())),
    (c8.check_dial_table, lambda: dial().tolist()),
    (c8.check_counting_table, lambda E, L: [[0.0], *[[1.0]] * E, *[[0.0]] * (L + 1)]),
    then(c3.check_mask, torch.Tensor.tolist),
    then(c3.check_gatv2_logits, lambda logits: logits.detach().numpy()),
    then(c11.check_rollout, torch.detach),
    then(c12.check_padding_share, np.float32),
    (
        c10.check_honest_error,
        lambda fit, x, y, group: np.concatenate(
            [
                abs(fit(x[group != one], y[group != one])(x[group == one]) - y[group == one])
                for one in np.unique(group)
            ]
        ).mean(),
    ),
    (c6.check_is_right, with_assertions),
    (
        c5.check_signnet_sum,
        lambda phi, rho, U: rho(sum(phi(s * u[:, None]) for u in U.T if u.any() for s in (1, -1))),
    ),
    then(c5.check_projectors, list),
    (c6.check_mean_head, head_with_large_negatives),
    then(c6.check_refine, lambda colours: 100 - 3 * np.array(colours)),
    then(c6.check_refine, torch.tensor),
    (c7.check_gated_attention, rows_masked_too),
    then(c7.check_distance_objective, torch.tensor),
    (
        c7.check_counting_head,  # the same number in a row is no bias
        lambda A: (torch.full(A.shape, 3.0), torch.where(A, 12.0, -12.0)),
    ),
    then(c8.check_relation_ids, torch.Tensor.int),
    (
        c8.check_value_term,
        lambda a, R, r: sum(
            (a * (r == t)).sum(2)[..., None] * R[:, t, None] for t in range(R.shape[1])
        ),
    ),
    (c8.check_dial_table, lambda: dial() - 100.0),
    then(c9.check_filters_without_colour, torch.Tensor.tolist),
    (
        c10.check_gat_logits,
        lambda a, b, A: torch.where(A.T, F.leaky_relu(a[:, None] + b, 0.2), -math.inf),
    ),
    (c10.check_gate_as_bias, lambda s, g: (s + F.logsigmoid(g)).log_softmax(dim=-1)),
    (c10.check_gate_as_bias, lambda s, g: s + g.double().sigmoid().log()),
    then(c10.check_ahead_of, lambda pairs: [list(pair) for pair in pairs]),
    (c11.check_entropy_share, lambda a: torch.special.entr(a).sum(1) / math.log(a.shape[1])),
    then(c12.check_padding_share, torch.tensor),
    then(c12.check_next_batch, torch.tensor),
    (c12.check_distances, by_detours),
    (c5.check_random_signs, lambda v: v.numpy() * signs(len(v), 1, v.shape[2]).numpy()),
    then(c5.check_projectors, torch.Tensor.tolist),
    then(c5.check_projectors, torch.Tensor.numpy),
    (
        c7.check_gated_attention,
        lambda d, b, g, r: c7.check_gated_attention.reference(d, b, g, r) * r[:, None],
    ),
    (c8.check_relation_ids, relations_by_adding_bonds),
    (
        c9.check_pixel_rows,
        lambda h, w, M: (
            torch.cdist(*[torch.cartesian_prod(torch.arange(float(h)), torch.arange(float(w)))] * 2)
            .floor()
            .clamp(max=M)
            .long()
        ),
    ),
]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_another_right_answer_passes(check, answer):
    assert check(answer).passed, check(answer)


def test_edges_may_be_arrays():
    pairs = (CUBE, DIAMETERS), (HOUSE, K23)
    assert c6.check_two_pairs(*([np.array(edges) for edges in pair] for pair in pairs)).passed


def test_an_endless_loop_is_stopped(monkeypatch):
    monkeypatch.setattr("gtcourse.course.exercises.checker.SECONDS", 0.5)
    result = c3.check_layers_needed(layers_without_end)
    assert result.passed is False
    assert "stopped after 0.5 seconds: is there an endless loop?" in result.message


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="there is no clock for a single thread"
)
def test_an_answer_that_waits_is_stopped(monkeypatch):
    monkeypatch.setattr("gtcourse.course.exercises.checker.SECONDS", 0.1)
    end = time.monotonic() + 10

    def waits(*arguments):
        while time.monotonic() < end:  # much later than the limit of one second
            time.sleep(0.01)
        return c3.check_layers_needed.reference(*arguments)

    result = c3.check_layers_needed(waits)
    assert time.monotonic() < end
    assert result.passed is False
    assert "stopped after 1 seconds, in most of which it computed nothing" in result.message


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="there is no clock for a single thread"
)
def test_the_time_that_other_programs_take_does_not_count():
    begin = time.perf_counter()
    with time_limit(0.1):  # raises at its end if the time on the clock counted
        time.sleep(0.3)
    assert time.perf_counter() - begin > 0.1


def test_a_hint_is_given_only_if_it_fits_every_case():
    """In the first case E equals L, so that the two readings cannot be told apart there."""
    result = c8.check_relation_ids(
        lambda d, bond, E, L: c8.check_relation_ids.reference(d, bond, 3, 3)
    )
    assert result.passed is False
    assert "the result for" not in result.message
    assert "swapped" not in result.message


def test_a_factor_that_differs_between_cases_is_not_stated():
    result = c11.check_entropy_share(lambda a: torch.special.entr(a).sum(-1) / (len(a) - 1) ** 2)
    assert result.passed is False
    assert "which is not the same for all inputs" in result.message


def test_right_entries_of_a_wrong_dtype_are_reported_as_such():
    result = c3.check_mask(lambda *arguments: c3.check_mask.reference(*arguments).int())
    assert result.message == "the entries are right; expected torch.bool, got torch.int32."


def test_no_smaller_pairs_solve_the_exercise():
    graphs = connected_graphs(7)
    networks = [nx.from_numpy_array(graph.bonds) for graph in graphs if len(graph.atoms) > 1]
    returns, distances = (
        [repr(bag(one)) for one in networks] for bag in (c6._returns, c6._distances)
    )
    for equal, other, most in ((returns, distances, 7), (distances, returns, 4)):
        small = [n for n, network in enumerate(networks) if len(network) <= most]
        assert len({equal[n] for n in small}) == len({(equal[n], other[n]) for n in small})


def test_errors_of_the_honest_evaluation_equal_those_printed_in_the_chapter():
    x, y, scaffold = c10.small_molecules()
    assert x.shape == (183, 512)
    assert len(set(scaffold.tolist())) == 10
    error = c10.check_honest_error.reference
    found = [
        f"{error(fit, x, y, group):.2f}"
        for fit in (c10.ridge, c10.nearest)
        for group in (c10.at_random(scaffold), scaffold)
    ]
    assert found == ["0.08", "0.35", "0.52", "0.56"]
    assert f"{abs(y - np.median(y)).mean():.2f}" == "0.61"
    for number in (*found, "0.61"):
        assert number in TEXTS["10_one_framework"].split("Honest evaluation")[1].split("###")[0]
    assert all(number in c10.check_honest_error.__doc__ for number in found)
