"""Pickles that leave a file when they are unpickled, in every place where a file is read."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tests.bad_input.kinds import KINDS, Kind, whole
from tests.bad_input.payload import Payload

MARKER = "executed"


def bare(path: Path, payload: Payload) -> None:
    path.write_bytes(pickle.dumps(payload))


def of_torch(path: Path, payload: Payload) -> None:
    torch.save({"model": payload, "w": payload, "run": {}}, path)


def of_old_torch(path: Path, payload: Payload) -> None:
    torch.save({"w": payload}, path, _use_new_zipfile_serialization=False)


def of_numpy(path: Path, payload: Payload) -> None:
    with open(path, "wb") as file:
        np.savez(file, num_nodes=np.array([payload], dtype=object))


def as_one_array(path: Path, payload: Payload) -> None:
    with open(path, "wb") as file:
        np.save(file, np.array([payload], dtype=object))


def beside_the_arrays(path: Path, payload: Payload) -> None:
    """As a member of whatever archive the file is."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("data.pkl", pickle.dumps(payload))


CARRIERS: dict[str, Callable[[Path, Payload], None]] = {
    "a pickle": bare,
    "torch's archive of a pickle": of_torch,
    "torch's old form of a pickle": of_old_torch,
    "numpy's archive of an object array": of_numpy,
    "numpy's object array": as_one_array,
    "a pickle as one more member": beside_the_arrays,
}


def tried(kind: Kind, carrier: str, folder: Path) -> tuple[bool, Exception | None]:
    """Whether the payload was executed when the file was read; and what was said."""
    for name, content in whole(kind)[0].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    CARRIERS[carrier](folder / kind.path, Payload(folder / MARKER))
    said = None
    try:
        kind.read(folder)
    except (ValueError, FileNotFoundError) as error:
        said = error
    return (folder / MARKER).exists(), said


PAIRS = [(kind, carrier) for kind in KINDS for carrier in CARRIERS]
"""Each kind of file with each carrier; a zip is read from its end, so any file can get a member."""
