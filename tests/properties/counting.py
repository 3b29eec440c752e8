"""How many examples a property is tried on: few by default, 2,000 with the nightly profile."""

from hypothesis import settings


def examples_of_a_property() -> int:
    """20 of each property of each model, or the profile's number where that is the nightly one."""
    return settings.default.max_examples if settings.default.max_examples > 100 else 20


def of_each(variants: int, least: int = 2) -> settings:
    """As many for all variants of a model together, and some of each."""
    return settings(max_examples=max(least, -(-examples_of_a_property() // variants)))


def enough(share: float = 1.0) -> settings:
    """As many, or a share of them."""
    return settings(max_examples=max(2, round(share * examples_of_a_property())))
