"""CSV files of molecules: text is read and written as it is, and only targets become numbers.

Every message names the file, the line as an editor counts it, the column and the value.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.csv_file import (
    AUTOMATIC_SPLITS,
    TEST,
    TRAIN,
    VAL,
    TextTable,
    check_columns,
    check_target_names,
    class_names,
    only_column,
    part_of,
    read_text_table,
    target_values,
)
from gtcourse.graphs.arguments import check_bools, check_list, check_path, is_one_of, whole_number
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.io import require
from gtcourse.graphs.molecules import FEATURES, canonical_graph, parse
from gtcourse.messages import shown

if TYPE_CHECKING:
    from pandas import DataFrame

TASKS = ("regression", "binary", "classes")


def read_table(path: str | Path, smiles: str, *columns: str) -> DataFrame:
    """A CSV file as a pandas table of text, cell for cell as in the file.

    The file is one that :func:`gtcourse.csv_file.read_text_table` reads. The table's index is each
    row's line in the file, and ``table.attrs["separator"]`` is the separator.

    Raises:
        ValueError: there is no such file, it is no such text, it has no row or one with more or
            fewer cells than the header, or a column is missing or there twice.
    """
    return pandas_table(read_text_table(path, smiles, *columns))


def pandas_table(text: TextTable) -> DataFrame:
    """The table that :func:`read_table` returns, from the cells of the file."""
    pandas = require("pandas", "pandas")
    rows = [*text.rows.values()]
    table = pandas.DataFrame(rows, index=[*text.rows], columns=text.header, dtype=str)
    table.attrs["separator"] = text.separator
    return table


def numbers(table: TextTable, path: str | Path, columns: Sequence[str], task: str) -> Tensor:
    """The targets of a table as numbers, ``[rows, T]`` float32, NaN where they are unknown.

    Cells of ``UNKNOWN`` are unknown, the empty ones among them, and of numbers also "none" and
    "null". A target of "binary" is 0 or 1, or true or false. The classes of "classes" are integers,
    and ``MISSING_LABEL`` where unknown.

    Raises:
        ValueError: a cell is not a finite number, or neither 0 nor 1 for "binary"; or there is not
            one column of two classes or more for "classes", or a cell of it is "none" or "null".
    """
    if task == "classes":
        return _classes(table, path, only_column(columns))
    values = torch.full((len(table), len(columns)), math.nan)
    for number, name in enumerate(columns):
        values[:, number] = torch.tensor(target_values(table, path, name, task))
    return values


def read_csv(
    path: str | Path,
    smiles: str,
    targets: Sequence[str],
    task: str,
    split: str | None = None,
    seed: int = 0,
    features: str = "any",
    *,
    largest_fragment: bool = False,
    max_atoms: int | None = None,
    fold: tuple[int, int] | None = None,
    table: TextTable | None = None,
) -> tuple[GraphDataset, list[str]]:
    """A data set from a CSV file of molecules, and one sentence for each row that is left out.

    Each graph is that of the molecule, however it is written
    (:func:`~gtcourse.graphs.molecules.canonical_molecule`). A row is left out if its molecule
    cannot be read, or none of its targets is known.

    Args:
        path: of a file as :func:`gtcourse.csv_file.read_text_table` takes it.
        smiles: the column with SMILES.
        targets: the columns to predict, empty, NA or NaN where unknown: numbers for "regression",
            0 or 1 for "binary", and one column of any words for "classes". The words none and null
            are unknown numbers, and an error among classes.
        split: "scaffold" (the default, :func:`scaffold_split`), "random", or a column with train,
            val and test.
        seed: of the split.
        features: one of ``FEATURES``.
        largest_fragment: of salts and mixtures, keep the largest piece only.
        max_atoms: leave out larger molecules.
        fold: (k, n): the k-th of n parts, counted from 0, is for testing, the next for validation,
            the others for training. Parts are by scaffold or random.
        table: the cells of the file, if they have been read already. The path is then only named.

    Raises:
        ValueError: the file cannot be read, a column is missing, a target is no number or class, no
            molecule can be read, a part of the split is empty, or no molecule for training has a
            value of one of the targets.
    """
    check_path("the table", path, "the path of a CSV file")
    path = Path(path)
    if not isinstance(targets, Sequence):
        raise ValueError(f"targets is {shown(targets)}; expected a list of columns.")
    targets = [targets] if isinstance(targets, str) else list(targets)
    split = "scaffold" if split is None else split
    split_column = None if is_one_of(split, AUTOMATIC_SPLITS) else split
    if not is_one_of(task, TASKS):
        raise ValueError(f"task is {shown(task)}; expected one of {', '.join(TASKS)}.")
    if not is_one_of(features, FEATURES):
        raise ValueError(f"features is {shown(features)}; expected one of {', '.join(FEATURES)}.")
    check_target_names(smiles, targets)
    seed = whole_number("seed", seed, 0)
    if max_atoms is not None:
        max_atoms = whole_number("max_atoms", max_atoms, 1)
    check_bools(largest_fragment=largest_fragment)
    if fold is not None and (not isinstance(fold, tuple | list) or len(fold) != 2):
        raise ValueError(
            f"fold is {shown(fold)}; expected a pair: the fold, counted from 0, and the number of "
            "folds."
        )
    if split_column is not None and fold is not None:
        raise ValueError(
            f"split is the column {split!r}, which has no effect together with fold; expected "
            "'scaffold' or 'random'."
        )
    if split_column is not None and seed != 0:
        raise ValueError(
            f"seed is {seed}, which has no effect with the column {split!r} as the split; expected "
            "split 'scaffold' or 'random', or no seed."
        )
    if table is not None and not isinstance(table, TextTable):
        raise ValueError(
            f"table is of type {type(table).__name__}; expected a TextTable, as read_text_table "
            "returns, or None."
        )
    columns = targets if split_column is None else [*targets, split_column]
    if table is None:
        table = read_text_table(path, smiles, *columns)
    else:
        check_columns(table.header, path, smiles, *columns)
    y = numbers(table, path, targets, task)  # [rows, T]
    graphs: list[Data] = []
    rows: list[int] = []  # of the graphs
    lines: list[int] = []  # of the graphs
    skipped: list[str] = []
    cells = table[smiles].items()
    bar = tqdm(cells, unit="molecule", leave=False, delay=1, disable=None)
    for row, (line, text) in enumerate(bar):
        known = y[row] != MISSING_LABEL if task == "classes" else ~y[row].isnan()
        try:
            if not known.any():
                raise ValueError(f"it has no target ({', '.join(targets)}: empty).")
            graph, _ = canonical_graph(text, FEATURES[features][0], largest_fragment)
            if max_atoms is not None and graph.num_nodes > max_atoms:
                raise ValueError(f"it has {graph.num_nodes} atoms; expected at most {max_atoms}.")
        except ValueError as error:
            skipped.append(f"line {line}: {error}")
            continue
        graph.y = y[row] if len(targets) == 1 else y[row : row + 1]  # [1] or [1, T]
        graphs.append(graph)
        rows.append(row)
        lines.append(line)
    if not graphs:
        message = (
            f"{path} has no row with a molecule that RDKit can read in column {smiles!r} and a "
            "known target"
        )
        if skipped:
            message += f" ({skipped[0].rstrip('.')})"
        raise ValueError(f"{message}.")
    if split_column is None:
        parts = _automatic_split([graph.smiles for graph in graphs], split, seed, fold)
    else:
        names = table[split_column]
        parts = [part_of(names[line], path, line, split_column) for line in lines]
    _check_parts(parts, path, split, skipped)
    if task != "classes":
        _check_known(y[rows], parts, path, targets)
    if task == "binary":
        _check_two_classes(y[rows], path, targets)
    name = path.name.partition(".")[0]
    source = f"file: {path.name}"
    if fold is not None:
        name += f"-fold-{fold[0] + 1}-of-{fold[1]}"
    return GraphDataset(name, source, graphs, torch.tensor(parts)), skipped


def _classes(table: TextTable, path: str | Path, column: str) -> Tensor:
    """The number of each row's class, ``[rows, 1]``, ``MISSING_LABEL`` where it is unknown."""
    number_of = {name: number for number, name in enumerate(class_names(table, path, column))}
    cells = table[column].values()
    numbers_of_rows = [number_of.get(cell.strip(), MISSING_LABEL) for cell in cells]
    return torch.tensor(numbers_of_rows)[:, None]


