"""The metrics of the tasks: torchmetrics' own, and one that it does not have.

Shapes: B graphs, T targets of a graph.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torchmetrics import MeanAbsoluteError, Metric  # noqa: F401 (tasks name the metrics)
from torchmetrics.classification import BinaryF1Score, MulticlassAccuracy  # noqa: F401
from torchmetrics.functional.classification import binary_auroc, binary_average_precision
from torchmetrics.utilities import dim_zero_cat


class MeanOverQuestions(Metric):
    """ROC AUC or average precision, averaged over the targets that have both a 0 and a 1.

    Others have no ranking to judge; OGB leaves them out too. NaN if none is left.

    Args:
        score: "auroc" or "ap".

    Shapes:
        prediction: ``[B, T]`` or ``[B]`` logits; y: the same, 0, 1 or NaN
    """

    higher_is_better = True
    full_state_update = False

    def __init__(self, score: Literal["auroc", "ap"]):
        super().__init__()
        self.score = score
        self.add_state("predictions", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def update(self, prediction: Tensor, y: Tensor) -> None:
        self.predictions.append(prediction.float().reshape(len(y), -1))
        self.targets.append(y.reshape(len(y), -1))

    def compute(self) -> Tensor:
        score_of = binary_auroc if self.score == "auroc" else binary_average_precision
        predictions, targets = dim_zero_cat(self.predictions), dim_zero_cat(self.targets)
        scores = []
        for prediction, y in zip(predictions.T, targets.T, strict=True):
            known = ~y.isnan()
            answers = y[known].long()
            if 0 < answers.sum() < len(answers):
                # Ranks in place of probabilities: large logits are one and the same sigmoid.
                rank = prediction[known].unique(return_inverse=True)[1] / len(answers)
                scores.append(score_of(rank, answers))
        return torch.stack(scores).mean() if scores else predictions.new_tensor(torch.nan)
