"""What a model is tried with: one of its configurations, and the graphs that it reads."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from gtcourse.encodings import AddLaplacianEigenvectors, AddRandomWalks, AddSVD
from tests.models import csas
from tests.properties.graphs import ATOMS, BONDS, Features

TWO_COLUMNS = Features((28, 7))
TWO_BOND_COLUMNS = Features((4, 3))
NUMBERS = Features(numbers=2)
NUMBER = Features(numbers=1)


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
        signs: whether it is the same for each eigenvector's other sign.
    """

    build: Callable[[], nn.Module]
    transforms: tuple = ()
    x: Features = ATOMS
    edges: Features = BONDS
    level: int = 0
    signs: bool = False
