"""``gtcourse predict | explore``: trained models on your own molecules, from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gtcourse.cli_data import console

ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", help="for instance csa/zinc, or the folder of a run")
]


def predict(
    model: ModelName,
    molecules: Annotated[list[str] | None, typer.Argument(help="SMILES")] = None,
    csv: Annotated[Path | None, typer.Option(help="a file with molecules")] = None,
    smiles: Annotated[str, typer.Option(help="the column of --csv with SMILES")] = "smiles",
    out: Annotated[Path | None, typer.Option(help="a CSV file for the predictions")] = None,
) -> None:
    """Predict with a trained model.

    [bold]gtcourse predict csa/zinc CCO "c1ccccc1O"[/]
    """
    if (csv is None) == (not molecules):
        raise ValueError("expected SMILES or --csv FILE, one of the two.")
    if csv is not None and out is None:
        raise ValueError("--csv needs a file for the predictions; expected --out FILE.")
    import pandas as pd

    from gtcourse.graphs.files import replacing
    from gtcourse.inference import load

    if csv is None:
        table, smiles = pd.DataFrame({"smiles": molecules}), "smiles"
    else:
        if not csv.is_file():
            raise FileNotFoundError(f"there is no file {csv}; expected a CSV file.")
        table = pd.read_csv(csv)
        if smiles not in table:
            columns = ", ".join(table.columns)
            raise ValueError(f"{csv} has no column {smiles!r}; expected one of {columns}.")
    predictor = load(model)
    table = table.join(pd.DataFrame(predictor.predict_rows(table[smiles]), index=table.index))
    failed = int((table["reason"] != "").sum())
    if out is not None:
        with replacing(out) as temporary:
            table.to_csv(temporary, index=False)
        console.print(f"{len(table) - failed} predictions: {out}", highlight=False, soft_wrap=True)
    else:
        shown = table.drop(columns="reason") if not failed else table
        console.print(shown.to_string(index=False), highlight=False, markup=False, soft_wrap=True)
    if failed:
        console.print(f"{failed} of {len(table)} rows could not be read; see column 'reason'.")


def explore(
    models: Annotated[str, typer.Argument(metavar="MODEL[,MODEL...]", help="trained models")],
    molecules: Annotated[list[str], typer.Argument(help="SMILES")],
    out: Annotated[Path, typer.Option(help="the page to write")] = Path("explore.html"),
) -> None:
    """Write a page with the attention of trained models on molecules.

    [bold]gtcourse explore csa/zinc "CC(=O)Oc1ccccc1C(=O)O" --out aspirin.html[/]
    """
    from gtcourse.explore import page
    from gtcourse.graphs.files import replacing

    content = page(models.split(","), molecules)
    with replacing(out) as temporary:
        temporary.write_text(content)
    console.print(f"the page: {out}", highlight=False, soft_wrap=True)
