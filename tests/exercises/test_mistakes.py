"""Every checker rejects wrong answers, and names each known mistake by its own sentence."""

import pytest
import torch

from gtcourse.exercises import (
    chapter01,
    chapter02,
    chapter03,
    chapter04,
    chapter05,
    chapter06,
    chapter07,
    chapter08,
    chapter09,
    chapter10,
    chapter12,
)
from tests.exercises.test_texts import CHECKERS

KNOWN = [
    (check, message) for check in CHECKERS.values() for message in getattr(check, "mistakes", {})
]


@pytest.mark.parametrize(("check", "message"), KNOWN)
def test_a_known_mistake_is_named(check, message):
    def answer(*arguments):
        got = check.mistakes[message](*arguments)
        if not isinstance(got, tuple) or None not in got:
            return got
        right = check.reference(*arguments)  # of the parts that are not at fault
        return tuple(r if g is None else g for g, r in zip(got, right, strict=True))

    result = check(answer)
    assert result.passed is False
    assert result.message.endswith(message)  # after the name of the part, if there are several


def column(*entries):
    return torch.tensor(entries)[:, None]


def check_maximum(weights):
    return chapter01.check_maximum(*weights)


X, SEARCH = column(0.0, 1.0), column(50.0, 0.0)
BY_HAND = [
    (check_maximum, (column(0.0, 0.0), X, X), "is the mean"),
    (check_maximum, (column(-50.0, 0.0), X, X), "is the minimum"),
    (check_maximum, (column(0.0, 50.0), X, X), "the tokens disagree"),
    (check_maximum, (column(1.0, 0.0), X, X), "too soft"),
    (check_maximum, (SEARCH, X, torch.eye(2)), "a value has 2 entries"),
    (check_maximum, (SEARCH, torch.eye(2), X), "differ in width"),
    (check_maximum, (torch.ones(3, 1), X, X), "expected two rows"),
    (chapter01.check_pair, ("CCO", "OCC"), "two ways of writing"),
    (chapter01.check_pair, ("CCO", "CO"), "the bags differ"),
    (chapter01.check_pair, ("CCO", "CCN"), "the bags differ"),
    (chapter01.check_pair, ("CCO", "COC"), "targets are close"),
    (chapter01.check_pair, ("CCO", "C(C"), "no molecule that RDKit can read"),
    (chapter01.check_pair, "CCO", "expected two"),
]


def hidden_nan(q, k, v, mask):
    forbidden = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)[:, None, :]
    return (q @ k.mT / 2 + forbidden).softmax(-1).nan_to_num(0.0) @ v


def endless(predict, begin, end, limit):
    written = [begin]
    while written[-1] != end:
        written.append(int(predict(written)[0].argmax()))
    return written


def changes_its_argument(adjacency):
    result = chapter03.check_virtual_node.reference(adjacency)
    adjacency.fill_(True)
    return result


def signs(*shape, low=-1, chance=0.5):
    return torch.where(torch.rand(shape) < chance, low, 1)


def same_signs_again(v):
    generator = torch.Generator().manual_seed(0)
    return v * (2 * torch.randint(0, 2, (len(v), 1, v.shape[2]), generator=generator) - 1)


def dial(size=30.0, first=1):
    R = torch.zeros(11, 8)
    R[first : first + 8] = size * torch.eye(8)
    return R


def context_of_pairs(k, R, relation):
    return (k[:, None] * R[:, relation]).sum(dim=3)


