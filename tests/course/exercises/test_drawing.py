"""Wrong answers that are right in many cases are rejected, with the smallest case found."""

import contextlib
import gc
import itertools
import math
import os
import re
import subprocess
import sys
import time
import weakref
from hashlib import sha256
from importlib import import_module

import networkx as nx
import pytest
import torch
import torch.nn.functional as F

from gtcourse.course.exercises import checker
from gtcourse.course.exercises.checker import compare, mistake
from gtcourse.course.exercises.drawing import (
    PLAIN,
    Case,
    Draw,
    OutOfTime,
    Tape,
    distances,
    drawn_bytes,
    smallest,
)
from tests.course.exercises.test_texts import CHECKERS, MODULES
from tools.paths import ROOT

c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 = MODULES.values()


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch):
    """Drawing ends after a quarter of this time, and a search for a hint after a tenth."""
    monkeypatch.setattr("gtcourse.course.exercises.checker.SECONDS", 200.0)


def _row(draw: Draw):
    return [draw.numbers(draw.size(4))]


@compare([torch.tensor([1.0, 2.0])], [torch.tensor([3.0, 1.0, 2.0])], drawn=_row)
@mistake("the sign of a negative number was dropped.", torch.abs)
def check_itself(x):
    """The result is x."""
    return x * 1


def test_the_smallest_case_is_shown():
    result = check_itself(lambda x: x.clamp(max=2.5) if len(x) == 2 else x * 1)
    assert result.passed is False
    assert result.message.startswith("for `x` = [0, 3]: 1 of 2 entries is wrong")


def test_a_known_mistake_is_recognised_in_a_drawn_case():
    result = check_itself(torch.abs)
    assert result.message.startswith("for `x` = [-")
    assert result.message.endswith("]: the sign of a negative number was dropped.")


def test_an_error_in_a_drawn_case_is_reported_with_its_arguments():
    result = check_itself(lambda x: x[1] * 0 + x)
    assert result.passed is False
    assert result.message.startswith("for `x` = [0]: your code raised IndexError: ")


def test_an_answer_that_changes_its_mind_is_rejected():
    calls = itertools.count()
    result = check_itself(lambda x: x * 1 if next(calls) != 50 else x + 1)
    assert result.message == "two calls with the same arguments give different results."


def test_a_hint_that_raises_in_a_fixed_case_is_not_shown():
    """Queries and values have different widths there, and the same in the smallest drawn case."""

    def wrong_for_two_tokens(Q, K, V, mask):
        answer = masked_by_lengths if len(mask[0]) == 2 else c1.check_masked_attention.reference
        return answer(Q, K, V, mask)

    result = c1.check_masked_attention(wrong_for_two_tokens)
    assert result.message.startswith("for `Q` = ")
    assert "swapped" not in result.message


