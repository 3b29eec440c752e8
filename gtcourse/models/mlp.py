"""Linear maps one after the other, with an activation between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from torch import nn


def mlp(
    *widths: int,
    activation: Callable[[], nn.Module] = nn.ReLU,
    norm: Callable[[int], nn.Module] | None = None,
) -> nn.Sequential:
    """A network that maps ``[..., widths[0]]`` to ``[..., widths[-1]]``.

    Args:
        widths: The widths before the first linear map, between the maps, and after the last.
        activation: Makes the module that follows each linear map but the last.
        norm: Makes a module of a given width that follows each activation; by default none does.

    Raises:
        ValueError: A width is below 1, such a network would ignore its input; or there are fewer
            than two.
    """
    if len(widths) < 2:
        raise ValueError(f"a network has the widths {widths}; expected two or more.")
    if min(widths) < 1:
        raise ValueError(
            f"a network has the widths {', '.join(map(str, widths))}; expected widths of 1 or "
            "more, as with a larger d_model."
        )
    layers: list[nn.Module] = []
    for width, following in pairwise(widths[:-1]):
        layers.append(nn.Linear(width, following))
        layers.append(activation())
        if norm is not None:
            layers.append(norm(following))
    layers.append(nn.Linear(widths[-2], widths[-1]))
    return nn.Sequential(*layers)
