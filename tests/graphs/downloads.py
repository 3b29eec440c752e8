"""The smaller published data sets, downloaded afresh: ``make downloads``, which names this file."""

import os
import shutil
from pathlib import Path

from gtcourse import load_dataset
from gtcourse.encodings.prepare import pcqm4mv2

FOLDER = Path(os.environ.get("DIGESTS", "runs/digests"))


def test_published_graphs_equal_those_of_the_last_download():
    found = {}
    for name in ("zinc", "ogbg-molhiv"):
        (FOLDER / f"{name}.npz").unlink(missing_ok=True)
        found[name] = load_dataset(name, "download", root=FOLDER).checksum
    shutil.rmtree(FOLDER / "pcqm4m-v2", ignore_errors=True)
    found["pcqm4mv2"] = pcqm4mv2(FOLDER).checksum
    lines = "".join(f"{digest}  {name}\n" for name, digest in found.items())
    print(f"\n{lines}")
    path = FOLDER / "graphs.sha256"
    if path.is_file():
        assert lines == path.read_text(encoding="utf-8")
    path.write_text(lines, encoding="utf-8")
