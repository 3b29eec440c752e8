"""The checkers of chapter 12: each mistake is named."""

import math

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter12
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter12)


def batches(sizes, batch_size):
    return [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]


def padding(sizes, batch_size, power=2):
    held = sum(len(batch) * max(batch) ** power for batch in batches(sizes, batch_size))
    return 1 - sum(n**power for n in sizes) / held


def mean_of_batches(sizes, batch_size):
    shares = [padding(batch, batch_size) for batch in batches(sizes, batch_size)]
    return sum(shares) / len(shares)


def as_if_full(sizes, batch_size):
    held = sum(batch_size * max(batch) ** 2 for batch in batches(sizes, batch_size))
    return 1 - sum(n * n for n in sizes) / held


PADDING = [
    (lambda sizes, b: padding(sizes, b, power=1), "these are nodes"),
    (lambda sizes, b: padding(sizes, len(sizes)), "its own largest graph"),
    (lambda sizes, b: 1 - padding(sizes, b), "the share that is real"),
    (lambda sizes, b: padding(sizes, b) / (1 - padding(sizes, b)), "padding over real"),
    (mean_of_batches, "the mean of the batches' shares"),
    (as_if_full, "fewer graphs than the others"),
    (lambda sizes, b: padding(sizes[: len(sizes) // b * b], b), "the last batch is missing"),
    (lambda sizes, b: padding(sorted(sizes), b), "in order of size"),
    (lambda sizes, b: 0.9, "the share is 0.3478, got 0.9000"),
    (lambda sizes, b: [0.5], "expected a number, got a list"),
]


def bytes_of(weights, filters):
    return lambda B, N, H, d: (weights(B, N, H, d), filters(B, N, H, d))


def right_weights(B, N, H, d):
    return 4 * B * N * N * H


def right_filters(B, N, H, d):
    return 4 * B * N * N * d


def wrong_weights(wrong):
    return bytes_of(wrong, right_filters)


def wrong_filters(wrong):
    return bytes_of(right_weights, wrong)


BYTES = [
    (wrong_weights(lambda B, N, H, d: B * N * N * H), "weights: these are numbers"),
    (wrong_weights(lambda B, N, H, d: 2 * B * N * N * H), "weights: a number in single"),
    (wrong_weights(lambda B, N, H, d: 8 * B * N * N * H), "not 8"),
    (wrong_weights(lambda B, N, H, d: 32 * B * N * N * H), "weights: these are bits"),
    (wrong_weights(lambda B, N, H, d: 4 * N * N * H), "weights: each of the B graphs"),
    (wrong_weights(lambda B, N, H, d: 4 * B * N * N), "each head has its own"),
    (wrong_weights(lambda B, N, H, d: 4 * B * N * H), "weights: a graph has N²"),
    (wrong_weights(right_filters), "the width is no part"),
    (wrong_weights(lambda B, N, H, d: 5), "weights: for B = 3"),
    (wrong_filters(lambda B, N, H, d: B * N * N * d), "filters: these are numbers"),
    (wrong_filters(lambda B, N, H, d: 2 * B * N * N * d), "filters: a number in single"),
    (wrong_filters(lambda B, N, H, d: 8 * B * N * N * d), "not 8"),
    (wrong_filters(lambda B, N, H, d: 32 * B * N * N * d), "filters: these are bits"),
    (wrong_filters(lambda B, N, H, d: 4 * N * N * d), "filters: each of the B graphs"),
    (wrong_filters(right_weights), "for each channel, not for each head"),
    (wrong_filters(lambda B, N, H, d: 4 * B * N * N * d * H), "not d for each head"),
    (wrong_filters(lambda B, N, H, d: 4 * B * N * N * d // H), "the channels of one head"),
    (wrong_filters(lambda B, N, H, d: 4 * B * N * d), "filters: a graph has N²"),
    (lambda B, N, H, d: 4 * B * N * N * H, "expected two numbers"),
]


def by_products(A, mask, unreachable=-1, itself=True, steps=None, shift=0, of=torch.maximum):
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0 if itself else unreachable, unreachable)
    for step in range(1, (steps or A.shape[-1] - 1) + 1):
        now = (reached.float() @ A.float() > 0) | reached
        D[now & ~reached] = step + shift
        reached = now
    return D


def overwritten(A, mask):
    D, walks = torch.where(torch.diag_embed(mask), 0, -1), torch.diag_embed(mask)
    for step in range(1, A.shape[-1]):
        walks = walks.float() @ A.float() > 0
        D[walks] = step
    return D


def with_padded_diagonal(A, mask):
    return by_products(A, mask) + torch.diag_embed(~mask).long()


def off_by(A, mask, more):
    D = by_products(A, mask)
    return torch.where(D > 0, D + more, D) if more < 0 else torch.where(D >= 0, D + more, D)


def zero_between_nodes(A, mask):
    D, pairs = by_products(A, mask), mask[:, :, None] & mask[:, None]
    return torch.where(pairs, D.clamp(min=0), -1)


DISTANCES = [
    (lambda A, mask: by_products(A.mT, mask), "the way is the wrong one"),
    (lambda A, mask: by_products(A, mask, itself=False), "0 steps from itself"),
    (with_padded_diagonal, "padding is no node"),
    (zero_between_nodes, "has -1, not 0."),
    (lambda A, mask: by_products(A, mask, unreachable=0), "and so has padding"),
    (lambda A, mask: by_products(A, mask, steps=1), "after one step"),
    (lambda A, mask: by_products(A, mask, steps=2), "after two steps"),
    (lambda A, mask: by_products(A, mask, steps=A.shape[-1] - 2), "one step early"),
    (lambda A, mask: off_by(A, mask, 1), "one too large"),
    (lambda A, mask: off_by(A, mask, -1), "one too small"),
    (overwritten, "the last step"),
    (lambda A, mask: by_products(A, mask) >= 0, "true and false"),
    (lambda A, mask: by_products(A, mask)[0], "expected the shape"),
    (lambda A, mask: 3 * by_products(A, mask), "the numbers are not"),
    (lambda A, mask: [], "expected a tensor"),
]


def next_batch(order, steps, num_graphs, batch_size, batches=None, epoch=None, place=None):
    batches = batches or math.ceil(num_graphs / batch_size)
    epoch = steps // batches if epoch is None else epoch
    place = steps % batches if place is None else place
    return order(epoch)[batch_size * place : batch_size * (place + 1)]


def stream(order, steps, num_graphs, batch_size):
    everything = torch.cat([order(epoch) for epoch in range(5)])
    return everything[batch_size * steps : batch_size * (steps + 1)]


def places(order, steps, num_graphs, batch_size):
    return next_batch(lambda epoch: torch.arange(num_graphs), steps, num_graphs, batch_size)


NEXT = [
    (lambda *given: next_batch(*given, epoch=0), "the order of epoch 0"),
    (lambda *given: next_batch(*given, place=0), "begins anew"),
    (lambda o, s, n, b: next_batch(o, max(s - 1, 0), n, b), "of the last step"),
    (lambda o, s, n, b: next_batch(o, s + 1, n, b), "one batch is left out"),
    (lambda o, s, n, b: next_batch(o, s, n, b, batches=n // b), "is not full"),
    (lambda o, s, n, b: o(s // n)[s % n : s % n + b], "a step is a batch"),
    (stream, "filled up from the next epoch"),
    (places, "places in the order"),
    (lambda *given: next_batch(*given).sort().values, "ascending order"),
    (lambda *given: next_batch(*given)[:2], "after 0 steps with batches of 3 of 7"),
    (lambda *given: 4, "expected a tensor"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("padding_share", PADDING),
        ("pair_bytes", BYTES),
        ("distances", DISTANCES),
        ("next_batch", NEXT),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_the_share_may_be_a_tensor_and_the_graphs_a_list():
    assert chapter12.check_padding_share(lambda *given: torch.tensor(padding(*given))).passed
    assert chapter12.check_next_batch(lambda *given: next_batch(*given).tolist()).passed


def test_distances_may_be_those_of_floyd_and_warshall_as_floats():
    def by_detours(A, mask):
        D = torch.where(A, 1.0, torch.inf)
        D = torch.where(torch.diag_embed(mask), 0.0, D)
        for n in range(A.shape[-1]):
            D = torch.minimum(D, D[:, :, n, None] + D[:, n, None])
        return torch.where(D.isinf(), -1.0, D)

    assert chapter12.check_distances(by_detours).passed


def test_bytes_may_be_read_off_tensors():
    def read_off(B, N, H, d):
        K = d // H
        s = torch.zeros(B, H, N, N).softmax(dim=-1)
        filters = F.softmax(torch.zeros(B, H, K, N, N), dim=-1)
        return s.nbytes, filters.nbytes

    assert chapter12.check_pair_bytes(read_off).passed
