"""Trains ``csa-rings`` on a GPU, with Triton kernels for the whole step, some 80 launches.

PyTorch launches thousands of kernels for a step of this model. Here a kernel ends only where its
results are needed for all nodes, and a step is captured as a CUDA graph. On an H100 a
step on 32 molecules of ZINC takes 1.08 ms. The module needs only PyTorch and Triton, so that it
runs on a machine without the package. :mod:`experiments.csa_complete` writes the file that it
reads, and writes its results into the checkpoint of a run.

    python csa_step.py START.pt --state STATE.pt --seconds 500

The order of the molecules, the learning rates, clipping, AdamW and batch norm are those of
``gtcourse train``. Numbers are in float32. By default each product of matrices is the sum of three
products in TF32, which has nearly the rounding error of float32. The ablated pairs are drawn by
Triton's generator. Before a new run, the program compares a gradient and the validation error with
those that the package computed.

    B: graphs in a batch
    N: nodes of the largest graph of the data set; smaller graphs are padded
    R: rows of nodes, B N
    H: attention heads
    K: channels of a head
    d: width of a node's vector, H K
    F: features of a pair, one of which is always 1; 32
    J: 32 or 64, at least as many as a graph has nodes
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDTH = 64  # d
HEADS = 8  # H
HIDDEN = 128  # of the feed-forward networks
FEATURES = 32  # F
HEAD_WIDTHS = (32, 16)  # of the network after the last layer
NODE_TYPES = 28
TYPE_CHANNELS = 36  # of d, for the atom; the rest is for the walks
WALK_STEPS = 20
BONDS = 11  # rows of the table of pairs: 4 bonds off and on a ring, none off and on, itself
BOND_CHANNELS = 32  # of d, for the bond; the rest is for the walks
EPS = 1e-5  # of batch norm
MOMENTUM = 0.1
ROWS = 16  # nodes in a program
BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8
SAVE_EVERY = 20  # seconds


# Kernels


@triton.jit
def real_rows(rows, sizes, R, N):
    """Whether rows are those of real nodes."""
    n = tl.load(sizes + rows // N, mask=rows < R, other=0)
    return (rows % N) < n


@triton.jit
def statistics(stats, count, c, D: tl.constexpr, EPS: tl.constexpr, EVAL: tl.constexpr):
    """Mean and 1 / standard deviation of channels, from sums or, to evaluate, as stored."""
    mean = tl.load(stats + c)
    variance = tl.load(stats + D + c)
    if not EVAL:
        mean = mean / count
        variance = tl.maximum(variance / count - mean * mean, 0.0)
    return mean, 1.0 / tl.sqrt(variance + EPS)


@triton.jit
def move_towards(stored, value, MOMENTUM: tl.constexpr):
    """The update of a running statistic of batch norm."""
    old = tl.load(stored)
    tl.store(stored, old + MOMENTUM * (value - old))


@triton.jit
def channels(H: tl.constexpr, K: tl.constexpr):
    """The number of each channel by head and channel of the head, ``[H, K]``."""
    return tl.arange(0, H)[:, None] * K + tl.arange(0, K)[None, :]


@triton.jit
def kept_pairs(seed, place, SHARE: tl.constexpr):
    """Factors of the weights of pairs: 0 for the share that is dropped."""
    if SHARE == 0.0:
        return tl.full(place.shape, 1.0, tl.float32)
    else:
        drawn = tl.rand(seed, place)
        return tl.where(drawn >= SHARE, 1.0 / (1.0 - SHARE), 0.0)


@triton.jit
def kept_kernel(out, seed, count, SHARE: tl.constexpr, BLOCK: tl.constexpr):
    """The factors of the first ``count`` pairs, for comparisons with other code."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, kept_pairs(seed, place, SHARE), mask=place < count)


