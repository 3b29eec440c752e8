"""The cells of a notebook that depend on a budget, with the cells that these need."""

import ast
import symtable
from dataclasses import dataclass, field


@dataclass
class Cell:
    """Code of a cell, and the global names that it sets and reads.

    Attributes:
        sets: names that it assigns, imports or defines, or whose attributes or items it assigns.
        reads: names that it reads and has not set before.
    """

    source: str
    sets: set[str] = field(init=False)
    reads: set[str] = field(init=False)

    def __post_init__(self) -> None:
        tree = ast.parse(ast.unparse(ast.parse(self.source)))  # each statement on lines of its own
        table = symtable.symtable(self.source, "cell", "exec")
        names = table.get_symbols()
        first_set = _first_lines(tree, ast.Store, ast.Del) | _definitions(tree)
        first_read = _first_lines(tree, ast.Load)
        assigned = {n.get_name() for n in names if n.is_assigned() or n.is_imported()}
        changed = {_base(node) for node in ast.walk(tree) if _is_changed(node)} - {None}
        late = {
            name
            for name in assigned
            if name in first_read and first_read[name] <= first_set.get(name, 0)
        }
        self.sets = assigned | changed
        self.reads = (_globals_read(table) - assigned) | late | (changed - assigned)


def _first_lines(tree: ast.AST, *contexts: type[ast.expr_context]) -> dict[str, int]:
    """The first line on which each name is read, or set; ``n += 1`` does both."""
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        is_used = isinstance(node, ast.Name) and isinstance(node.ctx, contexts)
        if isinstance(node, ast.AugAssign) and ast.Load in contexts:
            node = node.target
            is_used = isinstance(node, ast.Name)
        if is_used:
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    return lines


def _definitions(tree: ast.Module) -> dict[str, int]:
    """The lines of functions, classes and imports."""
    lines = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            lines[node.name] = node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                lines[(alias.asname or alias.name).partition(".")[0]] = node.lineno
    return lines


def _is_changed(node: ast.AST) -> bool:
    """Whether an attribute or an item is assigned."""
    is_part = isinstance(node, ast.Attribute | ast.Subscript)
    return is_part and isinstance(node.ctx, ast.Store)


def _base(node: ast.AST) -> str | None:
    """The name of which this is an attribute or an item, of whatever depth."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _globals_read(table: symtable.SymbolTable) -> set[str]:
    """Global names that the cell or one of its functions reads."""
    is_module = table.get_type() == "module"
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (is_module or symbol.is_global())
    }
    return found.union(*(_globals_read(child) for child in table.get_children()))


def depending(cells: list[Cell], on: str = "budget") -> list[int]:
    """The numbers of the cells in which a statement calls the function, or reads what one made."""
    touched: set[str] = set()
    found = []
    for number, cell in enumerate(cells):
        for statement in ast.parse(cell.source).body:
            part = Cell(ast.unparse(statement))
            if _calls(statement, on) or part.reads & touched:
                found.append(number)
                touched |= part.sets
            else:
                touched -= part.sets
    return sorted(set(found))


def _calls(tree: ast.AST, function: str) -> bool:
    """Whether the function is called, under its name or as an attribute of a module."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(ast.unparse(called).split(".")[-1] == function for called in calls)


def with_needed(cells: list[Cell], chosen: list[int]) -> list[int]:
    """The chosen cells and, of each name that one of them reads, the cells that set it before."""
    needed = set(chosen)
    waiting = list(chosen)
    while waiting:
        number = waiting.pop()
        for name in cells[number].reads:
            for earlier in range(number - 1, -1, -1):
                if name not in cells[earlier].sets:
                    continue
                if earlier not in needed:
                    needed.add(earlier)
                    waiting.append(earlier)
                if name not in cells[earlier].reads:  # set there, and not only changed
                    break
    return sorted(needed)
