"""Pickles of the publishers: numbers come through, and nothing that a file names is run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse.graphs import load_dataset
from gtcourse.graphs.downloads import load_integers, load_tensors


class Payload:
    """Unpickled by plain pickle, it makes a folder."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


class Pretender:
    """Asks for a function by a name that looks harmless."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_the_payload_is_one(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "marker")))
    assert (tmp_path / "marker").is_dir()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_tensors_come_through_in_every_protocol(tmp_path, protocol):
    molecules = [
        {"num_atom": 2, "atom_type": torch.tensor(values), "y": torch.tensor([0.5])}
        for values in ([0, 1], [5, 27])
    ]
    (tmp_path / "train.pickle").write_bytes(pickle.dumps(molecules, protocol))
    found = load_tensors(tmp_path / "train.pickle")
    assert [each["atom_type"].tolist() for each in found] == [[0, 1], [5, 27]]
    assert [each["y"].item() for each in found] == [0.5, 0.5]


def test_tensors_of_one_storage_keep_their_strides(tmp_path):
    whole = torch.arange(12).reshape(3, 4)
    (tmp_path / "train.pickle").write_bytes(pickle.dumps([whole.T, whole[1:, ::2]]))
    transposed, part = load_tensors(tmp_path / "train.pickle")
    assert torch.equal(transposed, whole.T)
    assert torch.equal(part, whole[1:, ::2])


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
def test_a_pickle_that_asks_for_more_than_tensors_is_refused_by_name(
    tmp_path, function, arguments, name
):
    (tmp_path / "train.pickle").write_bytes(pickle.dumps([Pretender(function, *arguments)]))
    with pytest.raises(pickle.UnpicklingError, match=f"asks for {name}; expected tensors and"):
        load_tensors(tmp_path / "train.pickle")


def test_a_payload_inside_the_bytes_of_a_tensor_is_not_run(tmp_path):
    """A tensor's storage is a file of torch's inside the pickle, and that is a pickle again."""
    torch.save(Payload(tmp_path / "marker"), tmp_path / "inner.pt")
    content = (tmp_path / "inner.pt").read_bytes()
    outer = pickle.dumps([Pretender(torch.storage._load_from_bytes, content)])
    (tmp_path / "train.pickle").write_bytes(outer)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_tensors(tmp_path / "train.pickle")
    assert not (tmp_path / "marker").exists()


def test_a_pickle_cannot_change_what_the_next_one_is_read_with(tmp_path):
    """BUILD sets attributes on whatever was made last, also on a function."""
    poison = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x05\x00\x00\x00taintK\x01sb."
    (tmp_path / "train.pickle").write_bytes(poison)
    load_tensors(tmp_path / "train.pickle")
    assert not hasattr(torch._utils._rebuild_tensor_v2, "taint")


def test_arrays_of_integers_come_through(tmp_path):
    rows = {"train": np.arange(5), "valid": np.array([[7, 8], [9, 10]])}
    torch.save(rows, tmp_path / "split.pt")
    found = load_integers(tmp_path / "split.pt")
    assert {name: values.tolist() for name, values in found.items()} == {
        "train": [0, 1, 2, 3, 4],
        "valid": [[7, 8], [9, 10]],
    }


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.array([1, "a", None], dtype=object), "array of type 'O8'; expected 'i8'"),
        (np.array([1.0]), "array of type 'f8'; expected 'i8'"),
        (np.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")]), "of type 'V16'; expected 'i8'"),
        (np.array([1], dtype=">i8"), "array of other bytes; expected '<i8'"),
    ],
)
def test_arrays_of_anything_else_are_refused(tmp_path, array, sentence):
    torch.save({"train": array}, tmp_path / "split.pt")
    with pytest.raises(pickle.UnpicklingError, match=sentence):
        load_integers(tmp_path / "split.pt")


def poisoned_zinc(folder: Path, payload: Payload) -> None:
    (folder / "raw").mkdir(parents=True)
    for split in ("train", "val", "test"):
        (folder / f"raw/{split}.pickle").write_bytes(pickle.dumps([payload]))
        (folder / f"raw/{split}.index").write_text("0\n")


def poisoned_benchmark(folder: Path, payload: Payload) -> None:
    (folder / "MNIST/raw").mkdir(parents=True)
    torch.save([[{"x": payload}]], folder / "MNIST/raw/MNIST_v2.pt")


def poisoned_split(folder: Path, payload: Payload) -> None:
    from tests.graphs.layout import write_some

    write_some(folder)
    torch.save({"train": payload}, folder / "pcqm4m-v2/split_dict.pt")


@pytest.mark.parametrize(
    ("name", "poison"),
    [("zinc", poisoned_zinc), ("mnist", poisoned_benchmark), ("pcqm4mv2", poisoned_split)],
)
def test_a_payload_in_a_publishers_file_is_refused_and_not_run(tmp_path, name, poison):
    poison(tmp_path / "published", Payload(tmp_path / "marker"))
    with pytest.raises(RuntimeError, match=f"{name} could not be read from .*Unpickling"):
        load_dataset(name, source=tmp_path / "published")
    assert not (tmp_path / "marker").exists()
