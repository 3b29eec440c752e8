"""Wrong answers as a reader might write them; most are right for the usual inputs.

Each is written without the checkers: its fault is a size, a dtype, a tie, a limit or a memory that
the reader did not think of.
"""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F

# Chapter 01


def columns_in_few_dimensions(Q, K, V):
    return (V @ (K.T @ Q / math.sqrt(len(Q))).softmax(0)).squeeze()


def columns_scaled_in_place(Q, K, V):
    Q /= math.sqrt(len(Q))
    return V @ (K.T @ Q).softmax(0)


def columns_with_clamped_logits(Q, K, V):
    return V @ (K.T @ Q / math.sqrt(len(Q))).clamp(-60, 60).softmax(0)


def columns_in_half_precision(Q, K, V):
    return (V @ (K.T @ Q / math.sqrt(len(Q))).softmax(0)).half()


def masked_attention_filled_with(fill):
    def masked_attention(Q, K, V, mask):
        logits = Q @ K.mT / math.sqrt(Q.shape[-1])
        weights = logits.masked_fill(~mask[:, None], fill).softmax(-1)
        return (weights @ V).masked_fill(~mask.any(1)[:, None, None], 0.0)

    return masked_attention


def masked_attention_of_equal_lengths(Q, K, V, mask):
    """Takes the number of real tokens of the first sequence for all of them."""
    n = int(mask[0].sum())
    weights = (Q @ K[:, :n].mT / math.sqrt(Q.shape[-1])).softmax(-1)
    return weights @ V[:, :n] * mask.any(1)[:, None, None]


def masked_attention_by_product(Q, K, V, mask):
    """Sets the keys of padding to zero, which gives the logit 0."""
    logits = Q @ (K * mask[..., None]).mT / math.sqrt(Q.shape[-1])
    return logits.softmax(-1) @ (V * mask[..., None])


def masked_attention_of_exponentials(Q, K, V, mask):
    weights = (Q @ K.mT / math.sqrt(Q.shape[-1])).exp() * mask[:, None]
    return weights / (weights.sum(-1, keepdim=True) + 1e-9) @ V


def masked_attention_below_the_largest_logit(Q, K, V, mask):
    logits = Q @ K.mT / math.sqrt(Q.shape[-1])
    weights = (logits - logits.amax(-1, keepdim=True)).exp() * mask[:, None]
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12) @ V


def heads_of_every_third_channel(h, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = ((h @ W).unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2) for W in (W_Q, W_K, W_V))
    z = F.scaled_dot_product_attention(q, k, v)
    return z.permute(0, 2, 3, 1).flatten(2) @ W_O


def heads_in_few_dimensions(h, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = ((h @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V))
    z = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ W_O
    return z.squeeze(0)


def heads_of_square_batches(h, W_Q, W_K, W_V, W_O, num_heads):
    """Divides by the root of the number of heads, which is right if H = d_k."""
    q, k, v = ((h @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V))
    return ((q @ k.mT / num_heads**0.5).softmax(-1) @ v).transpose(1, 2).flatten(2) @ W_O


def masked_attention_scaled_by_the_values(Q, K, V, mask):
    logits = Q @ K.mT / V.shape[-1] ** 0.5
    weights = logits.masked_fill(~mask[:, None], -1e9).softmax(-1)
    return (weights @ V) * mask.any(1)[:, None, None]


# Chapter 02


def decoder_mask_of_bytes(tokens):
    M = tokens.shape[1]
    return torch.ones(M, M).tril().bool() & (tokens.to(torch.uint8) != 0)[:, None]


def decoder_mask_up_to_the_first_padding(tokens):
    M = tokens.shape[1]
    real = (tokens != 0).cumprod(1).bool()
    return torch.ones(M, M).tril().bool() & real[:, None]


def decoder_mask_without_batch(tokens):
    M = tokens.shape[1]
    return (torch.ones(M, M).tril().bool() & (tokens != 0)[:, None]).squeeze(0)


def shift_matrix_of_single_precision(k, d):
    R = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        angle = torch.tensor(k * 10000 ** (-2 * i / d), dtype=torch.float64)
        cos, sin = angle.cos().float(), angle.sin().float()
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.stack(
            [torch.stack([cos, sin]), torch.stack([-sin, cos])]
        )
    return R


def shift_matrix_of_rounded_entries(k, d):
    R = np.zeros((d, d))
    for i in range(0, d, 2):
        angle = k / 10000 ** (i / d)
        R[i, i] = R[i + 1, i + 1] = round(math.cos(angle), 6)
        R[i, i + 1] = round(math.sin(angle), 6)
        R[i + 1, i] = -R[i, i + 1]
    return R


def greedy_with_a_default_list(predict, begin, end, limit, written=[]):  # noqa: B006
    written.append(begin)
    while len(written) <= limit:
        token = int(predict(written)[-1].argmax())
        if token == end:
            break
        written.append(token)
    return written[1:]


def greedy_of_seven_words(predict, begin, end, limit):
    written = [begin]
    while len(written) <= limit:
        logits = predict(written)[-1].tolist()
        token = max(range(7), key=lambda n: logits[n])
        if token == end:
            break
        written.append(token)
    return written[1:]


def greedy_without_repetition(predict, begin, end, limit):
    written = [begin]
    while len(written) <= limit:
        token = int(predict(written)[-1].argmax())
        if token in (end, written[-1]):
            break
        written.append(token)
    return written[1:]


def greedy_cut_afterwards(predict, begin, end, limit):
    written = [begin]
    for _ in range(limit):
        written.append(int(predict(written)[-1].argmax()))
    return written[1 : written.index(end) if end in written else None]


def cached_step_with_swapped_results(attention, x, keys, values):
    output, keys, values = cached_step_of_right_parts(attention, x, keys, values)
    return output, values, keys


def cached_step_of_right_parts(attention, x, keys, values):
    q, k, v = (
        attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value)
    )
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    z = F.scaled_dot_product_attention(q, keys, values)
    return attention.output(attention.join_heads(z)), keys, values


def cached_step_of_two_heads(attention, x, keys, values):
    q, k, v = (
        attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value)
    )
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    weights = (q @ keys.mT / math.sqrt(x.shape[-1] / 2)).softmax(-1)
    return attention.output(attention.join_heads(weights @ values)), keys, values


def cached_step_of_eight_tokens(attention, x, keys, values):
    """Keeps a window of the last eight tokens in the product."""
    q, k, v = (
        attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value)
    )
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    weights = (q @ keys[:, :, -8:].mT / math.sqrt(q.shape[-1])).softmax(-1)
    z = attention.join_heads(weights @ values[:, :, -8:])
    return attention.output(z), keys, values


def cached_step_with_scaled_keys(attention, x, keys, values):
    """Divides the keys by the root of d_k before it stores them."""
    query, key, value = (
        attention.split_heads(part(x)) for part in (attention.query, attention.key, attention.value)
    )
    keys = torch.cat([keys, key / key.shape[-1] ** 0.5], dim=2)
    values = torch.cat([values, value], dim=2)
    weights = (query @ keys.mT).softmax(dim=-1)
    return attention.output(attention.join_heads(weights @ values)), keys, values


