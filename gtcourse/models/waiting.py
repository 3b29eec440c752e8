"""What the host may ask of a tensor's numbers.

On a GPU every such question waits until all work before it is done, and then nothing is left to do
while the answer travels. A training step asks none: what is wrong with the data is said later
there, and where sizes would depend on the data, all pairs are computed and masked.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def may_wait(tensor: Tensor) -> bool:
    """Whether its numbers can be looked at for nothing: not on a GPU; on "meta" there are none."""
    return not (tensor.is_cuda or tensor.is_meta)


def refuse(wrong: Tensor, sentence: str | Callable[[], str]) -> None:
    """Refuses data of which some are wrong.

    Args:
        wrong: true where they are, of any shape.
        sentence: what was given and what was expected; made when it is needed.

    Raises:
        ValueError: something is wrong. On a GPU the failure comes with a later operation, as an
            error of the device that prints the sentence's first form.
    """
    if may_wait(wrong):
        if bool(wrong.any()):
            raise ValueError(sentence if isinstance(sentence, str) else sentence())
        return
    said = sentence if isinstance(sentence, str) else "the data hold what the model has no row for."
    torch._assert_async(~wrong.any(), said)
