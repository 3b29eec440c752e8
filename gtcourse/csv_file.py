"""CSV files of molecules as text, read and checked without PyTorch, whose import takes seconds.

A wrong file, a wrong name of a column and a wrong cell are reported at once. Every message names
the file, the line as an editor counts it, the column and the value.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import math
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gtcourse.messages import MOST_SHOWN, listed, shown
from gtcourse.names import check_table_exists

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}

EXCELS_HINT = re.compile(r"\A(\s*)sep=.?[ \t]*(?=[\r\n]|\Z)", re.IGNORECASE)
"""A line before the header, such as sep=; which tells Excel the separator."""

FEW = 10
"""Rows up to which each may have a class of its own, as in a small example."""

UNKNOWN = ("", "na", "n/a", "nan", "#n/a", "<na>")
"""Cells of a target that is not known, in upper or lower case; the last are Excel's and pandas'."""

UNKNOWN_OR_A_CLASS = ("none", "null")
"""Cells of a number that is not known; they may also be the name of a class."""

DASHES = "\u2212\u2013\u2014"
"""A minus sign and dashes that word processors write in place of the hyphen of the keyboard."""

WORDS = {"true": 1.0, "false": 0.0}
"""What a binary target may be in words, in upper or lower case."""

TRAIN = 0
VAL = 1
TEST = 2
AUTOMATIC_SPLITS = ("scaffold", "random")
"""Splits that are made; any other is a column of the file."""

SPLIT_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "test": TEST}
"""What a column that names the split may hold, in upper or lower case."""

UNPACKED = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}
"""First bytes of compressed files, whatever their names."""


@dataclass
class TextTable:
    """The cells of a CSV file.

    Attributes:
        header: the names of the columns.
        rows: the cells of each row, by the line of the file in which it begins.
        separator: the character between two cells: a comma, a semicolon or a tab.
    """

    header: list[str]
    rows: dict[int, list[str]]
    separator: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> dict[int, str]:
        """The cells of a column, by their lines."""
        column = self.header.index(name)
        return {line: row[column] for line, row in self.rows.items()}


def read_text_table(path: str | Path, smiles: str, *columns: str) -> TextTable:
    """Reads a CSV file, cell for cell.

    The separator is the one with which the header has the column ``smiles``. The file is UTF-8,
    with or without a byte-order mark, and may be compressed (gzip, bzip2, xz). Empty lines, and
    lines of spaces alone, are skipped, and so is a first line such as "sep=;", a hint for Excel.

    Raises:
        ValueError: there is no such file, it is no such text, it has no row or one with more or
            fewer cells than the header, or a column is missing or there twice.
    """
    check_table_exists(path)
    for name in (smiles, *columns):
        if not isinstance(name, str):
            raise ValueError(f"the name of a column is {shown(name)}; expected a string.")
    text = EXCELS_HINT.sub(r"\1", _text(Path(path)))  # the empty line stays, and is skipped
    with _cells_of_any_length():
        separator = _separator(text, smiles)
        rows = _rows(text, separator, path)
    if not rows:
        raise ValueError(f"{path} is empty; expected a header and a row for each molecule.")
    header = rows.pop(min(rows))
    check_columns(header, path, smiles, *columns)
    if not rows:
        raise ValueError(f"{path} has a header and no rows; expected a row for each molecule.")
    for line, row in rows.items():
        if len(row) != len(header):
            raise ValueError(_ragged(path, line, row, header, separator))
    return TextTable(header, rows, separator)


def check_columns(header: list[str], path: str | Path, smiles: str, *columns: str) -> None:
    """Raises a ValueError if one of these columns is missing or there twice."""
    for name in (smiles, *columns):
        if header.count(name) > 1:
            raise ValueError(
                f"{path} has more than one column {shown(name)}; expected each name once in the "
                f"header ({listed(header)})."
            )
        if name not in header:
            expected = "smiles (--smiles) to be one" if name == smiles else "one"
            hint = ""
            if len(header) == 1:
                hint = " (columns are separated by commas, semicolons or tabs)"
            raise ValueError(
                f"{path} has no column {shown(name)}{_similar(name, header)}; expected {expected} "
                f"of {listed(header)}{hint}."
            )


def _similar(name: str, header: list[str]) -> str:
    """The column that looks like a name, in lower case and without spaces around it, if any.

    A name of a split that is misspelt in this way is taken for that of a column.
    """
    for column in header:
        if column != name and _seen(column) == _seen(name):
            return f" (similar: {shown(column)})"
    for split in AUTOMATIC_SPLITS:
        if split == _seen(name):
            return f" (similar: the split {split!r})"
    return ""


def _seen(name: str) -> str:
    """A name in lower case, without spaces around it and characters that cannot be seen."""
    return "".join(filter(str.isprintable, name)).strip().lower()


def _rows(text: str, separator: str, path: str | Path) -> dict[int, list[str]]:
    """The cells of each row that is not empty, by the line of the file in which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = {}
    first_line = 1  # of the next row; a row with line breaks in its cells has several lines
    try:
        for row in reader:
            is_blank = not row or (len(row) == 1 and not row[0].strip())
            if not is_blank:
                rows[first_line] = row
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {first_line}: {error}; expected quotation marks only around a "
            "cell, and doubled ones inside it."
        ) from None
    return rows


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """A context in which a cell may be longer than 131,072 characters, the csv module's limit."""
    limit = csv.field_size_limit(2**31 - 1)  # for all of Python, so it is restored
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _text(path: Path) -> str:
    """The content of a file that is UTF-8 text, compressed or not."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}); expected a file that you may read."
        ) from None
    for start, unpacked in UNPACKED.items():
        if content.startswith(start):
            try:
                content = unpacked(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise ValueError(
                    f"{path} is compressed and damaged ({error}); expected a complete file."
                ) from None
    if content.startswith(b"PK"):
        raise ValueError(
            f"{path} is an Excel workbook or a zip archive; expected a CSV file: in Excel, save as "
            "'CSV UTF-8'."
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path} is UTF-16 text; expected UTF-8: in Excel, save as 'CSV UTF-8'.")
    if b"\0" in content:
        raise ValueError(f"{path} is not a text file (it has zero bytes); expected a CSV file.")
    try:
        return content.decode("utf-8").lstrip("\ufeff")  # one byte-order mark, or several
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8, so the text "
            "has another encoding; expected UTF-8: in Excel, save as 'CSV UTF-8'."
        ) from None


def _separator(text: str, smiles: str) -> str:
    """The first with which the header has the column, or else the one that makes most columns."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    headers = {}
    for separator in SEPARATORS:
        headers[separator] = next(csv.reader([first_line], delimiter=separator), [])
        if smiles in headers[separator]:
            return separator
    return max(headers, key=lambda separator: len(headers[separator]))


