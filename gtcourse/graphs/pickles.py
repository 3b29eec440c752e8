"""What a publisher's pickled file may hold: numbers. Nothing that it names is run.

A pickle is a program: it names functions and calls them. These readers know the few names that
tensors and arrays of integers need, and refuse a file that asks for any other.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch


def load_tensors(path: Path) -> Any:
    """Tensors in lists, tuples and dicts, from a file written by plain ``pickle``.

    Raises:
        pickle.UnpicklingError: the file asks for something else.
    """
    with open(path, "rb") as file:
        return _Tensors(file).load()


class _Tensors(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # New functions each time: a pickle can set attributes on what it is handed.
        known = {
            "collections.OrderedDict": OrderedDict,
            "_codecs.encode": lambda text, _: text.encode("latin1"),  # bytes, before protocol 3
            "torch._utils._rebuild_tensor_v2": lambda *parts: torch._utils._rebuild_tensor_v2(
                *parts
            ),
            "torch.storage._load_from_bytes": lambda content: torch.load(
                io.BytesIO(content), weights_only=True
            ),
        }
        if f"{module}.{name}" not in known:
            raise pickle.UnpicklingError(
                f"the file asks for {module}.{name}; expected tensors and nothing else"
            )
        return known[f"{module}.{name}"]


def load_integers(path: Path) -> dict[str, np.ndarray]:
    """A dict of arrays of integers, from a file that ``torch.save`` wrote.

    numpy's own way to rebuild an array trusts the type that the file states, also one of objects;
    so numpy's names lead to :class:`_Array` and :class:`_Type` here, which know 64 bits.

    Raises:
        pickle.UnpicklingError: the file holds something else.
    """
    stand_ins = [
        (_Array, "numpy.ndarray"),
        (_Type, "numpy.dtype"),
        # The name before numpy 2, and since.
        (_reconstruct, "numpy.core.multiarray._reconstruct"),
        (_reconstruct, "numpy._core.multiarray._reconstruct"),
    ]
    with torch.serialization.safe_globals(stand_ins):
        found = torch.load(path, weights_only=True)
    return {key: array.values for key, array in found.items()}


class _Array:
    def __setstate__(self, state: tuple) -> None:
        _, shape, _, _, content = state
        self.values = np.frombuffer(content, dtype="<i8").reshape(shape)


class _Type:
    def __init__(self, code: str, *_: bool):
        if code != "i8":
            raise pickle.UnpicklingError(f"the file has an array of type {code!r}; expected 'i8'")

    def __setstate__(self, state: tuple) -> None:
        if state[1] != "<":
            raise pickle.UnpicklingError("the file has an array of other bytes; expected '<i8'")


def _reconstruct(kind: type, *_: Any) -> _Array:
    return _Array()
