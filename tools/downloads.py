"""The smaller published data sets, downloaded afresh and compared with their digests.

python -m tools.downloads FOLDER

What has no published digest is compared with that of the first time, kept in the folder.
"""

import shutil
import sys
from pathlib import Path

from gtcourse.graphs import load_dataset
from gtcourse.graphs.datasets import PINS
from gtcourse.prepare import pcqm4mv2

NAMES = ("zinc", "ogbg-molhiv")


def compare(folder: Path) -> str:
    """Every digest that is known afterwards.

    Raises:
        RuntimeError: a download failed, or is not what it was.
    """
    for name in NAMES:
        (folder / f"{name}.npz").unlink(missing_ok=True)
        load_dataset(name, "download", root=folder)
    shutil.rmtree(folder / "pcqm4m-v2", ignore_errors=True)
    pcqm4mv2(folder)
    return (folder / PINS).read_text(encoding="utf-8")


if __name__ == "__main__":
    print(compare(Path(sys.argv[1])))
