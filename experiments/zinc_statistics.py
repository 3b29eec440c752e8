"""The real ZINC's statistics, for the data page.

python -m experiments.zinc_statistics --zinc zinc12k.npz
"""

import argparse
from pathlib import Path

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.graphs.molecules import describe

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    path = parser.parse_args().zinc
    zinc = load_dataset("zinc", source=path)
    content = {"name": "zinc-statistics", "data": zinc.provenance, "statistics": describe(zinc)}
    command = f"python -m experiments.zinc_statistics --zinc {path.name}"
    store_measurement(RECORDS / "zinc-statistics.json", content, command)
