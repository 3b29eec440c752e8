"""Losses after the papers, a target at a time, in float64."""

import math


def cross_entropy_of(logits: list[float], y: int) -> float:
    largest = max(logits)
    return largest + math.log(sum(math.exp(x - largest) for x in logits)) - logits[y]


def weighted_cross_entropy_loop(
    logits: list[list[float]], targets: list[int], sizes: list[int] | None, missing: int = -100
) -> float:
    """A weighted mean over the known targets; a class weighs the share of all other classes."""
    total = 0.0
    weights = 0.0
    for row, y in zip(logits, targets, strict=True):
        if y == missing:
            continue
        others = 1.0
        if sizes is not None:
            others = sum(size for k, size in enumerate(sizes) if k != y) / sum(sizes)
        total += others * cross_entropy_of(row, y)
        weights += others
    return total / weights if weights else 0.0


def distance_loss_loop(graphs, hops: int, reduction: str, self_is_one_hop: bool) -> float:
    """EGT's second objective, of (distances ``[n][n]``, logits ``[n][n][ν + 1]``) of each graph."""
    sums = []
    pairs = 0
    for distance, logits in graphs:
        total = 0.0
        for i, row in enumerate(distance):
            for j, apart in enumerate(row):
                if i == j and apart == 0 and self_is_one_hop:
                    apart = 1
                if 0 <= apart <= hops:
                    total += cross_entropy_of(logits[i][j], apart)
                    pairs += 1
        sums.append(total)
    if reduction == "sum":
        return sum(sums) / len(sums)
    return sum(sums) / pairs if pairs else 0.0


def mean_recall_loop(predicted: list[int], targets: list[int], num_classes: int) -> float:
    """The share found of each class that has targets, and the mean of these."""
    shares = []
    for k in range(num_classes):
        found = [p == k for p, y in zip(predicted, targets, strict=True) if y == k]
        if found:
            shares.append(sum(found) / len(found))
    return sum(shares) / len(shares)


def f1_loop(predicted: list[int], targets: list[int]) -> float:
    pairs = list(zip(predicted, targets, strict=True))
    right = sum(p == y == 1 for p, y in pairs)
    precision = right / max(1, sum(p == 1 for p, _ in pairs))
    recall = right / max(1, sum(y == 1 for _, y in pairs))
    return 2 * precision * recall / (precision + recall) if right else 0.0
