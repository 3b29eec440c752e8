"""Checks of chapter 07. Shapes: N nodes, ν the largest distance that is a class."""

import math

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.chapter06 import FAR
from gtcourse.course.exercises.checker import (
    Missing,
    Mistake,
    adjacency,
    checker,
    compare,
    mistake,
    random,
    require,
    tensors,
)
from gtcourse.course.exercises.drawing import HUNDREDS, WIDE, Draw

LINE = (torch.arange(6)[:, None] - torch.arange(6)).abs()  # distances on a path of six nodes
ONE_WAY = FAR[1:, 1:].triu()
ONE_WAY[3, 0] = 1


def _one_head(draw: Draw):
    """With at least one real node, and padding in any place."""
    N = draw.size(4)
    real = draw.flags(N)
    b = draw.numbers(N, N, of=draw.one_of(WIDE, HUNDREDS))
    dots, g = (draw.numbers(N, N, of=WIDE) for _ in range(2))
    return dots, b, g, real if real.any() else ~real


@compare(
    (*(6 * x for x in random((4, 4), (4, 4), (4, 4))), torch.arange(4) < 3),
    (*(6 * x for x in random((6, 6), (6, 6), (6, 6))), torch.arange(6) < 4),
    # Biases far below and above 0: only what is subtracted from the logits keeps exp finite.
    (
        *(6 * x for x in random((5, 5))),
        random((5, 5))[0].flip(0) + torch.tensor([[-170.0], [0], [99], [0], [0]]),
        *random((5, 5), seed=2),
        torch.arange(5) < 3,
    ),
    # Logits of about -20,000, whose differences need double precision.
    (
        torch.tensor([[1.0, -2, 0], [3, 0.5, 1], [2, -1, 0.5]]).double(),
        torch.tensor([[-20_000.0, -20_001, 0], [-20_000, -20_002, 0], [0, 0, 0]]).double(),
        random((3, 3))[0].double(),
        torch.arange(3) < 2,
    ),
    # Biases below every number that is often used in place of -inf, such as -1e9.
    (
        torch.zeros(3, 3),
        torch.tensor([[-2e12, -3e12, 0], [3e12, -2e12, 0], [0, 0, 0]]),
        *random((3, 3), seed=3),
        torch.arange(3) < 2,
    ),
    (*(6 * x for x in random((6, 6), (6, 6), (6, 6), seed=4)), torch.arange(6) % 3 > 0),
    view=lambda a, dots, b, g, real: a[real],  # a padded query may hold anything
    drawn=_one_head,
)
@mistake(
    "a number such as -10,000 gets weight where the other logits are lower: use -inf at padding.",
    lambda d, b, g, real: (
        (d.clamp(-5, 5) + b).masked_fill(~real, -1e4).softmax(dim=1) * g.sigmoid()
    ),
)
@mistake(
    "a number such as -1e9 gets weight where the biases are lower: use -inf at padding.",
    lambda d, b, g, real: (
        (d.clamp(-5, 5) + b).masked_fill(~real, -1e9).softmax(dim=1) * g.sigmoid()
    ),
)
@mistake(
    "the clip turns the -inf at padding into -5: clip first, then mask.",
    lambda d, b, g, real: (
        (d.masked_fill(~real, -math.inf).clamp(-5, 5) + b).softmax(dim=1) * g.sigmoid()
    ),
)
@mistake(
    "padding can be at any position: use `real`, not the number of real nodes.",
    given=lambda d, b, g, real: (d, b, g, torch.arange(len(real)) < real.sum()),
)
@mistake(
    "exp of a large logit is infinite, and inf/inf is NaN; softmax subtracts the largest logit.",
    lambda d, b, g, real: (
        _divided_by_sums((d.clamp(-5, 5) + b).masked_fill(~real, -math.inf).exp()) * g.sigmoid()
    ),
)
@mistake(
    "exp of a large logit is infinite, and inf times 0 is NaN: set padding to -inf, then use "
    "softmax, which subtracts the largest logit.",
    lambda d, b, g, real: _divided_by_sums((d.clamp(-5, 5) + b).exp() * real) * g.sigmoid(),
)
@mistake("the dot product is clipped at 5 only; clip it at -5 as well.", least=math.inf)
@mistake("nodes attend to padding; mask its columns in the softmax.", fill=0)
@mistake("nothing is clipped; clip the dot product to [-5, 5].", clip=99)
@mistake(
    "the sum of dot product and bias is clipped; add the bias after the clip.",
    given=lambda d, b, g, r: ((d + b).clamp(-5, 5), 0, g, r),
)
@mistake("the softmax runs over the queries; it should run over the last axis.", dim=0)
@mistake(
    "the weights are normalised again after the gate; gated weights need not sum to one.",
    then=lambda a: F.normalize(a, 1, 1),
)
@mistake(
    "the bias is clipped as well; clip only the dot product.",
    given=lambda d, b, g, real: (d, b.clamp(-5, 5), g, real),
)
@mistake(
    "clip the dot product with clamp; 5 tanh(x / 5) also changes values inside the interval.",
    given=lambda d, b, g, real: (5 * (d / 5).tanh(), b, g, real),
)
@mistake("the gate is a sigmoid of each number, not a softmax.", gate=lambda g: g.softmax(dim=1))
@mistake("the dot product is clipped to [0, 5]; clip it to [-5, 5].", least=0)
@mistake("the bias is missing.", given=lambda d, b, g, real: (d, 0 * b, g, real))
@mistake("the gate is missing.", gate=torch.ones_like)
@mistake("the gate is g itself; it should be the sigmoid of g.", gate=lambda g: g)
@mistake(
    "the gate multiplies the logits; multiply the weights by it, after the softmax.",
    lambda d, b, g, real: (
        ((d.clamp(-5, 5) + b) * g.sigmoid()).masked_fill(~real, -math.inf).softmax(1)
    ),
)
@mistake(
    "the gate is added to the logits; multiply the weights by it, after the softmax.",
    lambda d, b, g, real: (
        (d.clamp(-5, 5) + b + g.sigmoid()).masked_fill(~real, -math.inf).softmax(1)
    ),
)
@mistake(
    "padding is masked after the softmax, so the weights of the others sum to less than one.",
    lambda d, b, g, real: (d.clamp(-5, 5) + b).softmax(1) * real * g.sigmoid(),
)
@mistake(
    "a logit of 0 still gets weight: set the logits of padding to -inf.",
    lambda d, b, g, real: ((d.clamp(-5, 5) + b) * real).softmax(1) * g.sigmoid(),
)
@mistake(
    "the dot products are scaled already; clip them as they are.",
    given=lambda d, b, g, real: (d / len(d) ** 0.5, b, g, real),
)
def check_gated_attention(
    dots, b, g, real, clip=5, fill=-math.inf, dim=1, least=None, gate=torch.sigmoid
):
    """Only the dot product is clipped, and the gate comes after the softmax."""
    clipped = dots.clamp(-clip if least is None else least, clip)
    return (clipped + b + torch.where(real, 0.0, fill)).softmax(dim) * gate(g)


