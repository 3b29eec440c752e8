"""FLAG (Kong et al., 2020): training on node embeddings that are pushed to raise the loss.

Graphormer adds a bound on how far they are pushed (App. B.2.2), after FreeLB (Zhu et al., 2020).
Shapes: B graphs, N nodes (padded), d width of the node embeddings, m steps.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor, nn

from gtcourse.graphs.arguments import at_least, positive
from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.tasks import Task


@dataclass(frozen=True)
class Flag:
    r"""m forward and backward passes for one optimiser step, each against the last.

    The perturbation :math:`\delta` starts uniform in :math:`[-\alpha, \alpha]`; where there is a
    bound, in :math:`[-\epsilon / \sqrt d, \epsilon / \sqrt d]`, inside of it, as FreeLB starts and
    Graphormer's code does. A pass adds an m-th of its gradient to the parameters', and between two
    passes

    .. math:: \delta \leftarrow \Pi_\epsilon\bigl(
              \delta + \alpha\,\operatorname{sign}(\nabla_\delta J)\bigr),

    where :math:`\Pi_\epsilon` scales each node's vector back to a Euclidean norm of at most
    :math:`\epsilon`. The gradient of the step is the mean of the m, which take m times the time of
    one. A pass keeps nothing for the next but :math:`\delta`.

    A model that can be trained so takes ``model(batch, perturbation=δ)``, adds it to its node
    embeddings, and says their width as ``model.config.d_model``.

    Args:
        steps: m; 1 is plain training on randomly perturbed embeddings.
        step_size: :math:`\alpha`. A step has norm :math:`\alpha \sqrt d`: where that is far beyond
            the bound (Graphormer's Table 8: 0.032 and 0.001), only its direction is left of it.
        bound: :math:`\epsilon`; 0 for none, as in Graphormer's Table 9.

    Raises:
        ValueError: m is below 1, or :math:`\alpha` or :math:`\epsilon` is no length.
    """

    steps: int
    step_size: float
    bound: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps)
        positive(step_size=self.step_size)
        if self.bound != 0 and not (isinstance(self.bound, Real) and 0 < self.bound < math.inf):
            raise ValueError(f"bound is {self.bound!r}; expected a number above 0, or 0 for none.")

    def backward(
        self,
        model: nn.Module,
        task: Task,
        batch: GraphBatch,
        backward: Callable[[Tensor], None] = Tensor.backward,
    ) -> Tensor:
        """Adds the gradient of a step to the parameters'; the optimiser's step is the caller's.

        Args:
            backward: takes a loss to the gradients, such as ``fabric.backward``.

        Returns:
            Tensor: the mean of the m losses, whose gradient that is.
        """
        delta, total = self._start(model, batch), 0.0
        for step in range(self.steps):
            if step > 0:
                delta = self._ascend(delta, batch)
            delta.requires_grad_()
            predictions = model(batch, perturbation=delta, **task.asks)
            loss = task.loss(predictions, batch) / self.steps
            backward(loss)
            total = total + loss.detach()
        return total

    def check(self, model: nn.Module) -> None:
        """Checks that a model can be perturbed.

        Raises:
            ValueError: its ``forward`` takes no ``perturbation``, or it has no ``config.d_model``.
        """
        takes = "perturbation" in inspect.signature(model.forward).parameters
        if not takes or not hasattr(getattr(model, "config", None), "d_model"):
            raise ValueError(
                f"{type(model).__name__} cannot be trained with FLAG; expected a model that is "
                "called as model(batch, perturbation=…) and has config.d_model, such as Graphormer."
            )

    def _start(self, model: nn.Module, batch: GraphBatch) -> Tensor:
        like = next(model.parameters())
        shape = (*batch.mask.shape, model.config.d_model)
        delta = torch.empty(shape, dtype=like.dtype, device=like.device)
        radius = self.bound / shape[-1] ** 0.5 if self.bound else self.step_size
        return delta.uniform_(-radius, radius) * batch.mask[..., None]

    def _ascend(self, delta: Tensor, batch: GraphBatch) -> Tensor:
        # The sign is that of the whole loss: neither 1/m nor a scale of the loss changes it.
        uphill = delta.grad.sign() * batch.mask[..., None]
        return self._project(delta.detach() + self.step_size * uphill)

    def _project(self, delta: Tensor) -> Tensor:
        if self.bound == 0:
            return delta
        norm = delta.norm(dim=-1, keepdim=True)
        return delta * (self.bound / norm.clamp(min=self.bound))