def _ragged(path: str | Path, line: int, row: list[str], header: list[str], separator: str) -> str:
    """A sentence about a row that has more or fewer cells than the header."""
    cause = "a cell that contains the separator has to be in quotation marks"
    if len(row) < len(header):
        cause = f"the line lacks a cell, or its separator is not {SEPARATORS[separator]}"
    elif row[-1] == "":
        cause = f"the line ends in {SEPARATORS[separator]}"
    elif separator == "," and any(_is_decimal_comma(*cells) for cells in pairwise(row)):
        cause += ", and a number has a decimal point"
    cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
    return (
        f"{path}, line {line} has {cells}; expected {len(header)}, one for each column "
        f"of the header ({listed(header)}): {cause}."
    )


def _is_decimal_comma(left: str, right: str) -> bool:
    """Whether these, with a comma between them, look like a number such as 0,5."""
    return left.lstrip("+-").isdigit() and right.isdigit()


def check_target_names(smiles: str, targets: Sequence[str]) -> None:
    """Raises a ValueError if the columns to predict are not one or more different ones."""
    if not targets or len({*targets}) < len(targets):
        raise ValueError(f"targets is {targets}; expected one or more different columns.")
    if isinstance(smiles, str) and smiles in targets:
        raise ValueError(f"targets is {targets}; expected columns other than that of the SMILES.")


def check_targets(table: TextTable, path: str | Path, columns: Sequence[str], task: str) -> None:
    """Raises a ValueError if these columns do not hold what the task predicts."""
    if task == "classes":
        class_names(table, path, only_column(columns))
        return
    for name in columns:
        target_values(table, path, name, task)


def check_split(table: TextTable, path: str | Path, column: str) -> None:
    """Raises a ValueError if no cell of the column that names the split is train, val or test.

    Some cells may be something else, since rows that are left out need no part of the split.
    """
    cells = table[column]
    if not any(cell.strip().lower() in SPLIT_NAMES for cell in cells.values()):
        first_line, first_cell = next(iter(cells.items()))
        part_of(first_cell, path, first_line, column)  # raises


