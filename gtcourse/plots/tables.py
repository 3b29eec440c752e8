"""Tables of results that read in a notebook, in the book and as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import mean, stdev

PADDING = "padding:.25em .8em"


class Table:
    """Columns and rows; the first column names things, the others are aligned to the right.

    Args:
        columns: the heads.
        rows: a cell for each column: text, a number (three decimals) or None ("—").
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[object]]):
        self.columns = [str(column) for column in columns]
        self.rows = [[_text(cell) for cell in row] for row in rows]

    def _repr_html_(self) -> str:
        lines = [self._line("th", self.columns), *(self._line("td", row) for row in self.rows)]
        return f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    @staticmethod
    def _line(tag: str, cells: Sequence[str]) -> str:
        aligned = (
            f'<{tag} style="text-align:{"right" if i else "left"};{PADDING}">{escape(cell)}</{tag}>'
            for i, cell in enumerate(cells)
        )
        return f"<tr>{''.join(aligned)}</tr>"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A :class:`Table`; as the last expression of a cell it is shown."""
    return Table(columns, rows)


class FormulaTable(Table):
    """A table whose cells may hold formulas, ``$…$``, and links: Markdown, which typesets them."""

    def _repr_markdown_(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    _repr_html_ = None


def formula_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> FormulaTable:
    """A :class:`FormulaTable`; as the last expression of a cell it is shown.

    In the book the cell needs ``markdown_format: myst`` among its ``mystnb`` settings.
    """
    return FormulaTable(columns, rows)


def over_seeds(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over seeds, and how many seeds; one value as it is."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f} ({len(values)} seeds)"


def _text(cell: object) -> str:
    if cell is None:
        return "—"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
