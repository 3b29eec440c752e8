"""One look for the book: transparent background, mid-grey ink, colour-blind safe colours."""

from gtcourse.plots.calculator import calculator
from gtcourse.plots.curves import learning_curve
from gtcourse.plots.diagrams import diagram
from gtcourse.plots.explorer import explorer
from gtcourse.plots.frames import frames
from gtcourse.plots.graphs import draw_graph
from gtcourse.plots.matrices import attention_map
from gtcourse.plots.molecules import TWO_SIDED, molecules
from gtcourse.plots.style import COLORS, DIVERGING, INK, SEQUENTIAL, show, use_style
from gtcourse.plots.tables import formula_table, over_seeds, table

__all__ = [
    "COLORS",
    "DIVERGING",
    "INK",
    "SEQUENTIAL",
    "TWO_SIDED",
    "attention_map",
    "calculator",
    "diagram",
    "draw_graph",
    "explorer",
    "formula_table",
    "frames",
    "learning_curve",
    "molecules",
    "over_seeds",
    "show",
    "table",
    "use_style",
]
