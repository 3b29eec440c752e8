"""A configuration of a model and the graphs that it reads; on how many graphs it is tried."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import settings
from torch import nn

from gtcourse.encodings import AddLaplacianEigenvectors, AddRandomWalks, AddSVD
from tests.models import csas
from tests.properties.graphs import ATOMS, BONDS, Features

TWO_COLUMNS, TWO_BOND_COLUMNS = Features((28, 7)), Features((4, 3))
NUMBERS, NUMBER = Features(numbers=2), Features(numbers=1)
LEVELS = {"graph": 0, "node": 1, "edge": 2}
WALKS, SPECTRUM, SVD = AddRandomWalks(csas.STEPS), AddLaplacianEigenvectors(3), AddSVD(2)


@dataclass(frozen=True)
class Variant:
    """One configuration of a model.

    Attributes:
        build: makes it, with the weights of its start.
        transforms: what it reads beside nodes and edges.
        x, edges: the features that it reads.
        level: axes of nodes of its prediction: 0 of a graph, 1 of nodes, 2 of edges.
    """

    build: Callable[[], nn.Module]
    transforms: tuple = ()
    x: Features = ATOMS
    edges: Features = BONDS
    level: int = 0


def enough(share: float = 1.0) -> settings:
    """A share of 20 examples, or of the nightly profile's number; 2 at least."""
    most = settings.default.max_examples
    return settings(max_examples=max(2, round(share * (most if most > 100 else 20))))
