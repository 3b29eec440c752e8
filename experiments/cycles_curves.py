"""Chapter 05: ``python -m experiments.cycles_curves``, about 30 CPU minutes.

CYCLES against the number of epochs: a GatedGCN that reads 20 eigenvectors with random signs, their
absolute values, SignNet, SignNet's networks without the second sign, or no eigenvector but the
degrees. The rate is constant, so that the runs
can be compared after any number of epochs, and it is chosen for each encoding.
"""

from dataclasses import replace

from torch import Tensor

from experiments.chapter05 import BASES, ENCODINGS, OneRandomSign, load, run_of
from experiments.runs import main, no_scores
from gtcourse import GraphBatch
from gtcourse.models import LaplacianEncoding, SignNetConfig

RATES = (1e-3, 3e-3, 1e-2)
EPOCHS = {
    "signnet": 12,
    "one-sign": 12,
    "one-sign-flips": 12,
    "flips": 40,
    "degrees": 20,
    "absolute": 20,
}
"""An epoch with SignNet's networks takes several times as long as one without."""


class AbsoluteValues(LaplacianEncoding):
    """A linear map of the entries without their signs."""

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = batch.encoding("laplacian_eigenvectors")
        return self.projection(vectors.abs())


def absolute_values(config: SignNetConfig) -> AbsoluteValues:
    return AbsoluteValues(config.k, config.d_model)


CYCLES = BASES["cycles"]._replace(batch_size=25)
BUILDS = ENCODINGS | {"absolute": absolute_values, "one-sign-flips": OneRandomSign}
RUNS = {
    encoding: replace(
        run_of(CYCLES, encoding, BUILDS[encoding]),
        epochs=epochs,
        constant=True,
        scores=no_scores,
    )
    for encoding, epochs in EPOCHS.items()
}

if __name__ == "__main__":
    main(
        "chapter05",
        RUNS,
        load,
        title="cycles-curve-{}/cycles",
        module="cycles_curves",
        rates=RATES,
    )