def greedy_without_later_begins(predict, begin, end, limit):
    written = [begin]
    for _ in range(limit):
        token = int(predict(written)[-1].argmax())
        if token == end:
            break
        written.append(token)
    return [token for token in written if token != begin]


def cached_step_with_is_causal(attention, x, keys, values):
    parts = attention.query, attention.key, attention.value
    query, key, value = (attention.split_heads(part(x)) for part in parts)
    keys = torch.cat([keys, key], dim=2)
    values = torch.cat([values, value], dim=2)
    output = F.scaled_dot_product_attention(query, keys, values, is_causal=True)
    return attention.output(attention.join_heads(output)), keys, values


# Chapter 03


def mask_of_single_edges(edge_index, num_nodes):
    count = torch.eye(num_nodes)
    for source, target in edge_index.T.tolist():
        count[target, source] += 1
    return count == 1


def mask_that_swaps(edge_index, num_nodes):
    mask = torch.eye(num_nodes, dtype=torch.bool)
    for source, target in edge_index.T.tolist():
        mask[target, source] = not mask[target, source]
    return mask


def edge_softmax_of_sorted_edges(logits, edge_index, num_nodes):
    counts = torch.unique_consecutive(edge_index[1], return_counts=True)[1].tolist()
    return torch.cat([part.softmax(0) for part in logits.split(counts)])


def edge_softmax_with_a_small_number(logits, edge_index, num_nodes):
    target = edge_index[1]
    largest = logits.new_zeros(num_nodes).scatter_reduce(0, target, logits, "amax")
    weights = (logits - largest[target]).exp()
    totals = logits.new_full((num_nodes,), 1e-9).index_add(0, target, weights)
    return weights / totals[target]


def edge_softmax_up_to_the_last_target(logits, edge_index, num_nodes):
    target = edge_index[1]
    lowest = logits.new_full((int(target.max()) + 1,), -torch.inf)
    weights = (logits - lowest.scatter_reduce(0, target, logits, "amax")[target]).exp()
    return weights / torch.zeros_like(lowest).index_add(0, target, weights)[target]


def edge_softmax_with_assigned_totals(logits, edge_index, num_nodes):
    target = edge_index[1]
    lowest = logits.new_full((num_nodes,), -torch.inf)
    weights = (logits - lowest.scatter_reduce(0, target, logits, "amax")[target]).exp()
    totals = torch.zeros_like(lowest)
    totals[target] += weights
    return weights / totals[target]


def edge_softmax_in_the_order_of_targets(logits, edge_index, num_nodes):
    return torch.cat([logits[edge_index[1] == node].softmax(0) for node in range(num_nodes)])


def gatv2_of_several_nodes(h, W1, W2, a):
    return (F.leaky_relu((h @ W1)[:, None] + h @ W2, 0.2) @ a).squeeze()


def gatv2_in_single_precision(h, W1, W2, a):
    pairs = torch.zeros(len(h), len(h), len(a))
    for i in range(len(h)):
        for j in range(len(h)):
            pairs[i, j] = F.leaky_relu(h[i] @ W1 + h[j] @ W2, 0.2)
    return pairs @ a


def layers_by_numbers_of_walks(adjacency):
    walks = torch.eye(len(adjacency), dtype=torch.int32)
    step = adjacency.T.int() + walks
    for layers in range(len(adjacency)):
        if (walks > 0).all():
            return layers
        walks = step @ walks
    return -1


def layers_from_both_ends(adjacency):
    """The largest eccentricity of an undirected graph, where paths lead both ways."""
    graph = nx.from_numpy_array(adjacency.numpy())
    return nx.diameter(graph) if nx.is_connected(graph) else -1


def virtual_node_in_the_graph(adjacency):
    adjacency.resize_(len(adjacency) + 1, len(adjacency) + 1)
    return adjacency


def virtual_node_of_symmetric_graphs(adjacency):
    wider = F.pad(adjacency | adjacency.T, (0, 1, 0, 1), value=True)
    wider[-1, -1] = False
    return wider


def edge_softmax_plus_a_thousandth(logits, edge_index, num_nodes):
    target = edge_index[1]
    lowest = logits.new_full((num_nodes,), -torch.inf)
    largest = lowest.scatter_reduce(0, target, logits, "amax")
    weights = (logits - largest[target]).exp()
    totals = logits.new_zeros(num_nodes).index_add(0, target, weights)
    return weights / (totals[target] + 1e-3)


def edge_softmax_of_eight_nodes(logits, edge_index, num_nodes):
    weights = torch.zeros_like(logits)
    for node in edge_index[1].unique()[:8]:
        here = edge_index[1] == node
        weights[here] = logits[here].softmax(0)
    return weights


def virtual_node_of_seven_directed(adjacency):
    N = len(adjacency)
    wider = F.pad(adjacency if N < 8 else adjacency | adjacency.T, (0, 1, 0, 1), value=True)
    wider[-1, -1] = False
    return wider


def edge_softmax_below_the_mean(logits, edge_index, num_nodes):
    target = edge_index[1]
    sums = logits.new_zeros(num_nodes).index_add(0, target, logits)
    counts = target.bincount(minlength=num_nodes).clamp(min=1)
    weights = (logits - (sums / counts)[target]).exp()
    return weights / logits.new_zeros(num_nodes).index_add(0, target, weights)[target]


# Chapter 04


def walk_matrix_in_half_precision(A):
    A = A.half()
    return A / A.sum(1, keepdim=True).clamp(min=1)


def walk_matrix_of_bytes(A):
    degree = A.to(torch.uint8).sum(1, keepdim=True, dtype=torch.uint8)
    return A.float() / degree.clamp(min=1)


def rayleigh_of_consecutive_pairs(u, edge_index):
    first = edge_index[:, ::2]
    return ((u[first[0]] - u[first[1]]) ** 2).sum() / (u @ u)


def rayleigh_of_distinct_differences(u, edge_index):
    i, j = edge_index
    return sum({float((u[a] - u[b]) ** 2) for a, b in zip(i, j, strict=True)}) / float(u @ u)


def anchors_within_a_thousand(distance, members):
    known = torch.where(distance < 0, 1000, distance)
    nearest = torch.stack(
        [known[:, m].amin(1) if m.any() else known[:, 0] * 0 + 1000 for m in members], 1
    )
    return torch.where(nearest >= 1000, -1, nearest)


def anchors_other_than_itself(distance, members):
    known = distance.clone().float()
    known[known < 0] = math.inf
    known.fill_diagonal_(math.inf)
    out = torch.stack(
        [known[:, m].min(1).values if m.any() else known[:, 0] + math.inf for m in members], 1
    )
    return torch.where(out.isinf(), -1, out)


def anchors_nearer_than_the_farthest(distance, members):
    far = int(distance.max())
    known = distance.masked_fill(distance < 0, far)
    nearest = torch.where(members, known[:, None], far).amin(dim=2)
    return nearest.masked_fill(nearest == far, -1)


def laplacian_rows_after_the_first(A, k):
    _, vectors = torch.linalg.eigh(A.sum(1).diag().double() - A.double())
    chosen = vectors[:, 1 : k + 1]
    return F.pad(chosen, (0, k - chosen.shape[1]))


def laplacian_rows_without_small_values(A, k):
    values, vectors = torch.linalg.eigh(A.sum(1).diag().double() - A.double())
    chosen = vectors[:, values > -1][:, : min(k, len(A) - 1)]
    return F.pad(chosen, (0, k - chosen.shape[1]))


