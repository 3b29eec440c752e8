"""Values that the authors' modules gave, as ``tests/reference/README.md`` says."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

FOLDER = Path(__file__).parents[1] / "reference"
PRECISIONS = pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"]
)


def reference(name: str) -> Callable[[str], Tensor]:
    """The arrays of one file by their names."""
    arrays = np.load(FOLDER / f"{name}.npz")
    return lambda array: torch.from_numpy(arrays[array])


def load(module: nn.Module, weight: Tensor, bias: Tensor) -> None:
    assert module.weight.shape == weight.shape
    module.weight.data, module.bias.data = weight, bias