def part_of(cell: str, path: str | Path, line: int, column: str) -> int:
    """The part of the split, a value of ``SPLIT_NAMES``, that a cell names.

    Raises:
        ValueError: it names none.
    """
    word = cell.strip().lower()
    if word not in SPLIT_NAMES:
        raise ValueError(
            f"{path}, line {line}, column {column!r} has {shown(cell)}; expected train, val or "
            "test."
        )
    return SPLIT_NAMES[word]


def target_values(table: TextTable, path: str | Path, column: str, task: str) -> list[float]:
    """The numbers in a column for the task "regression" or "binary", NaN where one is unknown.

    Raises:
        ValueError: a cell is not a finite number, or neither 0 nor 1 for "binary".
    """
    values = []
    for line, cell in table[column].items():
        text = cell.strip()
        value = math.nan
        if text.lower() not in UNKNOWN + UNKNOWN_OR_A_CLASS:
            value = _number(text, task, f"{path}, line {line}, column {column!r}")
        values.append(value)
    return values


def _number(text: str, task: str, where: str) -> float:
    """The number in a cell; ``where`` names the cell in messages."""
    if task == "binary" and text.lower() in WORDS:
        return WORDS[text.lower()]
    expected = "a number, or an empty cell if it is unknown"
    if task == "binary":
        expected = "0 or 1, or true or false"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
        left, _, right = text.partition(",")
        if _is_decimal_comma(left, right):
            expected = f"a decimal point ({left}.{right}), and no other separator"
            if len(right) == 3:
                expected += f" ({left}{right}, if the comma separates thousands)"
        elif text[0] in DASHES:
            expected = f"the minus sign of the keyboard (-{text[1:]})"
    if "_" in text:  # Python reads 1_000 as a number
        value = math.nan
    in_float32 = _in_float32(value)
    if value != 0 and in_float32 == 0:
        expected = "0, or a number that is not 0 in single precision: in another unit, for instance"
        in_float32 = math.nan
    if not math.isfinite(in_float32):
        raise ValueError(f"{where} has {shown(text)}; expected {expected}.")
    if task == "binary" and value not in (0, 1):
        raise ValueError(
            f"{where} has {shown(text)}; expected 0 or 1, or true or false, because the task is "
            "binary."
        )
    return value


def _in_float32(value: float) -> float:
    """A number in single precision, in which models are trained; infinite if it is too large."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:  # without "<" the number would be infinite, and nothing would be raised
        return math.inf


def only_column(columns: Sequence[str]) -> str:
    """The one column that has classes; a ValueError if there are more."""
    if len(columns) != 1:
        raise ValueError(f"the task classes has {len(columns)} targets; expected one column.")
    return columns[0]


def class_names(table: TextTable, path: str | Path, column: str) -> list[str]:
    """The classes of a column, in the order of their numbers: by value, or by the alphabet.

    Raises:
        ValueError: a cell is "none" or "null", there are fewer than two classes, two of them differ
            in upper and lower case, spaces or the coding of an accent alone or are the same number
            (1 and 1.0), or every row has a class of its own.
    """
    known = []
    for line, cell in table[column].items():
        name = cell.strip()
        if name.lower() in UNKNOWN_OR_A_CLASS:
            raise ValueError(
                f"{path}, line {line}, column {column!r} has {name!r}, which can be a class or "
                "mean that the class is not known; expected another name, or an empty cell."
            )
        if name.lower() not in UNKNOWN:
            known.append(name)
    names = sorted({*known})
    if len(names) < 2:
        raise ValueError(
            f"{path}, column {column!r} has {len(names)} classes ({listed(names) or 'none'}); "
            "expected two or more."
        )
    spelled: dict[str, str] = {}
    for name in names:
        other = spelled.setdefault(_same_for_all_spellings(name), name)
        if other != name:
            # In ASCII, because two codings of an accent would look the same.
            raise ValueError(
                f"{path}, column {column!r} has the classes {other[:MOST_SHOWN]!a} and "
                f"{name[:MOST_SHOWN]!a}; expected one spelling of a class."
            )
    if len(names) == len(known) > FEW:
        raise ValueError(
            f"{path}, column {column!r} has {len(names)} classes in {len(known)} rows; expected "
            "several rows of each class, or --task regression for numbers."
        )
    if all(re.fullmatch("-?[0-9]+", name) for name in names):
        names.sort(key=int)
    return names


def _same_for_all_spellings(name: str) -> str:
    """A text that is the same for all spellings of a class, such as Yes and yes, or 1 and 1.0."""
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", name):
        return str(float(name))
    # A letter with an accent can be one character or two.
    return " ".join(unicodedata.normalize("NFC", name).split()).lower()
