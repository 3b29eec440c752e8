"""Data sets of millions of graphs: prepared once over cores or machines, read in pieces."""

from gtcourse.shards.dataset import ShardedGraphs, open_shards
from gtcourse.shards.format import read_shard, write_shard
from gtcourse.shards.loader import ShardLoader
from gtcourse.shards.pcqm4mv2 import Molecules, pcqm4mv2
from gtcourse.shards.prepare import prepare, process_pool

__all__ = [
    "Molecules",
    "ShardLoader",
    "ShardedGraphs",
    "open_shards",
    "pcqm4mv2",
    "prepare",
    "process_pool",
    "read_shard",
    "write_shard",
]
