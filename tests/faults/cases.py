"""Full disks, closed folders, processes at once, signals: what is said and what comes of it.

``python -m tests.faults.cases full closed`` prints it as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import torch

from tests.faults import at_once, closed, full, signals
from tests.faults.jobs import import_ahead

PARTS = {"full": full, "closed": closed, "at_once": at_once, "signals": signals}


def tried(part: str) -> list[dict]:
    """The cases of a part, each with whether all was as it should be."""
    os.environ["COLUMNS"] = "1000"  # a sentence stays in one line
    with tempfile.TemporaryDirectory(prefix="gtcourse-faults-") as place:
        Path(place).chmod(0o755)  # who has no rights here is to come as far as the closed folder
        found = list(PARTS[part].cases(Path(place)))
    for case in found:
        for name in ("sentence", "outcome"):
            if name in case:
                case[name] = case[name].replace(f"{place}/", "")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parts = parser.parse_args().parts
    torch.set_num_threads(1)
    import_ahead()
    print(json.dumps([case for part in parts for case in tried(part)], indent=1))


if __name__ == "__main__":
    main()
