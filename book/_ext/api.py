"""The package's pages say nothing twice: parameters with one description share a line, and a
NamedTuple's fields, which are its parameters, are left out. Nor do they say that a function
returns None."""

import inspect
import re
from itertools import pairwise

from docutils import nodes
from sphinx.application import Sphinx


def skip_aliases(app: Sphinx, kind: str, name: str, thing: object, skip: bool, options) -> bool:
    return skip or (getattr(thing, "__doc__", None) or "").startswith("Alias for field number")


def join_parameters(app: Sphinx, document: nodes.document) -> None:
    if not app.env.docname.startswith("book/api/"):
        return
    for bullets in [*document.findall(nodes.bullet_list)]:
        for item, following in pairwise([*bullets.children]):
            first = item[0]
            second = following[0]
            if description(first) and description(first) == description(second):
                names = [child.deepcopy() for child in first[: dash(first)]]
                second[:0] = [*names, nodes.Text(", ")]
                bullets.remove(item)


def drop_none(app: Sphinx, document: nodes.document) -> None:
    for field in [*document.findall(nodes.field)]:
        name, body = (part.astext() for part in field)
        if name == "Return type" and body == "NoneNone":  # with and without a link, as yet
            fields = field.parent
            fields.remove(field)
            if not fields.children:
                fields.parent.remove(fields)


def show_examples(app: Sphinx, kind: str, name: str, thing: object, options, lines: list) -> None:
    """The commands' examples are marked for the terminal, and their options explained."""
    if name.startswith(("gtcourse.cli.", "gtcourse.course.commands.")) and kind == "function":
        # In the signature the defaults are text by now. Only the context has none, and it is first.
        defaults = thing.__defaults__ or ()
        names = [*inspect.signature(thing).parameters][-len(defaults) :] if defaults else []
        for option, default in zip(names, defaults, strict=True):
            if meaning := getattr(default, "help", None):
                meaning = re.sub(r"--[\w-]+", r"``\g<0>``", meaning)  # else a dash is made of it
                lines += ["", f":param {option}: {meaning}"]
    lines[:] = [re.sub(r"\[bold\](.*?)\[/\]", r"``\1``", line) for line in lines]


def name_options(app: Sphinx, kind: str, name: str, thing: object, options, given, returns):
    """A command's signature has the names of its options; what they are stands below."""
    if name.startswith(("gtcourse.cli.", "gtcourse.course.commands.")) and kind == "function":
        return f"({', '.join(inspect.signature(thing).parameters)})", returns
    return None


def forget_sourceless(app: Sphinx, env) -> None:
    """Else the list of sources names the module of an alias such as ``list[int]``, builtins."""
    for name in [name for name, found in env._viewcode_modules.items() if not found]:
        del env._viewcode_modules[name]
    # A name that a module imports is documented on the page of the module that defines it.
    objects = env.get_domain("py").objects
    for name, (code, tags, used, _) in env._viewcode_modules.items():
        pages = {tag: objects.get(f"{name}.{tag}") for tag in used}
        pages = {tag: page.docname for tag, page in pages.items() if page}
        env._viewcode_modules[name] = (code, tags, pages, name)


def description(parameter: nodes.Element) -> str:
    at = dash(parameter)
    return "".join(child.astext() for child in parameter[at + 1 :]) if at else ""


def dash(parameter: nodes.Element) -> int:
    """Where the dash between a parameter and its description stands; 0 if there is none."""
    texts = [child.astext().strip() for child in parameter.children]
    return next((at for at, text in enumerate(texts) if text in ("--", "–")), 0)


def setup(app: Sphinx) -> dict:
    app.connect("autodoc-skip-member", skip_aliases)
    app.connect("doctree-read", join_parameters)
    app.connect("doctree-read", drop_none)
    app.connect("autodoc-process-docstring", show_examples)
    app.connect("autodoc-process-signature", name_options)
    app.connect("env-check-consistency", forget_sourceless)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
