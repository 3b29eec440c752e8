"""Small EGTs of every variant, and graphs with what they read."""

from dataclasses import replace

from torch_geometric.data import Data

from gtcourse.encodings import AddShortestPaths, AddSVD, encode
from gtcourse.models import EGTConfig
from tests.models.graphormers import without_encodings

SMALL = EGTConfig(d_model=8, d_edge=6, num_heads=2, num_layers=2, svd_rank=2)
PLAIN = replace(SMALL, num_edge_types=(), svd_rank=0)
CONFIGS = {
    "graph": SMALL,
    "distances": replace(SMALL, distance_hops=2),
    "node": replace(PLAIN, target="node", num_targets=3),
    "edge": replace(SMALL, target="edge", num_targets=2),
    "edge and distances": replace(SMALL, target="edge", distance_hops=3),
    "simple": replace(SMALL, variant="simple"),
    "simple, edge": replace(SMALL, variant="simple", target="edge", num_targets=2),
    "constrained": replace(SMALL, variant="constrained"),
    "constrained, edge": replace(SMALL, variant="constrained", target="edge"),
    "ungated": replace(SMALL, gated=False),
    "distance structure": replace(PLAIN, structure="distance", max_distance=2, num_targets=2),
    "virtual nodes": replace(SMALL, virtual_nodes=2, structure="distance", max_distance=3),
    "virtual nodes, constrained": replace(SMALL, virtual_nodes=1, variant="constrained"),
    "virtual nodes, edge": replace(SMALL, virtual_nodes=2, target="edge"),
    "virtual nodes, node": replace(SMALL, virtual_nodes=2, target="node", num_targets=3),
    "virtual nodes, distances": replace(SMALL, virtual_nodes=2, distance_hops=2),
    "virtual nodes, simple, edge": replace(SMALL, virtual_nodes=1, variant="simple", target="edge"),
    "unscaled": replace(SMALL, scaled=False, clip=1.0),
    "other norms": replace(SMALL, norm_eps=0.1),
}


def encoded(*given: Data) -> list[Data]:
    """Distances and two pairs of singular vectors."""
    return encode(without_encodings(given), AddShortestPaths(), AddSVD(2))
