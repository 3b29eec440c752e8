"""The vector of a node or an edge that its features make.

Shapes: F features.
"""

from __future__ import annotations

from torch import Tensor, nn

from gtcourse.models.categories import stacked_rows


class Features(nn.Module):
    """A linear map of features: of numbers as they are, of categories as one-hot vectors.

    Args:
        types: how many categories each column has; features: how many columns of numbers there
            are. One of the two is empty.
        name: what they are, for the sentence.

    Shapes:
        values: ``[..., F]`` whole numbers, or floats
        returns: ``[..., width]``

    Raises:
        ValueError: in the forward pass, where the values are not what is described.
    """

    def __init__(self, types: tuple[int, ...], features: int, width: int, name: str):
        super().__init__()
        self.types, self.name = types, name
        self.table = nn.Embedding(sum(types), width) if types else None
        self.linear = None if types else nn.Linear(features, width, bias=False)

    def forward(self, values: Tensor | None) -> Tensor:
        if values is None:
            raise ValueError(f"the graphs have no {self.name}; expected it, as the model reads it.")
        if self.table is not None:
            return self.table(stacked_rows(values, self.name, self.types)).sum(dim=-2)
        if not values.is_floating_point() or values.shape[-1] != self.linear.in_features:
            raise ValueError(
                f"{self.name} has {values.shape[-1]} columns of {values.dtype}; expected "
                f"{self.linear.in_features} of floating point."
            )
        return self.linear(values.to(self.linear.weight.dtype))