@triton.jit
def begin_kernel(
    counter,
    order,
    all_rates,
    all_sizes,
    walk_sums,
    zeros,
    table,
    maps,
    ids,
    sizes,
    counts,
    rates,
    seeds,
    walk_stats,
    pair_map,
    first_seed,
    num_zeros,
    B: tl.constexpr,
    d: tl.constexpr,
    F: tl.constexpr,
    EVAL: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """What a step needs before its nodes: its graphs, their sizes, its rate and sums set to 0."""
    b = tl.arange(0, B)
    if not EVAL:
        step = tl.load(counter)
        graph = tl.load(order + step * B + b)
        is_graph = graph >= 0
        n = tl.load(all_sizes + graph, mask=is_graph, other=0)
        tl.store(ids + b, tl.where(is_graph, graph, 0))
        tl.store(sizes + b, n)
        tl.store(counts, tl.sum(n, axis=0).to(tl.float32))
        tl.store(counts + 1, tl.sum(is_graph.to(tl.float32), axis=0))
        tl.store(rates, tl.load(all_rates + step * 3))
        tl.store(rates + 1, tl.load(all_rates + step * 3 + 1))
        tl.store(rates + 2, tl.load(all_rates + step * 3 + 2))
        tl.store(seeds, tl.load(first_seed) + step)
        s = tl.arange(0, 2 * F)
        sums = tl.load(
            walk_sums + graph[:, None] * 2 * F + s[None], mask=is_graph[:, None], other=0.0
        )
        tl.store(walk_stats + s, tl.sum(sums, axis=0))
        z = tl.arange(0, 4096)
        for start in range(0, num_zeros, 4096):
            tl.store(
                zeros + start + z, tl.full((4096,), 0.0, tl.float32), mask=start + z < num_zeros
            )
    # Features of pairs to logits and values, [F, 2 d]
    f = tl.arange(0, F)
    e = tl.arange(0, d)
    o = tl.arange(0, 2 * d)
    of_table = tl.load(table + f[:, None] * d + e[None])  # [F, d]
    of_maps = tl.load(maps + o[:, None] * d + e[None])  # [2 d, d]
    product = tl.dot(of_table, tl.trans(of_maps), input_precision=PRECISION)
    tl.store(pair_map + f[:, None] * 2 * d + o[None], product)


@triton.jit
def terms_kernel(
    ids,
    sizes,
    features,
    pair_map,
    bias,
    terms,
    N,
    d: tl.constexpr,
    F: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Logits and values of the pairs of one node i."""
    row = tl.program_id(0)
    graph = row // N
    i = row % N
    n = tl.load(sizes + graph)
    if i < n:
        number = tl.load(ids + graph).to(tl.int64)
        f = tl.arange(0, F)
        o = tl.arange(0, 2 * d)
        weight = tl.load(pair_map + f[:, None] * 2 * d + o[None])  # [F, 2 d]
        of_bias = tl.load(bias + o)
        for first in range(0, n, 32):
            j = first + tl.arange(0, 32)
            real = (j < n)[:, None]
            place = (number * N + i) * N + j
            x = tl.load(features + place[:, None] * F + f[None], mask=real, other=0.0)  # [32, F]
            y = tl.dot(x, weight, input_precision=PRECISION) + of_bias[None]  # [32, 2 d]
            tl.store(terms + (row * N + j)[:, None] * 2 * d + o[None], y, mask=real)


@triton.jit
def input_kernel(
    ids,
    sizes,
    counts,
    types,
    walks,
    walk_stats,
    of_types,
    gamma,
    beta,
    weight,
    bias,
    h_out,
    one_hot,
    normal_walks,
    R,
    N,
    d: tl.constexpr,
    F: tl.constexpr,
    STEPS: tl.constexpr,
    EPS: tl.constexpr,
    EVAL: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The vectors of nodes before the first layer: the atom beside the walks that return."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = real_rows(r, sizes, R, N)
    number = tl.load(ids + r // N, mask=real, other=0).to(tl.int64)
    place = number * N + r % N
    c = tl.arange(0, d)
    f = tl.arange(0, F)
    kind = tl.load(types + place, mask=real, other=0).to(tl.int32)
    h = tl.load(of_types + c[None] * F + kind[:, None])  # [BLOCK, d]
    mean, scale = statistics(walk_stats, tl.load(counts), f, F, EPS, EVAL)
    x = tl.load(walks + place[:, None] * F + f[None], mask=real[:, None], other=0.0)
    is_walk = real[:, None] & (f < STEPS)[None]
    x = tl.where(is_walk, (x - mean[None]) * scale[None], 0.0)  # [BLOCK, F]
    scaled = x * tl.load(gamma + f)[None] + tl.load(beta + f)[None]
    scaled = tl.where(is_walk, scaled, 0.0)
    w = tl.load(weight + c[:, None] * F + f[None])  # [d, F]
    h += tl.dot(scaled, tl.trans(w), input_precision=PRECISION) + tl.load(bias + c)[None]
    h = tl.where(real[:, None], h, 0.0)
    inside = (r < R)[:, None]
    tl.store(h_out + r[:, None] * d + c[None], h, mask=inside)
    if not EVAL:
        hot = tl.where(real[:, None] & (kind[:, None] == f[None]), 1.0, 0.0)
        tl.store(one_hot + r[:, None] * F + f[None], hot, mask=inside)
        tl.store(normal_walks + r[:, None] * F + f[None], x, mask=inside)


@triton.jit
def project_kernel(
    u,
    stats,
    counts,
    gamma,
    beta,
    weight,
    sizes,
    h_out,
    qkv,
    R,
    N,
    d: tl.constexpr,
    EPS: tl.constexpr,
    NORM: tl.constexpr,
    EVAL: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A layer's input h, normalised, and from it queries, keys or values (the second axis)."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.program_id(1)
    real = real_rows(r, sizes, R, N)
    c = tl.arange(0, d)
    inside = (r < R)[:, None]
    h = tl.load(u + r[:, None] * d + c[None], mask=real[:, None], other=0.0)
    if NORM:
        mean, scale = statistics(stats, tl.load(counts), c, d, EPS, EVAL)
        h = (h - mean[None]) * (scale * tl.load(gamma + c))[None] + tl.load(beta + c)[None]
        h = tl.where(real[:, None], h, 0.0)
        if part == 0:
            tl.store(h_out + r[:, None] * d + c[None], h, mask=inside)
    w = tl.load(weight + (part * d + c)[:, None] * d + c[None])  # [d, d]
    y = tl.dot(h, tl.trans(w), input_precision=PRECISION)
    tl.store(qkv + r[:, None] * 3 * d + part * d + c[None], y, mask=inside)


@triton.jit
def exponentials(logit, top, real, CLIP: tl.constexpr):
    """The exponentials of logits, ``[J, H, K]``, and whether the logits have a gradient."""
    if CLIP == 0.0:
        product = tl.where(real, tl.exp(logit - top), 0.0)
        has_gradient = real
    else:
        bounded = tl.clamp(logit, -CLIP, CLIP, propagate_nan=tl.PropagateNan.ALL)
        product = tl.where(real, tl.exp(bounded), 0.0)
        has_gradient = real & (bounded == logit)
    return product, has_gradient


@triton.jit
def attend_rows(
    qkv,
    terms,
    h,
    z,
    total,
    largest,
    u,
    sums,
    out_weight,
    out_bias,
    seed,
    scale,
    layer,
    row,
    n,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
    EVAL: tl.constexpr,
):
    d: tl.constexpr = H * K
    graph = row // N
    c = channels(H, K)  # [H, K]
    o = tl.arange(0, d)
    j = tl.arange(0, J)
    is_real = j < n  # [J]
    real = is_real[:, None, None]
    key = (graph * N + j)[:, None, None] * 3 * d + c[None]  # [J, H, K]
    pair = (row * N + j)[:, None, None]
    q = tl.load(qkv + row * 3 * d + c)  # [H, K]
    k = tl.load(qkv + key + d, mask=real, other=0.0)  # [J, H, K]
    score = tl.sum(q[None] * k, axis=2) * scale  # [J, H]
    logit = score[:, :, None] + tl.load(terms + pair * 2 * d + c[None], mask=real, other=0.0)
    top = tl.zeros((1, H, K), tl.float32)
    if CLIP == 0.0:
        top = tl.max(tl.where(real, logit, float("-inf")), axis=0)[None]
        tl.store(largest + row * d + c[None], top)
    product, _ = exponentials(logit, top, real, CLIP)
    weight_sum = tl.sum(product, axis=0)  # [H, K]
    v = tl.load(qkv + key + 2 * d, mask=real, other=0.0)
    v += tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    kept = kept_pairs(seed, (layer * R + row) * N + j, SHARE)
    gathered = tl.sum(product * kept[:, None, None] * v, axis=0) / weight_sum  # [H, K]
    # The output projection, the residual, and the sums of the batch norm that follows
    w = tl.load(out_weight + o[:, None, None] * d + c[None])  # [d, H, K]
    y = tl.sum(tl.sum(w * gathered[None], axis=2), axis=1)  # [d]
    y += tl.load(h + row * d + o) + tl.load(out_bias + o)
    tl.store(u + row * d + o, y)
    if not EVAL:
        tl.store(z + row * d + c, gathered)
        tl.store(total + row * d + c, weight_sum)
        tl.atomic_add(sums + o, y)
        tl.atomic_add(sums + d + o, y * y)


@triton.jit
def attend_kernel(
    qkv,
    terms,
    sizes,
    h,
    z,
    total,
    largest,
    u,
    sums,
    out_weight,
    out_bias,
    seeds,
    scale,
    layer,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
    EVAL: tl.constexpr,
):
    """One query: what it gathers, and the node after the output projection and the residual."""
    row = tl.program_id(0)
    n = tl.load(sizes + row // N)
    if row % N < n:
        seed = tl.load(seeds)
        if n <= 32:
            attend_rows(
                qkv,
                terms,
                h,
                z,
                total,
                largest,
                u,
                sums,
                out_weight,
                out_bias,
                seed,
                scale,
                layer,
                row,
                n,
                R,
                N,
                H,
                K,
                32,
                CLIP,
                SHARE,
                EVAL,
            )
        else:
            attend_rows(
                qkv,
                terms,
                h,
                z,
                total,
                largest,
                u,
                sums,
                out_weight,
                out_bias,
                seed,
                scale,
                layer,
                row,
                n,
                R,
                N,
                H,
                K,
                64,
                CLIP,
                SHARE,
                EVAL,
            )


@triton.jit
def feed_forward_kernel(
    u,
    stats,
    counts,
    gamma,
    beta,
    w1,
    b1,
    w2,
    b2,
    sizes,
    out,
    sums,
    R,
    N,
    d: tl.constexpr,
    W: tl.constexpr,
    EPS: tl.constexpr,
    EVAL: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Batch norm, feed-forward network and residual, and the sums of the next batch norm."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = real_rows(r, sizes, R, N)[:, None]
    c = tl.arange(0, d)
    w = tl.arange(0, W)
    mean, scale = statistics(stats, tl.load(counts), c, d, EPS, EVAL)
    x = tl.load(u + r[:, None] * d + c[None], mask=real, other=0.0)
    x = (x - mean[None]) * (scale * tl.load(gamma + c))[None] + tl.load(beta + c)[None]
    x = tl.where(real, x, 0.0)  # [BLOCK, d]
    first = tl.load(w1 + w[:, None] * d + c[None])  # [W, d]
    a = tl.dot(x, tl.trans(first), input_precision=PRECISION) + tl.load(b1 + w)[None]
    a = tl.maximum(a, 0.0)  # [BLOCK, W]
    second = tl.load(w2 + c[:, None] * W + w[None])  # [d, W]
    y = x + tl.dot(a, tl.trans(second), input_precision=PRECISION) + tl.load(b2 + c)[None]
    y = tl.where(real, y, 0.0)
    tl.store(out + r[:, None] * d + c[None], y, mask=(r < R)[:, None])
    if not EVAL:
        tl.atomic_add(sums + c, tl.sum(y, axis=0))
        tl.atomic_add(sums + d + c, tl.sum(y * y, axis=0))


@triton.jit
def head_kernel(
    u,
    stats,
    counts,
    gamma,
    beta,
    w1,
    b1,
    w2,
    b2,
    w3,
    b3,
    ids,
    sizes,
    targets,
    predictions,
    loss,
    h_out,
    a1_out,
    a2_out,
    grad_1,
    grad_2,
    grad_3,
    grad_h,
    grad_sums,
    N,
    d: tl.constexpr,
    W1: tl.constexpr,
    W2: tl.constexpr,
    J: tl.constexpr,
    EPS: tl.constexpr,
    EVAL: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The prediction for one graph, its absolute error, and the gradients as far as the nodes."""
    graph = tl.program_id(0)
    n = tl.load(sizes + graph)
    i = tl.arange(0, J)
    r = graph * N + i
    real = (i < n)[:, None]
    c = tl.arange(0, d)
    p = tl.arange(0, W1)
    q = tl.arange(0, W2)
    mean, scale = statistics(stats, tl.load(counts), c, d, EPS, EVAL)
    x = tl.load(u + r[:, None] * d + c[None], mask=real, other=0.0)
    normal = tl.where(real, (x - mean[None]) * scale[None], 0.0)
    h = normal * tl.load(gamma + c)[None] + tl.load(beta + c)[None]
    h = tl.where(real, h, 0.0)  # [J, d]
    first = tl.load(w1 + p[:, None] * d + c[None])  # [W1, d]
    a1 = tl.dot(h, tl.trans(first), input_precision=PRECISION) + tl.load(b1 + p)[None]
    a1 = tl.where(real, tl.maximum(a1, 0.0), 0.0)  # [J, W1]
    second = tl.load(w2 + q[:, None] * W1 + p[None])  # [W2, W1]
    a2 = tl.dot(a1, tl.trans(second), input_precision=PRECISION) + tl.load(b2 + q)[None]
    a2 = tl.where(real, tl.maximum(a2, 0.0), 0.0)  # [J, W2]
    third = tl.load(w3 + q)
    of_nodes = tl.sum(a2 * third[None], axis=1) + tl.load(b3)  # [J]
    prediction = tl.sum(tl.where(i < n, of_nodes, 0.0), axis=0)
    tl.store(predictions + graph, prediction)
    if not EVAL:
        error = prediction - tl.load(targets + tl.load(ids + graph))
        error = tl.where(n > 0, error, 0.0)
        tl.atomic_add(loss, tl.abs(error))
        sign = tl.where(error > 0, 1.0, tl.where(error < 0, -1.0, 0.0))
        sign = tl.where(error == error, sign, error)  # NaN stays NaN
        of_prediction = sign / tl.load(counts + 1)
        g3 = tl.where(i < n, of_prediction, 0.0)  # [J]
        g2 = tl.where(a2 > 0, g3[:, None] * third[None], 0.0)  # [J, W2]
        g1 = tl.dot(g2, second, input_precision=PRECISION)
        g1 = tl.where(a1 > 0, g1, 0.0)  # [J, W1]
        gh = tl.dot(g1, first, input_precision=PRECISION)  # [J, d]
        inside = (i < N)[:, None]
        tl.store(h_out + r[:, None] * d + c[None], h, mask=inside)
        tl.store(a1_out + r[:, None] * W1 + p[None], a1, mask=inside)
        tl.store(a2_out + r[:, None] * W2 + q[None], a2, mask=inside)
        tl.store(grad_1 + r[:, None] * W1 + p[None], g1, mask=inside)
        tl.store(grad_2 + r[:, None] * W2 + q[None], g2, mask=inside)
        tl.store(grad_3 + r, g3, mask=i < N)
        tl.store(grad_h + r[:, None] * d + c[None], gh, mask=inside)
        tl.atomic_add(grad_sums + c, tl.sum(gh, axis=0))
        tl.atomic_add(grad_sums + d + c, tl.sum(gh * normal, axis=0))


@triton.jit
def feed_forward_grad_kernel(
    grad_h,
    u2,
    stats2,
    sums2,
    gamma2,
    u1,
    stats1,
    sums1,
    gamma1,
    beta1,
    counts,
    w1,
    b1,
    w2,
    sizes,
    x_out,
    a_out,
    grad_u2,
    grad_a,
    grad_x,
    R,
    N,
    d: tl.constexpr,
    W: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """From the gradient of a layer's output to that of the input of its feed-forward network."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = real_rows(r, sizes, R, N)[:, None]
    inside = (r < R)[:, None]
    c = tl.arange(0, d)
    w = tl.arange(0, W)
    at = r[:, None] * d + c[None]
    count = tl.load(counts)
    mean, scale = statistics(stats2, count, c, d, EPS, False)
    normal = (tl.load(u2 + at, mask=real, other=0.0) - mean[None]) * scale[None]
    g = tl.load(grad_h + at, mask=real, other=0.0)
    g = g - (tl.load(sums2 + c) / count)[None] - normal * (tl.load(sums2 + d + c) / count)[None]
    g = tl.where(real, g * (tl.load(gamma2 + c) * scale)[None], 0.0)  # of u2, [BLOCK, d]
    tl.store(grad_u2 + at, g, mask=inside)

    mean, scale = statistics(stats1, count, c, d, EPS, False)
    normal = (tl.load(u1 + at, mask=real, other=0.0) - mean[None]) * scale[None]
    normal = tl.where(real, normal, 0.0)
    x = normal * tl.load(gamma1 + c)[None] + tl.load(beta1 + c)[None]
    x = tl.where(real, x, 0.0)
    first = tl.load(w1 + w[:, None] * d + c[None])  # [W, d]
    a = tl.dot(x, tl.trans(first), input_precision=PRECISION) + tl.load(b1 + w)[None]
    a = tl.maximum(a, 0.0)
    second = tl.load(w2 + c[:, None] * W + w[None])  # [d, W]
    ga = tl.dot(g, second, input_precision=PRECISION)
    ga = tl.where(a > 0, ga, 0.0)  # [BLOCK, W]
    gx = g + tl.dot(ga, first, input_precision=PRECISION)  # [BLOCK, d]
    gx = tl.where(real, gx, 0.0)
    tl.store(x_out + at, x, mask=inside)
    tl.store(a_out + r[:, None] * W + w[None], a, mask=inside)
    tl.store(grad_a + r[:, None] * W + w[None], ga, mask=inside)
    tl.store(grad_x + at, gx, mask=inside)
    tl.atomic_add(sums1 + c, tl.sum(gx, axis=0))
    tl.atomic_add(sums1 + d + c, tl.sum(gx * normal, axis=0))


@triton.jit
def query_rows(
    qkv,
    terms,
    z,
    total,
    largest,
    grad_z_row,
    grad_z,
    grad_terms,
    grad_qkv,
    seed,
    scale,
    layer,
    row,
    n,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
    FIRST: tl.constexpr,
):
    d: tl.constexpr = H * K
    graph = row // N
    c = channels(H, K)  # [H, K]
    j = tl.arange(0, J)
    is_real = j < n  # [J]
    real = is_real[:, None, None]
    key = (graph * N + j)[:, None, None] * 3 * d + c[None]  # [J, H, K]
    pair = (row * N + j)[:, None, None]
    q = tl.load(qkv + row * 3 * d + c)  # [H, K]
    k = tl.load(qkv + key + d, mask=real, other=0.0)  # [J, H, K]
    score = tl.sum(q[None] * k, axis=2) * scale  # [J, H]
    logit = score[:, :, None] + tl.load(terms + pair * 2 * d + c[None], mask=real, other=0.0)
    top = tl.zeros((1, H, K), tl.float32)
    if CLIP == 0.0:
        top = tl.load(largest + row * d + c)[None]
    product, has_gradient = exponentials(logit, top, real, CLIP)
    scaled = grad_z_row / tl.load(total + row * d + c)  # [H, K]
    weighted = product * scaled[None]
    kept = kept_pairs(seed, (layer * R + row) * N + j, SHARE)
    of_value = weighted * kept[:, None, None]
    v = tl.load(qkv + key + 2 * d, mask=real, other=0.0)
    v += tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    gathered = tl.load(z + row * d + c)  # [H, K]
    of_logit = tl.where(has_gradient, of_value * v - weighted * gathered[None], 0.0)
    place = grad_terms + pair * 2 * d + c[None]
    sum_logit = of_logit
    sum_value = of_value
    if not FIRST:
        sum_logit += tl.load(place, mask=real, other=0.0)
        sum_value += tl.load(place + d, mask=real, other=0.0)
    tl.store(place, sum_logit, mask=real)
    tl.store(place + d, sum_value, mask=real)
    of_score = tl.sum(of_logit, axis=2) * scale  # [J, H]
    tl.store(grad_qkv + row * 3 * d + c, tl.sum(of_score[:, :, None] * k, axis=0))
    tl.store(grad_z + row * d + c, grad_z_row)


@triton.jit
def query_grad_kernel(
    grad_x,
    u1,
    stats1,
    sums1,
    gamma1,
    counts,
    out_weight,
    qkv,
    terms,
    sizes,
    z,
    total,
    largest,
    grad_u1,
    grad_z,
    grad_terms,
    grad_qkv,
    seeds,
    scale,
    layer,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
    FIRST: tl.constexpr,
    EPS: tl.constexpr,
):
    """Through the batch norm and the output projection to one query and its pairs."""
    d: tl.constexpr = H * K
    row = tl.program_id(0)
    n = tl.load(sizes + row // N)
    o = tl.arange(0, d)
    if row % N < n:
        c = channels(H, K)
        seed = tl.load(seeds)
        count = tl.load(counts)
        mean, norm = statistics(stats1, count, o, d, EPS, False)
        normal = (tl.load(u1 + row * d + o) - mean) * norm
        g = tl.load(grad_x + row * d + o)
        g = g - tl.load(sums1 + o) / count - normal * tl.load(sums1 + d + o) / count
        g = g * tl.load(gamma1 + o) * norm  # of u1, [d]
        tl.store(grad_u1 + row * d + o, g)
        w = tl.load(out_weight + o[:, None, None] * d + c[None])  # [d, H, K]
        grad_z_row = tl.sum(w * g[:, None, None], axis=0)  # [H, K]
        if n <= 32:
            query_rows(
                qkv,
                terms,
                z,
                total,
                largest,
                grad_z_row,
                grad_z,
                grad_terms,
                grad_qkv,
                seed,
                scale,
                layer,
                row,
                n,
                R,
                N,
                H,
                K,
                32,
                CLIP,
                SHARE,
                FIRST,
            )
        else:
            query_rows(
                qkv,
                terms,
                z,
                total,
                largest,
                grad_z_row,
                grad_z,
                grad_terms,
                grad_qkv,
                seed,
                scale,
                layer,
                row,
                n,
                R,
                N,
                H,
                K,
                64,
                CLIP,
                SHARE,
                FIRST,
            )
    else:
        nothing = tl.full((d,), 0.0, tl.float32)
        tl.store(grad_u1 + row * d + o, nothing)
        tl.store(grad_qkv + row * 3 * d + o, nothing)


@triton.jit
def key_rows(
    qkv,
    terms,
    z,
    total,
    largest,
    grad_z,
    grad_qkv,
    seed,
    scale,
    layer,
    column,
    n,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
):
    d: tl.constexpr = H * K
    graph = column // N
    c = channels(H, K)  # [H, K]
    i = tl.arange(0, J)
    is_real = i < n  # [J]
    real = is_real[:, None, None]
    row = graph * N + i  # [J]
    node = row[:, None, None] * d + c[None]  # [J, H, K]
    pair = (row * N + column % N)[:, None, None]
    q = tl.load(qkv + row[:, None, None] * 3 * d + c[None], mask=real, other=0.0)  # [J, H, K]
    k = tl.load(qkv + column * 3 * d + d + c)  # [H, K]
    score = tl.sum(q * k[None], axis=2) * scale  # [J, H]
    logit = score[:, :, None] + tl.load(terms + pair * 2 * d + c[None], mask=real, other=0.0)
    top = tl.zeros((1, H, K), tl.float32)
    if CLIP == 0.0:
        top = tl.load(largest + node, mask=real, other=0.0)
    product, has_gradient = exponentials(logit, top, real, CLIP)
    sums = tl.load(total + node, mask=real, other=1.0)
    weighted = product * tl.load(grad_z + node, mask=real, other=0.0) / sums
    kept = kept_pairs(seed, (layer * R + row) * N + column % N, SHARE)
    of_value = weighted * kept[:, None, None]
    v = tl.load(qkv + column * 3 * d + 2 * d + c)  # [H, K]
    v = v[None] + tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    gathered = tl.load(z + node, mask=real, other=0.0)
    of_logit = tl.where(has_gradient, of_value * v - weighted * gathered, 0.0)
    of_score = tl.sum(of_logit, axis=2) * scale  # [J, H]
    place = grad_qkv + column * 3 * d + d + c
    tl.store(place, tl.sum(of_score[:, :, None] * q, axis=0))
    tl.store(place + d, tl.sum(of_value, axis=0))


@triton.jit
def key_grad_kernel(
    qkv,
    terms,
    sizes,
    z,
    total,
    largest,
    grad_z,
    grad_qkv,
    seeds,
    scale,
    layer,
    R,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    CLIP: tl.constexpr,
    SHARE: tl.constexpr,
):
    """The gradients of one key and its value, from all queries."""
    d: tl.constexpr = H * K
    column = tl.program_id(0)
    n = tl.load(sizes + column // N)
    if column % N < n:
        seed = tl.load(seeds)
        if n <= 32:
            key_rows(
                qkv,
                terms,
                z,
                total,
                largest,
                grad_z,
                grad_qkv,
                seed,
                scale,
                layer,
                column,
                n,
                R,
                N,
                H,
                K,
                32,
                CLIP,
                SHARE,
            )
        else:
            key_rows(
                qkv,
                terms,
                z,
                total,
                largest,
                grad_z,
                grad_qkv,
                seed,
                scale,
                layer,
                column,
                n,
                R,
                N,
                H,
                K,
                64,
                CLIP,
                SHARE,
            )
    else:
        o = tl.arange(0, 2 * d)
        tl.store(grad_qkv + column * 3 * d + d + o, tl.full((2 * d,), 0.0, tl.float32))


@triton.jit
def project_grad_kernel(
    grad_qkv,
    grad_u1,
    weight,
    u2,
    stats2,
    sums2,
    counts,
    sizes,
    grad_h,
    R,
    N,
    d: tl.constexpr,
    EPS: tl.constexpr,
    NORM: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The gradient of a layer's input, and the sums for the batch norm before it."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = real_rows(r, sizes, R, N)[:, None]
    inside = (r < R)[:, None]
    c = tl.arange(0, d)
    at = r[:, None] * d + c[None]
    g = tl.load(grad_u1 + at, mask=inside, other=0.0)
    for part in tl.static_range(3):
        of_part = tl.load(
            grad_qkv + r[:, None] * 3 * d + part * d + c[None], mask=inside, other=0.0
        )
        w = tl.load(weight + (part * d + c)[:, None] * d + c[None])
        g += tl.dot(of_part, w, input_precision=PRECISION)
    g = tl.where(real, g, 0.0)
    tl.store(grad_h + at, g, mask=inside)
    if NORM:
        mean, scale = statistics(stats2, tl.load(counts), c, d, EPS, False)
        normal = (tl.load(u2 + at, mask=real, other=0.0) - mean[None]) * scale[None]
        tl.atomic_add(sums2 + c, tl.sum(g, axis=0))
        tl.atomic_add(sums2 + d + c, tl.sum(tl.where(real, g * normal, 0.0), axis=0))


@triton.jit
def pair_grad_kernel(
    ids,
    sizes,
    features,
    grad_terms,
    grad_map,
    N,
    d: tl.constexpr,
    F: tl.constexpr,
    AT_ONCE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The gradient of the map from features of pairs to their terms, from some nodes i."""
    graph = tl.program_id(0)
    first = tl.program_id(1) * AT_ONCE
    n = tl.load(sizes + graph)
    if first < n:
        number = tl.load(ids + graph).to(tl.int64)
        f = tl.arange(0, F)
        o = tl.arange(0, 2 * d)
        total = tl.zeros((F, 2 * d), tl.float32)
        for i in range(first, tl.minimum(first + AT_ONCE, n)):
            for begin in range(0, n, 32):
                j = begin + tl.arange(0, 32)
                real = (j < n)[:, None]
                place = (number * N + i) * N + j
                x = tl.load(features + place[:, None] * F + f[None], mask=real, other=0.0)
                pair = (graph * N + i) * N + j
                g = tl.load(grad_terms + pair[:, None] * 2 * d + o[None], mask=real, other=0.0)
                total += tl.dot(tl.trans(x), g, input_precision=PRECISION)
        tl.atomic_add(grad_map + f[:, None] * 2 * d + o[None], total)


@triton.jit
def weight_grad_kernel(
    work, parameters_grad, tiles, R, T: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr
):
    """A tile of the gradient of a weight: the sum over rows of (gradient of output) x (input)."""
    tile = tiles + tl.program_id(0) * 8
    gradient = work + tl.load(tile)
    gradient_stride = tl.load(tile + 1)
    num_outputs = tl.load(tile + 2)
    inputs = work + tl.load(tile + 3)
    input_stride = tl.load(tile + 4)  # also that of the weight, which has a column for each input
    num_inputs = tl.load(tile + 5)
    result = parameters_grad + tl.load(tile + 6)
    bias = tl.load(tile + 7)
    o = tl.arange(0, T)
    i = tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    bias_total = tl.zeros((T,), tl.float32)
    for first in range(0, R, BLOCK):
        r = first + tl.arange(0, BLOCK)
        of_r = (r < R)[:, None]
        g = tl.load(
            gradient + r[:, None] * gradient_stride + o[None],
            mask=of_r & (o < num_outputs)[None],
            other=0.0,
        )
        x = tl.load(
            inputs + r[:, None] * input_stride + i[None],
            mask=of_r & (i < num_inputs)[None],
            other=0.0,
        )
        total += tl.dot(tl.trans(g), x, input_precision=PRECISION)
        bias_total += tl.sum(g, axis=0)
    inside = (o < num_outputs)[:, None] & (i < num_inputs)[None]
    tl.store(result + o[:, None] * input_stride + i[None], total, mask=inside)
    if bias >= 0:
        tl.store(parameters_grad + bias + o, bias_total, mask=o < num_outputs)


@triton.jit
def finish_kernel(
    stats,
    sums,
    running,
    norm_places,
    walk_stats,
    running_walks,
    counts,
    grads,
    of_walks,
    of_column,
    table,
    maps,
    gamma,
    beta,
    weight,
    grad_map,
    at_types,
    at_gamma,
    at_beta,
    at_weight,
    at_bias,
    at_table,
    at_maps,
    at_maps_bias,
    NORMS: tl.constexpr,
    d: tl.constexpr,
    F: tl.constexpr,
    STEPS: tl.constexpr,
    TYPE_CHANNELS: tl.constexpr,
    BONDS: tl.constexpr,
    BOND_CHANNELS: tl.constexpr,
    MOMENTUM: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients and running statistics of the batch norms, and the gradients of the encodings."""
    program = tl.program_id(0)
    count = tl.load(counts)
    c = tl.arange(0, d)
    f = tl.arange(0, F)
    unbiased = count / tl.maximum(count - 1.0, 1.0)
    if program < NORMS:
        place = tl.load(norm_places + program)
        tl.store(grads + place + c, tl.load(sums + program * 2 * d + d + c))  # of gamma
        tl.store(grads + place + d + c, tl.load(sums + program * 2 * d + c))  # of beta
        mean = tl.load(stats + program * 2 * d + c) / count
        variance = tl.load(stats + program * 2 * d + d + c) / count - mean * mean
        variance = tl.maximum(variance, 0.0) * unbiased
        stored = running + program * 2 * d + c
        move_towards(stored, mean, MOMENTUM)
        move_towards(stored + d, variance, MOMENTUM)
    elif program == NORMS:
        mean = tl.load(walk_stats + f) / count
        variance = tl.load(walk_stats + F + f) / count - mean * mean
        variance = tl.maximum(variance, 0.0) * unbiased
        move_towards(running_walks + f, mean, MOMENTUM)
        move_towards(running_walks + F + f, variance, MOMENTUM)
        at = c[:, None] * F + f[None]
        walk_part = (c >= TYPE_CHANNELS)[:, None] & (f < STEPS)[None]
        of_type = tl.load(grads + at_types + at)
        tl.store(grads + at_types + at, tl.where((c < TYPE_CHANNELS)[:, None], of_type, 0.0))
        product = tl.load(of_walks + at)  # [d, F]
        column = tl.load(of_column + c)
        scaled = product * tl.load(gamma + f)[None] + column[:, None] * tl.load(beta + f)[None]
        tl.store(grads + at_weight + at, tl.where(walk_part, scaled, 0.0))
        w = tl.load(weight + at)
        tl.store(grads + at_gamma + f, tl.sum(product * w, axis=0))
        tl.store(grads + at_beta + f, tl.sum(column[:, None] * w, axis=0))
        tl.store(grads + at_bias + c, tl.where(c >= TYPE_CHANNELS, column, 0.0))
    else:
        o = tl.arange(0, 2 * d)
        g = tl.load(grad_map + f[:, None] * 2 * d + o[None])  # [F, 2 d]
        of_maps = tl.load(maps + o[:, None] * d + c[None])  # [2 d, d]
        of_table = tl.load(table + f[:, None] * d + c[None])  # [F, d]
        for_table = tl.dot(g, of_maps, input_precision=PRECISION)  # [F, d]
        is_bond = (f < BONDS)[:, None]
        is_entry = is_bond == (c < BOND_CHANNELS)[None]
        tl.store(grads + at_table + f[:, None] * d + c[None], tl.where(is_entry, for_table, 0.0))
        for_maps = tl.dot(tl.trans(g), of_table, input_precision=PRECISION)  # [2 d, d]
        tl.store(grads + at_maps + o[:, None] * d + c[None], for_maps)
        tl.store(grads + at_maps_bias + o, tl.load(grad_map + (F - 1) * 2 * d + o))


@triton.jit
def norm_kernel(grads, norm, count, BLOCK: tl.constexpr):
    """Adds the squares of some gradients."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(grads + at, mask=at < count, other=0.0)
    tl.atomic_add(norm, tl.sum(g * g, axis=0))


@triton.jit
def adamw_kernel(
    values,
    grads,
    first,
    second,
    norm,
    rates,
    counter,
    largest,
    count,
    DECAY: tl.constexpr,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A step of AdamW with gradients whose norm is at most ``largest``."""
    if tl.program_id(0) == 0:
        # Not where it is read: the warps of a program do not wait for each other.
        tl.store(counter, tl.load(counter) + 1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    factor = tl.minimum(largest / (tl.sqrt(tl.load(norm)) + 1e-6), 1.0)
    rate = tl.load(rates)
    of_first = tl.load(rates + 1)  # 1 - beta1^t
    of_second = tl.load(rates + 2)  # sqrt(1 - beta2^t)
    g = tl.load(grads + at, mask=inside, other=0.0) * factor
    m = tl.load(first + at, mask=inside, other=0.0)
    m = m + (1.0 - BETA1) * (g - m)
    v = tl.load(second + at, mask=inside, other=0.0)
    v = BETA2 * v + (1.0 - BETA2) * g * g
    p = tl.load(values + at, mask=inside, other=0.0)
    p = p - rate * DECAY * p
    p = p - rate / of_first * m / (tl.sqrt(v) / of_second + EPS)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(values + at, p, mask=inside)


# Parameters


def layer_shapes() -> dict[str, tuple[int, ...]]:
    d, w = WIDTH, HIDDEN
    return {
        "qkv": (3 * d, d),
        "out": (d, d),
        "out bias": (d,),
        "norm 1": (2, d),  # gamma and beta
        "first": (w, d),
        "first bias": (w,),
        "second": (d, w),
        "second bias": (d,),
        "norm 2": (2, d),
    }


def shapes(num_layers: int) -> dict[str, tuple[int, ...]]:
    """The parameters as the kernels read them; entries that the model lacks are always 0."""
    d, f = WIDTH, FEATURES
    first, second = HEAD_WIDTHS
    result: dict[str, tuple[int, ...]] = {
        "types": (d, f),
        "walk gamma": (f,),
        "walk beta": (f,),
        "walk weight": (d, f),
        "walk bias": (d,),
        "table": (f, d),  # of pairs; the last row is its bias
        "maps": (2 * d, d),
        "maps bias": (2 * d,),
    }
    for layer in range(num_layers):
        result |= {f"{layer} {name}": shape for name, shape in layer_shapes().items()}
    return result | {
        "head 1": (first, d),
        "head 1 bias": (first,),
        "head 2": (second, first),
        "head 2 bias": (second,),
        "head 3": (1, second),
        "head 3 bias": (1,),
    }


def places(num_layers: int) -> tuple[dict[str, int], int]:
    """Where each parameter begins in the vector of all, and how long that vector is."""
    at = {}
    length = 0
    for name, shape in shapes(num_layers).items():
        at[name] = length
        length += -(-math.prod(shape) // 16) * 16
    return at, length


def packed(tensors: dict[str, Tensor], num_layers: int) -> Tensor:
    """The vector of all parameters, from tensors with the names of the model's."""
    _, length = places(num_layers)
    vector = torch.zeros(length, dtype=torch.float32)
    for name, view in _parts(vector, num_layers):
        view.copy_(tensors[name])
    return vector


def unpacked(vector: Tensor, num_layers: int) -> dict[str, Tensor]:
    """Tensors with the names of the model's parameters, from the vector of all."""
    vector = vector.cpu()
    result = {}
    for name, view in _parts(vector, num_layers):
        result[name] = view.clone()
    return result


def _parts(vector: Tensor, num_layers: int) -> Iterator[tuple[str, Tensor]]:
    """The name of each of the model's parameters, and its part of the vector."""
    at, _ = places(num_layers)
    d, b, t = WIDTH, BOND_CHANNELS, TYPE_CHANNELS

    def view(name: str) -> Tensor:
        shape = shapes(num_layers)[name]
        return vector[at[name] : at[name] + math.prod(shape)].view(shape)

    table = view("table")
    norm = "node_encoding.walks.norm"
    yield "node_encoding.features.weight", view("types")[:t, :NODE_TYPES].mT
    yield f"{norm}.weight", view("walk gamma")[:WALK_STEPS]
    yield f"{norm}.bias", view("walk beta")[:WALK_STEPS]
    walks = "node_encoding.walks.projection"
    yield f"{walks}.weight", view("walk weight")[t:, :WALK_STEPS]
    yield f"{walks}.bias", view("walk bias")[t:]
    yield "edge_encoding.bonds.edges.weight", table[:8, :b]
    yield "edge_encoding.bonds.no_edge.weight", table[8:10, :b]
    yield "edge_encoding.bonds.itself.weight", table[10:11, :b]
    relative = "edge_encoding.relative.projection"
    yield f"{relative}.weight", table[BONDS : BONDS + WALK_STEPS, b:].mT
    yield f"{relative}.bias", table[FEATURES - 1, b:]
    for number, name in enumerate(("logits", "values")):
        part = slice(number * d, (number + 1) * d)
        yield f"edge_maps.0.{name}.weight", view("maps")[part]
        yield f"edge_maps.0.{name}.bias", view("maps bias")[part]
    for layer in range(num_layers):
        prefix = f"layers.{layer}"
        for number, name in enumerate(("query", "key", "value")):
            rows = view(f"{layer} qkv")[number * d : (number + 1) * d]
            yield f"{prefix}.attention.{name}.weight", rows
        yield f"{prefix}.attention.output.weight", view(f"{layer} out")
        yield f"{prefix}.attention.output.bias", view(f"{layer} out bias")
        yield f"{prefix}.feed_forward.0.weight", view(f"{layer} first")
        yield f"{prefix}.feed_forward.0.bias", view(f"{layer} first bias")
        yield f"{prefix}.feed_forward.3.weight", view(f"{layer} second")
        yield f"{prefix}.feed_forward.3.bias", view(f"{layer} second bias")
        for number, name in enumerate(("attention_norm", "feed_forward_norm"), start=1):
            yield f"{prefix}.{name}.weight", view(f"{layer} norm {number}")[0]
            yield f"{prefix}.{name}.bias", view(f"{layer} norm {number}")[1]
    for number, place in enumerate((0, 2, 4), start=1):
        weight = view(f"head {number}")
        yield f"head.{place}.weight", weight
        yield f"head.{place}.bias", view(f"head {number} bias")[: len(weight)]


def norm_names(num_layers: int) -> list[str]:
    """The batch norms of the layers, in the order of the kernels' statistics."""
    names = ("attention_norm", "feed_forward_norm")
    return [f"layers.{layer}.{name}" for layer in range(num_layers) for name in names]


# Data


class Graphs(NamedTuple):
    """All graphs of the data set on a device, padded to N nodes."""

    sizes: Tensor  #: ``[G]``
    types: Tensor  #: ``[G, N]``
    walks: Tensor  #: chances to be back, ``[G, N, 32]``, of which 20 are used
    walk_sums: Tensor  #: of the walks and of their squares over the nodes of a graph, ``[G, 64]``
    features: Tensor  #: of pairs, ``[G, N, N, 32]``
    targets: Tensor  #: ``[G]``
    splits: dict[str, tuple[int, int]]  #: the first graph of each split, and the end of the split

    def number(self, split: str) -> int:
        """How many graphs a split has."""
        first, end = self.splits[split]
        return end - first


def graphs_of(start: dict[str, Any], device: torch.device) -> Graphs:
    """The graphs of a start file, with their walks.

    The file has for each pair the row of the table of bonds: 0 to 7 are edges.
    """
    sizes = start["sizes"].to(device, torch.int32)
    types = start["types"].to(device)
    G, N = types.shape
    walks = torch.zeros(G, N, FEATURES, device=device)
    features = torch.zeros(G, N, N, FEATURES, device=device)
    for rows in torch.arange(G, device=device).split(500):
        bond = start["bonds"][rows.cpu()].to(device, torch.long)  # [g, N, N], -1 at padding
        hot = torch.arange(BONDS, device=device) == bond[..., None]
        is_edge = ((bond >= 0) & (bond < 8)).double()  # [g, N, N]
        step = is_edge / is_edge.sum(dim=-1, keepdim=True).clamp(min=1)
        power = step
        features[rows, :, :, :BONDS] = hot.float()
        for number in range(WALK_STEPS):
            if number > 0:
                power = power @ step
            features[rows, :, :, BONDS + number] = power.float()
            walks[rows, :, number] = power.diagonal(dim1=1, dim2=2).float()
        features[rows, :, :, -1] = (bond >= 0).float()
    sums = torch.cat([walks.double().sum(dim=1), walks.double().square().sum(dim=1)], dim=1)
    return Graphs(
        sizes,
        types.to(torch.int32),
        walks,
        sums.float().contiguous(),
        features,
        start["targets"].to(device, torch.float32),
        start["splits"],
    )


def batches_of(seed: int, epoch: int, graphs: int, size: int) -> list[Tensor]:
    """The graphs of each batch, in the order of the loader of ``gtcourse train``."""
    generator = torch.Generator().manual_seed((1_000_003 * seed + epoch) % 2**63)
    order = torch.randperm(graphs, generator=generator)
    batches = [order[start : start + size] for start in range(0, graphs, size)]
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def rate_at(step: int, total: int, peak: float, warmup: float) -> float:
    """The learning rate of a step, counted from 0: a linear rise, then a cosine to zero."""
    steps = round(warmup * total)
    if step + 1 <= steps:
        return peak * (step + 1) / steps
    done = min(1.0, (step + 1 - steps) / (total - steps))
    return peak * (1 + math.cos(math.pi * done)) / 2


# A step


class Model:
    """The parameters of a run on a device, and the kernels of a step and of a prediction.

    Args:
        graphs: of all splits.
        num_layers: of the model.
        clip: bound of the logits; infinite for none.
        ablation: share of the pairs whose weights are dropped.
        batch_size: B, a power of two.
        decay: of AdamW.
        grad_clip: the largest norm of the gradient.
        steps: of an epoch.
        precision: of products of matrices, as :func:`tl.dot` calls it: "ieee", or "tf32x3", which
            has nearly the same rounding error.
    """

    def __init__(
        self,
        graphs: Graphs,
        num_layers: int,
        *,
        clip: float,
        ablation: float,
        batch_size: int,
        decay: float,
        grad_clip: float,
        steps: int,
        precision: str,
    ):
        self.graphs = graphs
        self.num_layers = num_layers
        self.clip = clip if math.isfinite(clip) else 0.0
        self.ablation = ablation
        self.batch_size = batch_size
        self.decay = decay
        self.grad_clip = grad_clip
        self.precision = precision
        self.device = graphs.sizes.device
        self.N = graphs.types.shape[1]
        self.at, self.length = places(num_layers)
        self.values = self.zeros(self.length)
        self.first = self.zeros(self.length)
        self.second = self.zeros(self.length)
        # After the gradients, scratch of weight_grad_kernel: of the walks, then a sum of rows.
        self.grads = self.zeros(self.length + WIDTH * FEATURES + WIDTH)
        self.running = self.zeros(2 * num_layers, 2, WIDTH)
        self.running_walks = self.zeros(2, FEATURES)
        self.order = torch.zeros(steps * batch_size, dtype=torch.int32, device=self.device)
        self.all_rates = self.zeros(steps, 3)
        self.counter = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.first_seed = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.seeds = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.rates = self.zeros(3)
        self.loss = self.zeros(1)
        self.zeroed = self.zeros(2 * (2 * num_layers) * 2 * WIDTH + FEATURES * 2 * WIDTH + 16)
        stats = 2 * num_layers * 2 * WIDTH
        self.sums = self.zeroed[:stats].view(2 * num_layers, 2, WIDTH)
        self.grad_sums = self.zeroed[stats : 2 * stats].view(2 * num_layers, 2, WIDTH)
        self.grad_map = self.zeroed[2 * stats : 2 * stats + FEATURES * 2 * WIDTH]
        self.norm = self.zeroed[2 * stats + FEATURES * 2 * WIDTH :]
        self.walk_stats = self.zeros(2, FEATURES)
        self.training = Buffers(self, batch_size, num_layers)
        self.grad_x = self.zeros(self.training.rows, WIDTH)
        self.grad_z = self.zeros(self.training.rows, WIDTH)
        self.grad_terms = torch.zeros_like(self.training.terms)
        self.tiles = self.training.tiles(self.at, self.length).to(self.device)
        places_of_norms = [
            self.at[f"{layer} norm {number}"] for layer in range(num_layers) for number in (1, 2)
        ]
        self.norm_places = torch.tensor(places_of_norms, device=self.device)

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros(*shape, device=self.device)

    def parameter(self, name: str) -> Tensor:
        return self.values[self.at[name] :]

    def norm_of(self, layer: int, number: int) -> tuple[Tensor, Tensor]:
        gamma = self.parameter(f"{layer} norm {number}")
        return gamma, gamma[WIDTH:]

    def begin(self, buffers: Buffers, evaluate: bool) -> None:
        begin_kernel[(1,)](
            self.counter,
            self.order,
            self.all_rates,
            self.graphs.sizes,
            self.graphs.walk_sums,
            self.zeroed,
            self.parameter("table"),
            self.parameter("maps"),
            buffers.ids,
            buffers.sizes,
            buffers.counts,
            self.rates,
            self.seeds,
            self.walk_stats,
            buffers.pair_map,
            self.first_seed,
            len(self.zeroed),
            self.batch_size,
            WIDTH,
            FEATURES,
            evaluate,
            self.precision,
            num_warps=8,
        )

    def forward(self, buffers: Buffers, evaluate: bool) -> None:
        """The predictions of a batch; in training also the gradient as far as the nodes."""
        d, N, R = WIDTH, self.N, buffers.rows
        blocks = -(-R // ROWS)
        share = 0.0 if evaluate else self.ablation
        stats = self.running if evaluate else self.sums
        shared = {"EPS": EPS, "EVAL": evaluate, "PRECISION": self.precision}
        self.begin(buffers, evaluate)
        terms_kernel[(R,)](
            buffers.ids,
            buffers.sizes,
            self.graphs.features,
            buffers.pair_map,
            self.parameter("maps bias"),
            buffers.terms,
            N,
            d,
            FEATURES,
            self.precision,
            num_warps=4,
        )
        input_kernel[(blocks,)](
            buffers.ids,
            buffers.sizes,
            buffers.counts,
            self.graphs.types,
            self.graphs.walks,
            self.running_walks if evaluate else self.walk_stats,
            self.parameter("types"),
            self.parameter("walk gamma"),
            self.parameter("walk beta"),
            self.parameter("walk weight"),
            self.parameter("walk bias"),
            buffers.of("h", 0),
            buffers.one_hot,
            buffers.normal_walks,
            R,
            N,
            d,
            FEATURES,
            WALK_STEPS,
            BLOCK=ROWS,
            **shared,
        )
        for layer in range(self.num_layers):
            before = max(layer - 1, 0)
            gamma, beta = self.norm_of(before, 2)
            project_kernel[(blocks, 3)](
                buffers.of("u2", before) if layer > 0 else buffers.of("h", 0),
                stats[2 * before + 1],
                buffers.counts,
                gamma,
                beta,
                self.parameter(f"{layer} qkv"),
                buffers.sizes,
                buffers.of("h", layer),
                buffers.of("qkv", layer),
                R,
                N,
                d,
                NORM=layer > 0,
                BLOCK=ROWS,
                **shared,
            )
            attend_kernel[(R,)](
                buffers.of("qkv", layer),
                buffers.terms,
                buffers.sizes,
                buffers.of("h", layer),
                buffers.of("z", layer),
                buffers.of("total", layer),
                buffers.of("largest", layer),
                buffers.of("u1", layer),
                self.sums[2 * layer],
                self.parameter(f"{layer} out"),
                self.parameter(f"{layer} out bias"),
                self.seeds,
                (d // HEADS) ** -0.5,
                layer,
                R,
                N,
                HEADS,
                d // HEADS,
                self.clip,
                share,
                evaluate,
                num_warps=8,
            )
            gamma, beta = self.norm_of(layer, 1)
            feed_forward_kernel[(blocks,)](
                buffers.of("u1", layer),
                stats[2 * layer],
                buffers.counts,
                gamma,
                beta,
                self.parameter(f"{layer} first"),
                self.parameter(f"{layer} first bias"),
                self.parameter(f"{layer} second"),
                self.parameter(f"{layer} second bias"),
                buffers.sizes,
                buffers.of("u2", layer),
                self.sums[2 * layer + 1],
                R,
                N,
                d,
                HIDDEN,
                BLOCK=ROWS,
                num_warps=8,
                **shared,
            )
        last = self.num_layers - 1
        gamma, beta = self.norm_of(last, 2)
        head_kernel[(len(buffers.ids),)](
            buffers.of("u2", last),
            stats[2 * last + 1],
            buffers.counts,
            gamma,
            beta,
            self.parameter("head 1"),
            self.parameter("head 1 bias"),
            self.parameter("head 2"),
            self.parameter("head 2 bias"),
            self.parameter("head 3"),
            self.parameter("head 3 bias"),
            buffers.ids,
            buffers.sizes,
            self.graphs.targets,
            buffers.predictions,
            self.loss,
            buffers.last_h,
            buffers.a1,
            buffers.a2,
            buffers.grad_1,
            buffers.grad_2,
            buffers.grad_3,
            buffers.grad_h,
            self.grad_sums[2 * last + 1],
            N,
            d,
            *HEAD_WIDTHS,
            64,
            num_warps=8,
            EPS=EPS,
            EVAL=evaluate,
            # With "tf32x3", Triton 3.6 compiles this kernel for an H100 into one that reads
            # outside its shared memory.
            PRECISION="ieee",
        )

    def backward(self) -> None:
        """The gradients of all parameters, and the running statistics."""
        buffers = self.training
        d, N, R = WIDTH, self.N, buffers.rows
        blocks = -(-R // ROWS)
        heads = (HEADS, d // HEADS, self.clip, self.ablation)
        scale = (d // HEADS) ** -0.5
        for layer in reversed(range(self.num_layers)):
            gamma_1, beta_1 = self.norm_of(layer, 1)
            gamma_2, _ = self.norm_of(layer, 2)
            feed_forward_grad_kernel[(blocks,)](
                buffers.grad_h,
                buffers.of("u2", layer),
                self.sums[2 * layer + 1],
                self.grad_sums[2 * layer + 1],
                gamma_2,
                buffers.of("u1", layer),
                self.sums[2 * layer],
                self.grad_sums[2 * layer],
                gamma_1,
                beta_1,
                buffers.counts,
                self.parameter(f"{layer} first"),
                self.parameter(f"{layer} first bias"),
                self.parameter(f"{layer} second"),
                buffers.sizes,
                buffers.of("x", layer),
                buffers.of("a", layer),
                buffers.of("grad u2", layer),
                buffers.of("grad a", layer),
                self.grad_x,
                R,
                N,
                d,
                HIDDEN,
                EPS,
                ROWS,
                self.precision,
                num_warps=8,
            )
            query_grad_kernel[(R,)](
                self.grad_x,
                buffers.of("u1", layer),
                self.sums[2 * layer],
                self.grad_sums[2 * layer],
                gamma_1,
                buffers.counts,
                self.parameter(f"{layer} out"),
                buffers.of("qkv", layer),
                buffers.terms,
                buffers.sizes,
                buffers.of("z", layer),
                buffers.of("total", layer),
                buffers.of("largest", layer),
                buffers.of("grad u1", layer),
                self.grad_z,
                self.grad_terms,
                buffers.of("grad qkv", layer),
                self.seeds,
                scale,
                layer,
                R,
                N,
                *heads,
                layer == self.num_layers - 1,
                EPS,
                num_warps=8,
            )
            key_grad_kernel[(R,)](
                buffers.of("qkv", layer),
                buffers.terms,
                buffers.sizes,
                buffers.of("z", layer),
                buffers.of("total", layer),
                buffers.of("largest", layer),
                self.grad_z,
                buffers.of("grad qkv", layer),
                self.seeds,
                scale,
                layer,
                R,
                N,
                *heads,
                num_warps=8,
            )
            before = max(layer - 1, 0)
            project_grad_kernel[(blocks,)](
                buffers.of("grad qkv", layer),
                buffers.of("grad u1", layer),
                self.parameter(f"{layer} qkv"),
                buffers.of("u2", before),
                self.sums[2 * before + 1],
                self.grad_sums[2 * before + 1],
                buffers.counts,
                buffers.sizes,
                buffers.grad_h,
                R,
                N,
                d,
                EPS,
                layer > 0,
                ROWS,
                self.precision,
                num_warps=8,
            )
        at_once = 5
        pair_grad_kernel[(len(buffers.ids), -(-N // at_once))](
            buffers.ids,
            buffers.sizes,
            self.graphs.features,
            self.grad_terms,
            self.grad_map,
            N,
            d,
            FEATURES,
            at_once,
            self.precision,
            num_warps=8,
        )
        weight_grad_kernel[(len(self.tiles),)](
            buffers.work, self.grads, self.tiles, R, 32, 64, self.precision, num_warps=4
        )
        scratch = self.grads[self.length :]
        finish_kernel[(2 * self.num_layers + 2,)](
            self.sums,
            self.grad_sums,
            self.running,
            self.norm_places,
            self.walk_stats,
            self.running_walks,
            buffers.counts,
            self.grads,
            scratch,
            scratch[WIDTH * FEATURES :],
            self.parameter("table"),
            self.parameter("maps"),
            self.parameter("walk gamma"),
            self.parameter("walk beta"),
            self.parameter("walk weight"),
            self.grad_map,
            self.at["types"],
            self.at["walk gamma"],
            self.at["walk beta"],
            self.at["walk weight"],
            self.at["walk bias"],
            self.at["table"],
            self.at["maps"],
            self.at["maps bias"],
            2 * self.num_layers,
            d,
            FEATURES,
            WALK_STEPS,
            TYPE_CHANNELS,
            BONDS,
            BOND_CHANNELS,
            MOMENTUM,
            "ieee",
            num_warps=8,
        )

    def update(self) -> None:
        """The step of the optimizer."""
        blocks = -(-self.length // 1024)
        norm_kernel[(blocks,)](self.grads, self.norm, self.length, 1024)
        adamw_kernel[(blocks,)](
            self.values,
            self.grads,
            self.first,
            self.second,
            self.norm,
            self.rates,
            self.counter,
            self.grad_clip,
            self.length,
            self.decay,
            *BETAS,
            ADAM_EPS,
            1024,
        )

    def step(self) -> None:
        self.forward(self.training, evaluate=False)
        self.backward()
        self.update()


class Buffers:
    """Memory for the batch of a step, or of a prediction.

    Args:
        model: whose batches they hold.
        graphs: graphs in a batch.
        layers: how many layers have memory of their own: all in training, where a gradient reads
            it later. With 1 all layers share it.
    """

    def __init__(self, model: Model, graphs: int, layers: int):
        device = model.device
        N, d = model.N, WIDTH
        self.rows = graphs * N
        self.layers = layers
        self.ids = torch.zeros(graphs, dtype=torch.int32, device=device)
        self.sizes = torch.zeros(graphs, dtype=torch.int32, device=device)
        self.counts = torch.zeros(16, device=device)
        self.pair_map = torch.zeros(FEATURES, 2 * d, device=device)
        self.terms = torch.zeros(self.rows * N * 2 * d, device=device)
        self.predictions = torch.zeros(graphs, device=device)
        self.widths = {"h": d, "u1": d, "u2": d, "qkv": 3 * d, "z": d, "total": d, "largest": d}
        self.widths |= {"x": d, "a": HIDDEN, "grad u2": d, "grad a": HIDDEN, "grad u1": d}
        self.widths |= {"grad qkv": 3 * d}
        others = {"one hot": FEATURES, "walks": FEATURES, "last h": d, "grad h": d}
        others |= {"a1": HEAD_WIDTHS[0], "grad 1": HEAD_WIDTHS[0]}
        others |= {"a2": HEAD_WIDTHS[1], "grad 2": HEAD_WIDTHS[1], "grad 3": 1}
        self.starts: dict[str, int] = {}
        total = 0
        for name, width in self.widths.items():
            self.starts[name] = total
            total += self.layers * self.rows * width
        for name, width in others.items():
            self.starts[name] = total
            total += -(-self.rows * width // 16) * 16
        self.work = torch.zeros(total, device=device)

        def other(name: str) -> Tensor:
            return self.work[self.starts[name] :]

        self.one_hot = other("one hot")
        self.normal_walks = other("walks")
        self.last_h = other("last h")
        self.grad_h = other("grad h")
        self.a1 = other("a1")
        self.a2 = other("a2")
        self.grad_1 = other("grad 1")
        self.grad_2 = other("grad 2")
        self.grad_3 = other("grad 3")

    def place(self, name: str, layer: int) -> int:
        """Where a layer's part of :attr:`work` begins."""
        return self.starts[name] + (layer % self.layers) * self.rows * self.widths[name]

    def of(self, name: str, layer: int) -> Tensor:
        start = self.place(name, layer)
        return self.work[start : start + self.rows * self.widths[name]]

    def tiles(self, at: dict[str, int], scratch: int) -> Tensor:
        """What weight_grad_kernel computes, a row for each tile of a weight's gradient."""
        d = WIDTH
        products: list[tuple[int, int, int, int, int, int]] = []
        for layer in range(self.layers):
            for gradient, outputs, inputs, width, weight, bias in (
                ("grad qkv", 3 * d, "h", d, "qkv", None),
                ("grad u1", d, "z", d, "out", "out bias"),
                ("grad a", HIDDEN, "x", d, "first", "first bias"),
                ("grad u2", d, "a", HIDDEN, "second", "second bias"),
            ):
                products.append(
                    (
                        self.place(gradient, layer),
                        outputs,
                        self.place(inputs, layer),
                        width,
                        at[f"{layer} {weight}"],
                        -1 if bias is None else at[f"{layer} {bias}"],
                    )
                )
        first, second = HEAD_WIDTHS
        starts = self.starts
        products += [
            (starts["grad 1"], first, starts["last h"], d, at["head 1"], at["head 1 bias"]),
            (starts["grad 2"], second, starts["a1"], first, at["head 2"], at["head 2 bias"]),
            (starts["grad 3"], 1, starts["a2"], second, at["head 3"], at["head 3 bias"]),
            (starts["grad h"], d, starts["one hot"], FEATURES, at["types"], scratch + d * FEATURES),
            (starts["grad h"], d, starts["walks"], FEATURES, scratch, -1),
        ]
        size = 32
        rows = []
        for gradient, outputs, inputs, width, weight, bias in products:
            for o in range(0, outputs, size):
                for i in range(0, width, size):
                    own_bias = bias + o if bias >= 0 and i == 0 else -1
                    rows.append(
                        [
                            gradient + o,
                            outputs,
                            min(size, outputs - o),
                            inputs + i,
                            width,
                            min(size, width - i),
                            weight + o * width + i,
                            own_bias,
                        ]
                    )
        return torch.tensor(rows)


# Runs


def captured(function: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """A function that launches the kernels of ``function`` at once, as a CUDA graph on a GPU."""
    if device.type == "cpu":
        return function
    function()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay


class Run:
    """A run that is resumed from a start file, or from what :meth:`state` returned.

    Args:
        graphs: of all splits.
        state: its settings, parameters and history.
        precision: of products of matrices.
    """

    def __init__(self, graphs: Graphs, state: dict[str, Any], precision: str):
        self.settings = state["settings"]
        settings = self.settings
        self.batch_size = settings["batch_size"]
        self.num_graphs = graphs.number("train")
        self.steps_per_epoch = -(-self.num_graphs // self.batch_size)
        self.total = self.steps_per_epoch * settings["epochs"]
        self.model = Model(
            graphs,
            settings["layers"],
            clip=settings["clip"],
            ablation=settings["ablation"],
            batch_size=self.batch_size,
            decay=settings["decay"],
            grad_clip=settings["grad_clip"],
            steps=self.steps_per_epoch,
            precision=precision,
        )
        device = self.model.device
        self.evaluated = Buffers(self.model, graphs.number("val"), layers=1)
        ids = torch.arange(*graphs.splits["val"], device=device)
        self.evaluated.ids.copy_(ids)
        self.evaluated.sizes.copy_(graphs.sizes[ids])
        self.targets = graphs.targets[ids]
        self.error = torch.zeros((), device=device)
        self.lr = 0.0
        self.load(state)
        self.set_epoch(self.epoch)
        self.step = captured(self.model.step, device)
        self.evaluate = captured(self.compute_error, device)
        self.load(state)  # capturing has changed it
        self.history: list[dict[str, float]] = state["history"]
        self.part = {
            "first epoch": self.epoch,
            "device": device_name(device),
            "torch": str(torch.__version__),
            "triton": str(triton.__version__),
            "precision": precision,
        }
        self.earlier_parts = state["parts"]

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return self.steps // self.steps_per_epoch

    def load(self, state: dict[str, Any]) -> None:
        for name in STATE:
            getattr(self.model, name).copy_(state[name])
        self.steps = state["steps"]
        self.best = state["best"]

    def state(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "steps": self.steps,
            "history": self.history,
            "best": self.best,
            "parts": [*self.earlier_parts, self.part | {"end": self.epoch}],
            **self.tensors(*STATE),
        }

    def tensors(self, *names: str) -> dict[str, Tensor]:
        """Copies of some of the model's tensors on the CPU."""
        return {name: getattr(self.model, name).cpu().clone() for name in names}

    def compute_error(self) -> None:
        self.model.forward(self.evaluated, evaluate=True)
        self.error.copy_((self.evaluated.predictions - self.targets).abs().mean())

    def set_epoch(self, epoch: int) -> None:
        """Writes the order of the graphs and the rates of the steps of an epoch."""
        model = self.model
        settings = self.settings
        first = epoch * self.steps_per_epoch
        batches = batches_of(settings["seed"], epoch, self.num_graphs, self.batch_size)
        order = torch.full((len(batches), self.batch_size), -1, dtype=torch.int32)
        rates = torch.empty(len(batches), 3, dtype=torch.float64)
        for step, batch in enumerate(batches):
            order[step, : len(batch)] = batch
            rates[step, 0] = rate_at(first + step, self.total, settings["lr"], settings["warmup"])
            rates[step, 1] = 1 - BETAS[0] ** (first + step + 1)
            rates[step, 2] = math.sqrt(1 - BETAS[1] ** (first + step + 1))
        self.lr = float(rates[0, 0])
        model.order.copy_(order.flatten())
        model.all_rates.copy_(rates)
        model.counter.zero_()
        model.first_seed.fill_(1_000_000_000 * settings["seed"] + first)
        model.loss.zero_()

    def train_epoch(self) -> dict[str, float]:
        """Trains for an epoch, and returns its row of the history.

        Raises:
            FloatingPointError: The training loss is not finite.
        """
        begun = time.perf_counter()
        self.set_epoch(self.epoch)
        for _ in range(self.steps_per_epoch):
            self.step()
        self.evaluate()
        loss = float(self.model.loss) / self.num_graphs
        if not math.isfinite(loss):
            raise FloatingPointError(f"the training loss is {loss} in epoch {self.epoch}.")
        row = {"epoch": self.epoch, "lr": self.lr, "train_loss": loss, "val_mae": float(self.error)}
        row["seconds"] = time.perf_counter() - begun
        self.history.append(row)
        self.steps += self.steps_per_epoch
        if row["val_mae"] < self.best["row"]["val_mae"]:
            self.best = {"row": row, **self.tensors("values", "running", "running_walks")}
        return row


STATE = ("values", "first", "second", "running", "running_walks")
"""The tensors of a model that change in training."""


def check(run: Run, expected: dict[str, Any]) -> None:
    """Compares a gradient and the validation error with those of the package on a CPU.

    Raises:
        RuntimeError: They differ by more than rounding explains.
    """
    model = run.model
    state = run.state()
    run.set_epoch(run.epoch)
    batch = expected["graphs"].to(torch.int32)
    model.order.fill_(-1)
    model.order[: len(batch)] = batch
    model.first_seed.fill_(expected["seed"])
    model.forward(model.training, evaluate=False)
    model.backward()
    found = model.grads[: model.length].cpu().double()
    gradient = expected["gradient"].double()
    difference = float((found - gradient).norm() / gradient.norm())
    run.load(state)  # the step has changed the running statistics
    run.compute_error()
    error = float(run.error)
    loss = float(model.loss) / len(batch)
    words = (
        f"gradient off by {difference:.2g}, loss {loss:.6f} and validation error {error:.6f}, "
        f"where the package has {expected['loss']:.6f} and {expected['val_mae']:.6f}"
    )
    differences = (difference, abs(loss - expected["loss"]), abs(error - expected["val_mae"]))
    if not all(each < 1e-4 for each in differences):
        raise RuntimeError(f"the kernels do not compute what the package computes: {words}.")
    print(words, flush=True)


def train(run: Run, end: float, save: Callable[[], None]) -> None:
    """Trains until the run or the time is over, and saves it now and then."""
    saved = time.perf_counter()
    slowest = 0.0
    while run.epoch < run.settings["epochs"] and time.perf_counter() + slowest < end:
        row = run.train_epoch()
        slowest = max(slowest, row["seconds"])
        if time.perf_counter() - saved > SAVE_EVERY:
            save()
            saved = time.perf_counter()
            print(", ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
    save()


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("start", type=Path, help="of experiments.csa_complete")
    parser.add_argument("--state", type=Path, required=True, help="is written, or resumed")
    parser.add_argument("--seconds", type=float, required=True, help="when to stop, at the latest")
    parser.add_argument("--precision", choices=["ieee", "tf32x3"], default="tf32x3")
    arguments = parser.parse_args()
    end = time.perf_counter() + arguments.seconds
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    start = torch.load(arguments.start, weights_only=True)
    graphs = graphs_of(start, device)
    path = arguments.state
    if path.exists():
        run = Run(graphs, torch.load(path, weights_only=True), arguments.precision)
    else:
        run = Run(graphs, start["run"], arguments.precision)
        check(run, start["check"])

    def save() -> None:
        part = path.with_suffix(".part")
        torch.save(run.state(), part)
        part.rename(path)

    train(run, end, save)
    print(f"{run.epoch} epochs; lowest validation error: {run.best['row']}")


if __name__ == "__main__":
    main()
