"""Pickles of the publishers: numbers are read, and nothing that a file names is run."""

import io
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse import load_dataset
from gtcourse.graphs.published import TensorUnpickler, load_integers
from tests.graphs.served import write_some


class Calls:
    """Plain pickle calls the function when it reads this."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def load_tensors(content: bytes) -> object:
    return TensorUnpickler(io.BytesIO(content)).load()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_tensors_are_read_in_every_protocol(protocol):
    matrix = torch.arange(12).reshape(3, 4)
    tensors = [{"n": 2, "x": matrix.T, "y": torch.tensor([0.5])}, {"x": matrix[1:, ::2]}]
    found = load_tensors(pickle.dumps(tensors, protocol))
    assert found[0]["n"] == 2
    assert torch.equal(found[0]["x"], matrix.T)
    assert found[0]["y"].tolist() == [0.5]
    assert torch.equal(found[1]["x"], matrix[1:, ::2])


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (eval, ("1 + 1",), "builtins.eval"),
        (getattr, ("", "upper"), "builtins.getattr"),
        (torch.load, ("x",), "torch.serialization.load"),
        (np.load, ("x",), "numpy.load"),
        (np.array, ([1],), "numpy.array"),
    ],
)
def test_a_pickle_that_calls_other_functions_raises(function, arguments, name):
    with pytest.raises(pickle.UnpicklingError, match=f"refers to {name}; expected tensors"):
        load_tensors(pickle.dumps([Calls(function, *arguments)]))


def test_a_payload_inside_the_bytes_of_a_tensor_is_not_run(tmp_path):
    """A tensor's storage is a file of torch's inside the pickle, and that is a pickle again."""
    inner = io.BytesIO()
    torch.save(Calls(os.mkdir, str(tmp_path / "marker")), inner)
    outer = pickle.dumps([Calls(torch.storage._load_from_bytes, inner.getvalue())])
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_tensors(outer)
    assert not (tmp_path / "marker").exists()


def test_a_pickle_cannot_set_attributes_of_the_functions_that_read_it():
    """BUILD sets attributes on the last object, also on a function."""
    load_tensors(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x05\x00\x00\x00taintK\x01sb.")
    assert not hasattr(torch._utils._rebuild_tensor_v2, "taint")


@pytest.mark.parametrize("module", [b"numpy.core.", b"numpy._core."], ids=["numpy 1", "numpy 2"])
def test_arrays_of_integers_are_read(tmp_path, module):
    pairs = np.array([[7, 8], [9, 10]])
    rows = {"train": np.arange(5), "valid": pairs, "test": np.asfortranarray(pairs)}
    torch.save(rows, tmp_path / "new.pt")
    with (
        zipfile.ZipFile(tmp_path / "new.pt") as archive,
        zipfile.ZipFile(tmp_path / "split.pt", "w") as renamed,
    ):
        for name in archive.namelist():
            renamed.writestr(name, re.sub(rb"numpy\._?core\.", module, archive.read(name)))
    found = load_integers(tmp_path / "split.pt")
    assert {name: values.tolist() for name, values in found.items()} == {
        "train": [0, 1, 2, 3, 4],
        "valid": [[7, 8], [9, 10]],
        "test": [[7, 8], [9, 10]],
    }


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.array([1, "a", None], dtype=object), "array of type 'O8'; expected 'i8'"),
        (np.array([1.0]), "array of type 'f8'; expected 'i8'"),
        (np.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")]), "of type 'V16'; expected 'i8'"),
        (np.array([1], dtype=">i8"), "big-endian integers; expected '<i8'"),
    ],
)
def test_arrays_of_other_types_raise(tmp_path, array, sentence):
    torch.save({"train": array}, tmp_path / "split.pt")
    with pytest.raises(pickle.UnpicklingError, match=sentence):
        load_integers(tmp_path / "split.pt")


def poison(name: str, folder: Path, payload: Calls) -> None:
    """A publisher's files with the payload in them."""
    if name == "zinc":
        (folder / "raw").mkdir(parents=True)
        for split in ("train", "val", "test"):
            (folder / f"raw/{split}.pickle").write_bytes(pickle.dumps([payload]))
            (folder / f"raw/{split}.index").write_text("0\n")
    elif name == "mnist":
        (folder / "MNIST/raw").mkdir(parents=True)
        torch.save([[{"x": payload}]], folder / "MNIST/raw/MNIST_v2.pt")
    else:
        write_some(folder)
        torch.save({"train": payload}, folder / "pcqm4m-v2/split_dict.pt")


@pytest.mark.parametrize("name", ["zinc", "mnist", "pcqm4mv2"])
def test_a_payload_in_a_publishers_file_is_not_run(tmp_path, name):
    poison(name, tmp_path / "published", Calls(os.mkdir, str(tmp_path / "marker")))
    with pytest.raises(RuntimeError, match=f"{name} could not be read from .*Unpickling"):
        load_dataset(name, source=tmp_path / "published")
    assert not (tmp_path / "marker").exists()
