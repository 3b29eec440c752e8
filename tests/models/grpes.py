"""Small GRPEs of every form, and graphs with what they read."""

from dataclasses import replace

from torch_geometric.data import Data

from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import GRPEConfig
from tests.models.graphormers import without_encodings

SMALL = GRPEConfig(d_model=8, num_heads=2, num_layers=2, max_distance=2)
NUMBERS = {"num_node_types": 0, "num_node_features": 2, "num_edge_types": (11,), "edge_step": 0.1}
CONFIGS = {
    "all terms": SMALL,
    "as the authors' code": replace(SMALL, key_context="query_row"),
    "query context": replace(SMALL, terms=("query",)),
    "key context": replace(SMALL, terms=("key",)),
    "value": replace(SMALL, terms=("value",)),
    "bias alone": replace(SMALL, terms=(), bias=True),
    "everything": replace(SMALL, bias=True),
    "no graph": replace(SMALL, terms=()),
    "L = 0": replace(SMALL, max_distance=0),
    "L = 1": replace(SMALL, max_distance=1),
    "L beyond the diameter": replace(SMALL, max_distance=9),
    "no virtual node": replace(SMALL, virtual_node=False),
    "nodes": replace(SMALL, target="node", num_targets=3),
    "nodes, no virtual node": replace(SMALL, target="node", virtual_node=False),
    "edges of one type": replace(SMALL, num_edge_types=(), d_hidden=12, num_targets=2),
}


def encoded(*given: Data) -> list[Data]:
    """With distances."""
    return encode(without_encodings(given), AddShortestPaths())
