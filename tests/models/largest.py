"""How large the tensors are that a computation makes."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Largest(TorchDispatchMode):
    """The most numbers that a tensor has, of all that are made."""

    most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, tuple | list) else (result,)
        self.most = max([self.most, *(t.numel() for t in made if isinstance(t, torch.Tensor))])
        return result
