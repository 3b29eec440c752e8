"""Kernels for nbval, each forked from a process that imported PyTorch: ``pytest -p tests.kernels``.

To read it and the other libraries takes a kernel six seconds, which are those of most notebooks'
first cells. A forked kernel has a process, a folder and names of its own, as one that is started
has.
"""

import gc
import multiprocessing
import os
import sys
import threading
import time

import pytest

CONTEXT = multiprocessing.get_context("forkserver")
START = "jupyter_client.provisioning.local_provisioner.launch_kernel"  # which nbval calls
READ = [
    "torch",
    "torch_geometric.data",
    "torch_geometric.nn",
    "torch_geometric.transforms",
    "matplotlib.pyplot",
    "sklearn.linear_model",
    "lightning_fabric",
    "tensorboardX",
    "networkx",
    "rdkit.Chem.Draw",
]
# Which ipykernel sets as well, but matplotlib is read before.
INLINE = "module://matplotlib_inline.backend_inline"


class Forked:
    """What jupyter_client asks of a ``Popen``."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, cwd: str, env: dict[str, str], **_):
        self.process = CONTEXT.Process(target=begin, args=(command, cwd, env))
        self.process.start()
        self.pid = self.process.pid
        while os.getpgid(self.pid) != self.pid:  # else signals for the kernel's group are for ours
            time.sleep(0.01)

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def begin(command: list[str], folder: str, environment: dict[str, str]) -> None:
    """Is the kernel until it is asked to end."""
    gc.freeze()  # or each collection visits all that was read
    os.setsid()  # a signal to its group does not reach the tests
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command[command.index("ipykernel_launcher") :]
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    from ipykernel import kernelapp  # which reads the environment

    kernelapp.launch_new_instance()


def end_with_the_tests() -> None:
    """Where these are killed, nobody asks a kernel to end."""
    multiprocessing.parent_process().join()
    os._exit(1)


def pytest_configure(config: pytest.Config) -> None:
    CONTEXT.set_forkserver_preload(READ)
    patch = pytest.MonkeyPatch()
    patch.setenv("MPLBACKEND", INLINE)
    patch.setattr(START, Forked)
    config.add_cleanup(patch.undo)
