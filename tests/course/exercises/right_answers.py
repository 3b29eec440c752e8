"""Right answers in an unusual style: lists, NumPy, loops, single precision, other formulas."""

from __future__ import annotations

import cmath
import math
from collections import Counter, defaultdict, deque
from fractions import Fraction
from itertools import islice, product

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F


def columns_by_numpy(Q, K, V):
    logits = np.einsum("dj,di->ji", K.numpy(), Q.numpy()) / np.sqrt(len(Q))
    weights = np.exp(logits - logits.max(axis=0))
    return V.numpy() @ (weights / weights.sum(axis=0))


def columns_as_lists(Q, K, V):
    columns = []
    for q in Q.T:
        logits = torch.stack([q @ k for k in K.T]) / len(Q) ** 0.5
        columns.append((V * logits.softmax(0)).sum(1))
    return torch.stack(columns).T.tolist()


def masked_attention_by_a_bias(Q, K, V, mask):
    bias = torch.zeros_like(mask, dtype=Q.dtype).masked_fill(~mask, float("-inf"))
    alive = mask.any(1)
    bias = torch.where(alive[:, None], bias, 0.0)
    z = F.scaled_dot_product_attention(Q, K, V, attn_mask=bias[:, None])
    return z * alive[:, None, None]


def heads_by_bmm(h, W_Q, W_K, W_V, W_O, num_heads):
    B, N, d = h.shape
    q, k, v = torch.cat([h @ W for W in (W_Q, W_K, W_V)]).view(3, B, N, num_heads, -1)
    q, k, v = (x.permute(0, 2, 1, 3).reshape(B * num_heads, N, -1) for x in (q, k, v))
    weights = torch.bmm(q, k.mT).div(math.sqrt(d // num_heads)).softmax(-1)
    z = torch.bmm(weights, v).view(B, num_heads, N, -1).permute(0, 2, 1, 3)
    return z.reshape(B, N, d).matmul(W_O)


def decoder_mask_by_loops(tokens):
    B, M = tokens.shape
    return [
        [[n <= m and int(tokens[b, n]) != 0 for n in range(M)] for m in range(M)] for b in range(B)
    ]


def shift_matrix_by_complex_numbers(k, d):
    R = np.zeros((d, d))
    for i in range(0, d, 2):
        turn = cmath.exp(1j * k * 10000 ** (-i / d))
        R[i : i + 2, i : i + 2] = [[turn.real, turn.imag], [-turn.imag, turn.real]]
    return R


def shift_matrix_as_lists(k, d):
    R = [[0.0] * d for _ in range(d)]
    for i in range(0, d, 2):
        angle = k * 10000 ** (-i / d)
        R[i][i] = R[i + 1][i + 1] = math.cos(angle)
        R[i][i + 1] = math.sin(angle)
        R[i + 1][i] = -math.sin(angle)
    return R


def shift_matrix_by_steps(k, d):
    """Multiplies k matrices of one step."""
    one = torch.zeros(d, d, dtype=torch.float64)
    for i in range(0, d, 2):
        w = 10000 ** (-i / d)
        one[i, i] = one[i + 1, i + 1] = math.cos(w)
        one[i, i + 1] = math.sin(w)
        one[i + 1, i] = -math.sin(w)
    R = torch.eye(d, dtype=torch.float64)
    for _ in range(k):
        R = one @ R
    return R


def greedy_by_recursion(predict, begin, end, limit):
    def rest(written):
        if len(written) > limit:
            return []
        token = predict(written)[-1].topk(1).indices.item()
        return [] if token == end else [token, *rest([*written, token])]

    return np.array(rest([begin]), dtype=np.int32)


def cached_step_by_einsum(attention, x, keys, values):
    q, k, v = (
        attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value)
    )
    keys, values = torch.cat((keys, k), -2), torch.cat((values, v), -2)
    a = torch.einsum("bhqc,bhmc->bhqm", q, keys).div(q.shape[-1] ** 0.5)
    a = a.exp() / a.exp().sum(-1, keepdim=True)
    z = torch.einsum("bhqm,bhmc->bqhc", a, values).flatten(2)
    return [attention.output(z), keys, values]


def mask_by_numpy(edge_index, num_nodes):
    mask = np.identity(num_nodes, dtype=bool)
    np.logical_or.at(mask, (edge_index[1].numpy(), edge_index[0].numpy()), True)
    return mask


def edge_softmax_by_a_table(logits, edge_index, num_nodes):
    table = logits.new_full((num_nodes, len(logits)), -math.inf)
    table[edge_index[1], torch.arange(len(logits))] = logits
    return (logits - table.logsumexp(1)[edge_index[1]]).exp()


def gatv2_by_numpy(h, W1, W2, a):
    h, W1, W2, a = (x.numpy() for x in (h, W1, W2, a))
    pairs = (h @ W1)[:, np.newaxis] + h @ W2
    return np.where(pairs > 0, pairs, pairs / 5).dot(a)


def layers_by_breadth_first_search(adjacency):
    N = len(adjacency)
    adjacency = adjacency.tolist()
    most = 0
    for start in range(N):
        steps = {start: 0}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for other in range(N):
                if adjacency[node][other] and other not in steps:
                    steps[other] = steps[node] + 1
                    queue.append(other)
        if len(steps) < N:
            return np.int64(-1)
        most = max(most, *steps.values())
    return most


def virtual_node_by_block(adjacency):
    ones = torch.ones(len(adjacency), 1)
    return torch.cat(
        [torch.cat([adjacency.float(), ones], 1), torch.cat([ones.T, ones[:1] * 0], 1)]
    )


def walk_matrix_of_fractions(A):
    rows = []
    for row in A.int().tolist():
        rows.append([float(Fraction(x, sum(row))) if sum(row) else 0.0 for x in row])
    return rows


def rayleigh_by_laplacian(u, edge_index):
    A = torch.zeros(len(u), len(u), dtype=u.dtype)
    A[edge_index[0], edge_index[1]] = 1
    return np.float32(u @ (A.sum(1).diag() - A) @ u / u.dot(u))


def edge_softmax_node_by_node(logits, edge_index, num_nodes):
    weights = torch.empty_like(logits)
    for node in range(num_nodes):
        here = edge_index[1] == node
        weights[here] = logits[here].softmax(0)
    return weights


def anchors_by_loops(distance, members):
    table = np.full((len(distance), len(members)), -1, dtype=np.int16)
    for i, row in enumerate(distance.tolist()):
        for s, chosen in enumerate(members.tolist()):
            steps = [n for n, one in zip(row, chosen, strict=True) if one and n != -1]
            if steps:
                table[i, s] = min(steps)
    return table


def laplacian_rows_by_numpy(A, k):
    A = A.numpy().astype(float)
    _, vectors = np.linalg.eigh(np.diag(A.sum(1)) - A)
    out = np.zeros((len(A), k), dtype=np.float32)
    out[:, : min(k, len(A))] = -vectors[:, :k]
    return out


def signs_by_a_coin(vectors):
    B, _, k = vectors.shape
    coin = torch.bernoulli(torch.full((B, k), 0.5)).bool()
    return torch.where(coin[:, None], vectors, -vectors)


def sum_over_signs_by_bits(phi, U):
    k = U.shape[1]
    values = [
        phi(U @ torch.diag(torch.tensor([1.0 - 2 * (n >> m & 1) for m in range(k)]).to(U)))
        for n in range(2**k)
    ]
    return torch.stack(values).double().sum(0)


def projectors_by_groups(L):
    values, vectors = np.linalg.eigh(L.double().numpy())
    spaces = [[0]]
    for n in range(1, len(values)):
        if values[n] - values[n - 1] < 1e-4:
            spaces[-1].append(n)
        else:
            spaces.append([n])
    return [vectors[:, own] @ vectors[:, own].T for own in spaces]


def spatial_bias_by_embedding(scalars, distance):
    rows = torch.where(distance < 0, 0, 1 + distance.clamp(0, len(scalars) - 2))
    return torch.stack([F.embedding(rows, column[:, None])[..., 0] for column in scalars.T])


def edge_bias_by_loops(table, path, distance):
    c = torch.zeros(distance.shape, dtype=table.dtype)
    for (i, j), n in np.ndenumerate(distance.numpy()):
        n = min(n, len(table))
        if n > 0:
            c[i, j] = sum(table[m, path[i, j, m]] for m in range(n)) / n
    return c


def mean_head_of_one_query(d):
    scalars = np.array([-1e4, 5 + math.log(2), 5.0, -np.inf])
    return scalars, np.zeros((d, d)), np.eye(d), np.eye(d)


def refine_by_counters(colours, A):
    numbers = defaultdict(lambda: len(numbers))
    new = []
    for own, row in zip(colours, A.tolist(), strict=True):
        near = Counter(colour for colour, joined in zip(colours, row, strict=True) if joined)
        new.append(numbers[own, frozenset(near.items())])
    return torch.tensor(new)


def gated_attention_by_rows(dots, b, g, real):
    rows = torch.zeros_like(dots)
    for i in range(len(dots)):
        s = (dots[i].clip(-5, 5) + b[i])[real]
        rows[i, real] = (s - s.logsumexp(0)).exp() / (1 + (-g[i, real]).exp())
    return rows


def objective_by_loops(logits, distance, nu):
    total = 0.0
    for i, j in product(range(len(distance)), repeat=2):
        if -1 < distance[i, j] <= nu:
            total -= float(logits[i, j].log_softmax(0)[distance[i, j]])
    return total


def counting_head_by_lists(A):
    return [[7.0] * len(A)] * len(A), [[15.0 if x else -15.0 for x in row] for row in A.tolist()]


def counting_head_of_huge_numbers(A):
    return [[0] * len(A)] * len(A), [[1e300 if x else -1e300 for x in row] for row in A.tolist()]


def counting_head_by_biases(A):
    """Attends to the neighbours alone, and lets the gate turn their mean into a sum."""
    degree = A.sum(dim=1, keepdim=True)
    gate = torch.where(degree > 0, (degree / len(A)).logit(), -20.0)
    return torch.where(A, 20.0, -20.0), gate.expand(A.shape)


def relation_ids_by_loops(distance, bond, E, L):
    def relation(steps, kind):
        if steps == 0:
            return 0
        if steps == 1:
            return 1 + kind
        return E + L + 1 if steps < 0 else min(E + steps - 1, E + L)

    pairs = zip(distance.tolist(), bond.tolist(), strict=True)
    return [[relation(*one) for one in zip(*rows, strict=True)] for rows in pairs]


def key_context_by_index(k, R_query, relation):
    products = torch.einsum("htc,hjc->htj", R_query, k)
    return products[:, relation, torch.arange(len(relation))]


def value_term_by_heads(a, R_value, relation):
    z = torch.zeros(*a.shape[:2], R_value.shape[2], dtype=a.dtype)
    for h, i in product(range(len(a)), range(a.shape[1])):
        z[h, i] = torch.bincount(relation[i], a[h, i], R_value.shape[1]).to(a) @ R_value[h]
    return z


def counting_table_by_numpy(E, L):
    return ((np.arange(E + L + 2) - 1) // E == 0)[:, np.newaxis].astype(np.float32)


def heat_bias_by_components(A, t):
    values, U = np.linalg.eigh(np.diag(A.sum(1).numpy()) - A.numpy())
    kernel = (U * np.exp(-t * values)) @ U.T
    b = np.full(A.shape, -np.inf)
    for part in nx.connected_components(nx.from_numpy_array(A.numpy())):
        own = np.ix_(sorted(part), sorted(part))
        b[own] = np.log(kernel[own])
    return b


def ring_bound_by_products(rings, N):
    member = torch.zeros(len(rings), N)
    for row, ring in zip(member, rings, strict=True):
        row[ring] = 1
    return (member.T @ member).fill_diagonal_(0).bool()


def filters_by_loops(a, H):
    K = len(a) // H
    heads = []
    for n in range(H):
        logs = sum(a[c].double().log() for c in range(n * K, (n + 1) * K)) / K
        weights = (logs - logs.amax(1, keepdim=True)).exp()
        heads.append(weights / weights.sum(1, keepdim=True))
    return np.stack([head.numpy() for head in heads])


def pixel_rows_by_whole_roots(height, width, M):
    pixels = list(product(range(height), range(width)))
    return [[min(math.isqrt((a - c) ** 2 + (b - d) ** 2), M) for c, d in pixels] for a, b in pixels]


def backward_by_jacobians(a, m, keep, g):
    eye = torch.eye(a.shape[-1], dtype=a.dtype)
    jacobian = torch.einsum("cij,jn->cijn", a, eye) - torch.einsum("cij,cin->cijn", a, a)
    of_E = torch.einsum("ci,cij,cijn->cin", g, keep * m, jacobian)
    return of_E, torch.einsum("cij->ij", of_E)


def gat_logits_by_loops(receiver, sender, A):
    logits = np.full(A.shape, -np.inf, dtype=np.float32)
    for j, i in A.nonzero().tolist():
        s = float(receiver[i]) + float(sender[j])
        logits[i, j] = max(s, s / 5)
    return logits


def gate_as_bias_by_softplus(s, g):
    return (s - F.softplus(-g)).numpy() + 3.0


def ahead_of_by_all(errors):
    return [
        (a, b) for a in errors for b in errors if all(x < y for x in errors[a] for y in errors[b])
    ]


def honest_error_one_by_one(fit, x, y, group):
    total = 0.0
    for i in range(len(y)):
        others = group != group[i]
        total += abs(float(fit(x[others], y[others])(x[i : i + 1])[0]) - float(y[i]))
    return np.float64(total / len(y))


def entropy_by_loops(a):
    return [-sum(p * math.log(p, len(a)) for p in row if p > 0) for row in a.double().tolist()]


def rollout_by_einsum(attention):
    N = attention.shape[-1]
    product = np.eye(N)
    for layer in reversed(attention.numpy()):
        product = product @ (np.einsum("hij->ij", layer) / len(layer) + np.eye(N)) / 2
    return product


def leave_out_by_shorter_lists(s, v):
    rows = []
    for j in range(len(s)):
        others = [n for n in range(len(s)) if n != j]
        rows.append(s.softmax(0) @ v - s[others].softmax(0) @ v[others])
    return torch.stack(rows)


def logit_gradient_by_products(a, v, g):
    of_a = torch.einsum("ik,jk->ij", g, v)
    return a * of_a - a * torch.einsum("ij,ij->i", a, of_a).unsqueeze(1)


def padding_share_by_iterator(sizes, batch_size):
    rest = iter(sizes)
    real = held = 0
    while batch := list(islice(rest, batch_size)):
        held += len(batch) * max(batch) ** 2
        real += sum(n * n for n in batch)
    return torch.tensor([(held - real) / held])


def padding_share_as_a_fraction(sizes, batch_size):
    starts = range(0, len(sizes), batch_size)
    batches = [sizes[start : start + batch_size] for start in starts]
    return 1 - Fraction(sum(n * n for n in sizes), sum(len(b) * max(b) ** 2 for b in batches))


def blocks_joined_at_the_end(q, k, v, scalars, size):
    """For each query, holds a maximum and two sums of each block."""
    rows = []
    for i, query in enumerate(q):
        parts = []
        for keys in torch.arange(len(k)).split(size):
            bias = scalars[(keys - i).abs().clamp(max=len(scalars) - 1)]
            logits = k[keys] @ query / q.shape[1] ** 0.5 + bias
            weights = (logits - logits.max()).exp()
            parts.append((logits.max(), weights.sum(), weights @ v[keys]))
        largest, total, z = map(torch.stack, zip(*parts, strict=True))
        factor = (largest - largest.max()).exp()
        rows.append((factor[:, None] * z).sum(0) / (factor * total).sum())
    return torch.stack(rows)


def blocks_by_logsumexp(q, k, v, scalars, size):
    N = len(q)
    z = torch.zeros_like(v)
    seen = torch.full((N, 1), -math.inf, dtype=q.dtype)
    for keys in torch.arange(N).split(size):
        away = (torch.arange(N)[:, None] - keys).abs().clamp(max=len(scalars) - 1)
        logits = q @ k[keys].T * q.shape[1] ** -0.5 + scalars[away]
        own = logits.logsumexp(1, keepdim=True)
        both = torch.logaddexp(seen, own)
        z = (seen - both).exp() * z + (own - both).exp() * (logits.softmax(1) @ v[keys])
        seen = both
    return z


def distances_by_networkx(A, mask):
    D = np.full(A.shape, -1)
    for b in range(len(A)):
        graph = nx.from_numpy_array(A[b].numpy(), create_using=nx.DiGraph)
        for i in mask[b].nonzero().flatten().tolist():
            for j, steps in nx.single_source_shortest_path_length(graph, i).items():
                D[b, i, j] = steps
    return D


def next_batch_by_counting(order, steps, num_graphs, batch_size):
    epoch = 0
    while True:
        for start in range(0, num_graphs, batch_size):
            if steps == 0:
                return np.asarray(order(epoch)[start : start + batch_size])
            steps -= 1
        epoch += 1


def masked_attention_without_nan(Q, K, V, mask):
    logits = Q @ K.mT / Q.shape[-1] ** 0.5
    weights = logits.masked_fill(~mask[:, None], -math.inf).softmax(-1)
    return weights.nan_to_num() @ V


def shift_matrix_by_an_exponential(k, d):
    generator = torch.zeros(d, d, dtype=torch.float64)
    for i in range(0, d, 2):
        generator[i, i + 1] = 10000 ** (-i / d)
        generator[i + 1, i] = -(10000 ** (-i / d))
    return torch.matrix_exp(k * generator)


def laplacian_rows_in_another_basis(A, k):
    A = A.double()
    values, vectors = torch.linalg.eigh(A.sum(1).diag() - A)
    space = F.pad(values.diff() > 1e-6, (1, 0)).cumsum(0)
    for number in space.unique():
        size = int((space == number).sum())
        if size > 1:
            rotation = torch.linalg.qr(torch.randn(size, size).double())[0]
            vectors[:, space == number] = vectors[:, space == number] @ rotation
    return F.pad(vectors[:, :k], (0, max(0, k - len(A))))


def signnet_sum_without_the_terms_of_padding(phi, rho, U):
    total = sum(phi(u) + phi(-u) for u in U.split(1, dim=1))
    padding = int((U == 0).all(0).sum())
    return rho(total - 2 * padding * phi(torch.zeros_like(U[:, :1])))


def edge_bias_by_running_means(table, path, distance):
    L = len(table)
    sums = table[torch.arange(L), path].cumsum(-1)
    means = F.pad(sums / torch.arange(1, L + 1), (1, 0))
    return means.gather(-1, distance.clamp(0, L)[..., None]).squeeze(-1)


def counting_head_of_means_and_degrees(A):
    share = A.float().mean(1, keepdim=True).clamp(1e-6, 1 - 1e-6)
    return torch.where(A, 0.0, -50.0), share.logit().expand(A.shape)


def relation_ids_by_positive_types(distance, bond, E, L):
    r = (distance + E - 1).clamp(max=E + L)
    r = torch.where(distance < 0, E + L + 1, r)
    r = torch.where((bond > 0) | (distance == 1), 1 + bond, r)
    return torch.where(distance == 0, 0, r)


def key_context_along_a_dimension(k, R_query, relation):
    return torch.take_along_dim(R_query @ k.transpose(1, 2), relation[None], dim=1)


def heat_bias_without_negative_numbers(A, t):
    A = A.double()
    most = A.sum(1).max()
    stays = (most - A.sum(1)).diag()
    return torch.matrix_exp(t * (stays + A)).log() - t * most


def pixel_rows_by_single_distances(height, width, M):
    n = torch.arange(height * width)
    places = torch.stack([n // width, n % width], dim=1).float()
    return torch.cdist(places, places).floor().clamp(max=M).long()


def distances_by_floyd_and_warshall(A, mask):
    pairs = mask[:, None] & mask[:, :, None]
    D = torch.where(A & pairs, 1.0, math.inf)
    D[torch.diag_embed(mask)] = 0
    for m in range(A.shape[-1]):
        D = torch.minimum(D, D[:, :, m, None] + D[:, m, None])
    return torch.where(D.isinf(), -1, D).int()


def answers(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12):
    """Pairs of a checker and a right answer."""
    return [
        (c1.check_columns, columns_by_numpy),
        (c1.check_columns, columns_as_lists),
        (c1.check_masked_attention, masked_attention_by_a_bias),
        (c1.check_masked_attention, masked_attention_without_nan),
        (c1.check_multi_head, heads_by_bmm),
        (c2.check_decoder_mask, decoder_mask_by_loops),
        (c2.check_shift_matrix, shift_matrix_by_complex_numbers),
        (c2.check_shift_matrix, shift_matrix_as_lists),
        (c2.check_shift_matrix, shift_matrix_by_steps),
        (c2.check_shift_matrix, shift_matrix_by_an_exponential),
        (c2.check_greedy, greedy_by_recursion),
        (c2.check_cached_step, cached_step_by_einsum),
        (c3.check_mask, mask_by_numpy),
        (c3.check_edge_softmax, edge_softmax_by_a_table),
        (c3.check_edge_softmax, edge_softmax_node_by_node),
        (c3.check_gatv2_logits, gatv2_by_numpy),
        (c3.check_layers_needed, layers_by_breadth_first_search),
        (c3.check_virtual_node, virtual_node_by_block),
        (c4.check_walk_matrix, walk_matrix_of_fractions),
        (c4.check_rayleigh_quotient, rayleigh_by_laplacian),
        (c4.check_anchor_distances, anchors_by_loops),
        (c4.check_laplacian_rows, laplacian_rows_by_numpy),
        (c4.check_laplacian_rows, laplacian_rows_in_another_basis),
        (c5.check_signnet_sum, signnet_sum_without_the_terms_of_padding),
        (c5.check_random_signs, signs_by_a_coin),
        (c5.check_sum_over_signs, sum_over_signs_by_bits),
        (c5.check_projectors, projectors_by_groups),
        (c6.check_spatial_bias, spatial_bias_by_embedding),
        (c6.check_edge_bias, edge_bias_by_loops),
        (c6.check_edge_bias, edge_bias_by_running_means),
        (c6.check_mean_head, mean_head_of_one_query),
        (c6.check_refine, refine_by_counters),
        (c7.check_gated_attention, gated_attention_by_rows),
        (c7.check_distance_objective, objective_by_loops),
        (c7.check_counting_head, counting_head_by_lists),
        (c7.check_counting_head, counting_head_by_biases),
        (c7.check_counting_head, counting_head_of_means_and_degrees),
        (c7.check_counting_head, counting_head_of_huge_numbers),
        (c8.check_relation_ids, relation_ids_by_loops),
        (c8.check_relation_ids, relation_ids_by_positive_types),
        (c8.check_key_context, key_context_by_index),
        (c8.check_key_context, key_context_along_a_dimension),
        (c8.check_value_term, value_term_by_heads),
        (c8.check_counting_table, counting_table_by_numpy),
        (c9.check_heat_bias, heat_bias_by_components),
        (c9.check_heat_bias, heat_bias_without_negative_numbers),
        (c9.check_ring_bound, ring_bound_by_products),
        (c9.check_filters_without_colour, filters_by_loops),
        (c9.check_pixel_rows, pixel_rows_by_whole_roots),
        (c9.check_pixel_rows, pixel_rows_by_single_distances),
        (c9.check_backward, backward_by_jacobians),
        (c10.check_gat_logits, gat_logits_by_loops),
        (c10.check_gate_as_bias, gate_as_bias_by_softplus),
        (c10.check_ahead_of, ahead_of_by_all),
        (c10.check_honest_error, honest_error_one_by_one),
        (c11.check_entropy_share, entropy_by_loops),
        (c11.check_rollout, rollout_by_einsum),
        (c11.check_leave_out, leave_out_by_shorter_lists),
        (c11.check_logit_gradient, logit_gradient_by_products),
        (c12.check_padding_share, padding_share_by_iterator),
        (c12.check_padding_share, padding_share_as_a_fraction),
        (c12.check_attention_in_blocks, blocks_by_logsumexp),
        (c12.check_attention_in_blocks, blocks_joined_at_the_end),
        (c12.check_distances, distances_by_networkx),
        (c12.check_distances, distances_by_floyd_and_warshall),
        (c12.check_next_batch, next_batch_by_counting),
    ]
