"""The smaller published data sets, downloaded afresh and compared with those of the last time.

python -m tools.downloads FOLDER
"""

import shutil
import sys
from pathlib import Path

from gtcourse.graphs import load_dataset
from gtcourse.prepare import pcqm4mv2

NAMES = ("zinc", "ogbg-molhiv")
DIGESTS = "graphs.sha256"


def compare(folder: Path) -> str:
    """sha256 of every set's graphs, which are kept in the folder for the next time.

    Raises:
        RuntimeError: a download failed, or is not what it was.
    """
    found = {}
    for name in NAMES:
        (folder / f"{name}.npz").unlink(missing_ok=True)
        found[name] = load_dataset(name, "download", root=folder).checksum
    shutil.rmtree(folder / "pcqm4m-v2", ignore_errors=True)
    found["pcqm4mv2"] = pcqm4mv2(folder).checksum
    lines = "".join(f"{digest}  {name}\n" for name, digest in found.items())
    path = folder / DIGESTS
    if path.is_file() and (before := path.read_text(encoding="utf-8")) != lines:
        raise RuntimeError(f"the graphs are not those of the last time.\n{before}{lines}")
    path.write_text(lines, encoding="utf-8")
    return lines


if __name__ == "__main__":
    print(compare(Path(sys.argv[1])))
