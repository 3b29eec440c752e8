"""Answers from a trial: plausible mistakes are rejected with a cause, other right answers pass."""

import math

import pytest
import torch
import torch.nn.functional as F

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
    chapter11,
    chapter12,
)


def masked(q, k, v, mask, value=-math.inf, fix=torch.nan_to_num):
    logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask[:, None], value)
    return fix(logits.softmax(dim=-1) @ v)


def heads(h, q, k, v, o, H, width=None, dim=-1, scale=None):
    q, k, v = (x.unflatten(-1, (H, -1)).transpose(1, 2) for x in (h @ q, h @ k, h @ v))
    a = (q @ k.mT * (scale or q.shape[-1] ** -0.5)).softmax(dim)
    return (a @ v).transpose(1, 2).flatten(2) @ o


def changing(check, argument, change):
    """The right answer from code that also changes one of its arguments."""

    def answer(*arguments):
        result = check.reference(*arguments)
        change(arguments[argument])
        return result

    return check, answer


def with_changed(check, change):
    """The right answer for other arguments."""
    return check, lambda *arguments: check.reference(*change(*arguments))


def then(check, change):
    return check, lambda *arguments: change(check.reference(*arguments))


def forgotten_return(*arguments):
    arguments[0] + arguments[0]


def of_numbers(check):
    """The right values, from Python's numbers, without a gradient and in single precision."""
    return check, lambda *arguments: torch.tensor(check.reference(*arguments).tolist())


def edge_softmax(logits, edges, n, least=0.0, dim=1):
    weights = (logits - logits.max()).exp()
    total = logits.new_zeros(n).index_add(0, edges[dim], weights)
    return weights / (total[edges[dim]] + least)


def gated(dots, b, g, real, low=-5, high=5, dim=1):
    a = (dots.clamp(low, high) + b).masked_fill(~real, -math.inf).softmax(dim)
    return a * g.sigmoid()


def path_mean(table, path, distance, shift=0, least=1):
    on_path = torch.arange(len(table)) < (distance + shift)[..., None]
    terms = table[torch.arange(len(table)), path] * on_path
    return terms.sum(-1) / on_path.sum(-1).clamp(min=least)


def distances(A, mask, wide=0):
    D, reached = torch.full(A.shape, -1), torch.eye(A.shape[1]).bool().expand_as(A)
    for step in range(A.shape[1] + wide):
        D = torch.where(reached & (D < 0), step, D)
        reached = reached.float() @ A.float() > 0
    return D


c1, c2, c3, c4 = chapter01, chapter02, chapter03, chapter04
c5, c6, c7, c8 = chapter05, chapter06, chapter07, chapter08
c9, c10, c11, c12 = chapter09, chapter10, chapter11, chapter12