def _automatic_split(
    smiles: list[str], split: str, seed: int, fold: tuple[int, int] | None
) -> list[int]:
    """The part of each molecule, by scaffold or random; the arguments are those of ``read_csv``."""
    if fold is not None:
        number, folds = fold
        return fold_split(smiles, number, folds, seed=seed, by_scaffold=split != "random")
    if split == "random":
        return random_split(len(smiles), seed)
    return scaffold_split(smiles, seed)


def _check_parts(parts: list[int], path: Path, split: str, skipped: list[str]) -> None:
    """Raises a ValueError if a part of the split has no molecule.

    Args:
        parts: the part of each molecule.
        path: of the table.
        split: how the parts were chosen.
        skipped: a sentence for each row that was left out.
    """
    purposes = {TRAIN: "training", VAL: "validation", TEST: "testing"}
    for part, name in purposes.items():
        if part not in parts:
            how = f"column {split!r}"
            if split in AUTOMATIC_SPLITS:
                how = f"the {split} split"
            why = ""
            if split == "scaffold":
                why = (
                    " (molecules with equal ring systems stay together, as do those without rings)"
                )
            left_out = ""
            if skipped:
                left_out = f", beside {len(skipped)} rows left out ({skipped[0].rstrip('.')})"
            raise ValueError(
                f"{path}: {how} of {len(parts)} molecules{left_out} leaves none for {name}{why}; "
                "expected more molecules, --split random, or --split with the name of a column "
                "that has train, val and test."
            )