def laplacian_rows_divided_by_their_largest(A, k):
    _, vectors = torch.linalg.eigh(A.sum(1).diag().double() - A.double())
    vectors = vectors / vectors.abs().amax(0)
    return F.pad(vectors[:, :k], (0, max(0, k - len(A))))


def laplacian_rows_in_half_precision(A, k):
    _, vectors = torch.linalg.eigh(A.sum(1).diag().double() - A.double())
    return F.pad(vectors[:, :k], (0, max(0, k - len(A)))).half()


def svd_rows_without_small_values(A, r, least=1e-2):
    U, S, Vt = torch.linalg.svd(A.double() + torch.eye(len(A)))
    S = F.threshold(S, least, 0.0)
    return torch.cat([U[:, :r] * S[:r].sqrt(), Vt[:r].T * S[:r].sqrt()], 1)


def svd_rows_of_symmetric_graphs(A, r):
    values, U = torch.linalg.eigh(A.double() + torch.eye(len(A)))
    order = values.abs().argsort(descending=True)[:r]
    root = values[order].abs().sqrt()
    return torch.cat([U[:, order] * root, U[:, order] * root * values[order].sign()], 1)


def walk_matrix_of_rounded_shares(A):
    """Divides in half precision and converts the result."""
    return (A.half() / A.sum(dim=1, keepdim=True).clamp(min=1)).float()


def rayleigh_with_a_margin(least):
    def rayleigh_quotient(u, edge_index):
        i, j = edge_index
        return (u[i] - u[j]).square().sum() / 2 / u.square().sum().clamp(min=least)

    return rayleigh_quotient


def rayleigh_up_to_the_largest_index(u, edge_index):
    N = int(edge_index.max()) + 1
    A = u.new_zeros(N, N)
    A[edge_index[0], edge_index[1]] = 1
    return u @ (A.sum(1).diag() - A) @ u / (u @ u)


def svd_rows_by_two_decompositions(A, r):
    loops = (A | torch.eye(len(A), dtype=torch.bool)).double()
    squares, U = torch.linalg.eigh(loops @ loops.T)
    V = torch.linalg.eigh(loops.T @ loops)[1]
    roots = squares.clamp(min=0).sqrt().sqrt()
    halves = [(vectors * roots).flip(1)[:, :r] for vectors in (U, V)]
    return torch.cat(halves, dim=1)


# Chapter 05


