"""Why the curve is written to TensorBoard's files without the logger of Lightning Fabric.

Its writer (tensorboardX) has a queue of ten and a thread that empties it. Where a write fails, as
on a disk that is full for a moment, the thread dies without a word, and the next but few values
block the training forever.
"""

import os
import sys
from importlib.util import find_spec

import pytest

from tests.process import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no limit of file sizes"),
]

START = """
import os, resource, sys, threading, time, warnings
warnings.simplefilter("ignore")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))

threading.excepthook = lambda arguments: None
"""

FABRIC = f"""{START}
from lightning_fabric.loggers import TensorBoardLogger

logger = TensorBoardLogger(sys.argv[1], name="", version="")
logger.experiment  # starts its thread
(writer,) = [t for t in threading.enumerate() if "EventLogger" in type(t).__name__]

def log():
    for step in range(200):  # twenty times what the queue holds
        try:
            logger.log_metrics({{"val_mae": 0.5}}, step)
            logger.save()
        except OSError:
            pass

if sys.argv[2] == "full":
    limit(1000)
training = threading.Thread(target=log, daemon=True)
training.start()
if sys.argv[2] == "full":
    writer.join(20)
    assert not writer.is_alive()
    limit(most)  # there is room again
training.join(3 if sys.argv[2] == "full" else 60)  # long enough to end, if nothing blocks it
print("blocked" if training.is_alive() else "finished", flush=True)
os._exit(0)
"""

OURS = f"""{START}
from pathlib import Path
from gtcourse.train.loop import _tensorboard

errors = 0
with _tensorboard(Path(sys.argv[1])) as log:
    limit(1000)
    for step in range(100):
        try:
            log({{"val_mae": 0.5}}, step)
        except OSError as error:
            errors += 1
    limit(most)
    log({{"val_mae": 0.5}}, 100)
print("reported" if errors else "no error", flush=True)
os._exit(0)
"""


@pytest.mark.nightly  # about 10 s, and nothing of ours runs
@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="it then uses another writer")
@pytest.mark.parametrize(("disk", "ends"), [("full", "blocked"), ("free", "finished")])
def test_fabrics_logger_blocks_after_a_failed_write(tmp_path, disk, ends):
    assert run(sys.executable, "-c", FABRIC, tmp_path, disk).strip() == ends


def test_our_writer_reports_a_failed_write_and_continues(tmp_path):
    assert run(sys.executable, "-c", OURS, tmp_path).strip() == "reported"
