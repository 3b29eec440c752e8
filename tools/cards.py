"""The pictures on the chapters' cards, book/_static/cards/NN.svg; their <title> is the alt text.

python -m tools.cards write
python -m tools.cards check    the files are what the code draws
"""

import argparse
import re
import sys
from html import escape

from tools.card_pictures import HEIGHT, PICTURES, WIDTH
from tools.paths import ROOT

FOLDER = ROOT / "book" / "_static" / "cards"
LARGEST = 40_000  # bytes


def svg(picture) -> str:
    alt = " ".join(picture.__doc__.split())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" fill="none"><title>{escape(alt)}</title>'
        f"{picture()}</svg>\n"
    )


def write() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(svg(picture), encoding="utf-8")


def check() -> list[str]:
    faults = [
        f"{path.name} belongs to no chapter"
        for path in sorted(FOLDER.glob("*"))
        if path.stem not in PICTURES or path.suffix != ".svg"
    ]
    for name, picture in PICTURES.items():
        path = FOLDER / f"{name}.svg"
        if not path.exists():
            faults.append(f"{path.name} is missing: python -m tools.cards write")
            continue
        text = path.read_text(encoding="utf-8")
        if not alike(text, svg(picture)):
            faults.append(f"{path.name} is not what the code draws: python -m tools.cards write")
        if len(text.encode()) > LARGEST:
            faults.append(f"{path.name} has {len(text) // 1000} kB; 40 is the limit")
    return faults


def alike(one: str, other: str) -> bool:
    """Equal but for the last digit of a number, in which two processors may differ."""
    numbers = re.compile(r"\d+\.\d")  # as everything that is computed is written
    if numbers.sub("", one) != numbers.sub("", other):
        return False
    pairs = zip(numbers.findall(one), numbers.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 0.15 for a, b in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["write", "check"])
    if parser.parse_args().command == "write":
        write()
    faults = check()
    print("\n".join([*faults, f"{len(PICTURES)} pictures, {len(faults)} faults"]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
