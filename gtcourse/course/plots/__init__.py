"""The style of the book's figures: transparent, mid-grey text, colour-blind safe colours."""

from gtcourse.course.plots.figures import (
    COLORS,
    DIVERGING,
    INK,
    LETTERS,
    MEANING,
    MODELS,
    PALE,
    SEQUENTIAL,
    TWO_SIDED,
    attention_map,
    diagram,
    draw_graph,
    formula_table,
    model_color,
    name_line,
    over_seeds,
    rung,
    show,
    table,
    use_style,
)
from gtcourse.course.plots.interactive import (
    attention_widget,
    calculator,
    heads_widget,
    signs_widget,
)
from gtcourse.course.plots.molecules import molecules