def _check_known(y: Tensor, parts: list[int], path: Path, targets: Sequence[str]) -> None:
    """Raises a ValueError for a target, a column of ``y``, that no training molecule has.

    A model would predict it by weights that were never trained.
    """
    is_training = torch.tensor(parts) == TRAIN
    is_known = ~y[is_training].isnan().all(dim=0)  # [T]
    for name, known in zip(targets, is_known.tolist(), strict=True):
        if not known:
            raise ValueError(
                f"{path}, column {name!r} has no value for the {int(is_training.sum())} molecules "
                "for training; expected one or more."
            )


def _check_two_classes(y: Tensor, path: Path, targets: Sequence[str]) -> None:
    """Raises a ValueError if all known binary targets are the same, so that none can be learned."""
    found = y[~y.isnan()].unique().tolist()
    if len(found) < 2:
        raise ValueError(
            f"{path} has only {found[0]:g} in {', '.join(targets)} for the molecules that can be "
            "read; expected 0 and 1."
        )


def random_split(count: int, seed: int) -> list[int]:
    """0 (train, 80 %), 1 (val, 10 %) and 2 (test, 10 %) in a random order, seeded.

    Raises:
        ValueError: A number is no whole number, or is negative.
    """
    count = whole_number("count", count, 0)
    seed = whole_number("seed", seed, 0)
    return _by_fold(_random_folds(count, 10, seed), 0, 10)


