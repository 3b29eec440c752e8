"""The search page finds sections: their titles and prose, formulas as plain text, without code.
The terms of the glossary are sections of their own, each with the section that introduces it, and
so are the classes and functions of the package, each with the first paragraph that describes it.
Beside the sections there are the numbered figures, tables and interactives, by which a reader who
types "table 8.1" finds it, and the rows of the ledger for one who types "eq 7".

Sphinx's own index finds pages and is dropped (``offline.py``). While pages are read, each section's
title, address and prose are collected here, and ``_static/search.js`` ranks them while
the reader types, with the stemmer that Sphinx brings for its own search.
"""

import json
import re
import zlib
from base64 import b64encode
from functools import cache
from pathlib import Path

from citations import in_text
from docutils import nodes
from formulas import plain
from sphinx.addnodes import desc, glossary
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish

GONE = (
    nodes.section,
    nodes.title,
    nodes.literal_block,
    nodes.system_message,
    desc,
    glossary,
    nodes.comment,
    nodes.raw,
    nodes.image,
)
BLOCKS = (nodes.paragraph, nodes.row, nodes.admonition)
NUMBERED = re.compile(r"(?:Figure|Table|Interactive) \d+\.\d+")
CHAPTER = re.compile(r"notebooks/\d")
SHORT = 60  #: characters of a displayed formula that the search shows
COMMAND = re.compile(r"\\([A-Za-z]+)")
WORD = re.compile(r"[A-Za-z]+")
FUNCTIONS = {"cos", "exp", "log", "max", "min", "sin", "tanh"}
LEDGER = "book/ledger"
EQUATION = re.compile(r"Eq\. (\d+): (.+)")
ENGLISH = SearchEnglish({})


def collect(app: Sphinx, document: nodes.document) -> None:
    page = app.env.docname
    title = next(iter(document.findall(nodes.title)), nodes.title()).astext()
    sections_by_page(app.env)[page] = [
        {
            "page": title,
            "title": "".join(map(text_of, section[0].children)),
            "url": address(page, section),
            "text": prose(section),
            "emphasised": emphasised(section),
        }
        for section in document.findall(nodes.section)
        if section.children and isinstance(section[0], nodes.title)
    ]
    sections_by_page(app.env)[page] += [
        code(page, title, part)
        for part in document.findall(desc)
        if part["objtype"] in ("class", "exception", "function") and part[0]["ids"]
    ]
    if page == LEDGER:
        sections_by_page(app.env)[page] += equations(page, title, document)
    for part in document.findall(glossary):
        sections_by_page(app.env)[page] += [
            term(page, title, item) for item in part.findall(nodes.definition_list_item)
        ]


def term(page: str, title: str, item: nodes.definition_list_item) -> dict:
    """A term of the glossary; "post-LN, pre-LN" and "Weisfeiler-Leman test (1-WL)" name two."""
    name, definition = item[0], item[-1]
    written = name.astext()
    names = [part.strip() for part in re.split(r"[,()]", written) if part.strip()]
    return {
        "page": title,
        "title": written,
        "url": f"{page}.html#{name['ids'][0]}",
        "text": " ".join(without_gaps(text_of(definition)).split()),
        "names": names,
    }


def equations(page: str, title: str, document: nodes.document) -> list[dict]:
    """The ledger's rows of numbered equations, each of which gets an address."""
    found = []
    for paper in document.findall(nodes.section):
        tables = [child for child in paper if isinstance(child, nodes.table)]
        for row in (row for table in tables for row in table.findall(nodes.row)):
            equation = EQUATION.match(first_line(row[0]))
            if equation is None:
                continue
            name = f"{paper[0].astext()}, Eq. {equation[1]}"
            row["ids"] = [nodes.make_id(name)]
            explained = " and ".join(filter(None, text_of(row[1]).strip(" ·\n").split("\n")))
            found.append(
                {
                    "page": title,
                    "title": f"{name}: {equation[2]}",
                    "number": equation[1],
                    "url": f"{page}.html#{row['ids'][0]}",
                    "text": f"Explained in {explained}. The row names the code and its tests.",
                }
            )
    return found


def first_line(cell: nodes.entry) -> str:
    """Its text up to a line break, which is raw HTML."""
    text = ""
    for part in cell[0].children if cell.children else ():
        if isinstance(part, nodes.raw):
            break
        text += text_of(part)
    return text.strip()


