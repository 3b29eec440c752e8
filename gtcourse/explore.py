"""One self-contained page with a trained model's view of molecules: ``gtcourse explore``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torch import Tensor

from gtcourse import plots
from gtcourse.analysis import leave_one_out
from gtcourse.encodings import encode
from gtcourse.graphs.batch import collate
from gtcourse.inference import Predictor, load
from gtcourse.plots.molecules import TWO_SIDED
from gtcourse.training.budget import device

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
        color-scheme: light; background: #fff; color: #222; }}
table {{ border-collapse: collapse; }}
td, th {{ border-bottom: 1px solid #ccc; padding: .25rem .75rem; text-align: left; }}
svg {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def page(models: Sequence[str], smiles: Sequence[str]) -> str:
    """The page: predictions, the effect of leaving out each atom, and attention.

    Args:
        models: names or folders, as :func:`gtcourse.load` takes them; molecules: SMILES.

    Raises:
        ValueError: a model or a molecule cannot be read, or a model has no attention.
    """
    predictors = [load(name) for name in models]
    rows, attention, pictures = [], {}, []
    for predictor in predictors:
        if not hasattr(predictor.model, "layers") and not hasattr(predictor.model, "encoder"):
            raise ValueError(f"{predictor.name} has no attention to show; expected a Transformer.")
        values, maps = predictor.predict(smiles, return_attention=True)
        attention[predictor.name] = [each.numpy() for each in maps]
        cells = "".join(f"<td>{value:.3f}</td>" for value in values.reshape(len(smiles), -1)[:, 0])
        rows.append(f"<tr><th>{escape(predictor.name)}</th>{cells}</tr>")
        pictures += [f"<h3>{escape(predictor.name)}</h3>", _left_out(predictor, smiles)]
    names = "".join(f"<th>{escape(text)}</th>" for text in smiles)
    body = (
        f"<h2>Prediction</h2><table><tr><th>model</th>{names}</tr>{''.join(rows)}</table>"
        "<h2>Attention</h2><p>Choose a model, a layer, a head (a channel in CSA) and an atom.</p>"
        f"{plots.explorer(smiles, attention).data}"
        "<h2>Leaving out one atom</h2><p>The change of the prediction when the atom and its bonds "
        f"are masked.</p>{''.join(pictures)}"
    )
    title = escape(", ".join(smiles)) if len(smiles) < 3 else f"{len(smiles)} molecules"
    return PAGE.format(title=title, body=body)


def effects(predictor: Predictor, smiles: Sequence[str]) -> list[Tensor]:
    """Of each molecule ``[n]``: the prediction less that without the atom (first target)."""
    found = []
    for text in smiles:
        graph = encode([predictor.featurize(text)], *predictor.transforms)
        batch = collate(graph).to(device())
        found.append(leave_one_out(predictor.model, batch)[0].cpu())
    return found


def _left_out(predictor: Predictor, smiles: Sequence[str]) -> str:
    values = [each.tolist() for each in effects(predictor, smiles)]
    largest = max(abs(value) for each in values for value in each)
    return plots.molecules(
        list(smiles),
        values=values,
        limits=(-largest, largest),
        cmap=TWO_SIDED,
        value_label="change of the prediction",
        alt=f"{', '.join(smiles)}: what each atom contributes to the prediction of "
        f"{predictor.name}.",
    ).data
