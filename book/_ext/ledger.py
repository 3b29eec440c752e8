"""No book without its ledger: an equation without an object, a test or a section is a warning.

`make book` makes a warning an error.
"""

import sys

from sphinx.util import logging

logger = logging.getLogger(__name__)


def check(app) -> None:
    sys.path.insert(0, str(app.srcdir))
    from tools import ledger

    for fault in ledger.read().faults:
        logger.warning(fault, location="book/ledger")


def setup(app):
    app.connect("builder-inited", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