BY_FUNCTIONS = [
    (chapter01.check_masked_attention, hidden_nan, "gradient of `q` is not finite"),
    (chapter01.check_columns, lambda q, k, v: q @ k, "raised RuntimeError"),
    (chapter02.check_decoder_mask, lambda t: torch.ones(2, 4, 4).tril() * (t != 0)[:, None],
     "expected torch.bool"),
    (chapter02.check_greedy, endless, "never stops"),
    (chapter02.check_greedy, lambda predict, *_: [int(predict([3]).argmax())], "is `begin`"),
    (chapter02.check_greedy, lambda *_: 7, "list of token numbers"),
    (chapter02.check_cached_step, lambda attention, x, *memory: x, "return three things"),
    (chapter02.check_cached_step, lambda attention, x, *memory: (x, *memory), "return them all"),
    (chapter02.check_cached_step, lambda attention, x, *memory: (x[:, 0], *memory), "output of"),
    (chapter03.check_mask, lambda edges, n: [1], "expected a tensor"),
    (chapter03.check_layers_needed, lambda A: torch.tensor([4.0, 1.0]), "expected a number"),
    (chapter03.check_layers_needed, lambda A: True, "expected a number"),
    (chapter03.check_virtual_node, changes_its_argument, "has been changed"),
    (chapter04.check_laplacian_rows, lambda A, k: torch.eye(7), "expected the shape [7, 4]"),
    (chapter04.check_rayleigh_quotient, lambda u, edges: 2.0, "expected 1.13043, got 2"),
    (chapter05.check_random_signs, lambda v: v * signs(200, 1, 3, low=0), "by nothing else"),
    (chapter05.check_random_signs, lambda v: v * torch.randn(200, 1, 3), "by nothing else"),
    (chapter05.check_random_signs, lambda v: v * signs(*v.shape), "have different signs"),
    (chapter05.check_random_signs, lambda v: -v, "every sign is the same"),
    (chapter05.check_random_signs, lambda v: v * signs(1, 1, 3), "all graphs of the batch"),
    (chapter05.check_random_signs, lambda v: v * signs(200, 1, 1), "all eigenvectors of a graph"),
    (chapter05.check_random_signs, same_signs_again, "do not fix the seed"),
    (chapter05.check_random_signs, lambda v: v * signs(200, 1, 3, chance=0.2), "about as many"),
    (chapter05.check_random_signs, lambda v: v[0], "expected a tensor"),
    (chapter06.check_mean_head, lambda d: torch.eye(d), "expected four things"),
    (chapter06.check_mean_head, lambda d: (torch.zeros(3), *[torch.eye(d)] * 3), "shape [4]"),
    (chapter06.check_refine, lambda colours, A: colours[:3], "expected a list"),
    (chapter06.check_refine, lambda colours, A: [f"{c}" for c in colours], "not integers"),
    (chapter07.check_distance_objective, lambda *_: torch.tensor(torch.nan), "got nan"),
    (chapter07.check_counting_head, lambda A: 0.0 * A, "expected two things"),
    (chapter07.check_counting_head, lambda A: (A.float().log(), 0.0 * A), "finite entries"),
    (chapter08.check_key_context, context_of_pairs, "a vector for every pair"),
    (chapter08.check_dial_table, lambda: dial(18.0), "gets only 98.6%"),
    (chapter08.check_dial_table, lambda: dial(first=2), "with dial 1 attends to distance 2"),
    (chapter08.check_dial_table, lambda: dial(-30.0), "the sign is"),
    (chapter08.check_dial_table, lambda: 0 * dial(), "one logit"),
    (chapter08.check_dial_table, lambda: dial().sum(1, keepdim=True) + 0 * dial(), "difference"),
    (chapter08.check_dial_table, lambda: dial().T, "rows are relations"),
    (chapter08.check_dial_table, lambda: dial().log(), "expected a finite tensor"),
    (chapter09.check_backward, lambda a, m, keep, g: a, "expected 2 results"),
    (chapter09.check_backward, lambda *_: (1.0, 2.0), "gradient of E: expected a tensor"),
    (chapter10.check_gate_as_bias, lambda s, g: s + g.sigmoid().log(), "in single precision"),
    (chapter10.check_gate_as_bias, lambda s, g: s * torch.nan, "is it 0/0"),
    (chapter10.check_ahead_of, lambda errors: {"A": "B"}, "expected a set"),
    (chapter12.check_padding_share, lambda *_: [0.5], "expected a number, got a list"),
    (chapter12.check_pair_bytes, lambda *_: (5, 5), "weights: expected 3528, got 5"),
    (chapter12.check_next_batch, lambda *_: 4, "expected a tensor"),
    (chapter12.check_next_batch, lambda order, *_: order(0)[:2],
     "`batch_size` is taken one too small."),
]  # fmt: skip


@pytest.mark.parametrize(("check", "answer", "message"), BY_HAND + BY_FUNCTIONS)
def test_another_wrong_answer_is_rejected(check, answer, message):
    result = check(answer)
    assert result.passed is False
    assert message in result.message


def test_every_checker_is_tried_with_three_wrong_answers_or_more():
    counts = {check: len(getattr(check, "mistakes", {})) for check in CHECKERS.values()}
    for check, *_ in BY_HAND + BY_FUNCTIONS:
        check = chapter01.check_maximum if check is check_maximum else check
        counts[check] += 1
    assert {check.__name__: count for check, count in counts.items() if count < 3} == {}
