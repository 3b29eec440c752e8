"""Encodings of nodes and of pairs of nodes: PyG transforms, computed once for each graph."""

from gtcourse.encodings.paths import shortest_paths
from gtcourse.encodings.spectral import AddLaplacianEigenvectors, AddSVD
from gtcourse.encodings.structure import (
    AddAnchorDistances,
    AddDegrees,
    AddPathEdges,
    AddPathTree,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
)
from gtcourse.encodings.transform import (
    Encoding,
    computed_in_batches,
    computed_on_device,
    encode,
    encode_batch,
)
