"""Commands: in a process of their own, or the command line's called in this one."""

import subprocess
import sys
from unittest.mock import patch

from typer.testing import CliRunner


def run(*words: object, **options) -> str:
    """What a command prints; an exit status other than 0 fails the test with what it says."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout


def gtcourse(*words: object) -> str:
    """What ``gtcourse WORDS`` prints, without another process."""
    from gtcourse.course.commands import app

    words = tuple(map(str, words))
    with patch.object(sys, "argv", ["gtcourse", *words]):
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


class InThisProcess:
    """Stands in for ``Popen`` where ``gtcourse`` starts itself, so that PyTorch is not read again.

    Commands run here, one after another. Those that test_cli.py stops have processes of their own.
    """

    def __init__(self, command: list[str]):
        assert command[:3] == [sys.executable, "-m", "gtcourse"]
        gtcourse(*command[3:])

    def poll(self) -> int:
        return 0

    wait = poll
    terminate = poll