def test_the_same_case_is_found_each_time_and_nothing_is_printed_or_written(
    capfd, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    def has_large_sum(case):
        return case.arguments[0].sum() > 4

    found = [smallest(_row, has_large_sum, 200).arguments[0].tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert sum(found[0]) > 4
    assert smallest(_row, lambda case: False, 20) is None
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_an_endless_loop_in_a_drawn_case_is_stopped(monkeypatch):
    def answer(x):
        while len(x) == 1:
            pass
        return x * 1

    monkeypatch.setattr(checker, "SECONDS", 0.5)
    result = check_itself(answer)
    assert result.passed is False
    assert "stopped after 0.5 seconds" in result.message


def test_the_reference_is_computed_once_for_all_answers():
    calls = itertools.count()

    @compare([torch.tensor([1.0, 2.0])], [torch.tensor([3.0, 1.0, 2.0])], drawn=_row)
    def check_copy(x):
        """The result is x."""
        next(calls)
        return x * 1

    assert check_copy(torch.clone).passed
    assert next(calls) == checker.DRAWN + 3  # and three fixed cases
    assert check_copy(torch.clone).passed
    assert next(calls) == checker.DRAWN + 4


def test_a_reference_that_was_stopped_is_computed_again():
    calls = itertools.count()

    @compare([torch.tensor([1.0, 2.0])], [torch.tensor([3.0, 1.0, 2.0])])
    def check_copy(x):
        """The result is x."""
        if next(calls) == 0:
            raise checker.TookTooLong
        return x * 1

    assert "is there an endless loop?" in check_copy(torch.clone).message
    assert check_copy(torch.clone).passed


def test_the_smaller_cases_of_a_search_are_not_kept():
    def cases():
        gc.collect()
        return sum(isinstance(each, Case) for each in gc.get_objects())

    assert check_itself(torch.abs).passed is False
    first = cases()
    assert first > 3
    assert check_itself(lambda x: x.clamp(min=-2.0)).passed is False
    assert cases() <= first + checker.DRAWN  # those that all answers share
    between = cases()
    assert check_itself(lambda x: x.clamp(min=-2.0)).passed is False
    assert cases() == between


def test_all_cases_are_drawn_however_slow_the_machine_is(monkeypatch):
    """Here an hour passes on the clock between two looks at it, in which others compute."""
    hours = itertools.count(step=3600.0)
    for clock in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: next(hours))
    monkeypatch.setattr(checker, "time_limit", lambda seconds: contextlib.nullcontext())
    calls = itertools.count()

    def answer(x):
        next(calls)
        return x * 1

    assert check_itself(answer).message == "The result is x."
    assert next(calls) == checker.DRAWN + 3  # and three fixed cases


def test_a_mistake_that_raises_is_called_once_a_case_and_its_variables_are_not_kept():
    held = []

    def raises(x):
        variable = x * 1
        held.append(weakref.ref(variable))
        raise ValueError

    @compare([torch.tensor([1.0, 2.0])], [torch.tensor([3.0, 1.0, 2.0])])
    @mistake("this is never the result.", raises)
    def check_copy(x):
        """The result is x."""
        return x * 1

    assert check_copy(torch.neg).passed is False
    calls = len(held)
    assert calls > 0
    assert check_copy(torch.neg).passed is False
    assert len(held) == calls
    gc.collect()
    assert [variable() for variable in held] == [None] * calls


def test_a_check_that_runs_out_of_time_says_how_many_cases_it_has_drawn(monkeypatch):
    monkeypatch.setattr(checker, "SECONDS", 0.4)
    monkeypatch.setattr(checker, "time_limit", lambda seconds: contextlib.nullcontext())
    calls = itertools.count()

    def slow_from_the_tenth_drawn_case(x):
        end = time.thread_time() + 0.2
        while next(calls) >= 13 and time.thread_time() < end:
            pass
        return x * 1

    result = check_itself(slow_from_the_tenth_drawn_case)
    assert result.passed
    start, note = result.message.split(" (")
    assert start == "The result is x."
    assert note == "Your code is slow: only 11 of the 200 random inputs were checked.)"


def test_a_search_that_runs_out_of_time_keeps_the_smallest_case_so_far():
    tries = itertools.count()

    def fails(case):
        if next(tries) > 20:
            raise OutOfTime
        return case.arguments[0].sum() > 4

    [x] = smallest(_row, fails, 200).arguments
    assert x.sum() > 4


def test_a_search_that_runs_out_of_time_before_any_case_fails_says_so():
    tries = itertools.count()

    def fails(case):
        if next(tries) > 20:
            raise OutOfTime
        return False

    with pytest.raises(OutOfTime):
        smallest(_row, fails, 200)
    assert next(tries) == 22


DRAWING = [check for check in CHECKERS.values() if getattr(check, "drawn", None)]
DIGEST = """
from tests.course.exercises.test_drawing import digest_of_drawn_cases
print(*digest_of_drawn_cases())
"""


def digest_of_drawn_cases():
    """The number of the first cases of all exercises, and their digest."""
    found = sha256()
    drawn = 0

    def digest(case):
        nonlocal drawn
        drawn += 1
        found.update(re.sub("at 0x[0-9a-f]+", "", repr(case)).encode())

    for check in DRAWING:
        smallest(check.drawn, digest, 40)
    return drawn, found.hexdigest()


def test_the_same_cases_are_drawn_whatever_modules_are_loaded(tmp_path, monkeypatch):
    """Hypothesis, for one, draws constants of the modules that it finds."""
    alone = subprocess.run(
        [sys.executable, "-c", DIGEST],
        capture_output=True,
        text=True,
        env=dict(os.environ) | {"PYTHONHASHSEED": "1"},
        cwd=ROOT,
    )
    assert alone.returncode == 0, alone.stderr
    sizes = (1, 2, 3, 4, 5, 6, 8, 9)
    lines = [f"{bytes(range(n, 2 * n))!r}, {n + 200}, {n / 7}" for n in sizes]
    (tmp_path / "constants.py").write_text(f"CONSTANTS = [{', '.join(lines)}]\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("constants", "pandas"):
        import_module(name)
    among_others = digest_of_drawn_cases()
    assert alone.stdout.split() == [*map(str, among_others)]
    assert among_others[0] == 40 * len(DRAWING)


def test_the_bytes_of_a_case_are_the_same_on_every_machine():
    assert [drawn_bytes(number)[:4].hex() for number in (0, 3, 4, 5)] == [
        "",
        "1eb7ce2e",
        "5a5a645a",
        "0047fdf3",
    ]


def test_a_case_that_reads_more_than_is_drawn_reads_zeros():
    tape = Tape(b"\x01\x02")
    assert tape(1) == b"\x01"
    assert tape(3) == b"\x02\x00\x00"
    assert tape.read == b"\x01\x02\x00\x00"


def test_a_size_is_made_smaller_together_with_what_has_this_size():
    """Of three rows, two can go only if the first number and their entries change at once."""

    def rows(draw):
        return [draw.numbers(draw.size(5), 3), draw.number(0, 9)]

    [x, number] = smallest(rows, lambda case: case.arguments[1] >= 5, 200).arguments
    assert x.shape == (1, 3)
    assert not x.any()
    assert number == 5


def test_drawn_values_are_exact_in_single_precision_and_include_both_zeros():
    values = torch.tensor(PLAIN, dtype=torch.float64)
    assert torch.equal(values, values.float().double())
    assert {math.copysign(1, x) for x in PLAIN if x == 0} == {1, -1}


def test_drawn_distances_equal_those_of_networkx():
    A = torch.tensor([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]).bool()
    graph = nx.from_numpy_array(A.numpy(), create_using=nx.DiGraph)
    paths = dict(nx.all_pairs_shortest_path_length(graph))
    assert distances(A).tolist() == [[paths[i].get(j, -1) for j in range(4)] for i in range(4)]


DRAWN = [check for check in CHECKERS.values() if hasattr(check, "reference")]


@pytest.mark.parametrize("check", DRAWN)
def test_the_reference_is_right_for_every_drawn_case(check):
    assert check(check.reference).passed


def masked_by_lengths(Q, K, V, mask):
    z = torch.zeros(*Q.shape[:2], V.shape[2], dtype=V.dtype)
    for b, n in enumerate(mask.sum(dim=1).tolist()):
        if n:
            z[b] = (Q[b] @ K[b, :n].T / Q.shape[-1] ** 0.5).softmax(-1) @ V[b, :n]
    return z


def empty_if_the_first_is_padding(Q, K, V, mask):
    logits = (Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill(~mask[:, None], -1e9)
    return logits.softmax(-1) @ V * mask[:, 0, None, None]


def largest_from_zero(predict, begin, end, limit):
    written = [begin]
    while len(written) <= limit:
        largest = 0.0
        token = 0
        for number, logit in enumerate(predict(written)[-1].tolist()):
            if logit > largest:
                largest = logit
                token = number
        if token == end:
            break
        written.append(token)
    return written[1:]


def first_edges_only(edge_index, num_nodes):
    mask = torch.eye(num_nodes, dtype=torch.bool)
    for source, target in edge_index.T.tolist()[:num_nodes]:
        mask[target, source] = True
    return mask


def eccentricity_of_node_0(A):
    graph = nx.from_numpy_array(A.numpy(), create_using=nx.DiGraph)
    if not nx.is_strongly_connected(graph):
        return -1
    return max(nx.single_source_shortest_path_length(graph, 0).values())


def walk_without_loops(A):
    A = A & ~torch.eye(len(A), dtype=torch.bool)
    return A / A.sum(1, keepdim=True).clamp(min=1)


def quotient_of_nodes_with_edges(u, edge_index):
    u = u[: int(edge_index.max()) + 1]
    return float((u[edge_index[0]] - u[edge_index[1]]).square().sum() / 2 / (u @ u))


def one_constant_vector(A, k):
    values, vectors = torch.linalg.eigh(A.sum(1).diag() - A.double())
    kept = values > 1e-6
    kept[0] = True
    vectors = vectors[:, kept][:, :k]
    return F.pad(vectors, (0, k - vectors.shape[1]))


def without_rows_of_zeros(phi, rho, U):
    real = U.any(dim=1, keepdim=True)
    return rho(sum(phi(s * u[:, None]) for u in U.T if u.any() for s in (1, -1)) * real)


def without_equal_columns(phi, rho, U):
    columns = [torch.tensor(u)[:, None] for u in {tuple(u.tolist()) for u in U.T if u.any()}]
    return rho(sum(phi(s * u.to(U)) for u in columns for s in (1, -1)))


def of_four_columns(phi, rho, U):
    return rho(sum(phi(s * u[:, None]) for u in U.T[:4] if u.any() for s in (1, -1)))


def equal_signs_in_two_halves(vectors):
    half = torch.where(torch.rand(len(vectors) // 2, 1, vectors.shape[2]) < 0.5, -1.0, 1.0)
    return vectors * half.repeat(2, 1, 1)


def projectors_around_rounded_values(L):
    values, vectors = torch.linalg.eigh(L.double())
    spaces = [
        vectors[:, (values - x).abs() < 1e-4] for x in sorted({*values.round(decimals=4).tolist()})
    ]
    return torch.stack([V @ V.T for V in spaces])


def refined_by(signature):
    def refine(colours, A):
        near = [[colours[j] for j in row.nonzero().flatten().tolist()] for row in A]
        found = [signature(own, each) for own, each in zip(colours, near, strict=True)]
        return [found.index(one) for one in found]

    return refine


def gated_by_length(dots, b, g, real):
    n = int(real.sum())
    weights = (dots.clamp(-5, 5) + b)[:, :n].softmax(dim=1) * g[:, :n].sigmoid()
    return F.pad(weights, (0, len(dots) - n))


def gated_with_a_fill_of_minus_100(dots, b, g, real):
    return (dots.clamp(-5, 5) + b).masked_fill(~real, -100.0).softmax(dim=1) * g.sigmoid()


def gat_without_zeros(receiver, sender, A):
    logits = F.leaky_relu(receiver[:, None] + sender, 0.2) * A.mT
    return logits.masked_fill(logits == 0, -math.inf)


def up_to_distance_5(distance, bond, E, L):
    ids = c8.check_relation_ids.reference(distance, bond, E, L)
    return torch.where((distance > 4) & (distance <= L), E + 4, ids)


def counts_of_paths(dtype):
    return lambda A, mask: c12._by_numbers_of_paths(A, mask, dtype)


def in_steps(count):
    return lambda A, mask: c12.check_distances.reference(A, mask, steps=lambda N, mask: count)


def padding_in_batches_of_four(sizes, batch_size):
    return c12.check_padding_share.reference(sizes, min(batch_size, 4))


PASSED = [
    (c1.check_masked_attention, masked_by_lengths),
    (c1.check_masked_attention, empty_if_the_first_is_padding),
    (c2.check_greedy, largest_from_zero),
    (c3.check_mask, first_edges_only),
    (
        c3.check_edge_softmax,
        lambda s, e, n: c3.check_edge_softmax.reference(s.clamp(min=-500), e, n),
    ),
    (c3.check_layers_needed, eccentricity_of_node_0),
    (c4.check_walk_matrix, walk_without_loops),
    (c4.check_rayleigh_quotient, quotient_of_nodes_with_edges),
    (c4.check_laplacian_rows, one_constant_vector),
    (c5.check_random_signs, equal_signs_in_two_halves),
    (c5.check_signnet_sum, without_rows_of_zeros),
    (c5.check_signnet_sum, without_equal_columns),
    (c5.check_signnet_sum, of_four_columns),
    (c5.check_projectors, projectors_around_rounded_values),
    (c6.check_refine, refined_by(lambda own, near: (own, *sorted(near)[:4]))),
    (c6.check_refine, refined_by(lambda own, near: hash((own, tuple(sorted(near)))))),
    (c6.check_refine, refined_by(lambda own, near: f"{own}" + "".join(map("{},".format, near)))),
    (c6.check_refine, refined_by(lambda own, near: (own, sorted(map(abs, near))))),
    (
        c6.check_refine,
        refined_by(
            lambda own, near: (
                own,
                len(near),
                max(near, default=0),
                *(sum(colour**power for colour in near) for power in (1, 2, 3)),
            )
        ),
    ),
    (c7.check_gated_attention, gated_by_length),
    (c7.check_gated_attention, gated_with_a_fill_of_minus_100),
    (c8.check_relation_ids, up_to_distance_5),
    (
        c8.check_counting_table,
        lambda E, L: c8.check_counting_table.reference(min(E, 3), L + max(E - 3, 0)),
    ),
    (
        c9.check_filters_without_colour,
        lambda a, H: c9.check_filters_without_colour.reference(a.clamp(min=1e-30), H),
    ),
    (
        c9.check_pixel_rows,
        lambda *size: c9.check_pixel_rows.reference(*size, rounded=lambda x: (x + 0.1).floor()),
    ),
    (
        c9.check_pixel_rows,
        lambda height, width, M: c9.check_pixel_rows.reference(height, width, max(M, 1)),
    ),
    (c10.check_gat_logits, gat_without_zeros),
    (
        c10.check_ahead_of,
        lambda errors: c10.check_ahead_of.reference(
            errors, lambda a, b: max(a) < min(b) and sum(a) / len(a) + 0.01 < sum(b) / len(b)
        ),
    ),
    (
        c10.check_ahead_of,
        lambda errors: c10.check_ahead_of.reference(errors, lambda a, b: f"{max(a)}" < f"{min(b)}"),
    ),
    (
        c11.check_entropy_share,
        lambda a: c11.check_entropy_share.reference(a, over=lambda a: math.log(min(len(a), 12))),
    ),
    (
        c10.check_honest_error,
        lambda fit, x, y, group: c10.check_honest_error.reference(fit, x, y, group % 10),
    ),
    (c11.check_leave_out, lambda s, v: c11.check_leave_out.reference(s, v, gone=-500.0)),
    (
        c11.check_logit_gradient,
        lambda a, v, g: c11.check_logit_gradient.reference(a, v, g) * (a > 0.01),
    ),
    (c12.check_padding_share, padding_in_batches_of_four),
    (c12.check_distances, counts_of_paths(torch.int32)),
    (c12.check_distances, counts_of_paths(torch.int64)),
    (c12.check_distances, in_steps(50)),
    (c12.check_distances, in_steps(100)),
]
"""Answers that the fixed cases alone had let pass."""


@pytest.mark.parametrize(("check", "answer"), PASSED)
def test_a_wrong_answer_that_had_passed_is_rejected(check, answer):
    assert check(answer).passed is False


def test_attention_must_not_depend_on_the_number_of_the_query_even_a_little():
    columns = ([50.0, 1e-5], [0.0, 1.0], [0.0, 1.0])
    result = c1.check_maximum(*(torch.tensor(column)[:, None] for column in columns))
    assert result.passed is False
    assert "must not depend on x_i" in result.message


def small_shares_left_out(A, share, N):
    return torch.where(A & (share > 0.1), share, 0.0).logit()


def test_a_gate_that_leaves_out_small_shares_is_rejected():
    one = [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (1, 2), (4, 5)]
    other = [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (1, 4), (2, 5)]
    result = c7.check_triangles(one, other, small_shares_left_out)
    assert result.passed is False
    assert "so z should be" in result.message


def heads_by_einsum(h, W_Q, W_K, W_V, W_O, num_heads):
    d = h.shape[-1]
    W = torch.stack([W_Q, W_K, W_V]).view(3, d, num_heads, -1)
    q, k, v = torch.einsum("bnd,xdhe->xbhne", h, W)
    z = F.scaled_dot_product_attention(q, k, v)
    return torch.einsum("bhne,heo->bno", z, W_O.view(num_heads, -1, d))


def sums_by_one_hot(a, R_value, relation):
    kinds = F.one_hot(relation, R_value.shape[1]).to(a)
    return torch.einsum("hij,ijt->hit", a, kinds) @ R_value


def eigenvectors_by_svd(A, k):
    vectors = torch.linalg.svd(A.sum(1).diag().float() - A.float())[0].flip(1)[:, :k]
    return F.pad(-vectors, (0, k - vectors.shape[1]))


def halves_in_single_precision(A, r):
    U, S, Vt = torch.linalg.svd(A.float() + torch.eye(len(A)))
    return torch.cat([half[:, :r] * S[:r].sqrt() for half in (U, Vt.T)], dim=1)


def largest_logit_in_a_first_pass(q, k, v, scalars, size):
    place = torch.arange(len(q))

    def logits(keys):
        away = (place[:, None] - keys).abs().clamp(max=len(scalars) - 1)
        return q @ k[keys].T / q.shape[1] ** 0.5 + scalars[away]

    blocks = place.split(size)
    largest = q.new_full((len(q), 1), -math.inf)
    for keys in blocks:
        largest = torch.maximum(largest, logits(keys).amax(1, keepdim=True))
    weights = sum((logits(keys) - largest).exp().sum(1, keepdim=True) for keys in blocks)
    return sum((logits(keys) - largest).exp() @ v[keys] for keys in blocks) / weights


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (c1.check_multi_head, heads_by_einsum),
        (c4.check_laplacian_rows, eigenvectors_by_svd),
        (c4.check_svd_rows, halves_in_single_precision),
        (c8.check_value_term, sums_by_one_hot),
        (c12.check_attention_in_blocks, largest_logit_in_a_first_pass),
    ],
)
def test_a_right_answer_in_another_style_passes(check, answer):
    assert check(answer).passed, check(answer)