def code(page: str, title: str, described: desc) -> dict:
    """A class or a function of the package, with the first paragraph of what describes it."""
    signature, content = described[0], described[-1]
    paragraphs = [part for part in content if isinstance(part, nodes.paragraph)]
    described_by = [part for part in paragraphs if not part.astext().startswith("Bases: ")]
    first = described_by[0] if described_by else nodes.paragraph()
    return {
        "page": title,
        "title": signature["fullname"],
        "url": f"{page}.html#{signature['ids'][0]}",
        "text": " ".join(without_gaps(text_of(first)).split()),
        "code": True,
    }


def store_captions(app: Sphinx, document: nodes.document, page: str) -> None:
    """The numbered captions of a page, which it has only when it is written (``figures.py``).

    They are kept beside the stored pages, because a page that has not changed is not written again.
    """
    if app.builder.format != "html":
        return
    title = next(iter(document.findall(nodes.title)), nodes.title()).astext()
    captions = []
    for figure in document.findall(nodes.figure):
        caption = figure[-1]
        if not (isinstance(caption, nodes.caption) and isinstance(caption[0], nodes.strong)):
            continue
        number = caption[0].astext()
        if NUMBERED.fullmatch(number):
            text = " ".join("".join(map(text_of, caption[1:])).split()).removeprefix(". ")
            url = f"{page}.html#{figure['ids'][0]}"
            captions.append({"page": title, "title": number, "url": url, "text": text})
    file = captions_of(app, page)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(captions), encoding="utf-8")


def captions_of(app: Sphinx, page: str) -> Path:
    return Path(app.doctreedir, f"{page}.captions.json")


def emphasised(section: nodes.section) -> list[str]:
    """What a section itself emphasises, as the chapters do where they introduce a term."""
    parts = (part for part in section[1:] if not isinstance(part, nodes.section))
    return [
        phrase.astext()
        for part in parts
        for phrase in part.findall(nodes.emphasis)
        if len(phrase.astext()) < 60
    ]


def stems(phrase: str) -> list[str]:
    return [stem(word) for word in re.findall(r"\w+", phrase.lower())]


@cache
def stem(word: str) -> str:
    return ENGLISH.stem(word)


def introduced(term: dict, terms: list[dict], sections: list[dict]) -> str | None:
    """The address of the chapters' section that is named after a term, or first emphasises it.

    "permutation equivariance" introduces "equivariance", but "fused kernel" is another term.
    """
    wanted = [stems(name) for name in term["names"]]
    others = [stems(name) for other in terms if other is not term for name in other["names"]]
    for section in sections:
        title = re.sub(r"^[\d.]+ |\b(?:the|a|an) ", "", section["title"].lower())
        if stems(title) in wanted:
            return section["url"]
    for section in sections:
        phrases = [stems(phrase) for phrase in section["emphasised"]]
        own = [phrase for phrase in phrases if phrase not in others]
        if any(name in (phrase, phrase[1:]) for phrase in own for name in wanted):
            return section["url"]
    return None


def sections_by_page(env: BuildEnvironment) -> dict[str, list[dict]]:
    """Sections by page; the environment is stored, so pages that are not read again stay."""
    if not hasattr(env, "sections_of_pages"):
        env.sections_of_pages = {}
    return env.sections_of_pages


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Drops the sections of a page that is read again, or that is gone."""
    sections_by_page(env).pop(page, None)


def merge(app: Sphinx, env: BuildEnvironment, pages: set[str], other: BuildEnvironment) -> None:
    """Takes over what another process has read, in a build with several."""
    read = sections_by_page(other)
    sections_by_page(env).update({page: read[page] for page in pages if page in read})


def address(page: str, section: nodes.section) -> str:
    top = isinstance(section.parent, nodes.document)
    return f"{page}.html" + ("" if top else f"#{section['ids'][0]}")


def prose(section: nodes.section) -> str:
    """A section's own text, without that of the sections inside it."""
    lines = "".join(text_of(child) for child in section[1:]).split("\n")
    text = "\n".join(text for line in lines if (text := " ".join(line.split())))
    text = re.sub(r"…(?:,? (?:and )?…)+", "…", text)  # "… and …" are several sources
    text = re.sub(r"\n…\n(?=[a-z])", " … ", text).replace("\n…", " …")  # in a sentence
    return without_gaps(text)


