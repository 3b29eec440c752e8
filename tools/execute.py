"""Executing a notebook so that doing it twice gives the same bytes."""

import json
import os
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.freshness import stamp
from tools.paths import RUN_TIMES

CELL_TIMEOUT = 900  # seconds

# One thread; no bars, no dates, no hash order in the outputs; the budget a reader gets by default.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TQDM_DISABLE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "error:::__main__,ignore:IProgress not found",  # of a cell's own code
    "SOURCE_DATE_EPOCH": "0",
    "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")),
}
UNSET = ("GTCOURSE_BUDGET", "MPLBACKEND")

# Runs in the notebook's own kernel before its first cell: from then on, what is read is known.
WATCH = """
import sys as _sys
_opened = set()
_sys.addaudithook(lambda event, args: event == 'open' and _opened.add(str(args[0])))
"""

# Runs last, in the notebook's own kernel, and is taken out again.
PROBE = """
import json as _json, pathlib as _pathlib, platform as _platform, resource as _resource, sys as _sys
def _probe():
    files = []
    if "gtcourse" in _sys.modules:
        root = _pathlib.Path(_sys.modules["gtcourse"].__file__).resolve().parent
        for name, module in list(_sys.modules.items()):
            path = _pathlib.Path(getattr(module, "__file__", None) or "").resolve()
            # PyG writes code of its own, named like the package's, to the temporary folder.
            if name.split(".")[0] == "gtcourse" and root in path.parents:
                files.append(path.relative_to(root).as_posix())
        for path in map(_pathlib.Path, _opened):  # records, weights, scripts
            if root in path.parents and path.suffix in (".json", ".pt", ".js"):
                files.append(path.relative_to(root).as_posix())
    unit = 1 if _platform.system() == "Darwin" else 1024
    torch = _sys.modules.get("torch")
    gpu = torch is not None and torch.cuda.is_available()
    print(_json.dumps({
        "files": sorted(set(files)),
        "bytes": _resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss * unit,
        "device": torch.cuda.get_device_name() if gpu else "cpu",
    }))
_probe()
"""


def execute(nb: NotebookNode, folder: Path) -> dict:
    """Run every cell in a fresh kernel, in place; returns device, seconds, peak memory in MB."""
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    os.environ.update(ENVIRONMENT)
    for name in UNSET:
        os.environ.pop(name, None)

    nb.cells.append(nbformat.v4.new_code_cell(PROBE))
    client = NotebookClient(
        nb,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=[f"--IPKernelApp.exec_lines={WATCH.strip()}"],
    )
    begin = time.perf_counter()
    client.execute()
    seconds = time.perf_counter() - begin
    answer = json.loads(nb.cells.pop().outputs[0].text)

    for cell in nb.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)
    nb.metadata["gtcourse"] = stamp(nb, answer["files"])
    return {
        "device": answer["device"],
        "seconds": round(seconds),
        "peak_memory_mb": round(answer["bytes"] / 2**20, -1),
    }


def merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Pieces of one stream as one output: how print() was cut up depends on timing."""
    merged: list[NotebookNode] = []
    for output in outputs:
        same = output.output_type == "stream" and any(
            m.output_type == "stream" and m.name == output.name for m in merged[-1:]
        )
        if same:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def store_run(name: str, run: dict, path: Path = RUN_TIMES) -> None:
    """Keep the measured run apart from the notebook, whose bytes must not depend on the clock."""
    times = json.loads(path.read_text()) if path.exists() else {}
    device = run["device"]
    measured = {"seconds": run["seconds"], "peak_memory_mb": int(run["peak_memory_mb"])}
    times.setdefault(name, {})[device] = measured
    path.write_text(json.dumps(dict(sorted(times.items())), indent=2) + "\n")
