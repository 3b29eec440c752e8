"""FLAG (Kong et al., 2020): training on node embeddings that are perturbed to raise the loss.

Graphormer bounds the perturbation (App. B.2.2), as FreeLB does (Zhu et al., 2020).

Shapes:
    B: graphs in a batch
    N: nodes, with padding
    d: width of a node's embedding
    m: steps
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.config import Config, NotNegativeFloat, PositiveFloat, PositiveInt
from gtcourse.train.tasks import Task


@dataclass(frozen=True)
class Flag(Config):
    r"""m forward and backward passes for one optimizer step, each with a stronger perturbation.

    δ is initialised uniformly in [-α, α] or, if there is a bound, in [-ε/√d, ε/√d], as in FreeLB
    and Graphormer's code. The gradient of the step is the mean over the m passes. Between two
    passes

    .. math:: \delta \leftarrow \Pi_\epsilon\bigl(
              \delta + \alpha\,\operatorname{sign}(\nabla_\delta J)\bigr),

    where :math:`\Pi_\epsilon` scales each node's vector back to a Euclidean norm of at most
    ε. The model is called as ``model(batch, perturbation=δ)``, adds δ to its node
    embeddings, and has their width as ``model.config.d_model``.

    Args:
        steps: m; 1 is plain training on randomly perturbed embeddings.
        step_size: α. A step has the norm α√d. If that is far above the bound, as 0.032 is beyond
            0.001 in Graphormer's Table 8, only the direction of the step matters.
        bound: ε; 0 for none, as in Graphormer's Table 9.
    """

    steps: PositiveInt
    step_size: PositiveFloat
    bound: NotNegativeFloat = 0.0

    def backward(
        self,
        model: nn.Module,
        task: Task,
        batch: GraphBatch,
        backward: Callable[[Tensor], None] = Tensor.backward,
    ) -> Tensor:
        """Adds the gradient of a step to the gradients of the parameters.

        Args:
            model: called as ``model(batch, perturbation=δ)``.
            task: defines the loss.
            batch: graphs with targets.
            backward: called with each of the m losses, divided by m.

        Returns:
            Tensor: the mean of the m losses.
        """
        like = next(model.parameters())
        config: Any = model.config
        width: int = config.d_model
        mask = batch.mask[..., None]
        radius = self.bound / math.sqrt(width) if self.bound else self.step_size
        delta = torch.empty(*batch.mask.shape, width, dtype=like.dtype, device=like.device)
        delta = delta.uniform_(-radius, radius) * mask
        total = like.new_zeros(())
        for step in range(self.steps):
            if step > 0:
                assert delta.grad is not None  # of the pass before
                # Neither 1/m nor a scale of the loss changes the sign.
                delta = delta.detach() + self.step_size * (delta.grad.sign() * mask)
                if self.bound:
                    norm = delta.norm(dim=-1, keepdim=True)
                    delta = delta * (self.bound / norm.clamp(min=self.bound))
            delta.requires_grad_()
            prediction = model(batch, perturbation=delta, **task.model_options)
            loss = task.loss(prediction, batch) / self.steps
            backward(loss)
            total = total + loss.detach()
        return total
