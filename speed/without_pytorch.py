"""What a prediction without PyTorch costs: ``python -m speed.without_pytorch``.

The code is that of the page *Predict without PyTorch*. Each of these runs in processes of its own,
and is measured in processor time and in the most memory that the process holds:

1. the page's imports and its prediction of three molecules;
2. the same prediction with the package, imports included.

After 1, the process also predicts 1,000 test molecules, one by one and in batches of 50 of similar
size.
"""

import json
import re
import tempfile
from pathlib import Path
from statistics import median

from experiments.runs import in_process
from gtcourse import load, load_dataset
from gtcourse.predict import save_onnx
from speed.measure import run
from tools.paths import ROOT

PAGE = ROOT / "book" / "onnx.md"
MODEL = "grpe-100k/molecules"
BATCH = 50

USED = r"""
import json, re, time
from pathlib import Path
peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
found = {"seconds": time.process_time(), "peak_mib": int(peak[1]) / 2**10}
"""

FURTHER = f"""
molecules = json.loads(open("molecules.json").read())
started = time.process_time()
read = [inputs([text]) for text in molecules]
reading = time.process_time() - started
for each in read:
    session.run(["prediction"], each)
found["ms_alone"] = 1000 * (time.process_time() - started) / len(molecules)
found["ms_reading"] = 1000 * reading / len(molecules)
started = time.process_time()
for first in range(0, len(molecules), {BATCH}):
    session.run(["prediction"], inputs(molecules[first : first + {BATCH}]))
found["seconds_in_batches"] = time.process_time() - started
"""

WITH_PACKAGE = f"""
from gtcourse import load
print(load("{MODEL}").predict(["CCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O"]))
"""


def on_the_page() -> str:
    """The page's code without its first block, which needs the package and writes the file."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return "\n".join(blocks[1:]).replace(
        'InferenceSession("grpe.onnx")', 'InferenceSession("grpe.onnx", options)'
    )


ONE_THREAD = """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
"""


def measured(code: str, folder: Path) -> dict:
    """What a process finds that runs the code in this folder."""
    return in_process(["-c", code + "\nprint(json.dumps(found))"], folder)


def medians(found: list[dict]) -> dict:
    return {name: round(median(each[name] for each in found), 3) for name in found[0]}


def measure(rounds: int) -> dict:
    graphs = sorted(load_dataset("molecules").test, key=lambda graph: graph.num_nodes)
    page = ONE_THREAD + on_the_page() + USED + FURTHER
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save_onnx(load(MODEL), folder / "grpe.onnx")
        (folder / "molecules.json").write_text(json.dumps([graph.smiles for graph in graphs]))
        alone, package = [], []
        for _ in range(rounds):
            alone.append(measured(page, folder))
            package.append(measured(WITH_PACKAGE + USED, folder))
    return {
        "model": MODEL,
        "molecules": len(graphs),
        "batch": BATCH,
        "onnx": medians(alone),
        "package": medians(package),
    }


if __name__ == "__main__":
    run("without_pytorch", measure, rounds=5)
