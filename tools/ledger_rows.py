"""What the ledger has a row for: each numbered equation of the sources, and what it defines.

The lecture's statements have no numbers of their own; S1 to S14 are this book's. Everything else
of a row is found: in docstrings, in tests, in chapters.
"""

from __future__ import annotations

SOURCES = {
    "CS224W": {
        "S1": "query, key and value of a token",
        "S2": "scores, scaled, and their softmax",
        "S3": "the new vector: values, weighted and added up",
        "S4": "attention as products of matrices",
        "S5": "several heads, side by side, and mixed",
        "S6": "attention for a single token",
        "S7": "attention as message, query and aggregation",
        "S8": "the order of tokens does not matter",
        "S9": "distances to anchors and to sets of anchors",
        "S10": "eigenvectors of the Laplacian as coordinates",
        "S11": "edge features along a shortest path, added to the logits",
        "S12": "an eigenvector's sign is arbitrary",
        "S13": "which functions do not see the sign",
        "S14": "SignNet",
    },
    "Graphormer": {
        "1": "a message-passing layer: AGGREGATE, COMBINE",
        "2": "a vector for a graph: READOUT",
        "3": "query, key and value",
        "4": "scaled dot-product attention",
        "5": "centrality encoding",
        "6": "spatial encoding",
        "7": "edge encoding",
        "8": "the layer's first half: attention",
        "9": "the layer's second half: feed-forward network",
        "Fact 1": "a layer can be GIN's, GCN's or GraphSAGE's",
        "Fact 2": "a layer can be MEAN READOUT",
        "Figure 2": "two graphs that 1-WL takes for one",
    },
    "EGT": {
        "1": "attention: weights times values",
        "2": "weights: a softmax",
        "3": "logits: scaled dot products",
        "4": "weights: a softmax, then a gate",
        "5": "logits: clipped dot products and the pair's term",
        "6": "update of the nodes",
        "7": "update of the pairs",
        "8": "singular vectors that share the singular values",
        "9": "both kinds of them, side by side, as coordinates",
        "10": "EGT-Simple: gates of pairs that never change",
        "11": "EGT-Simple: logits with pairs that never change",
        "12": "EGT-Constrained: neighbours alone are heard",
        "13": "EGT-Ungated: weights without a gate",
        "14": "EGT-Ungated: logits as before",
    },
    "GRPE": {
        "1": "query, key and value",
        "2": "logits and their softmax",
        "3": "the new vector: values, weighted and added up",
        "4": "a scalar for each relation, as Graphormer's",
        "5": "Laplacian eigenvectors added to the node's vector",
        "6": "the relation meets the query",
        "7": "the relation meets the key",
        "8": "logits with both contexts",
        "9": "values with the relation inside",
    },
    "CSA": {
        "1": "message passing with features of edges",
        "2": "self-attention as a sum over all nodes",
        "3": "its weights before they are normalised",
        "4": "a scalar for each pair in the exponent: the unifying form",
        "5": "a filter with a weight for each channel",
        "6": "messages through the filter",
        "7": "messages with values of edges",
        "8": "vectors of edges, of a node with itself, of no edge",
        "9": "bond and relative position, side by side",
        "10": "relative position from random walks",
        "11": "SPDE: a vector for each distance",
        "12": "RWSE: linear in the chances of a walk",
        "13": "bound by a ring",
        "Figure 2": "two pairs of nodes that distance takes for one",
    },
}


def identifier(source: str, row: str) -> str:
    """How the tools name a row: S4, GRPE 6, Graphormer Fact 1."""
    return row if source == "CS224W" else f"{source} {row}"


def in_full(id: str) -> str:
    """As it is cited: CS224W, S4; GRPE, Eq. 6; Graphormer, Fact 1."""
    source, _, row = id.partition(" ")
    return f"{source}, {label(row)}" if row else f"CS224W, {id}"


def label(row: str) -> str:
    """How a row is called within its source."""
    return f"Eq. {row}" if row.isdecimal() else row


IDS = [identifier(name, row) for name, rows in SOURCES.items() for row in rows]
