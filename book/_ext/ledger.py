"""No book without its ledger: each equation that lacks an object, a test or a section is a warning.

`make book` makes a warning an error.
"""

import sys
from pathlib import Path

from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
logger = logging.getLogger(__name__)


def check(app) -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from tools import ledger
    finally:
        sys.path.remove(str(ROOT))
    for fault in ledger.faults():
        logger.warning(fault, location="book/ledger")


def setup(app):
    app.connect("builder-inited", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
