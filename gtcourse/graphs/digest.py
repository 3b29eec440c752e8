"""SHA-256 of tensors, by which data sets, encodings and runs are told apart.

That of a file is :func:`gtcourse.graphs.io.file_sha256`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def sha256_of(tensors: Iterable[Tensor]) -> str:
    """SHA-256 of some tensors, with their types and shapes."""
    sha256 = hashlib.sha256()
    for tensor in tensors:
        add_tensor(sha256, tensor)
    return sha256.hexdigest()


def add_tensor(sha256: Any, tensor: Tensor, name: str = "") -> None:
    """Adds a tensor to one of hashlib's sums: its name, if it has one, type, shape and values."""
    described = f"{tensor.dtype} {list(tensor.shape)}"
    if name:
        described = f"{name} {described}"
    sha256.update(described.encode())
    values = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
    sha256.update(values.numpy().data)
