"""Weights of earlier releases, whose parts had other names or were joined to one map."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor, nn


def read_renamed(model: nn.Module, renamed: Mapping[str, str]) -> None:
    """Lets ``model.load_state_dict`` read weights under old names, too.

    Args:
        renamed: Old names, or parts of names, and what stands in their place now.
    """
    model.register_load_state_dict_pre_hook(partial(rename, renamed=renamed))


def rename(
    model: nn.Module,
    state_dict: dict[str, Tensor],
    prefix: str,
    *_: object,
    renamed: Mapping[str, str],
) -> None:
    """A pre-hook of ``load_state_dict``; it changes PyTorch's copy of the caller's dictionary.

    Args:
        prefix: The model's name within the dictionary, with a dot, or "".
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        new_name = name.removeprefix(prefix)
        for old, new in renamed.items():
            new_name = new_name.replace(old, new)
        state_dict[prefix + new_name] = state_dict.pop(name)


def split(state_dict: dict[str, Tensor], prefix: str, old: str, parts: tuple[str, ...]) -> None:
    """Splits one old linear map into several of equal size, along its outputs."""
    for kind in ("weight", "bias"):
        name = f"{prefix}{old}.{kind}"
        if name in state_dict:
            whole = state_dict.pop(name)
            for part, values in zip(parts, whole.chunk(len(parts)), strict=True):
                state_dict[f"{prefix}{part}.{kind}"] = values