WRONG = [
    (c1.check_columns, forgotten_return),
    (c1.check_columns, lambda Q, K, V: V @ (K.T @ Q / Q.shape[1] ** 0.5).softmax(0)),
    (c1.check_columns, lambda Q, K, V: V @ (K.T @ Q / len(V) ** 0.5).softmax(0)),
    (c1.check_columns, lambda Q, K, V: V @ (Q.T @ K / len(Q) ** 0.5).softmax(0)),
    (c1.check_columns, lambda Q, K, V: V @ (K.T @ Q / 3).softmax(0)),
    (c1.check_columns, lambda Q, K, V: V @ (K.T @ Q / len(Q) ** 0.5).softmax(0).detach()),
    of_numbers(c1.check_columns),
    (c1.check_masked_attention, masked),
    (c1.check_masked_attention, lambda *a: masked(*a, value=-1.0)),
    (c1.check_masked_attention, lambda q, k, v, m: masked(q.detach(), k, v, m)),
    changing(c1.check_masked_attention, 3, lambda mask: mask.fill_(True)),
    (c1.check_masked_attention, lambda q, k, v, m: masked(k, q, v, m)),
    (c1.check_multi_head, lambda *a: heads(*a, scale=a[-1] ** -0.5)),
    (c1.check_multi_head, lambda *a: heads(*a, dim=-2)),
    (c1.check_multi_head, lambda h, q, k, v, o, H: heads(h, k, q, v, o, H)),
    (c1.check_multi_head, lambda h, q, k, v, o, H: heads(h, q, k, v, o.T, H)),
    (c1.check_multi_head, lambda h, q, k, v, o, H: heads(h, q, k, v, o, 1)),
    then(c2.check_decoder_mask, torch.Tensor.int),
    (c2.check_decoder_mask, lambda t: torch.ones(len(t), *[t.shape[1]] * 2).bool().tril()),
    (c2.check_decoder_mask, lambda t: (t != 0)[:, None] & (t != 0)[:, :, None]),
    (c2.check_decoder_mask, lambda t: c2.check_decoder_mask.reference(t) & (t != 0)[..., None]),
    changing(c2.check_decoder_mask, 0, lambda tokens: tokens.zero_()),
    then(c2.check_shift_matrix, torch.t),
    with_changed(c2.check_shift_matrix, lambda k, d: (k + 1, d)),
    (c2.check_greedy, lambda predict, begin, end, limit: [5, 3, 5, 4]),
    (c2.check_greedy, lambda predict, begin, end, limit: []),
    with_changed(c3.check_mask, lambda e, n: (e, int(e.max()) + 1)),
    (c3.check_mask, lambda e, n: c3.check_mask.reference(e[:, e[0] != e[1]], n).fill_diagonal_(0)),
    then(c3.check_mask, torch.Tensor.float),
    (c3.check_edge_softmax, edge_softmax),
    (c3.check_edge_softmax, lambda *a: edge_softmax(*a, least=1e-9)),
    (c3.check_edge_softmax, lambda *a: edge_softmax(*a, dim=0)),
    changing(c3.check_edge_softmax, 0, lambda logits: logits.sub_(logits.max())),
    (c3.check_gatv2_logits,
     lambda h, W1, W2, a: F.elu((h @ W1)[:, None] + (h @ W2)[None], 0.2) @ a),
    with_changed(c3.check_gatv2_logits, lambda h, W1, W2, a: (h, W1, W1, a)),
    with_changed(c3.check_gatv2_logits, lambda h, W1, W2, a: (h, W1, W2, -a)),
    (c3.check_layers_needed, lambda A: 4),
    (c3.check_layers_needed, lambda A: int(A.any(1).sum()) - 1),
    changing(c3.check_virtual_node, 0, lambda A: A.fill_diagonal_(True)),
    then(c3.check_virtual_node, lambda A: A & ~torch.eye(len(A)).bool()),
    (c4.check_walk_matrix, lambda A: A.float().softmax(1) * A.any(1, keepdim=True)),
    (c4.check_walk_matrix, lambda A: A / (A.sum(1, keepdim=True) + 1e-2)),
    (c4.check_walk_matrix, lambda A: (A / A.sum(1, keepdim=True)).nan_to_num(1 / len(A))),
    changing(c4.check_rayleigh_quotient, 0, lambda u: u.div_(u.norm())),
    (c4.check_rayleigh_quotient, lambda u, e: float(((u[e[0]] - u[e[1]]) ** 2).mean() / 2)),
    (c4.check_anchor_distances, lambda d, s: torch.zeros(len(d), len(s)).long() - 1),
    then(c4.check_laplacian_rows, lambda rows: rows.flip(1)),
    with_changed(c4.check_svd_rows, lambda A, r: (A.T, r)),
    then(c4.check_svd_rows, lambda rows: rows.roll(rows.shape[1] // 2, 1)),
    (c5.check_even, lambda phi, u: (phi(u) + phi(-u)) / 2),
    (c5.check_even, lambda phi, u: phi(u) * phi(-u)),
    then(c5.check_signnet_sum, lambda z: z / 2),
    (c5.check_signnet_sum,
     lambda phi, rho, U: rho(sum(phi(u[:, None]) + phi(-u[:, None]) for u in U.T[:2]))),
    then(c5.check_projectors, lambda P: P[:-1]),
    with_changed(c5.check_projectors, lambda L: (L + torch.ones_like(L),)),
    (c6.check_spatial_bias, lambda s, d: s[(d + 1).clamp(max=3)].permute(2, 0, 1)),
    with_changed(c6.check_spatial_bias, lambda s, d: (s, d.T)),
    then(c6.check_spatial_bias, torch.detach),
    changing(c6.check_spatial_bias, 1, lambda d: d.add_(1)),
    (c6.check_edge_bias, lambda *a: path_mean(*a, shift=1)),
    (c6.check_edge_bias, lambda *a: path_mean(*a, least=0)),
    (c6.check_edge_bias, lambda t, p, d: path_mean(t.flip(0), p, d)),
    with_changed(c6.check_with_virtual_node, lambda b, t: (b.mT, t)),
    then(c6.check_with_virtual_node, lambda b: b.triu()),
    changing(c6.check_with_virtual_node, 0, torch.Tensor.zero_),
    with_changed(c7.check_first_pairs, lambda A, bond, t, x, mu: (A, bond, t.flip(0), x, mu)),
    with_changed(c7.check_first_pairs, lambda A, bond, t, x, mu: (A | A.T, bond, t, x, mu)),
    changing(c7.check_first_pairs, 0, lambda A: A.fill_diagonal_(True)),
    (c7.check_gated_attention, lambda *a: gated(*a, dim=0)),
    (c7.check_gated_attention, lambda *a: gated(*a, high=99)),
    (c7.check_gated_attention, lambda d, b, g, real: F.normalize(gated(d, b, g, real), 1, 1)),
    with_changed(c7.check_with_virtual_pairs, lambda e, v: (e.transpose(0, 1), v)),
    then(c7.check_with_virtual_pairs, lambda e: e.triu()),
    with_changed(c7.check_distance_objective, lambda x, d, nu: (x, d, nu - 1)),
    with_changed(c7.check_distance_objective, lambda x, d, nu: (x.transpose(0, 1), d + 0, nu)),
    with_changed(c8.check_relation_ids, lambda d, bond, E, L: (d, bond, L, E)),
    with_changed(c8.check_relation_ids, lambda d, bond, E, L: (d, bond, E, L + 1)),
    changing(c8.check_relation_ids, 0, lambda d: d.clamp_(min=0)),
    with_changed(c8.check_key_context, lambda k, R, r: (k.flip(0), R, r)),
    with_changed(c8.check_key_context, lambda k, R, r: (k, R, (r + 1) % R.shape[1])),
    with_changed(c8.check_value_term, lambda a, R, r: (a.softmax(-1), R, r)),
    with_changed(c8.check_counting_table, lambda E, L: (L, E)),
    with_changed(c9.check_pair_rows, lambda A, bond, T: (A.T, bond.T, T)),
    (c9.check_pair_rows, lambda A, b, T: torch.where(A, b, torch.eye(len(A)).long() + 3)),
    with_changed(c9.check_heat_bias, lambda A, t: (A, t / 2)),
    then(c9.check_ring_bound, lambda bound: bound | torch.eye(len(bound)).bool()),
    with_changed(c9.check_ring_bound, lambda rings, N: (rings[:1], N)),
    with_changed(c9.check_attention_filters, lambda q, k, E, H: (q, k, E.mT, H)),
    with_changed(c9.check_attention_filters, lambda q, k, E, H: (q, k, E, len(E) // H)),
    with_changed(c9.check_attention_filters, lambda q, k, E, H: (q, k.detach(), E, H)),
    with_changed(c10.check_gat_logits, lambda a, b, A: (a, b, A | A.T)),
    then(c10.check_gat_logits, lambda s: s.clamp(min=-1e9)),
    with_changed(c10.check_gate_as_bias, lambda s, g: (s, -g)),
    (c10.check_gate_as_bias, lambda s, g: (s + F.logsigmoid(g)).mT),
    with_changed(c10.check_pair_numbers, lambda N, d, H, d_e, L: (N, d, H, d_e, L + 1)),
    (c10.check_ahead_of, lambda errors: {("A", "B"), ("A", "G")}),
    (c11.check_entropy_share,
     lambda a: -(a * (a + 1e-3).log()).sum(-1) / math.log(a.shape[-1])),
    (c11.check_entropy_share, lambda a: -torch.special.xlogy(a, a).sum(-1) / math.log(5)),
    with_changed(c11.check_rollout, lambda a: (a.mT,)),
    with_changed(c11.check_rollout, lambda a: (a[:, :1],)),
    with_changed(c11.check_leave_out, lambda s, v: (s, v.softmax(0))),
    then(c11.check_leave_out, torch.abs),
    with_changed(c11.check_logit_gradient, lambda a, v, g: (a, g, v)),
    then(c11.check_logit_gradient, lambda slope: slope.mT),
    (c12.check_padding_share, lambda sizes, b: 0.5),
    (c12.check_padding_share, lambda sizes, b: c12.check_padding_share.reference(sorted(sizes), b)),
    changing(c12.check_padding_share, 0, list.sort),
    (c12.check_distances, distances),
    with_changed(c12.check_distances, lambda A, mask: (A | A.mT, mask)),
    with_changed(c12.check_next_batch, lambda order, s, n, b: (order, s, n + b, b)),
    (c12.check_next_batch,
     lambda order, s, n, b: order(s // (n // b + 1))[s % (n // b + 1) * b :][:b]),
]  # fmt: skip


@pytest.mark.parametrize(("check", "answer"), WRONG)
def test_a_plausible_mistake_is_rejected_with_its_cause(check, answer):
    result = check(answer)
    assert result.passed is False
    assert len(result.message) > 20


def attend_by_loops(Q, K, V):
    columns = []
    for i in range(Q.shape[1]):
        logits = torch.stack([Q[:, i] @ K[:, j] for j in range(K.shape[1])]) / len(Q) ** 0.5
        columns.append(V @ logits.softmax(0))
    return torch.stack(columns, dim=1)


def masked_by_sentences(q, k, v, mask):
    rows = []
    for b in range(len(q)):
        real = mask[b]
        a = (q[b] @ k[b, real].T / q.shape[-1] ** 0.5).softmax(-1)
        rows.append(a @ v[b, real] if real.any() else 0 * v[b])
    return torch.stack(rows)


def heads_one_by_one(h, W_Q, W_K, W_V, W_O, H):
    K, found = h.shape[-1] // H, []
    for c in range(0, h.shape[-1], K):
        q, k, v = (h @ W[:, c : c + K] for W in (W_Q, W_K, W_V))
        found.append((torch.einsum("bik,bjk->bij", q, k) / K**0.5).softmax(-1) @ v)
    return torch.cat(found, dim=-1) @ W_O


def edges_one_by_one(logits, edges, n):
    target = edges[1].tolist()
    groups = [[e for e, t in enumerate(target) if t == node] for node in target]
    totals = torch.stack([logits[group].logsumexp(0) for group in groups])
    return (logits - totals).exp()


def gatv2_by_loops(h, W1, W2, a):
    rows = [[a @ F.leaky_relu(x @ W1 + y @ W2, 0.2) for y in h] for x in h]
    return torch.stack([torch.stack(row) for row in rows])


def key_context_by_product(k, R, relation):
    products = torch.einsum("htc,hjc->hjt", R, k)
    return torch.stack([p[torch.arange(len(relation)), relation] for p in products])


def softmax_jacobian(a, v, g):
    jacobian = torch.diag_embed(a) - a[:, :, None] * a[:, None]
    return torch.einsum("ijm,ic,mc->ij", jacobian, g, v)


RIGHT = [
    (c1.check_columns, attend_by_loops),
    (c1.check_columns,
     lambda Q, K, V: F.scaled_dot_product_attention(Q.T[None], K.T[None], V.T[None])[0].T),
    (c1.check_masked_attention, masked_by_sentences),
    (c1.check_masked_attention,
     lambda q, k, v, m: masked(q, k, v, m | ~m.any(1, keepdim=True), fix=lambda z: z)
     * m.any(1)[:, None, None]),
    (c1.check_multi_head, heads_one_by_one),
    (c1.check_multi_head, heads),
    (c2.check_decoder_mask, lambda t: torch.stack([(row != 0).expand(len(row), -1).tril()
                                                   for row in t])),
    (c2.check_shift_matrix, lambda k, d: torch.matrix_power(
        c2.check_shift_matrix.reference(1, d), k)),
    (c2.check_greedy, lambda *a: tuple(c2.check_greedy.reference(*a))),
    (c3.check_mask, lambda e, n: torch.tensor(
        [[i == j or [j, i] in e.T.tolist() for j in range(n)] for i in range(n)])),
    (c3.check_edge_softmax, edges_one_by_one),
    (c3.check_gatv2_logits, gatv2_by_loops),
    then(c3.check_layers_needed, torch.tensor),
    (c3.check_virtual_node, lambda A: torch.block_diag(A, torch.zeros(1, 1)).bool()
     | (torch.arange(len(A) + 1) == len(A)) ^ (torch.arange(len(A) + 1) == len(A))[:, None]),
    (c4.check_walk_matrix, lambda A: F.normalize(A.double(), p=1, dim=1)),
    (c4.check_rayleigh_quotient,
     lambda u, e: ((u[e[0]] - u[e[1]]) ** 2)[e[0] < e[1]].sum() / (u @ u)),
    then(c4.check_laplacian_rows, torch.Tensor.float),
    then(c4.check_svd_rows, torch.neg),
    (c5.check_even, lambda phi, u: torch.stack([phi(u), phi(-u)]).sum(0)),
    (c5.check_signnet_sum,
     lambda phi, rho, U: rho(sum(phi(s * u[:, None]) for u in U.T if u.any() for s in (1, -1)))),
    (c6.check_spatial_bias, lambda s, d: torch.stack([
        x[torch.where(d < 0, 0, (d + 1).clamp(max=len(x) - 1))] for x in s.T])),
    (c6.check_edge_bias, path_mean),
    (c6.check_with_virtual_node, lambda b, t: torch.cat([
        t[:, None, None].expand(-1, 1, b.shape[1] + 1),
        torch.cat([t[:, None, None].expand(-1, b.shape[1], 1), b], 2)], 1)),
    (c7.check_gated_attention, gated),
    then(c8.check_relation_ids, torch.Tensor.int),
    (c8.check_key_context, key_context_by_product),
    (c8.check_value_term, lambda a, R, r: torch.einsum(
        "htn,htc->hnc",
        torch.stack([(a * (r == t)).sum(-1) for t in range(R.shape[1])], 1), R)),
    (c9.check_ring_bound, lambda rings, N: torch.tensor(
        [[i != j and any({i, j} <= {*ring} for ring in rings) for j in range(N)]
         for i in range(N)])),
    (c10.check_gat_logits,
     lambda a, b, A: torch.where(A.T, F.leaky_relu(a[:, None] + b, 0.2), -math.inf)),
    (c10.check_gate_as_bias, lambda s, g: s - F.softplus(-g)),
    (c11.check_entropy_share,
     lambda a: torch.special.entr(a).sum(1) / math.log(a.shape[1])),
    (c11.check_logit_gradient, softmax_jacobian),
    then(c12.check_distances, torch.Tensor.int),
]  # fmt: skip


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_another_right_answer_passes(check, answer):
    result = check(answer)
    assert result.passed, result


@pytest.mark.parametrize(
    ("check", "answer", "cause"),
    [
        (c1.check_columns, forgotten_return, "did you forget `return`?"),
        (*changing(c5.check_even, 1, torch.Tensor.neg_), "`u` has been changed"),
        (*then(c1.check_columns, torch.Tensor.float), "expected torch.float64, got torch.float32"),
        (*then(c1.check_columns, torch.detach), "no gradient reaches the arguments"),
        (c1.check_masked_attention, masked, "the gradient of `v` is not finite"),
        (*with_changed(c3.check_gatv2_logits, lambda h, W1, W2, a: (h, W1, W2.detach(), a)),
         "the gradient of `W2` is not"),
        (*with_changed(c8.check_relation_ids, lambda d, bond, E, L: (d, bond, E, L - 1)),
         "`L` is taken one too small"),
        (*with_changed(c9.check_pair_rows, lambda A, bond, T: (A.T, bond, T)), "`adjacency` is tr"),
        (*then(c11.check_leave_out, lambda z: 3 * z), "3 times the right one"),
        (*then(c6.check_with_virtual_node, lambda b: b + 1), "off by the same number"),
    ],
)  # fmt: skip
def test_the_rule_that_all_checkers_share_names_the_cause(check, answer, cause):
    assert cause in check(answer).message


def test_fixed_precision_inside_an_answer_is_named():
    def answer(Q, K, V):
        return V @ (K.T @ Q / len(Q) ** 0.5 + torch.zeros(1)).softmax(0) @ torch.eye(Q.shape[1])

    assert "Are sizes or dtypes fixed?" in c1.check_columns(answer).message