def without_gaps(text: str) -> str:
    """A citation that stood before a stop leaves a space there."""
    return re.sub(r" ([.,;:])(?=\s|$)", r"\1", text)


def text_of(node: nodes.Node) -> str:
    """Text, a line for each paragraph and each row of a table, and what formulas can be as text."""
    attributes = getattr(node, "attributes", {})
    classes = attributes.get("classes", [])
    # A card's link holds its address as text, and the card itself says where it leads.
    unsaid = {"cell", "sd-stretched-link", "card-time"}
    if isinstance(node, GONE) or unsaid.intersection(classes):
        return ""
    if attributes.get("refdomain") == "cite":  # still the key of the source
        return in_text(attributes["reftarget"]) if attributes["reftype"] == "t" else ""
    if isinstance(node, nodes.math | nodes.math_block):
        return plain(node.astext()) if isinstance(node, nodes.math) else displayed(node.astext())
    if isinstance(node, nodes.Text):
        return str(node).replace("\n", " ")
    if isinstance(node, nodes.entry):
        return "".join(text_of(child).strip() for child in node.children) + " · "
    text = "".join(text_of(child) for child in node.children)
    is_block = isinstance(node, BLOCKS) or "sd-card" in classes or "sd-card-title" in classes
    return f"\n{text.removesuffix(' · ')}\n" if is_block else text


def displayed(tex: str) -> str:
    """A displayed formula as text, if it is short and Unicode has signs for it."""
    formula = plain(re.sub(r"\\(?:label|tag)\{[^}]*\}", "", tex)).rstrip(" .,").replace(" )", ")")
    unread = set(COMMAND.findall(tex)) & set(WORD.findall(formula)) - FUNCTIONS  # such as "frac"
    return " … " if unread or len(formula) > SHORT else f" {formula} "


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    pages = sections_by_page(app.env)
    sections = [section for page in sorted(pages) for section in pages[page]]
    chapters = [each for each in sections if CHAPTER.match(each["url"]) and "emphasised" in each]
    terms = [each for each in sections if "names" in each]
    for each in terms:
        each["introduced"] = introduced(each, terms, chapters)
    of_ledger = [each for each in sections if "number" in each]
    sections = [
        {key: value for key, value in each.items() if key != "emphasised"}
        for each in sections
        if "number" not in each
    ]
    files = [captions_of(app, page) for page in sorted(pages)]
    captions = [each for file in files for each in json.loads(file.read_text(encoding="utf-8"))]
    packed = [by_page(each) for each in (sections, captions, of_ledger)]
    text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    deflated = b64encode(zlib.compress(text.encode(), level=9)).decode()
    file = Path(app.outdir, "_static", "sections.js")
    file.write_text(UNPACK % deflated, encoding="utf-8")


UNPACK = """let SECTIONS, CAPTIONS, EQUATIONS;
const sectionsReady = (async () => {
  const deflated = Uint8Array.from(atob("%s"), (byte) => byte.charCodeAt(0));
  const inflated = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  [SECTIONS, CAPTIONS, EQUATIONS] = (await new Response(inflated).json()).map((pages) =>
    pages.flatMap(([file, page, sections]) => sections.map(([id, title, text, more]) =>
      ({ page, title, url: `${file}.html${id && "#"}${id}`, text, ...more }))));
})();
"""
"""Inflates the sections and gives each the keys that ``search.js`` reads. Deflated in the file,
they are small also where a server does not compress what it sends."""


def by_page(sections: list[dict]) -> list[list]:
    """For each page its file and title once, then each section’s own."""
    common = {"page", "title", "url", "text"}
    pages: dict[tuple[str, str], list] = {}
    for section in sections:
        file, _, name = section["url"].partition(".html")
        more = {key: value for key, value in section.items() if key not in common and value}
        own = [name.removeprefix("#"), section["title"], section["text"]]
        if more:
            own.append(more)
        pages.setdefault((file, section["page"]), []).append(own)
    return [[*page, own] for page, own in pages.items()]


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", store_captions, priority=950)  # once they are numbered
    app.connect("build-finished", write)
    # Pages that were stored before they had their code, captions and equations are read again.
    return {"env_version": 2, "parallel_read_safe": True, "parallel_write_safe": False}
