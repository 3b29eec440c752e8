"""Random valid graphs: of one node, without edges, with loops, directed, with repeated edges."""

import torch
from hypothesis import strategies as st
from torch_geometric.data import Data


@st.composite
def graphs(draw, max_nodes: int = 8, types: int = 28) -> Data:
    """A graph with node and edge types, a float target, and one encoding of each kind."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    if draw(st.booleans()):
        edges += [(j, i) for i, j in edges]
    seed = draw(st.integers(0, 2**31))
    return graph_of(n, edges, seed, types)


def graph_of(n: int, edges: list[tuple[int, int]], seed: int = 0, types: int = 28) -> Data:
    generator = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.randint(0, types, (n, 1), generator=generator),
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
        edge_attr=torch.randint(1, 4, (len(edges), 1), generator=generator),
        y=torch.randn(1, generator=generator),
        distance=torch.randint(-1, 5, (n, n), generator=generator),
        laplacian_eigenvectors=torch.randn(n, 3, generator=generator),
    )


def random_features(
    generator: torch.Generator, count: int, types: tuple[int, ...], numbers: int
) -> torch.Tensor:
    """Categories below ``types``, a column for each; ``numbers`` columns of floats without them."""
    if not types:
        return torch.rand(count, numbers, generator=generator)
    share = torch.rand(count, len(types), generator=generator)
    return (share * torch.tensor(types)).long()
