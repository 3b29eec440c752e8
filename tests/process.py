"""A command in a process of its own."""

import subprocess


def run(*words: object, **options) -> str:
    """What it prints; an exit status other than 0 fails the test with what it says."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout
