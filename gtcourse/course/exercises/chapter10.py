r"""Checks of chapter 10, and its general form of the course's layers.

.. math::
    z_{ic} = \sum_j a_{ijc}\, m_{ijc}, \qquad
    a_{i \cdot c} = \operatorname{normaliser}(s_{i \cdot c}) \cdot \text{gate}, \qquad
    m_{ij} = v_j + v_{ij}

The terms are read from the package's own layers, with their weights, so that tests can compare the
table of choices with the code that it describes. The texts of the table are in ``chapter10.toml``.

Shapes: B graphs, N nodes (padded), d width, H heads, K = d / H, d_e width of a pair, L layers, C
weights for each pair: 1, H or d. Weight c // (d / C) multiplies channel c of a message.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv

from gtcourse import models
from gtcourse.course.blindness import fooled_by
from gtcourse.course.exercises.checker import (
    Mistake,
    adjacency,
    checker,
    compare,
    mistake,
    random,
    require,
)
from gtcourse.course.exercises.drawing import HUNDREDS, WIDE, Draw
from gtcourse.models.attention import over_heads
from gtcourse.models.message_passing import GatedGCNConv

A = random((4, 4))[0] > 0
SIZE = torch.tensor([0.5, 1.2, 2.0])  # numbers of both signs


def _two_numbers(draw: Draw):
    N = draw.size(4)
    return draw.numbers(N), draw.numbers(N), draw.adjacency(N, loops=True)


# -inf has no gradient.
@compare(
    (*random((4,), (4,)), A),
    (-SIZE, SIZE.flip(0) - 1.5, A[1:, 1:]),
    (-SIZE, SIZE, torch.ones(3, 3, dtype=torch.bool)),  # the logit of a loop is 0
    (*random((1,), (1,)), ~A[:1, :1]),
    drawn=_two_numbers,
)
@mistake("this is a ReLU; LeakyReLU multiplies negative numbers by 0.2.", slope=0.0)
@mistake(
    "self-loops were added; a node attends to itself only if it has one.",
    given=lambda a, b, A: (a, b, A | torch.eye(len(A), dtype=torch.bool)),
)
@mistake(
    "self-loops were removed; a node with an edge to itself attends to itself.",
    given=lambda a, b, A: (a, b, A & ~torch.eye(len(A), dtype=torch.bool)),
)
@mistake(
    "edges with the logit 0 are masked as if they were no edges: mask with `A`.",
    then=lambda s: s.masked_fill(s == 0, -math.inf),
)
@mistake(
    "the numbers of receiver and sender are multiplied; add them.",
    lambda a, b, A: F.leaky_relu(a[:, None] * b, 0.2).masked_fill(~A.mT, -math.inf),
)
@mistake(
    "LeakyReLU is applied to each number; add the two numbers first.",
    lambda a, b, A: (F.leaky_relu(a, 0.2)[:, None] + F.leaky_relu(b, 0.2)).masked_fill(
        ~A.mT, -math.inf
    ),
)
@mistake("pairs without an edge have the logit 0, which still gets weight; use -inf.", off=0.0)
@mistake("these are weights; return logits.", then=lambda s: s.softmax(dim=-1).nan_to_num())
@mistake("the non-linearity is missing: LeakyReLU.", slope=1.0)
@mistake("the slope is 0.01, PyTorch's default; GAT's is 0.2.", slope=0.01)
@mistake("pairs without an edge have a large negative logit; use -inf.", off=-1e9)
def check_gat_logits(receiver, sender, A, slope=0.2, off=-math.inf):
    """Each logit is LeakyReLU(receiver + sender), on incoming edges only."""
    return F.leaky_relu(receiver[:, None] + sender, slope).masked_fill(~A.mT, off)


def _of_a_row(got, right, s, g):
    """The first row of the softmax that is wrong, or else what is wrong with the logits."""
    one, other = (logits.double().softmax(dim=-1) for logits in (got, right))
    wrong = ~torch.isclose(one, other, atol=1e-4).all(dim=-1)
    if not wrong.any():
        return "the logits for a very small gate are wrong: log σ(g) is close to g there."
    i = int(wrong.nonzero()[0])
    digits = 3 if _rounded(one[i], 3) != _rounded(other[i], 3) else 6
    found = _rounded(one[i], digits)
    expected = _rounded(other[i], digits)
    return f"the softmax of row {i} is {found}, and should be {expected}."


def _gated(draw: Draw):
    N = draw.size(4)
    return draw.numbers(N, N, of=WIDE), draw.numbers(N, N, of=draw.one_of(HUNDREDS, WIDE))


@compare(
    (random((3, 3))[0], torch.tensor([[1.0, -2, 0.5], [0, 3, -1], [2, 0.5, -200]])),
    random((5, 5), (5, 5)),
    view=lambda z, *_: z.double() - z.double().mean(dim=-1, keepdim=True),  # as in a softmax
    explain=_of_a_row,
    drawn=_gated,
)
@mistake(
    "the gate divides the weights; add its logarithm, do not subtract it.",
    lambda s, g: s - F.logsigmoid(g),
)
@mistake("s is missing: add the logarithm of the gate to it.", lambda s, g: F.logsigmoid(g))
@mistake("this is exp(s) times the gate; return its logarithm.", lambda s, g: s.exp() * g.sigmoid())
@mistake(
    "you have already taken the softmax; return logits.", lambda s, g: s.softmax(-1) * g.sigmoid()
)
@mistake("s is multiplied by the logarithm of the gate; add it.", lambda s, g: s * F.logsigmoid(g))
@mistake("use the natural logarithm.", lambda s, g: s + F.logsigmoid(g) / math.log(10))
@mistake(
    "σ is clamped, so a very small gate is too large; use F.logsigmoid.",
    lambda s, g: s + g.sigmoid().clamp(min=1e-9).log(),
)
@mistake("this adds log σ(-g) = log(1 - σ(g)); add log σ(g).", lambda s, g: s + F.logsigmoid(-g))
@mistake(
    "in single precision σ(-200) is 0 and exp(200) is infinite; use F.logsigmoid.",
    lambda s, g: s + g.sigmoid().log(),
)
@mistake(
    "these are weights; return logits.", lambda s, g: F.normalize(s.exp() * g.sigmoid(), 1, -1)
)
@mistake("the gate itself is added; add its logarithm.", lambda s, g: s + g.sigmoid())
@mistake("adding g itself multiplies the weights by exp(g), not by σ(g).", lambda s, g: s + g)
@mistake("the gate multiplies exp(s), not s.", lambda s, g: s * g.sigmoid())
def check_gate_as_bias(s, g):
    """The logarithm of the gate is a bias, and a constant message is unchanged."""
    return s + F.logsigmoid(g)


def _rounded(row, digits):
    return [round(x, digits) for x in row.tolist()]


# C's best equals A's worst, D has fewer seeds, and G is above B seed by seed.
ERRORS = {
    "A": [0.42, 0.30, 0.36],
    "B": [0.43, 0.50, 0.60],
    "C": [0.44, 0.42, 0.45],
    "D": [0.70, 0.80],
    "E": [0.20],
    "F": [0.25, 0.90, 0.90],
    "G": [0.46, 0.55, 0.62],
}


def _runs(draw: Draw):
    """Of one to four models; errors may be equal."""
    names = "ABCD"[: draw.number(1, 4)]
    values = (0.5, 0.5001, 0.25, 2.0, 0.125, 12.0, 0.505)
    return [{name: draw.several(draw.number(1, 4), values) for name in names}]


@compare(
    [ERRORS],
    [{"X": [0.31, 0.3], "Y": [0.2, 0.25], "Z": [0.6]}],
    [{"L": [0.10, 0.11, 0.12], "M": [0.105, 0.6, 0.6], "N": [0.13, 0.9], "O": [0.2, 0.2, 0.2]}],
    [{"P": [0.9, 0.1, 0.2], "Q": [0.5, 0.5, 0.4], "R": [0.7, 0.6, 0.1]}],
    # The last of four seeds matters, and differences in the fourth digit do.
    [{"S": [0.1, 0.2, 0.3, 0.9], "T": [0.4, 0.5, 0.6], "U": [0.4001, 0.3], "V": [0.4004, 0.7]}],
    [{"Y": [0.1] * 9 + [0.5], "Z": [0.45] + [0.6] * 9}],  # one pair of a hundred decides
    [{"only": [0.4, 0.5]}],
    drawn=_runs,
    view=lambda pairs, *_: sorted({*map(tuple, pairs)}),
    explain=lambda got, right, errors: _first_difference({*map(tuple, got)}, right, errors),
)
@mistake(
    "one error of each model decides nothing: compare every seed with every other.",
    ahead=lambda a, b: a[-1] < b[-1],
)
@mistake("only the worst seeds were compared.", ahead=lambda a, b: max(a) < max(b))
@mistake(
    "only medians were compared.",
    ahead=lambda a, b: sorted(a)[len(a) // 2] < sorted(b)[len(b) // 2],
)
@mistake(
    "seeds are compared in pairs; each seed of one model has to beat every seed of the other.",
    ahead=lambda a, b: all(x < y for x, y in zip(a, b, strict=False)),
)
@mistake(
    "models with different numbers of seeds are left out; compare them as well.",
    ahead=lambda a, b: len(a) == len(b) and max(a) < min(b),
)
@mistake(
    "intervals of one standard deviation were compared; compare the seeds themselves.",
    ahead=lambda a, b: np.mean(a) + np.std(a) < np.mean(b) - np.std(b),
)
@mistake(
    "the pairs are reversed: the model with lower errors is ahead.",
    ahead=lambda a, b: min(a) > max(b),
)
@mistake("only means were compared.", ahead=lambda a, b: sum(a) / len(a) < sum(b) / len(b))
@mistake("only the best seeds were compared.", ahead=lambda a, b: min(a) < min(b))
@mistake(
    "a model is not ahead if its worst error equals the other's best.",
    ahead=lambda a, b: max(a) <= min(b),
)
def check_ahead_of(errors, ahead=lambda a, b: max(a) < min(b)):
    """The worst seed of one model is compared with the best seed of the other."""
    return {(a, b) for a in errors for b in errors if a != b and ahead(errors[a], errors[b])}


def _first_difference(got, right, errors):
    """Names a pair of models that is missing or should not be there."""
    for pair in [*sorted(got ^ {*right})]:
        if pair in got and not (len(pair) == 2 and {*pair} <= {*errors}):
            return f"{pair} is not a pair of two names."
        one, other = pair
        if one == other:
            return f"{pair} is in your answer: a model is not ahead of itself."
        verb = "is in your answer" if pair in got else "is missing"
        return f"{pair} {verb}: {one} has the errors {errors[one]}, {other} has {errors[other]}."
    return "the pairs are wrong."


RINGS = (
    "c1ccc({})cc1",
    "c1cnc({})cc1",
    "c1csc({})c1",
    "c1oc({})cc1",
    "C1CCC({})CC1",
    "C1CCN({})CC1",
    "O1CCC({})CC1",
    "C1CC({})C1",
    "c1ccc2c(c1)[nH]c({})c2",
    "c1ccc2nc({})ccc2c1",
)
SUBSTITUENTS = (
    "C",
    "CC",
    "CCC",
    "O",
    "OC",
    "OCC",
    "N",
    "NC",
    "F",
    "Cl",
    "C#N",
    "CO",
    "CCO",
    "CCl",
    "C(=O)O",
    "C(N)=O",
    "C(F)(F)F",
    "NC(C)=O",
    "S(C)(=O)=O",
)


@cache
def small_molecules() -> tuple[NDArray, NDArray, NDArray]:
    """Ten ring systems with 19 substituents: counts ``[G, 512]``, Crippen's logP, and scaffolds.

    The counts are those of Morgan environments of radius 1, folded to 512. Molecules with the same
    ring system have the same scaffold, a number from 0. Nitrogen, oxygen and halogens are not
    attached to a nitrogen.
    """
    from rdkit.Chem import Crippen, MolFromSmiles, rdFingerprintGenerator
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    counter = rdFingerprintGenerator.GetMorganGenerator(radius=1, fpSize=512)
    smiles = [
        ring.format(substituent)
        for ring in RINGS
        for substituent in SUBSTITUENTS
        if "N({})" not in ring or substituent[0] in "CS"
    ]
    molecules = [MolFromSmiles(text) for text in smiles]
    counts = np.stack([counter.GetCountFingerprintAsNumPy(m) for m in molecules]).astype(float)
    _, scaffold = np.unique([MurckoScaffoldSmiles(text) for text in smiles], return_inverse=True)
    return counts, np.array([Crippen.MolLogP(m) for m in molecules]), scaffold


def ridge(x: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    """Fits a ridge regression with a penalty of 1 and returns the function that predicts."""
    middle = x.mean(axis=0)
    mean = y.mean()
    kernel = (x - middle) @ (x - middle).T + np.eye(len(x))
    weights = (x - middle).T @ np.linalg.solve(kernel, y - mean)
    return lambda new: (new - middle) @ weights + mean


def nearest(x: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    """Predicts the target of the training molecule with the smallest squared distance in counts."""

    def predict(new: NDArray) -> NDArray:
        apart = (new**2).sum(axis=1)[:, None] - 2 * new @ x.T + (x**2).sum(axis=1)
        return y[apart.argmin(axis=1)]

    return predict


def at_random(group: NDArray) -> NDArray:
    """Groups of the same sizes, with molecules assigned at random."""
    return np.random.default_rng(0).permutation(group)


def _held_out(answer, fit, x, y, group):
    """Calls the answer, and raises if a model predicts a molecule that it was fitted to."""
    if isinstance(group, str):
        x, y, group = (part[::3] for part in small_molecules())

    def rows(values):
        return {row.tobytes() for row in np.ascontiguousarray(values, dtype=float)}

    def watched(some, targets):
        some = np.asarray(some)
        targets = np.asarray(targets)
        require(len(some) == len(targets), "`fit` got inputs and targets of different lengths.")
        predict = fit(some, targets)
        seen = rows(some)

        def checked(new):
            leak = seen & rows(new)
            require(not leak, "a molecule is predicted by a model that was fitted to it.")
            return predict(new)

        return checked

    data = x.copy(), y.copy(), group.copy()
    error = answer(watched, *data)
    for name, before, after in zip(("x", "y", "group"), (x, y, group), data, strict=True):
        same = np.array_equal(before, after)
        require(same, f"`{name}` has been changed in place; work on a copy.")
    return error


def _half_the_mean(x: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    """Predicts half the mean target, so that a number added to all targets changes the errors."""
    return lambda new: np.full(len(new), y.mean() / 2)


def _groups(draw: Draw):
    """Molecules in two or more groups; no two have the same inputs."""
    M = draw.number(2, 7)
    group = np.array([0, 5, *draw.several(M - 2, (0, 5, 10, 3))])[draw.in_some_order(range(M))]
    x = np.column_stack([draw.numbers(M, 2).double().numpy(), np.arange(M)])
    fit = draw.one_of(_half_the_mean, ridge, nearest)
    return fit, x, draw.numbers(M).double().numpy(), group


def _joined_by_group(fit, x, y, group):
    """The error of predictions that are in the order of the groups, unlike the targets."""
    chosen = np.unique(group)
    found = [fit(x[group != one], y[group != one])(x[group == one]) for one in chosen]
    return float(abs(np.concatenate(found) - y).mean())


def _tested(fit, x, y, group, chosen):
    """The mean absolute error of some groups."""
    errors = [
        abs(fit(x[group != one], y[group != one])(x[group == one]) - y[group == one])
        for one in chosen
        if (group == one).any()
    ]
    return float(np.concatenate(errors).mean())


def _toy(sizes, seed):
    """Random molecules in groups of these sizes, in no order, with a target that groups shift."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat([7 * n + 2 for n in range(len(sizes))], sizes))
    x = rng.normal(size=(len(group), 6)).round(3) + group[:, None] / 5
    return x, x[:, 0] - 2 * x[:, 1] + np.sin(group), group


def _in_whole_numbers(x, y, group):
    return x, y.round().astype(int), group


def _cut_to_integers(fit, x, y, group):
    """The error of predictions that are stored in an array of the type of the targets."""
    predicted = np.zeros_like(y)
    for one in np.unique(group):
        predicted[group == one] = fit(x[group != one], y[group != one])(x[group == one])
    return float(abs(predicted - y).mean())


def _by_runs(fit, x, y, group):
    """The error if a group is a run of equal numbers, as ``itertools.groupby`` finds them."""
    number_of_run = np.cumsum(np.diff(group, prepend=group[0]) != 0)
    return check_honest_error.reference(fit, x, y, number_of_run)


@compare(
    (ridge, *_toy((5, 1, 9), 0)),
    (nearest, *_toy((2, 2, 12, 3), 1)),
    (ridge, None, None, "by scaffold"),
    (_half_the_mean, *_toy((3, 5, 2), 3)),
    (ridge, *_toy((1,) * 12, 2)),
    (ridge, *_in_whole_numbers(*_toy((4, 3, 1), 4))),
    run=_held_out,
    atol=1e-6,
    drawn=_groups,
)
@mistake("this is the mean over the groups; take the mean over all molecules.", by_group=True)
@mistake("these are squared errors; take absolute ones.", of=np.square)
@mistake("an error has no sign: take its absolute value.", of=lambda error: error)
@mistake(
    "this is the root of the mean squared error; take the mean of the absolute errors.",
    of=np.square,
    then=lambda mean: mean**0.5,
)
@mistake("this is the median error; take the mean.", mean=np.median)
@mistake("this is the sum of the errors; divide it by the number of molecules.", mean=np.sum)
@mistake(
    "only one group is tested; test each of them.",
    lambda fit, x, y, group: _tested(fit, x, y, group, group[:1]),
)
@mistake(
    "groups need not be numbered 0, 1, 2, …: use the numbers that occur in `group`.",
    lambda fit, x, y, group: _tested(fit, x, y, group, range(len(np.unique(group)))),
)
@mistake(
    "each group is tested as often as it has molecules; loop over the distinct numbers in `group`.",
    lambda fit, x, y, group: _tested(fit, x, y, group, group),
)
@mistake(
    "the predictions are in the order of the groups, but the targets are not.", _joined_by_group
)
@mistake(
    "the predictions are cut to whole numbers: an array like `y` holds integers if `y` does.",
    _cut_to_integers,
)
@mistake(
    "the molecules of a group need not stand side by side: compare `group` with each number.",
    _by_runs,
)
@mistake(
    "the sum of the errors is divided by the number of groups; divide it by that of molecules.",
    lambda fit, x, y, group: (
        check_honest_error.reference(fit, x, y, group, mean=np.sum) / len(np.unique(group))
    ),
)
@mistake("one group is never tested; test each group once.", first=1)
@mistake(
    "the group with the largest number is never tested: `range(n)` ends at n - 1.",
    lambda fit, x, y, group: _tested(fit, x, y, group, range(group.max())),
)
@mistake(
    "the model is fitted to one group and tested on all others; it should be the reverse.",
    swapped=True,
)
@mistake(
    "every molecule is tested on its own; use the groups that are given.",
    given=lambda fit, x, y, group: (fit, x, y, np.arange(len(y))),
)
def check_honest_error(
    fit, x, y, group, by_group=False, of=np.abs, mean=np.mean, first=0, swapped=False
):
    """Errors at random and by scaffold: 0.08 and 0.35 (ridge), 0.52 and 0.56 (nearest)."""
    errors = []
    for one in np.unique(group)[first:]:
        test = (group == one) ^ swapped
        errors.append(of(fit(x[~test], y[~test])(x[test]) - y[test]))
    return float(mean([each.mean() for each in errors] if by_group else np.concatenate(errors)))


HOUSE = adjacency(5, (0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))
# Nodes with equal degrees, and eigenvalues with several eigenvectors.
CYCLE = adjacency(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))
STAR = adjacency(5, (0, 1), (0, 2), (0, 3), (0, 4))


@checker
def check_layer(layer):
    """Four of your layers separate all 143 connected graphs of up to six nodes."""
    W, U = (x.double() / 2 for x in random((6, 6), (6, 6), seed=4))

    def apply(h: Tensor, A: Tensor) -> Tensor:
        given = h.clone(), A.clone()
        result = layer(*given, W, U)
        for name, before, after in zip(("h", "adjacency"), (h, A), given, strict=True):
            same = torch.equal(before, after)
            require(same, f"`{name}` has been changed in place; work on a copy (clone).")
        require(isinstance(result, Tensor), f"expected a tensor, got a {type(result).__name__}.")
        shape = list(result.shape)
        require(shape == list(h.shape), f"expected the shape {list(h.shape)}, got {shape}.")
        return result

    def model(A: Tensor) -> Tensor:
        h = torch.ones(len(A), 6, dtype=torch.float64)
        for _ in range(4):
            h = apply(h, A)
        return h.sum(dim=0)

    for A in (HOUSE, CYCLE, STAR):
        graph = A.double()
        h = random((len(A), 6), seed=5)[0].double()
        order = torch.tensor([3, 0, 4, 1, 2, 5])[: len(A)]
        for start in (h, torch.ones_like(h)):
            before = apply(start, graph)
            again = torch.allclose(apply(start, graph), before)
            require(again, "two calls with the same arguments give different results.")
            moved = apply(start[order], graph[order][:, order])
            same = torch.allclose(moved, before[order])
            require(same, "renumbering the nodes changes the results, not only their order.")
    pair = fooled_by(model)
    if pair is not None:
        edges = [np.argwhere(np.triu(graph.bonds)).tolist() for graph in pair]
        sizes = [f"{len(g.atoms)} node{'s' if len(g.atoms) > 1 else ''}" for g in pair]
        raise Mistake(
            f"your layers do not separate two graphs: one of {sizes[0]} with the edges {edges[0]}, "
            f"and one of {sizes[1]} with the edges {edges[1]}."
        )


@dataclass(frozen=True)
class Terms:
    """The terms of one layer in the general form, for one batch; None where it has no such term.

    Attributes:
        of_nodes: ``[B, C, N, N]``, the part of the logits that the two nodes give; row i receives.
        value: ``[B, N, d]``, the value of node j.
        of_pair: ``[B, C, N, N]``, what the pair adds to the logits.
        pair_value: ``[B, d, N, N]``, what the pair adds to the value.
        gate: ``[B, C, N, N]``, what the pair multiplies the weights by after the normaliser.
        mask: bool, broadcast to ``[B, C, N, N]``, True where i attends to j.
        normaliser: a name in ``NORMALISERS``.
    """

    of_nodes: Tensor
    value: Tensor
    of_pair: Tensor | None = None
    pair_value: Tensor | None = None
    gate: Tensor | None = None
    mask: Tensor | None = None
    normaliser: str = "softmax"

    @property
    def logits(self) -> Tensor:
        r"""The sum, ``[B, C, N, N]``, and :math:`-\infty` where i does not attend to j."""
        logits = self.of_nodes if self.of_pair is None else self.of_nodes + self.of_pair
        return logits if self.mask is None else logits.masked_fill(~self.mask, -math.inf)


def attend(terms: Terms) -> tuple[Tensor, Tensor]:
    """The weighted sum of messages at each node, ``[B, N, d]``, and the weights, ``[B, C, N, N]``.

    What a layer does with the sum (an output projection, a node's own vector beside it) is not part
    of the form: :class:`Frame` has it as ``after``.
    """
    weights = NORMALISERS[terms.normaliser](terms.logits)
    if terms.gate is not None:
        weights = weights * terms.gate
    shape = (weights.shape[1], -1)  # C groups of d / C channels
    z = torch.einsum("bcij,bckj->bcki", weights, terms.value.mT.unflatten(1, shape))
    if terms.pair_value is not None:
        z = z + torch.einsum("bcij,bckij->bcki", weights, terms.pair_value.unflatten(1, shape))
    return z.flatten(1, 2).mT, weights


def softmax(logits: Tensor) -> Tensor:
    """Weights that sum to one over j; zeros for a node that attends to none."""
    alive = (logits > -math.inf).any(dim=-1, keepdim=True)
    return logits.masked_fill(~alive, 0.0).softmax(dim=-1).masked_fill(~alive, 0.0)


def sigmoid_ratio(logits: Tensor) -> Tensor:
    r""":math:`\sigma(s)` divided by its sum over j plus :math:`10^{-6}` (GatedGCN)."""
    opened = logits.sigmoid()
    return opened / (opened.sum(dim=-1, keepdim=True) + 1e-6)


NORMALISERS = {"softmax": softmax, "exp": torch.exp, "sigmoid_ratio": sigmoid_ratio}
r"""All of them read :math:`-\infty` as "masked" and give it no weight."""


def attention_terms(layer: models.MultiHeadAttention, h: Tensor, bias=None, *, mask=None) -> Terms:
    """Multi-head attention, and Graphormer's with its bias; mask: of nodes or of pairs."""
    query, key, _ = layer.project(h, h, h)
    of_nodes = query @ key.mT / math.sqrt(query.shape[-1])
    return Terms(of_nodes, layer.value(h), bias, mask=over_heads(mask, h))


def gin_terms(conv: GINConv, h: Tensor, adjacency: Tensor) -> Terms:
    """A sum over the nodes with an edge to node i: logits of 0 that are not normalised."""
    mask = adjacency.mT[:, None]
    return Terms(mask.new_zeros(mask.shape, dtype=h.dtype), h, mask=mask, normaliser="exp")


def gat_terms(conv: GATConv, h: Tensor, adjacency: Tensor) -> Terms:
    """For each head, a number of the sender plus one of the receiver, through a LeakyReLU."""
    value = conv.lin(h)
    by_head = value.unflatten(-1, (conv.heads, -1))
    sender, receiver = ((by_head * a).sum(-1).mT for a in (conv.att_src[0], conv.att_dst[0]))
    of_nodes = F.leaky_relu(receiver[..., None] + sender[:, :, None], conv.negative_slope)
    return Terms(of_nodes, value, mask=adjacency.mT[:, None])


def gatedgcn_terms(
    conv: GatedGCNConv,
    h: Tensor,
    e: Tensor,  # [B, N, N, d], in row i and column j the edge from i to j
    adjacency: Tensor,
) -> Terms:
    """A logit for each channel."""
    sender = conv.D(h).mT  # [B, d, N]
    receiver = conv.E(h).mT  # [B, d, N]
    of_nodes = receiver[..., None] + sender[:, :, None]  # [B, d, N, N]
    of_pair = conv.C(e).permute(0, 3, 2, 1)  # [B, d, N, N]
    return Terms(
        of_nodes=of_nodes,
        of_pair=of_pair,
        value=conv.B(h),
        mask=adjacency.mT[:, None],
        normaliser="sigmoid_ratio",
    )


def egt_terms(attention: models.EGTAttention, h: Tensor, e: Tensor, *, mask=None) -> Terms:
    """A clipped product, a bias and a gate; e: ``[B, N, N, d_e]``."""
    query = attention.split_heads(attention.query(h)) * attention.scale
    key = attention.split_heads(attention.key(h))
    of_nodes = (query @ key.mT).clamp(-attention.clip, attention.clip)
    E, G = attention.edge_terms(e)
    gate = None if G is None else G.sigmoid()
    return Terms(of_nodes, attention.value(h), E, gate=gate, mask=over_heads(mask, h))


def grpe_terms(
    layer: models.GRPEAttention,
    h: Tensor,
    relation: Tensor,
    tables: models.RelationTables,
    *,
    mask=None,
) -> Terms:
    """Two contexts in the logits, and a vector added to the value, here written for every pair."""
    query, key, _ = layer.project(h, h, h)
    pair = relation[:, None].expand(-1, layer.num_heads, -1, -1)
    contexts = [*layer.contexts(query * query.shape[-1] ** -0.5, key, pair, tables)]
    pair_value = None if tables.value is None else tables.value[relation].permute(0, 3, 1, 2)
    terms = attention_terms(layer, h, sum(contexts) if contexts else None, mask=mask)
    return replace(terms, pair_value=pair_value)


def csa_terms(layer: models.ChromaticSelfAttention, h: Tensor, edges, *, mask=None) -> Terms:
    """A logit and a value for each channel of a pair; the score is the dot product."""
    terms = attention_terms(layer, h, edges.logits, mask=mask)
    channels = edges.logits.shape[1] // layer.num_heads
    of_nodes = terms.of_nodes.repeat_interleave(channels, dim=1)
    return replace(terms, of_nodes=of_nodes, pair_value=edges.values)


class Frame(NamedTuple):
    """A layer in the general form: its :class:`Terms`, and what it computes from the sum z."""

    name: str
    terms: Callable[..., Terms]  # of the layer, its nodes [B, N, d] and its pairs
    after: Callable[[nn.Module, Tensor, Tensor], Tensor] = lambda layer, h, z: layer.output(z)

    def output(self, layer: nn.Module, h: Tensor, *pairs, **options) -> Tensor:
        """What the layer returns, computed in the general form; rows of padding have no meaning."""
        return self.after(layer, h, attend(self.terms(layer, h, *pairs, **options))[0])


def _gin_network(conv: GINConv, h: Tensor, z: Tensor) -> Tensor:
    rows = (1 + conv.eps) * h + z
    return conv.nn(rows.flatten(0, -2)).view_as(rows)


FRAMES = (
    Frame("Transformer", attention_terms),
    Frame("GIN", gin_terms, _gin_network),
    Frame("GAT", gat_terms, lambda conv, h, z: z),
    Frame("GatedGCN", gatedgcn_terms, lambda conv, h, z: conv.A(h) + z),
    Frame("SignNet", gatedgcn_terms, lambda conv, h, z: conv.A(h) + z),
    Frame("Graphormer", attention_terms),
    Frame("EGT", egt_terms),
    Frame("GRPE", grpe_terms),
    Frame("CSA", csa_terms),
)
"""In the order of the chapters; SignNet is GatedGCN's layer with another encoding of the nodes."""

TEXTS = tomllib.loads(
    (files("gtcourse.course.exercises") / "chapter10.toml").read_text(encoding="utf-8")
)
SPECIAL_CASES = tuple(SimpleNamespace(**case) for case in TEXTS["special_cases"])
"""``general`` contains ``special`` ``when`` some of its weights or inputs are set, as shown by
``test`` in ``file``."""


def frame_rows(columns: Sequence[str]) -> list[list[str]]:
    """These columns of ``chapter10.toml``, one row for each model, in the same order."""
    return [[text[column] for column in columns] for text in TEXTS["frames"]]