def _divided_by_sums(weights):
    return weights / weights.sum(dim=1, keepdim=True)


def _logits_of_distances(draw: Draw):
    distance = draw.distances(draw.size(4))
    nu = draw.size(4)
    return draw.numbers(*distance.shape, nu + 1, of=draw.one_of(WIDE, HUNDREDS)), distance, nu


def _of_the_distance(table, distance, nu):
    """The sum of the entries that belong to the distances up to nu."""
    within = (distance >= 0) & (distance <= nu)
    return float(table[within].gather(1, distance[within][:, None]).sum())


@compare(
    (*random((5, 5, 3)), FAR, 2),
    (*random((4, 4, 2)), ONE_WAY, 1),
    (*random((5, 5, 6)), FAR, 5),
    (200 * random((5, 5, 4))[0], FAR, 3),  # the probability of some classes rounds to 0
    (*random((6, 6, 6)), LINE, 5),
    (*random((1, 1, 2)), FAR[:1, :1], 1),
    atol=1e-3,
    drawn=_logits_of_distances,
)
@mistake("this is the mean over pairs; return the sum.", reduction="mean")
@mistake("the sum is divided by the number of pairs, N²; leave it as it is.", over=2)
@mistake("the sum is divided by the number of nodes; leave it as it is.", over=1)
@mistake("pairs without a path are counted; leave them out.", counted=lambda d, nu: d <= nu)
@mistake(
    "pairs farther apart than nu are counted as nu; leave them out.", counted=lambda d, nu: d >= 0
)
@mistake(
    "pairs at distance nu are left out; the classes are 0 to nu.",
    counted=lambda d, nu: (d >= 0) & (d < nu),
)
@mistake(
    "pairs of a node with itself are left out; distance 0 is also a class.",
    counted=lambda d, nu: (d > 0) & (d <= nu),
)
@mistake(
    "each pair was counted once; (i, j) and (j, i) are two pairs.",
    counted=lambda d, nu: (d >= 0) & (d <= nu) & torch.ones_like(d).triu().bool(),
)
@mistake(
    "only neighbours are counted; every distance up to nu counts.", counted=lambda d, nu: d == 1
)
@mistake("the objective is minus the logarithm of a probability; the sign is wrong.", sign=-1)
@mistake(
    "cross_entropy takes logits, not probabilities.",
    given=lambda logits, d, nu: (logits.softmax(dim=-1), d, nu),
)
@mistake(
    "a probability that rounds to 0 has the logarithm -inf: use cross_entropy or log_softmax.",
    lambda logits, d, nu: -_of_the_distance(logits.softmax(dim=-1).log(), d, nu),
)
@mistake(
    "exp(logits) overflows: use cross_entropy or log_softmax.",
    lambda logits, d, nu: (
        -_of_the_distance((logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log(), d, nu)
    ),
)
@mistake(
    "the softmax runs over the nodes; it should run over the classes, the last axis.",
    lambda logits, d, nu: -_of_the_distance(logits.log_softmax(dim=1), d, nu),
)
@mistake(
    "this is the sum of the logits; the objective needs their log-softmax.",
    lambda logits, d, nu: -_of_the_distance(logits, d, nu),
)
@mistake(
    "all pairs are counted; leave out pairs without a path and those farther apart than nu.",
    counted=lambda d, nu: d < 99,
)
@mistake(
    "pairs without a path are counted as if they were nu apart; leave them out.",
    given=lambda logits, d, nu: (logits, d.where(d >= 0, nu), nu),
)
@mistake(
    "this is the squared error of the most likely class; take the cross-entropy.",
    lambda logits, d, nu: float((logits.argmax(dim=-1) - d).square()[(d >= 0) & (d <= nu)].sum()),
)
def check_distance_objective(
    logits,
    distance,
    nu,
    counted=lambda d, nu: (d >= 0) & (d <= nu),
    reduction="sum",
    over=0,
    sign=1,
):
    """Every pair within distance nu counts once, a node with itself included."""
    within = counted(distance, nu)
    c = distance[within].clamp(0, nu)
    loss = F.cross_entropy(logits[within], c, reduction=reduction)
    return sign * float(loss) / len(distance) ** over


def _weights(counting_head, A):
    b, g = tensors(counting_head(A), A.shape, A.shape)
    require(b.isfinite().all() and g.isfinite().all(), "use finite numbers only.")
    b = b.double()
    g = g.double()
    weights = b.softmax(dim=1) * g.sigmoid()
    expected = A.double() / len(A)
    wrong = not torch.allclose(weights, expected, atol=1e-4)
    uneven = (b - b[:, :1]).abs().max() > 1e-3
    if wrong and uneven and (b.softmax(dim=1).max(dim=1).values > 2 / len(A)).any():
        raise Mistake(
            "the softmax gives some nodes more weight than others: make all entries in a row of b "
            "equal, and let the gates choose the neighbours."
        )
    on_the_right_sides = ((g > 0) == A).all() and ((g < 0) == ~A).all()
    if wrong and not uneven and on_the_right_sides:
        x = g.flatten()[(weights - expected).abs().argmax()]
        raise Mistake(
            f"the gates open and close in the right places, but not far enough: σ({x:.4g}) is "
            f"{x.sigmoid():.5f}. Use numbers farther from 0."
        )
    return weights


STAR = adjacency(6, (0, 1), (0, 2), (0, 3), (3, 4))  # with a tail, and a node alone


def _graph(draw: Draw):
    return [draw.adjacency(draw.size(6), directed=False)]


@compare([STAR], [STAR[:4, :4]], [torch.zeros(1, 1, dtype=torch.bool)], run=_weights, drawn=_graph)
@mistake("all gates are open; close those of nodes that are not joined.", edge=0, base=20)
@mistake("the gates are half open where there is an edge: σ(0) is 1/2.", edge=30)
@mistake(
    "the gates are half open where there is no edge: σ(0) is 1/2; use a large negative number.",
    edge=20,
    base=0,
)
@mistake("a node also counts itself; close its own gate.", loops=True)
@mistake("the gates are inverted: they are open where there is no edge.", edge=-40, base=20)
@mistake("g is 0 and 1, so the gates are half open: σ(0) is 0.5 and σ(1) is 0.73.", edge=1, base=0)
def check_counting_head(A, edge=60, base=-30, pick=0, loops=False):
    """Attention is uniform, the gates pick the neighbours, and the sum counts them."""
    return pick * A.float(), base + edge * (A | torch.eye(len(A)).bool() & loops).float()


@checker
def check_triangles(one, other, gate):
    """A Graphormer head gives node 0 the same output in both graphs; EGT's gated head does not."""
    if other is ...:
        raise Missing
    graphs = [_from_edges(edges) for edges in (one, other)]
    sizes = [len(A) for A in graphs]
    require(sizes[0] == sizes[1], f"the graphs have different sizes: {sizes[0]} and {sizes[1]}.")
    degrees = [A.sum(dim=1) for A in graphs]
    unequal = (degrees[0] != degrees[1]).nonzero().flatten().tolist()
    node = unequal[0] if unequal else None
    require(not unequal, f"node {node} has different degrees in the two graphs.")
    rows = [_steps_from(A, 0) for A in graphs]
    unequal = [j for j in range(sizes[0]) if rows[0][j] != rows[1][j]]
    where = f"from node 0 to node {unequal[0]}" if unequal else ""
    require(not unequal, f"the distances {where} differ, and a bias can read distances.")
    triangles = [_triangles(A)[0].item() for A in graphs]
    apart = triangles[0] != triangles[1]
    require(
        apart, f"node 0 lies on {_counted(triangles[0])} in both graphs; the numbers should differ."
    )
    _check_gate(gate)


GATES = {
    "pairs without an edge are counted as well: close their gates.": lambda A, share: share,
    "gates of pairs without an edge are half open: σ(0) is 1/2, and σ(-inf) is 0.": (
        lambda A, share: torch.where(A, share, 0.5)
    ),
    "this counts neighbours: the gate has to depend on `share`.": lambda A, share: A.double(),
    "σ of a share is not the share: apply the inverse of σ first.": (
        lambda A, share: (A * share).sigmoid()
    ),
    "σ(-inf) is 0, but σ of a share is not the share: apply the inverse of σ first.": (
        lambda A, share: torch.where(A, share, -math.inf).sigmoid()
    ),
    "the inverse of σ is the logit, not the logarithm.": lambda A, share: torch.where(
        A, share / (1 + share), 0.0
    ),
    "the shares are halved; each pair counts with its whole share.": lambda A, share: A * share / 2,
}
"""What a wrong gate makes of the shares, after the sigmoid, and the hint for it."""


def _check_gate(gate):
    generator = torch.Generator().manual_seed(3)
    results = []
    for N in (1, 2, 3, 5, 9, 12, 40):
        upper = torch.rand(N, N, generator=generator).triu(1)
        for A in (upper > 0.4, upper > 0.75, upper > 2.0, upper > 0.0):
            A = A | A.T
            share = (A.double() @ A.double() / N).float()
            order = torch.randperm(N * N, generator=generator)
            g = torch.as_tensor(gate(A.clone(), share.clone(), N))
            shape = f"expected the shape {[N, N]}, got {list(g.shape)}."
            require(g.shape == A.shape, shape)
            mixed, again = (x.flatten()[order].reshape(N, N) for x in (A, share))
            moved = torch.as_tensor(gate(mixed, again, N)).flatten()
            alone = torch.allclose(moved, g.flatten()[order], atol=1e-4, equal_nan=True)
            require(alone, "the gate of a pair may read only the two numbers of that pair.")
            cause = "does it come from 0 · inf, or from the logit of a number outside [0, 1]?"
            require(not g.isnan().any(), f"for N = {N} a gate logit is NaN: {cause}")
            z = g.sigmoid().double().sum(dim=1) / N  # weights of 1 / N, and values of 1
            results.append((A, share.double(), z))
    if all(_right(A, z) for A, _, z in results):
        return
    for hint, opened in GATES.items():
        if all(
            torch.allclose(z, opened(A, share).double().sum(dim=1) / len(A), atol=1e-4)
            for A, share, z in results
        ):
            raise Mistake(hint)
    A, _, z = next((A, share, z) for A, share, z in results if not _right(A, z))
    right = 2 * _triangles(A) / len(A) ** 2
    i = int((z - right).abs().argmax())
    start = f"for N = {len(A)}, node {i} lies on {_counted(_triangles(A)[i])}"
    raise Mistake(f"{start}, so z should be {right[i]:.4f}; it is {z[i]:.4f}.")


def _right(A, z):
    return torch.allclose(z, 2 * _triangles(A) / len(A) ** 2, atol=1e-4)


def _from_edges(edges):
    pairs = [[int(n) for n in edge] for edge in edges]
    proper = all(len(pair) == 2 and pair[0] != pair[1] for pair in pairs)
    require(pairs and proper, "expected edges as pairs of two different nodes.")
    return adjacency(1 + max(map(max, pairs)), *map(tuple, pairs))


def _steps_from(A, node):
    """Distances from a node, and infinity where there is no path."""
    steps = torch.full((len(A),), math.inf)
    reached = torch.arange(len(A)) == node
    for step in range(len(A)):
        steps[reached & steps.isinf()] = step
        reached = reached | A[reached].any(dim=0)
    return steps.tolist()


def _counted(triangles):
    return f"{triangles:g} triangle{'' if triangles == 1 else 's'}"


def _triangles(A):
    """The number of triangles that each node lies on."""
    A = A.double()
    return (A * (A @ A)).sum(dim=1) / 2
