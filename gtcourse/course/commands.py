"""``gtcourse explore | bench | costs``, and the library's commands; ``main`` runs all of them."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from gtcourse.cli import (
    BUCKETS,
    COMPILE,
    DATA,
    MOLECULES,
    PAPERS,
    PRECISION,
    RECIPE,
    Precision,
    app,
    check_place,
    import_torch,
    main,
    path_of_option,
)
from gtcourse.names import check_data_source, check_recipe, model_path

__all__ = ["app", "main"]


@app.command(rich_help_panel=MOLECULES)
def explore(
    models: str = Argument(
        metavar="MODEL[,MODEL...]",
        help="one or more trained models, separated by commas (`gtcourse models` lists them)",
    ),
    molecules: list[str] = Argument(
        help="SMILES, each in quotation marks, because brackets have a meaning in the shell"
    ),
    out: Path = Option(
        "explore.html",
        parser=path_of_option,
        metavar="<path>",
        help="the HTML file to write, which any web browser can open",
    ),
) -> None:
    """Write a web page that shows what trained models attend to in your molecules.

    Attention is the weight with which the model combines the vectors of other
    atoms into that of an atom. On the page you choose a molecule, an atom, a
    layer, and a head or a channel. The page is one file and needs no network.

    [bold]gtcourse explore csa/zinc "CC(=O)Oc1ccccc1C(=O)O" --out aspirin.html[/]
    """
    names = [name.strip() for name in models.split(",")]
    for name in names:
        model_path(name)
    check_place("--out", out)
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out is {out}; expected the name of a web page, which ends in .html.")
    import_torch()
    from gtcourse.course.explorer import page
    from gtcourse.graphs.io import replacing

    content = page(names, molecules)
    with replacing(out) as temporary:
        temporary.write_text(content, encoding="utf-8")
    print(f"the page: {out}")


@app.command(rich_help_panel=PAPERS)
def bench(
    recipe: str = RECIPE,
    data: str = DATA,
    steps: int = Option(20, min=1, help="number of steps to time, after as many to warm up"),
    precision: Precision = PRECISION,
    compile: bool = COMPILE,
    buckets: int = BUCKETS,
) -> None:
    """Time a training step on this machine, and estimate how long the complete recipe takes.

    Nothing is trained or written. The command takes seconds to minutes.

    [bold]gtcourse bench csa-rings/zinc --data molecules[/]
    """
    check_recipe(recipe)
    check_data_source(data)
    import_torch()
    from gtcourse.course.costs import measure
    from gtcourse.recipes import get_recipe
    from gtcourse.runs.run import data_for
    from gtcourse.train.memory import keep_freed_memory

    keep_freed_memory()
    chosen = get_recipe(recipe)
    options = {"steps": steps, "precision": precision, "compile": compile, "buckets": buckets}
    for name, value in measure(chosen, data_for(chosen, data), **options).items():
        print(f"{name:>20} {value}")


@app.command(rich_help_panel=PAPERS)
def costs(
    recipe: str = RECIPE,
    data: str = DATA,
    nodes: list[int] = Option(
        [16, 64, 256, 1024],
        min=1,
        help="nodes in a graph (atoms in a molecule); repeat the option for several sizes",
    ),
    batch_size: int | None = Option(
        None, min=1, help="number of graphs in a batch, in place of the recipe's number"
    ),
) -> None:
    """Count how much memory and arithmetic a training step needs for larger graphs.

    Memory is in MiB, arithmetic in GFLOP (10⁹ additions and multiplications).
    Nothing is trained; the numbers are counted without running the step.

    [bold]gtcourse costs csa-rings/zinc --nodes 30 --nodes 300[/]
    """
    check_recipe(recipe)
    check_data_source(data)
    import_torch()
    from gtcourse.course.costs import against_nodes
    from gtcourse.recipes import get_recipe
    from gtcourse.runs.run import check_data, data_for, loaders

    chosen = get_recipe(recipe)
    graphs = batch_size or chosen.batch_size
    few = data_for(chosen, data).first(1)
    check_data(chosen, few)
    sample = next(iter(loaders(chosen, few, seed=0, buckets=1, static_shapes=False)[0]))
    try:
        counted = against_nodes(chosen.build_model(), chosen.task, sample, nodes, graphs)
    except NotImplementedError:
        raise ValueError(
            f"{recipe} works on lists of edges or of paths, whose lengths do not "
            "follow from the numbers of nodes and graphs; expected a model that works on all pairs "
            "of nodes."
        ) from None
    print(f"{recipe}, batches of {graphs} graphs, float32")
    sizes = {part: getattr(counted[0], part) for part in ("parameters", "gradients", "optimizer")}
    print(
        "MiB for graphs of any size:", ", ".join(f"{n} {s / 2**20:,.1f}" for n, s in sizes.items())
    )
    print("   nodes  activations, MiB   all, MiB       GFLOP  operations")
    for number, step in zip(nodes, counted, strict=True):
        memory = f"{step.activations / 2**20:>17,.0f} {step.memory / 2**20:>10,.0f}"
        print(f"{number:>8,} {memory} {step.flops / 1e9:>11,.1f} {step.operations:>11,}")