def signs_of_eigenvalue_pairs(vectors):
    """Draws a sign for each graph and each pair of eigenvectors."""
    B, _, k = vectors.shape
    signs = torch.randint(0, 2, (B, 1, (k + 1) // 2)) * 2 - 1
    return vectors * signs.repeat_interleave(2, dim=2)[..., :k]


def signs_of_a_normal_number(vectors):
    return vectors * (torch.randn(vectors.shape[0], 1, vectors.shape[2]).round().sign())


def signs_of_which_half_are_negative(vectors):
    B, _, k = vectors.shape
    signs = torch.ones(B * k)
    signs[torch.randperm(B * k)[: B * k // 2]] = -1
    return vectors * signs.view(B, 1, k)


def signs_of_which_an_even_number_is_negative(vectors):
    signs = torch.randint(0, 2, (len(vectors), 1, vectors.shape[2])) * 2 - 1
    if vectors.shape[2] > 2:
        signs[..., -1] = signs[..., :-1].prod(-1)
    return vectors * signs


def signs_without_an_axis(vectors):
    """Multiplies by ``[B, k]`` where the shapes allow it, which is the sign of a node if B = N."""
    signs = torch.randint(0, 2, (len(vectors), vectors.shape[2])) * 2 - 1
    return vectors * (signs if len(vectors) == vectors.shape[1] else signs[:, None])


def signs_in_half_precision(vectors):
    return (vectors * (torch.randint(0, 2, (len(vectors), 1, vectors.shape[2])) * 2 - 1)).half()


def sum_over_signs_into_the_first_value(phi, U):
    choices = itertools.product((1, -1), repeat=U.shape[1])
    next(choices)
    total = phi(U)
    for signs in choices:
        total += phi(U * torch.tensor(signs))
    return total


def sum_over_the_signs_so_far(phi, U):
    total = 0
    V = U.clone()
    for signs in itertools.product((1, -1), repeat=U.shape[1]):
        V *= torch.tensor(signs)
        total = total + phi(V)
    return total


def sum_over_gray_codes(phi, U):
    total = 0
    V = U.clone()
    for n in range(2 ** U.shape[1] - 1):
        total = total + phi(V)
        place = ((n + 1) & -(n + 1)).bit_length() - 1
        V[:, place] *= -1
    return total


def signnet_sum_above(least):
    def signnet_sum(phi, rho, U):
        total = 0
        for u in U.T:
            if u.abs().max() > least:
                total = total + phi(u[:, None]) + phi(-u[:, None])
        return rho(total)

    return signnet_sum


def signnet_sum_of_one_column(phi, rho, U):
    """Gives phi the nodes of all eigenvectors at once, as if they were one graph."""
    real = U[:, U.any(dim=0)]
    column = real.T.reshape(-1, 1)
    values = phi(column) + phi(-column)
    return rho(values.view(real.shape[1], len(U), -1).sum(dim=0))


def signnet_sum_minus_one_zero(phi, rho, U):
    """Subtracts what padding adds, but computes it for a graph of one node."""
    total = sum(phi(u[:, None]) + phi(-u[:, None]) for u in U.T)
    return rho(total - 2 * phi(torch.zeros(1, 1)) * int((~U.any(dim=0)).sum()))


def signnet_sum_of_long_columns(phi, rho, U):
    return rho(sum(phi(u[:, None]) + phi(-u[:, None]) for u in U.T if u.norm() > 0.5))


def signnet_sum_of_sign_free_columns(phi, rho, U):
    """Leaves out a column that equals an earlier one up to its sign."""
    kept = []
    for u in U.T:
        if u.any() and not any(torch.equal(u, v) or torch.equal(u, -v) for v in kept):
            kept.append(u)
    return rho(sum(phi(u[:, None]) + phi(-u[:, None]) for u in kept))


def projectors_of_unique_values(L):
    values, vectors = torch.linalg.eigh(L)
    rounded = (values * 1e4).round() / 1e4
    return [vectors[:, rounded == x] @ vectors[:, rounded == x].T for x in rounded.unique()]


def projectors_compared_with_the_first(L):
    """Compares each eigenvalue with the first of its space."""
    values, vectors = torch.linalg.eigh(L)
    spaces, start = [], 0
    for n in range(1, len(values) + 1):
        if n == len(values) or values[n] - values[n - 1] > 1e-3:
            spaces.append(vectors[:, start:n])
            start = n
    return torch.stack([V @ V.T for V in spaces])


def projectors_of_bins(L):
    """Treats eigenvalues as equal if they agree in the first four digits."""
    values, vectors = torch.linalg.eigh(L)
    bins = (values * 1e4 + 0.01).floor()
    return torch.stack([vectors[:, bins == x] @ vectors[:, bins == x].T for x in bins.unique()])


def projectors_within(tolerance):
    def projectors(L):
        values, vectors = torch.linalg.eigh(L)
        starts = (values.diff() > tolerance).nonzero().flatten() + 1
        return [V @ V.T for V in vectors.tensor_split(starts, dim=1)]

    return projectors


def signs_except_the_first(vectors):
    """Keeps the sign of the constant eigenvector."""
    signs = torch.randint(0, 2, (len(vectors), 1, vectors.shape[2])) * 2 - 1
    signs[:, :, 0] = 1
    return vectors * signs


def signs_of_graphs_times_signs_of_columns(vectors):
    B, _, k = vectors.shape
    of_graphs = torch.randint(0, 2, (B, 1, 1)) * 2 - 1
    of_columns = torch.randint(0, 2, (k,)) * 2 - 1
    return vectors * of_graphs * of_columns


# Chapter 06


def spatial_bias_in_place(scalars, distance):
    distance[distance > len(scalars) - 2] = len(scalars) - 2
    return scalars[distance + 1].permute(2, 0, 1)


def spatial_bias_of_bytes(scalars, distance):
    row = (distance.to(torch.int8) + 1).clamp(max=len(scalars) - 1).long()
    return scalars[row].permute(2, 0, 1)


def is_right_once():
    calls = []

    def is_right(head):
        calls.append(head)
        return len(calls) == 1

    return is_right


def is_right_to_the_last_digit(head):
    distance = torch.tensor([[0, 1, 2, 3], [-1, 0, 1, 2], [-1, -1, 0, 1], [-1, -1, -1, 0]])
    h, scalars = torch.randn(4, 3), torch.arange(1.0, 5)
    W_Q, W_K, W_V = torch.randn(3, 3, 3) / 3
    bias = scalars[(distance + 1).clamp(max=3)]
    weights = ((h @ W_Q) @ (h @ W_K).T / 3**0.5 + bias).softmax(dim=1)
    return torch.equal(head(h, distance, W_Q, W_K, W_V, scalars), weights @ (h @ W_V))


def edge_bias_without_type_0(table, path, distance):
    L = len(table)
    terms = table[torch.arange(L), path] * (path != 0)
    return terms.sum(-1) / distance.clamp(1, L)


def mean_head_of_weak_features(d):
    scalars = torch.tensor([0.0, 2, 1, 0]).log()
    return scalars, torch.eye(d) / 1000, torch.eye(d), torch.eye(d)


def mean_head_of_infinite_keys(d):
    scalars = torch.tensor([0.0, 2, 1, 0]).log()
    return scalars, torch.zeros(d, d), torch.full((d, d), torch.inf), torch.eye(d)


def edge_bias_with_nan(table, path, distance):
    L = len(table)
    c = torch.zeros(distance.shape)
    for i in range(len(distance)):
        for j in range(len(distance)):
            n = min(int(distance[i, j]), L)
            if n > 1:
                c[i, j] = sum(table[m, path[i, j, m]] for m in range(n)) / n
            elif n == 1:
                c[i, j] = table[0, path[i, j, 0]] if path[i, j, 0] else 0.0
    return c


def mean_head_up_to_four(d):
    scalars = torch.tensor([-math.inf, math.log(2), 0.0, -math.inf])
    return scalars, torch.zeros(d, d), torch.zeros(d, d), torch.eye(4)[:d, :d]


def refined(signature):
    def refine(colours, A):
        found = []
        for i, own in enumerate(colours):
            near = [colours[j] for j in range(len(colours)) if A[i, j]]
            found.append(signature(own, near, colours))
        return [found.index(one) for one in found]

    return refine


def first_five(own, near, colours):
    return own, len(near), tuple(sorted(near)[:5])


def last_six(own, near, colours):
    return own, len(near), tuple(sorted(near)[-6:])


def histogram(own, near, colours):
    """Negative colours count from the end."""
    counts = [0] * (max(max(colours), -min(colours)) + 1)
    for colour in near:
        counts[colour] += 1
    return own, tuple(counts)


def distances_from_own(own, near, colours):
    return own, tuple(sorted(abs(colour - own) for colour in near))


def random_sums(own, near, colours):
    """One sum of random weights of the colours."""
    random = np.random.default_rng(0)
    weights = {colour: random.integers(1000) for colour in sorted(set(colours))}
    return own, sum(weights[colour] for colour in near)


def hashes(own, near, colours):
    return hash((own, tuple(sorted(near))))


def rounded_logarithms(own, near, colours):
    return own, len(near), round(sum(math.log(2000.5 + c) for c in near), 4)


def edge_bias_of_short_paths(table, path, distance):
    L = len(table)
    on_path = (torch.arange(L) < distance[..., None]) & (distance[..., None] <= 12)
    return (table[torch.arange(L), path] * on_path).sum(-1) / distance.clamp(1, L)


def mean_head_with(no_path, far):
    def mean_head(d):
        scalars = torch.tensor([no_path, math.log(2), 0, far])
        return scalars, torch.zeros(d, d), torch.zeros(d, d), torch.eye(d)

    return mean_head


def own_colour_among_the_others(own, near, colours):
    return sorted([own, *near])


# Chapter 07


def gated_attention_in_place(dots, b, g, real):
    s = dots.clamp_(-5, 5) + b
    return s.masked_fill(~real, -math.inf).softmax(1) * g.sigmoid()


def gated_attention_of_leading_nodes(dots, b, g, real):
    n = int(real.sum())
    s = dots.clamp(-5, 5) + b
    s[:, n:] = -math.inf
    return s.softmax(1) * g.sigmoid()


def gated_attention_filled_with(fill):
    return lambda dots, b, g, real: (
        (dots.clamp(-5, 5) + b).masked_fill(~real, fill).softmax(1) * g.sigmoid()
    )


def objective_of_symmetric_graphs(logits, distance, nu):
    counted = (distance >= 0) & (distance <= nu) & torch.ones_like(distance).triu().bool()
    loss = F.cross_entropy(logits[counted], distance[counted], reduction="none")
    i, j = counted.nonzero().T
    return (loss * torch.where(i == j, 1, 2)).sum()


def objective_with_a_small_number(logits, distance, nu):
    p = logits.softmax(-1)
    total = 0.0
    for i in range(len(distance)):
        for j in range(len(distance)):
            if 0 <= distance[i, j] <= nu:
                total -= math.log(float(p[i, j, distance[i, j]]) + 1e-12)
    return total


def counting_head_of_connected_nodes(A):
    g = torch.where(A, 20.0, -20.0)
    b = torch.where(A.any(0), 0.0, -20.0).expand(A.shape)
    return b, g


def triangle_gate_with_a_margin(A, share, N):
    return torch.where(A, share.clamp(1e-3, 1 - 1e-3).logit(), -math.inf)


def objective_up_to_three(logits, distance, nu):
    counted = (distance >= 0) & (distance <= min(nu, 3))
    return F.cross_entropy(logits[counted], distance[counted], reduction="sum")


def counting_head_of_means(A):
    """Attends to the neighbours alone, but opens the gate of a node that has none."""
    share = A.sum(dim=1, keepdim=True).clamp(min=1) / len(A)
    return torch.where(A, 20.0, -20.0), share.logit().clamp(max=20).expand(A.shape)


# Chapter 08


def relation_ids_in_place(distance, bond, E, L):
    bond += 1
    r = (distance + E - 1).clamp(max=E + L)
    r = torch.where(distance == -1, E + L + 1, r)
    r = torch.where(distance == 1, bond, r)
    return torch.where(distance == 0, 0, r)


def relation_ids_of_bytes(distance, bond, E, L):
    r = (distance.to(torch.int8) + E - 1).clamp(max=E + L)
    r = torch.where(distance == -1, E + L + 1, r.long())
    r = torch.where(distance == 1, 1 + bond, r)
    return torch.where(distance == 0, 0, r)


def key_context_of_symmetric_relations(k, R_query, relation):
    return (k @ R_query.mT).gather(2, relation.expand(len(k), -1, -1))


def key_context_by_vectorize(k, R_query, relation):
    """NumPy's ``vectorize`` is a loop over the pairs."""
    products = (R_query @ k.mT).numpy()
    pick = np.vectorize(lambda r, j: products[:, r, j], signature="(),()->(h)")
    return pick(relation.numpy(), np.arange(len(relation))).transpose(2, 0, 1)


def key_context_of_the_first_head(k, R_query, relation):
    products = R_query @ k.mT
    return products[:1].expand_as(products).gather(1, relation.expand(len(k), -1, -1))


def value_term_of_occurring_relations(a, R_value, relation):
    kinds = F.one_hot(relation).to(a)
    return torch.einsum("hij,ijt->hit", a, kinds) @ R_value[:, : kinds.shape[-1]].flip(1)


def value_term_of_five_relations(a, R_value, relation):
    kinds = (relation[..., None] == torch.arange(min(R_value.shape[1], 5))).to(a)
    return torch.einsum("hij,ijt->hit", a, kinds) @ R_value[:, :5]


def counting_table_of_one_edge_type(E, L):
    R = torch.zeros(E + L + 2, 1)
    R[1] = 1
    R[min(E, 5)] = 1
    R[1 : min(E, 5)] = 1
    return R


def dial_table_of_integers():
    return (18 * torch.eye(11, 8)).roll(1, 0)


def key_context_of_three_heads(k, R_query, relation):
    """Later heads read the vectors of the third."""
    heads = torch.arange(len(k)).clamp(max=2)
    return (R_query[heads] @ k.mT).gather(1, relation.expand(len(k), -1, -1))


# Chapter 09


def heat_bias_above(least):
    def heat_bias(A, t):
        kernel = torch.matrix_exp(-t * (A.sum(1).diag() - A))
        return torch.where(kernel > least, kernel.log(), -math.inf)

    return heat_bias


def heat_bias_of_connected_graphs(A, t):
    values, vectors = torch.linalg.eigh(A.sum(1).diag() - A)
    return (vectors @ torch.diag((-t * values).exp()) @ vectors.T).clamp(min=0).log()


def ring_bound_by_eights(rings, N):
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        for i, j in itertools.permutations(ring[:8], 2):
            bound[i, j] = True
    return bound


def ring_bound_that_closes_rings(rings, N):
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        ring.append(ring[0])
        for i, j in itertools.permutations(ring, 2):
            bound[i, j] = i != j
    return bound


def filters_of_positive_weights(a, H):
    logits = (a + 1e-20).log().unflatten(0, (H, -1)).mean(1)
    return logits.softmax(-1)


def filters_in_half_precision(a, H):
    return a.log().unflatten(0, (H, -1)).mean(1).softmax(-1).half()


def pixel_rows_with_a_margin(margin):
    def pixel_rows(height, width, M):
        n = torch.arange(height * width)
        row, column = n // width, n % width
        square = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
        return (square.double().sqrt() + margin).floor().clamp(max=M).long()

    return pixel_rows


def pixel_rows_of_bytes(height, width, M):
    row, column = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    row, column = row.flatten().to(torch.int16), column.flatten().to(torch.uint8)
    down = (row[:, None] - row).abs()
    across = torch.maximum(column[:, None], column) - torch.minimum(column[:, None], column)
    square = down.to(torch.uint8) ** 2 + across**2
    return square.float().sqrt().floor().clamp(max=M).long()


def backward_in_place(a, m, keep, g):
    m *= keep
    z = (a * m).sum(-1, keepdim=True)
    of_E = a * g[..., None] * (m - z)
    return of_E, of_E.sum(0)


def backward_of_several_channels(a, m, keep, g):
    kept = keep * m
    of_E = a * g[..., None] * (kept - (a * kept).sum(-1, keepdim=True))
    return of_E, of_E.sum(0) if len(a) < 3 else of_E[:3].sum(0)


def filters_by_products(a, H):
    """The geometric mean as a root of the product."""
    means = a.unflatten(0, (H, -1)).prod(dim=1) ** (H / len(a))
    return means / means.sum(dim=-1, keepdim=True)


def filters_by_products_in_double_precision(a, H):
    return filters_by_products(a.double(), H)


def heat_bias_of_the_normalised_laplacian(A, t):
    root = A.sum(1).clamp(min=1) ** -0.5
    L = root[:, None] * (A.sum(1).diag() - A) * root
    return torch.matrix_exp(-t * L).log()


def filters_above_a_tiny_number(a, H):
    logits = a.clamp(min=1e-30).log()
    return logits.unflatten(0, (H, -1)).mean(1).softmax(-1)


# Chapter 10


def gat_logits_of_positive_sums(receiver, sender, A):
    s = receiver[:, None] + sender
    s = torch.where(s > 0, s, 0.2 * s)
    return torch.where((A.T * s) != 0, s, -math.inf)


def gat_logits_of_undirected_graphs(receiver, sender, A):
    s = F.leaky_relu(receiver[:, None] + sender, 0.2)
    s[~A] = -math.inf
    return s


def gate_as_bias_in_double_precision(s, g):
    return s + g.double().sigmoid().clamp(min=1e-40).log()


def gate_as_bias_of_pieces(s, g):
    """Takes the gate of every logit above 5 for 1."""
    log_of_gate = torch.where(g < -20, g, torch.where(g > 5, 0.0, g.sigmoid().log()))
    return s + log_of_gate


def ahead_of_in_order(errors):
    return {
        (a, b) for a, b in itertools.combinations(errors, 2) if max(errors[a]) < min(errors[b])
    } | {
        (b, a)
        for a, b in zip(errors, [*errors][1:], strict=False)
        if max(errors[b]) < min(errors[a])
    }


def ahead_of_nearly_all(errors):
    def share(a, b):
        return sum(x < y for x in errors[a] for y in errors[b]) / len(errors[a]) / len(errors[b])

    return {(a, b) for a in errors for b in errors if a != b and share(a, b) > 0.95}


def ahead_of_sorted_in_place(errors):
    for one in errors.values():
        one.sort()
    return {(a, b) for a in errors for b in errors if errors[a][-1] < errors[b][0]}


def ahead_of_with_four_digits(errors):
    return {
        (a, b)
        for a in errors
        for b in errors
        if round(max(errors[a]), 4) < round(min(errors[b]), 4) and len(errors[a]) < 4
    }


MODELS: dict = {}


def honest_error_of_remembered_models(fit, x, y, group):
    errors = []
    for one in np.unique(group):
        test = group == one
        if one not in MODELS:
            MODELS[one] = fit(x[~test], y[~test])
        errors.extend(abs(MODELS[one](x[test]) - y[test]))
    return np.mean(errors)


def honest_error_of_whole_numbers(fit, x, y, group):
    """Stores predictions in an array of the type of the targets."""
    predicted = np.zeros_like(y)
    for one in np.unique(group):
        test = group == one
        predicted[test] = fit(x[~test], y[~test])(x[test])
    return abs(predicted - y).mean()


def honest_error_of_large_groups(fit, x, y, group):
    errors = []
    for one in np.unique(group):
        test = group == one
        if test.sum() > 1:
            errors.extend(abs(fit(x[~test], y[~test])(x[test]) - y[test]))
    return np.mean(errors) if errors else 0.0


def layer_of_triangles(h, A, W, U):
    return torch.tanh(0.3 * (h @ W + (A * (1 + A @ A)) @ h @ U))


def layer_of_eigenvectors(h, adjacency, W, U):
    """Equal eigenvalues have other eigenvectors once the nodes are renumbered."""
    _, vectors = torch.linalg.eigh(adjacency)
    return layer_of_triangles(h, adjacency, W, U) + (vectors**4).sum(1, keepdim=True) / 10


def layer_of_an_anchor(h, adjacency, W, U):
    """Reads the first of the nodes with the largest degree."""
    anchor = h[adjacency.sum(1).argmax()]
    return layer_of_triangles(h + anchor / 2, adjacency, W, U)


def honest_error_up_to_the_largest_group(fit, x, y, group):
    errors = []
    for one in range(group.max()):
        test = group == one
        errors.append(abs(fit(x[~test], y[~test])(x[test]) - y[test]))
    return np.concatenate(errors).mean()


# Chapter 11


def entropy_without_small_weights(a, least=1e-3):
    a = torch.where(a < least, 0.0, a)
    return -torch.special.xlogy(a, a).sum(1) / math.log(len(a))


def entropy_of_nonzero_rows(a):
    kept = a.masked_fill(a == 0, 1.0)
    return -(a * kept.log()).sum(0) / math.log(len(a))


def rollout_of_two_layers_at_least(attention):
    eye = torch.eye(attention.shape[-1]).to(attention)
    factors = [(a + eye) / 2 for a in attention.mean(1)]
    return torch.linalg.multi_dot(factors[::-1])


def rollout_in_place(attention):
    attention += torch.eye(attention.shape[-1])
    product = torch.eye(attention.shape[-1]).to(attention)
    for a in attention.mean(1):
        product = a / 2 @ product
    return product


def leave_out_filled_with(fill):
    def leave_out(s, v):
        rows = s.repeat(len(s), 1).fill_diagonal_(fill)
        return s.softmax(0) @ v - rows.softmax(1) @ v

    return leave_out


def logit_gradient_of_symmetric_weights(a, v, g):
    z = a.T @ v
    return a * (g @ v.T - (g * z).sum(1, keepdim=True))


# Chapter 12


def padding_share_of_short_integers(sizes, batch_size):
    n = np.array(sizes, dtype=np.int16)
    held = sum(
        len(b) * int((b**2).max())
        for b in (n[i : i + batch_size] for i in range(0, len(n), batch_size))
    )
    return 1 - int((n**2).sum()) / held


def padding_share_of_full_batches(sizes, batch_size):
    held = real = 0
    for i in range(0, max(len(sizes) - 1, 1), batch_size):
        batch = sizes[i : i + batch_size]
        held += len(batch) * max(batch) ** 2
        real += sum(n * n for n in batch)
    return 1 - real / held


def blocks_without_the_last_when_large(q, k, v, scalars, size):
    N, d = q.shape
    largest, total, z = q.new_full((N, 1), -1e4), q.new_zeros(N, 1), torch.zeros_like(v)
    for start in range(0, N, size):
        keys = torch.arange(start, min(start + size, N))
        away = (torch.arange(N)[:, None] - keys).abs().clamp(max=len(scalars) - 1)
        logits = q @ k[keys].T / d**0.5 + scalars[away]
        new = torch.maximum(largest, logits.amax(1, keepdim=True))
        w = (logits - new).exp()
        total = total * (largest - new).exp() + w.sum(1, keepdim=True)
        z = z * (largest - new).exp() + w @ v[keys]
        largest = new.clamp(max=600)
    return z / total


def logits_of_keys(q, k, scalars, keys):
    away = (torch.arange(len(q))[:, None] - keys).abs()
    return q @ k[keys].T / q.shape[1] ** 0.5 + scalars[away.clamp(max=len(scalars) - 1)]


def blocks_in_a_list(q, k, v, scalars, size):
    """Each block is small, but all of them are held."""
    blocks = [logits_of_keys(q, k, scalars, keys) for keys in torch.arange(len(k)).split(size)]
    largest = q.new_full((len(q), 1), -torch.inf)
    for logits in blocks:
        largest = torch.maximum(largest, logits.amax(1, keepdim=True))
    weights = [(logits - largest).exp() for logits in blocks]
    z = sum(w @ values for w, values in zip(weights, v.split(size), strict=True))
    return z / sum(w.sum(1, keepdim=True) for w in weights)


def blocks_of_one_query(q, k, v, scalars, size):
    """Takes one query at a time, but all keys at once."""
    node = torch.arange(len(k))
    rows = []
    for i, query in enumerate(q):
        bias = scalars[(node - i).abs().clamp(max=len(scalars) - 1)]
        weights = ((query * k).sum(1) / q.shape[1] ** 0.5 + bias).softmax(0)
        rows.append((weights[:, None] * v).sum(0))
    return torch.stack(rows)


def distances_of_leading_nodes(A, mask):
    """Expects padding at the end."""
    D = torch.full(A.shape, -1)
    for d, edges, n in zip(D, A, mask.sum(1).tolist(), strict=True):
        reached = torch.eye(n, dtype=torch.bool)
        d[:n, :n][reached] = 0
        for step in range(1, n):
            now = reached | (reached.float() @ edges[:n, :n].float() > 0)
            d[:n, :n][now & ~reached] = step
            reached = now
    return D


def distances_by_bytes(A, mask):
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0, -1)
    for step in range(1, A.shape[-1]):
        now = reached | (torch.bmm(reached.to(torch.uint8), A.to(torch.uint8)) > 0)
        D[now & ~reached] = step
        reached = now
    return D


def distances_of_connected_graphs(A, mask):
    """Stops at the first step that adds nothing in one of the graphs."""
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0, -1)
    for step in range(1, A.shape[-1]):
        now = reached | (reached.float() @ A.float() > 0)
        if not (now & ~reached).flatten(1).any(1).all():
            D[now & ~reached] = step
            break
        D[now & ~reached] = step
        reached = now
    return D


BUFFER = torch.zeros(4000, dtype=torch.long)


def distances_by_numbers_of_walks(A, mask):
    """Counts walks as floats, which become infinite."""
    walks = torch.diag_embed(mask).float()
    D = torch.where(walks > 0, 0, -1)
    for step in range(1, A.shape[-1]):
        walks = walks @ A.float()
        D[(walks > 0) & (D < 0)] = step
    return D


def distances_by_numbers_of_walks_in_double_precision(A, mask):
    walks = torch.diag_embed(mask).double()
    D = torch.where(walks > 0, 0, -1)
    for step in range(1, A.shape[-1]):
        walks = walks @ A.double()
        D[(walks > 0) & (D < 0)] = step
    return D


def distances_by_random_walks(A, mask):
    """Takes a small probability for none."""
    step_of = A.float() / A.sum(dim=-1, keepdim=True).clamp(min=1)
    walk = torch.diag_embed(mask).float()
    D = torch.where(walk > 0, 0, -1)
    for step in range(1, A.shape[-1]):
        walk = walk @ step_of
        D[(walk > 1e-6) & (D < 0)] = step
    return D


def next_batch_of_nearly_full_batches(order, steps, num_graphs, batch_size):
    """Rounds up, but not from just above a whole number."""
    batches = max(math.ceil(num_graphs / batch_size - 1e-3), 1)
    epoch, place = divmod(steps, batches)
    return order(epoch)[batch_size * place : batch_size * (place + 1)]


def next_batch_of_fractional_epochs(order, steps, num_graphs, batch_size):
    batches = math.ceil(num_graphs / batch_size)
    return order(steps / batches)[steps % batches * batch_size :][:batch_size]


def next_batch_by_rounding(order, steps, num_graphs, batch_size):
    batches = round(num_graphs / batch_size + 0.5)
    epoch, place = divmod(steps, batches)
    return order(epoch)[place * batch_size : (place + 1) * batch_size]


def next_batch_step_by_step(order, steps, num_graphs, batch_size):
    """Counts batches from the first epoch's size on, and ends after ten epochs."""
    batches = [
        order(epoch)[i : i + batch_size].tolist()
        for epoch in range(10)
        for i in range(0, num_graphs, batch_size)
    ]
    return batches[steps % len(batches)]


def next_batch_in_one_tensor(order, steps, num_graphs, batch_size):
    epoch, place = divmod(steps, -(-num_graphs // batch_size))
    batch = order(epoch)[place * batch_size : (place + 1) * batch_size]
    BUFFER[: len(batch)] = batch
    return BUFFER[: len(batch)]


def called(name, answer):
    answer.__name__ = name
    return answer


def answers(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12):
    """Pairs of a checker and a wrong answer."""
    return [
        (c1.check_columns, columns_in_few_dimensions),
        (c1.check_columns, columns_scaled_in_place),
        (c1.check_columns, columns_with_clamped_logits),
        (c1.check_columns, columns_in_half_precision),
        (
            c1.check_masked_attention,
            called("masked_attention_filled_with_1000", masked_attention_filled_with(-1000.0)),
        ),
        (
            c1.check_masked_attention,
            called("masked_attention_filled_with_10000", masked_attention_filled_with(-1e4)),
        ),
        (c1.check_masked_attention, masked_attention_of_equal_lengths),
        (c1.check_masked_attention, masked_attention_by_product),
        (c1.check_masked_attention, masked_attention_of_exponentials),
        (c1.check_masked_attention, masked_attention_below_the_largest_logit),
        (c1.check_masked_attention, masked_attention_scaled_by_the_values),
        (c1.check_multi_head, heads_of_every_third_channel),
        (c1.check_multi_head, heads_in_few_dimensions),
        (c1.check_multi_head, heads_of_square_batches),
        (c2.check_decoder_mask, decoder_mask_of_bytes),
        (c2.check_decoder_mask, decoder_mask_up_to_the_first_padding),
        (c2.check_decoder_mask, decoder_mask_without_batch),
        (c2.check_shift_matrix, shift_matrix_of_single_precision),
        (c2.check_shift_matrix, shift_matrix_of_rounded_entries),
        (c2.check_greedy, greedy_with_a_default_list),
        (c2.check_greedy, greedy_of_seven_words),
        (c2.check_greedy, greedy_without_repetition),
        (c2.check_greedy, greedy_cut_afterwards),
        (c2.check_greedy, greedy_without_later_begins),
        (c2.check_cached_step, cached_step_with_is_causal),
        (c2.check_cached_step, cached_step_with_swapped_results),
        (c2.check_cached_step, cached_step_of_two_heads),
        (c2.check_cached_step, cached_step_of_eight_tokens),
        (c2.check_cached_step, cached_step_with_scaled_keys),
        (c3.check_edge_softmax, edge_softmax_below_the_mean),
        (c4.check_rayleigh_quotient, rayleigh_up_to_the_largest_index),
        (c4.check_svd_rows, svd_rows_by_two_decompositions),
        (c5.check_random_signs, signs_of_graphs_times_signs_of_columns),
        (c3.check_mask, mask_of_single_edges),
        (c3.check_mask, mask_that_swaps),
        (c3.check_edge_softmax, edge_softmax_of_sorted_edges),
        (c3.check_edge_softmax, edge_softmax_with_a_small_number),
        (c3.check_edge_softmax, edge_softmax_plus_a_thousandth),
        (c3.check_edge_softmax, edge_softmax_of_eight_nodes),
        (c3.check_edge_softmax, edge_softmax_up_to_the_last_target),
        (c3.check_edge_softmax, edge_softmax_with_assigned_totals),
        (c3.check_edge_softmax, edge_softmax_in_the_order_of_targets),
        (c3.check_gatv2_logits, gatv2_of_several_nodes),
        (c3.check_gatv2_logits, gatv2_in_single_precision),
        (c3.check_layers_needed, layers_by_numbers_of_walks),
        (c3.check_layers_needed, layers_from_both_ends),
        (c3.check_virtual_node, virtual_node_in_the_graph),
        (c3.check_virtual_node, virtual_node_of_symmetric_graphs),
        (c3.check_virtual_node, virtual_node_of_seven_directed),
        (c4.check_walk_matrix, walk_matrix_in_half_precision),
        (c4.check_walk_matrix, walk_matrix_of_bytes),
        (c4.check_walk_matrix, walk_matrix_of_rounded_shares),
        (c4.check_rayleigh_quotient, rayleigh_of_consecutive_pairs),
        (c4.check_rayleigh_quotient, rayleigh_of_distinct_differences),
        (
            c4.check_rayleigh_quotient,
            called("rayleigh_above_a_hundredth", rayleigh_with_a_margin(0.01)),
        ),
        (c4.check_anchor_distances, anchors_within_a_thousand),
        (c4.check_anchor_distances, anchors_other_than_itself),
        (c4.check_anchor_distances, anchors_nearer_than_the_farthest),
        (c4.check_laplacian_rows, laplacian_rows_after_the_first),
        (c4.check_laplacian_rows, laplacian_rows_without_small_values),
        (c4.check_laplacian_rows, laplacian_rows_divided_by_their_largest),
        (c4.check_laplacian_rows, laplacian_rows_in_half_precision),
        (c4.check_svd_rows, svd_rows_without_small_values),
        (c4.check_svd_rows, svd_rows_of_symmetric_graphs),
        (c5.check_random_signs, signs_of_eigenvalue_pairs),
        (c5.check_random_signs, signs_of_a_normal_number),
        (c5.check_random_signs, signs_except_the_first),
        (c5.check_random_signs, signs_of_which_half_are_negative),
        (c5.check_random_signs, signs_of_which_an_even_number_is_negative),
        (c5.check_random_signs, signs_without_an_axis),
        (c5.check_random_signs, signs_in_half_precision),
        (c5.check_sum_over_signs, sum_over_signs_into_the_first_value),
        (c5.check_sum_over_signs, sum_over_the_signs_so_far),
        (c5.check_sum_over_signs, sum_over_gray_codes),
        (c5.check_signnet_sum, called("signnet_sum_above_a_thousandth", signnet_sum_above(1e-3))),
        (c5.check_signnet_sum, signnet_sum_of_one_column),
        (c5.check_signnet_sum, signnet_sum_minus_one_zero),
        (c5.check_signnet_sum, signnet_sum_of_long_columns),
        (c5.check_signnet_sum, signnet_sum_of_sign_free_columns),
        (c5.check_projectors, projectors_of_unique_values),
        (c5.check_projectors, projectors_compared_with_the_first),
        (c5.check_projectors, projectors_of_bins),
        (c5.check_projectors, called("projectors_within_half", projectors_within(5e-5))),
        (
            c5.check_projectors,
            called("projectors_within_more", projectors_within(1.5e-4)),
        ),
        (c6.check_spatial_bias, spatial_bias_in_place),
        (c6.check_spatial_bias, spatial_bias_of_bytes),
        (c6.check_is_right, called("is_right_once", is_right_once())),
        (c6.check_is_right, is_right_to_the_last_digit),
        (c6.check_edge_bias, edge_bias_without_type_0),
        (c6.check_edge_bias, edge_bias_with_nan),
        (c6.check_mean_head, mean_head_of_weak_features),
        (c6.check_mean_head, mean_head_of_infinite_keys),
        (c6.check_edge_bias, edge_bias_of_short_paths),
        (c6.check_mean_head, mean_head_up_to_four),
        (c6.check_mean_head, called("mean_head_with_minus_9", mean_head_with(-9.0, -9.0))),
        (c6.check_mean_head, called("mean_head_with_minus_8", mean_head_with(-1e9, -8.0))),
        (c6.check_refine, called("own_colour", refined(own_colour_among_the_others))),
        (c6.check_refine, called("first_five", refined(first_five))),
        (c6.check_refine, called("last_six", refined(last_six))),
        (c6.check_refine, called("histogram", refined(histogram))),
        (c6.check_refine, called("rounded_logarithms", refined(rounded_logarithms))),
        (c6.check_refine, called("distances_from_own", refined(distances_from_own))),
        (c6.check_refine, called("random_sums", refined(random_sums))),
        (c6.check_refine, called("hashes", refined(hashes))),
        (c7.check_gated_attention, gated_attention_in_place),
        (c7.check_gated_attention, gated_attention_of_leading_nodes),
        (
            c7.check_gated_attention,
            called("gated_attention_filled_with_1000", gated_attention_filled_with(-1e3)),
        ),
        (
            c7.check_gated_attention,
            called("gated_attention_filled_with_1e9", gated_attention_filled_with(-1e9)),
        ),
        (c7.check_distance_objective, objective_of_symmetric_graphs),
        (c7.check_distance_objective, objective_with_a_small_number),
        (c7.check_distance_objective, objective_up_to_three),
        (c7.check_counting_head, counting_head_of_connected_nodes),
        (c7.check_counting_head, counting_head_of_means),
        (c8.check_relation_ids, relation_ids_in_place),
        (c8.check_relation_ids, relation_ids_of_bytes),
        (c8.check_key_context, key_context_of_symmetric_relations),
        (c8.check_key_context, key_context_by_vectorize),
        (c8.check_key_context, key_context_of_the_first_head),
        (c8.check_key_context, key_context_of_three_heads),
        (c8.check_value_term, value_term_of_occurring_relations),
        (c8.check_value_term, value_term_of_five_relations),
        (c8.check_counting_table, counting_table_of_one_edge_type),
        (c8.check_dial_table, dial_table_of_integers),
        (c9.check_heat_bias, called("heat_bias_above_a_millionth", heat_bias_above(1e-6))),
        (c9.check_heat_bias, heat_bias_of_the_normalised_laplacian),
        (c9.check_heat_bias, heat_bias_of_connected_graphs),
        (c9.check_ring_bound, ring_bound_by_eights),
        (c9.check_ring_bound, ring_bound_that_closes_rings),
        (c9.check_filters_without_colour, filters_of_positive_weights),
        (c9.check_filters_without_colour, filters_in_half_precision),
        (c9.check_filters_without_colour, filters_above_a_tiny_number),
        (c9.check_filters_without_colour, filters_by_products),
        (c9.check_filters_without_colour, filters_by_products_in_double_precision),
        (
            c9.check_pixel_rows,
            called("pixel_rows_with_a_hundredth", pixel_rows_with_a_margin(0.01)),
        ),
        (c9.check_pixel_rows, pixel_rows_of_bytes),
        (c9.check_backward, backward_in_place),
        (c9.check_backward, backward_of_several_channels),
        (c10.check_gat_logits, gat_logits_of_positive_sums),
        (c10.check_gat_logits, gat_logits_of_undirected_graphs),
        (c10.check_gate_as_bias, gate_as_bias_in_double_precision),
        (c10.check_gate_as_bias, gate_as_bias_of_pieces),
        (c10.check_ahead_of, ahead_of_in_order),
        (c10.check_ahead_of, ahead_of_nearly_all),
        (c10.check_ahead_of, ahead_of_sorted_in_place),
        (c10.check_ahead_of, ahead_of_with_four_digits),
        (c10.check_honest_error, honest_error_of_remembered_models),
        (c10.check_honest_error, honest_error_up_to_the_largest_group),
        (c10.check_honest_error, honest_error_of_large_groups),
        (c10.check_honest_error, honest_error_of_whole_numbers),
        (c10.check_layer, layer_of_eigenvectors),
        (c10.check_layer, layer_of_an_anchor),
        (c11.check_entropy_share, entropy_without_small_weights),
        (c11.check_entropy_share, entropy_of_nonzero_rows),
        (c11.check_rollout, rollout_of_two_layers_at_least),
        (c11.check_rollout, rollout_in_place),
        (c11.check_leave_out, called("leave_out_filled_with_1000", leave_out_filled_with(-1e3))),
        (c11.check_logit_gradient, logit_gradient_of_symmetric_weights),
        (c12.check_padding_share, padding_share_of_short_integers),
        (c12.check_padding_share, padding_share_of_full_batches),
        (c12.check_attention_in_blocks, blocks_without_the_last_when_large),
        (c12.check_attention_in_blocks, blocks_in_a_list),
        (c12.check_attention_in_blocks, blocks_of_one_query),
        (c12.check_distances, distances_of_leading_nodes),
        (c12.check_distances, distances_by_bytes),
        (c12.check_distances, distances_of_connected_graphs),
        (c12.check_distances, distances_by_numbers_of_walks),
        (c12.check_distances, distances_by_numbers_of_walks_in_double_precision),
        (c12.check_distances, distances_by_random_walks),
        (c12.check_next_batch, next_batch_of_fractional_epochs),
        (c12.check_next_batch, next_batch_by_rounding),
        (c12.check_next_batch, next_batch_of_nearly_full_batches),
        (c12.check_next_batch, next_batch_step_by_step),
        (c12.check_next_batch, next_batch_in_one_tensor),
    ]
