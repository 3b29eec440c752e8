"""Libraries that only some data sets need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, package: str) -> ModuleType:
    """Imports a module, or raises an ImportError that says how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"this needs {package}, which is not installed; install it with `pip install "
            f"{package}`. Graph files (load_dataset(name, source='….npz')) are read without it."
        ) from None
