"""Checks of chapter 08. Shapes: H heads, N nodes, K width of a head, T relations, E edge types."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.exercises.checker import checker, compare, mistake, random, require, tensors

D, BOND = (4 * random((2, 9, 9))[0]).abs().long()
D, BOND = torch.where(D == 0, -1, D).fill_diagonal_(0), BOND % 3


@compare((D, BOND, 3, 3), (D, BOND, 4, 2), (D[2:, 2:], BOND[2:, 2:], 3, 5))
@mistake("distances of L are far (as in the authors' code); far means more than L.", longest=2)
@mistake("nothing is far: all distances beyond L share one relation.", longest=99)
def check_relation_ids(distance, bond, E, L, longest=None):
    """The order is itself, edges by type, distances, far, unreachable."""
    d = torch.where(distance > (longest or L), L + 1, distance)
    ids = torch.where(d == -1, E + L + 1, E + d - 1)
    return torch.where(d == 0, 0, torch.where(d == 1, 1 + bond, ids))


class _NoVectorPerPair(TorchDispatchMode):
    """Raises at every tensor of as many numbers as a vector for each pair would have."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else (result,):
            small = not isinstance(x, torch.Tensor) or x.numel() < self.too_many
            require(small, "you made a vector for every pair; gather or scatter numbers instead.")
        return result


def _without_pairs(answer, x, R, relation):
    with _NoVectorPerPair() as mode:
        mode.too_many = relation.numel() * R.shape[-1]
        return answer(x, R, relation)


# Not symmetric, so that (i, j) and (j, i) can be told apart.
RELATION = torch.tensor([[(i * i + 3 * j + (i * j) % 5) % 4 for j in range(11)] for i in range(11)])
OTHER = (*random((3, 6, 8)), RELATION[:9, 1:10])


@compare(
    (*random((2, 11, 13), (2, 4, 13)), RELATION),
    (*random((3, 9, 8), seed=2), *OTHER),
    run=_without_pairs,
)
@mistake("this is k_i (the authors' code); Eq. 7 has k_j, the key attended to.", key_of_i=True)
@mistake("the sum is already divided by sqrt(K); Eq. 8 does that once.", scale=13**-0.5)
def check_key_context(k, R_query, relation, scale=1.0, key_of_i=False):
    """T products for each key, from which each pair picks its own."""
    products = scale * R_query @ k.mT  # [H, T, N]
    index = relation.expand(len(k), -1, -1)
    return products.mT.gather(2, index) if key_of_i else products.gather(1, index)


@compare(
    (random((2, 11, 11))[0].softmax(dim=-1), *random((2, 4, 13)), RELATION),
    (*random((3, 9, 9), seed=2), *OTHER),
    run=_without_pairs,
)
@mistake("one weight is left of each relation: scatter_add_ adds.", add=torch.Tensor.scatter)
@mistake("row i sums over j, not column j over i.", given=lambda a, R, r: (a.mT, R, r.T))
def check_value_term(a, R_value, relation, add=torch.Tensor.scatter_add):
    """Weights are summed by relation, so only T vectors are needed."""
    sums = a.new_zeros(*a.shape[:2], R_value.shape[1])
    return add(sums, 2, relation.expand(len(a), -1, -1), a) @ R_value


@compare((3, 5), (1, 2))
@mistake("a node also counts itself; relation 0 should be 0.", first=0)
@mistake("there is no row for [VNode] here: T is 1 + E + (L - 1) + 2.", more=1)
@mistake("only edges of type 0 are counted; relations 1 to E are edges.", end=2)
def check_counting_table(E, L, first=1, end=None, more=0):
    """Every edge counts 1, everything else 0."""
    R = torch.zeros(E + L + 2 + more, 1)
    R[first : end or 1 + E] = 1
    return R


@checker
def check_dial_table(dial_table):
    """Dial and distance meet in a dot product, so the table is diagonal."""
    [R] = tensors(dial_table(), (11, 8))  # rows are relations
    require(R.isfinite().all(), "the table has to be finite.")
    weight = (R[:9].T / 8**0.5).softmax(dim=1)  # row n - 1: the query with dial n
    right, largest, dial = weight.diagonal(1).min(), weight.argmax(dim=1), torch.arange(1, 9)
    require((weight.std(dim=1) > 1e-6).any(), "all distances have one logit and equal weights.")
    require((weight.std(dim=0) > 1e-6).any(), "the dial makes no difference, as with a bias.")
    require((weight.argmin(dim=1) != dial).any(), "the sign is wrong.")
    for n, farthest in enumerate(largest.tolist(), start=1):
        require(n == farthest, f"the query with dial {n} attends to distance {farthest}.")
    require(right >= 0.99, f"the right distance gets only {right:.1%}: the numbers are too small.")