def scaffold_split(smiles: Sequence[str], seed: int) -> list[int]:
    """0 (train, about 80 %), 1 (val) and 2 (test): molecules of one Murcko scaffold stay together.

    Scaffolds are taken in a random order, seeded; a scaffold larger than the room that is left in
    validation and test is for training. Where none fits, as among few molecules, the smallest of
    the training scaffolds is taken. All molecules without rings have one scaffold.

    Raises:
        ValueError: ``smiles`` is no list of SMILES that RDKit can read, or the seed is no whole
            number, 0 or more.
    """
    check_list("smiles", smiles, "SMILES")
    seed = whole_number("seed", seed, 0)
    tenth = len(smiles) // 10
    room = {VAL: tenth, TEST: tenth, TRAIN: len(smiles)}  # a scaffold goes where it first fits
    scaffolds: dict[int, list[list[int]]] = {TRAIN: [], VAL: [], TEST: []}
    for members in _scaffolds(smiles, seed):
        part = next(part for part in room if len(members) <= room[part])
        room[part] -= len(members)
        scaffolds[part].append(members)
    for part in (VAL, TEST):
        if not scaffolds[part] and len(scaffolds[TRAIN]) > 1:
            smallest = min(scaffolds[TRAIN], key=len)
            scaffolds[TRAIN].remove(smallest)
            scaffolds[part].append(smallest)
    parts = [TRAIN] * len(smiles)
    for part in (VAL, TEST):
        for members in scaffolds[part]:
            for i in members:
                parts[i] = part
    return parts


def fold_split(
    smiles: Sequence[str], fold: int, folds: int, *, seed: int, by_scaffold: bool
) -> list[int]:
    """0 (train), 1 (val) and 2 (test) of one of several folds.

    Fold ``fold`` is for testing and the next one for validation, so that each molecule is tested
    once. By scaffold, each scaffold goes to the fold with fewest molecules so far, the largest
    scaffolds first.

    Raises:
        ValueError: ``folds`` is below 3, ``fold`` is not from 0 to ``folds - 1``, or another
            argument is of the wrong type.
    """
    check_list("smiles", smiles, "SMILES")
    seed = whole_number("seed", seed, 0)
    check_bools(by_scaffold=by_scaffold)
    folds = whole_number("folds", folds, 3)
    fold = whole_number("fold", fold, 0)
    if fold >= folds:
        raise ValueError(
            f"fold is {fold}, and folds is {folds}; expected a fold from 0 to {folds - 1}."
        )
    if not by_scaffold:
        return _by_fold(_random_folds(len(smiles), folds, seed), fold, folds)
    fold_of = [0] * len(smiles)
    counts = [0] * folds
    for members in sorted(_scaffolds(smiles, seed), key=len, reverse=True):
        smallest = counts.index(min(counts))
        counts[smallest] += len(members)
        for i in members:
            fold_of[i] = smallest
    return _by_fold(fold_of, fold, folds)


def _scaffolds(smiles: Sequence[str], seed: int) -> list[list[int]]:
    """The numbers of the molecules of each Murcko scaffold, scaffolds in a random order."""
    scaffold_of = require("rdkit.Chem.Scaffolds.MurckoScaffold", "rdkit").MurckoScaffoldSmiles
    groups = defaultdict(list)
    for i, text in enumerate(smiles):
        groups[scaffold_of(mol=parse(text))].append(i)
    order = list(groups.values())
    random.Random(seed).shuffle(order)  # noqa: S311
    return order


def _random_folds(count: int, folds: int, seed: int) -> list[int]:
    """A fold for each of ``count`` molecules, in sizes that differ by one at most."""
    fold_of = [i % folds for i in range(count)]
    random.Random(seed).shuffle(fold_of)  # noqa: S311
    return fold_of


def _by_fold(fold_of: list[int], test: int, folds: int) -> list[int]:
    """The part of each molecule: fold ``test`` is for testing, the next one for validation."""
    part_of = {test: TEST, (test + 1) % folds: VAL}
    return [part_of.get(fold, TRAIN) for fold in fold_of]
