"""How many examples each property was tried on, and on what kinds of graphs."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from hypothesis import settings
from torch_geometric.data import Data

from tests.properties.graphs import kinds_of

EXAMPLES: dict[str, dict[str, Counter]] = {
    "models": defaultdict(Counter),
    "encodings": defaultdict(Counter),
}
"""Of models and of encodings: name, property and how many examples passed."""

GRAPHS: Counter = Counter()
"""Graphs in all these examples, by kind."""


def examples_of_a_property() -> int:
    """100 of each property of each model, or the profile's number where it is larger."""
    return max(100, settings.default.max_examples)


def of_each(variants: int, least: int = 8) -> settings:
    """As many for all variants of a model together, and some of each."""
    return settings(max_examples=max(least, -(-examples_of_a_property() // variants)))


def enough(share: float = 1.0) -> settings:
    """As many, or a share of them."""
    return settings(max_examples=round(share * examples_of_a_property()))


def tried(of: str, name: str, prop: str, graphs: Iterable[Data] = ()) -> None:
    """Counts an example that has passed.

    Args:
        of: "models" or "encodings"; prop: what was shown, in a few words.
    """
    EXAMPLES[of][name][prop] += 1
    for graph in graphs:
        GRAPHS.update(["graphs", *kinds_of(graph)])


def counts() -> dict:
    """All that was counted, in the order of names."""
    by_name = {
        of: {name: dict(sorted(counted.items())) for name, counted in sorted(found.items())}
        for of, found in EXAMPLES.items()
    }
    return by_name | {"graphs": {"examples": total(), **dict(GRAPHS.most_common())}}


def total() -> int:
    return sum(sum(counted.values()) for found in EXAMPLES.values() for counted in found.values())
