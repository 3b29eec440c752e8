"""A metric that torchmetrics does not have."""

from typing import Any, Literal

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.functional.classification import binary_auroc, binary_average_precision
from torchmetrics.utilities import dim_zero_cat


class MeanOverTargets(Metric):
    """ROC AUC or average precision, averaged over the T targets that have both a 0 and a 1.

    Other targets have no ranking to score, and OGB leaves them out as well. The metric is NaN if no
    target is left. Logits are ``[B, T]`` or ``[B]``; y has the same shape and is 0, 1 or NaN.
    """

    full_state_update = False
    score_of: Any  # a function of torchmetrics
    predictions: list[Tensor]
    targets: list[Tensor]

    def __init__(self, score: Literal["auroc", "ap"]):
        super().__init__()
        self.score_of = {"auroc": binary_auroc, "ap": binary_average_precision}[score]
        self.add_state("predictions", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def update(self, prediction: Tensor, y: Tensor) -> None:
        """Adds a batch."""
        self.predictions.append(prediction.float().reshape(len(y), -1))
        self.targets.append(y.reshape(len(y), -1))

    def compute(self) -> Tensor:
        """The mean over targets."""
        predictions = dim_zero_cat(self.predictions)
        targets = dim_zero_cat(self.targets)
        scores = []
        for prediction, y in zip(predictions.T, targets.T, strict=True):
            known = ~y.isnan()
            labels = y[known].long()
            if 0 < labels.sum() < len(labels):
                # Ranks instead of probabilities: the sigmoid of every large logit is 1.
                rank = prediction[known].unique(return_inverse=True)[1] / len(labels)
                scores.append(self.score_of(rank, labels))
        return torch.stack(scores).mean() if scores else predictions.new_tensor(torch.nan)
