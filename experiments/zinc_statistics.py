"""The real ZINC's statistics, for the data page.

python -m experiments.zinc_statistics --zinc zinc12k.npz
"""

import argparse
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gtcourse import load_dataset
from gtcourse.graphs.statistics import describe
from gtcourse.training.records import current_commit, device_name, installed_versions
from tools.paths import PACKAGE

PATH = PACKAGE / "recorded" / "zinc-statistics.json"


def statistics(zinc: Path) -> dict:
    dataset = load_dataset("zinc", source=zinc)
    return {
        "name": "zinc-statistics",
        "data": dataset.provenance,
        "statistics": describe(dataset),
        "command": f"python -m experiments.zinc_statistics --zinc {zinc.name}",
        "commit": current_commit(),
        "device": device_name(),
        "versions": installed_versions() | {"scikit-learn": version("scikit-learn")},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    content = statistics(parser.parse_args().zinc)
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(content, indent=1) + "\n")
    print(f"{PATH.name}: {content['statistics']['molecules']} molecules")


if __name__ == "__main__":
    main()
