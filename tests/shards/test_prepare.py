"""The same shards come of it whoever makes them, however often it is broken off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gtcourse.encodings import AddDegrees, AddRings, AddSVD, encode
from gtcourse.graphs import collate
from gtcourse.shards import ShardLoader, open_shards, pcqm4mv2, prepare, process_pool, read_shard
from tests.shards.layout import write_some
from tests.shards.small import assert_same, dataset, numbered

RINGS = (AddRings(6),)
PREPARE = sys.modules["gtcourse.shards.prepare"]
"""The module; the package has a function of this name."""
LOCK = PREPARE.LOCK


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> Path:
    """24 molecules: 12, 4 and 8."""
    return write_some(tmp_path_factory.mktemp("layout"))


def made(layout: Path, out: Path, **changes):
    options = {"stored": RINGS, "rows_per_shard": 4, "progress": False}
    return prepare(pcqm4mv2(layout), out, **(options | changes))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


@pytest.fixture(scope="module")
def unbroken(layout, tmp_path_factory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("shards")
    made(layout, out)
    return content(out)


NAMES = (
    *(f"train-0000{number}.parquet" for number in range(3)),
    "val-00000.parquet",
    *(f"test-0000{number}.parquet" for number in range(2)),
)


def test_there_is_a_file_for_so_many_graphs_of_a_split_and_one_that_lists_them(unbroken):
    assert sorted(unbroken) == sorted((*NAMES, "shards.json"))


def test_a_finished_folder_is_left_as_it_is(layout, unbroken, tmp_path, monkeypatch):
    made(layout, tmp_path)
    monkeypatch.setattr(PREPARE, "make_shard", lambda *task: 1 / 0)
    made(layout, tmp_path)
    assert content(tmp_path) == unbroken


def flip(path: Path) -> None:
    found = bytearray(path.read_bytes())
    found[len(found) // 2] ^= 1
    path.write_bytes(found)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


DAMAGES = {
    "flipped": (flip, "is damaged: its sha256 is not the recorded one"),
    "cut": (cut, r"is damaged: it has \d+ bytes, not \d+"),
    "missing": (Path.unlink, "is missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_is_named_and_made_anew(layout, unbroken, tmp_path, damage):
    made(layout, tmp_path)
    spoil, sentence = DAMAGES[damage]
    spoil(tmp_path / "train-00001.parquet")
    with pytest.warns(UserWarning, match=rf"shard .*train-00001\.parquet {sentence}; it is made"):
        made(layout, tmp_path)
    assert content(tmp_path) == unbroken


@pytest.mark.parametrize("damage", DAMAGES)
def test_whoever_opens_or_reads_a_damaged_shard_is_told_which_and_what_to_do(
    layout, tmp_path, damage
):
    shards = made(layout, tmp_path)
    spoil, sentence = DAMAGES[damage]
    spoil(tmp_path / "train-00001.parquet")
    if damage != "flipped":  # its size is what it was; a look at all bytes would take too long
        sentence = rf"shard .*train-00001\.parquet {sentence}; expected what was written"
        with pytest.raises(ValueError, match=sentence):
            open_shards(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=r"shard .*train-00001\.parquet"):
        list(ShardLoader(shards, "train", 4))


@pytest.mark.slow
def test_two_processes_make_the_same_bytes(layout, unbroken, tmp_path):
    with process_pool(2) as executor:
        made(layout, tmp_path, executor=executor)
    assert content(tmp_path) == unbroken


@pytest.mark.slow
def test_a_dask_cluster_of_two_workers_makes_the_same_bytes(layout, unbroken, tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        made(layout, tmp_path, executor=client.get_executor())
        assert len(client.scheduler_info()["workers"]) == 2
    assert content(tmp_path) == unbroken


def test_a_pool_without_workers_is_refused():
    with pytest.raises(ValueError, match="workers is 0; expected a whole number, 1 or more"):
        process_pool(0)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there are no such signals")
def test_the_workers_of_a_killed_process_end(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        "import os, time\n"
        "from gtcourse.shards import process_pool\n"
        "def pid(_): time.sleep(0.2); return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    with process_pool(2) as pool:\n"
        "        print(*set(pool.map(pid, range(4))), flush=True)\n"
        "        time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    workers = [int(number) for number in process.stdout.readline().split()]
    assert workers
    assert all(map(lives, workers))
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 30
    while any(map(lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(lives, workers))


def lives(pid: int) -> bool:
    """Runs, and is not only waiting to be taken note of by the process that began it."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not Path("/proc/self").exists() or state.read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_an_unreadable_molecule_is_named_after_all_else_is_done(tmp_path, pool, capfd):
    layout = write_some(tmp_path / "layout", smiles=("CCO", "C=O", "CN", "C1CC", "CC#N", "CF", "C"))
    executor = pool(2) if pool else None
    with pytest.raises(ValueError, match=r"^train-00000\.parquet cannot be made: molecule 3 is "
                       r"'C1CC', of which ogb and RDKit can make no graph .*; expected SMILES that "
                       r"RDKit reads\. Of 6 shards 3 are finished in .*"):  # fmt: skip
        made(layout, tmp_path / "out", executor=executor)
    # 3, 10 and 17; the last two of them are in test-00000 and test-00001
    finished = json.loads((tmp_path / "out/shards.json").read_text())["shards"]
    whole = ["train-00001.parquet", "train-00002.parquet", "val-00000.parquet"]
    assert [entry["name"] for entry in finished] == whole
    assert "SMILES Parse Error" not in capfd.readouterr().err


def test_a_fault_that_is_not_of_the_data_ends_it_and_nothing_more_is_begun(
    layout, tmp_path, monkeypatch
):
    begun = []
    gate = threading.Event()

    def make(path, *rest):
        begun.append(path.name)
        if len(begun) == 1:
            raise OSError("no space left on device")
        gate.wait(5)

    monkeypatch.setattr(PREPARE, "make_shard", make)
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(OSError, match="no space left"):
            made(layout, tmp_path, executor=executor)
        gate.set()
    assert len(begun) <= 2  # one may have begun before the fault was seen


CHANGES = {
    "stored": {"stored": (AddSVD(2),)},
    "rows_per_shard": {"rows_per_shard": 3},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_folder_of_another_plan_is_refused_and_stays(layout, unbroken, tmp_path, name):
    made(layout, tmp_path)
    with pytest.raises(ValueError, match=rf"holds shards of another plan, which differs in {name} "
                       r".*; expected the plan that began there, or another folder\."):  # fmt: skip
        made(layout, tmp_path, **CHANGES[name])
    assert content(tmp_path) == unbroken


def test_a_folder_of_other_data_is_refused(layout, tmp_path):
    made(layout, tmp_path / "out")
    molecules = pcqm4mv2(layout)
    other = replace(molecules, smiles=["CCC", *molecules.smiles[1:]])
    with pytest.raises(ValueError, match="holds shards of another plan, which differs in checksum"):
        prepare(other, tmp_path / "out", stored=RINGS, rows_per_shard=4)


def test_a_part_of_a_data_set_is_another_one_though_its_checksum_is_the_files(tmp_path):
    data = replace(numbered(8), checksum="of a file")
    prepare(data, tmp_path, stored=(), rows_per_shard=2)
    part = replace(data, graphs=data.graphs[::-1])
    with pytest.raises(ValueError, match="another plan, which differs in content"):
        prepare(part, tmp_path, stored=(), rows_per_shard=2)


def test_other_files_in_the_folder_stay(layout, unbroken, tmp_path):
    others = dict.fromkeys((".notes.tmp", "train.parquet", ".train-1.parquet"), b"mine")
    for name, text in others.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / ".train-00001.parquet.0123456789ab.tmp").write_bytes(b"half")
    made(layout, tmp_path)
    assert content(tmp_path) == unbroken | others


def test_what_cannot_be_meant_is_refused(tmp_path):
    for rows in (0, -1):
        with pytest.raises(
            ValueError, match=f"rows_per_shard is {rows}; expected a whole number, 1 or more"
        ):
            prepare(numbered(2), tmp_path, rows_per_shard=rows)
    sentence = r"stored holds AddRings\(.*=3\) and AddRings\(.*=6\), which both set 'ring'"
    with pytest.raises(ValueError, match=sentence):
        prepare(numbered(2), tmp_path, stored=(AddRings(3), AddSVD(2), AddRings(6)))
    with pytest.raises(ValueError, match="stored holds 18; expected the course's encodings, such"):
        prepare(numbered(2), tmp_path, stored=(18,))
    with pytest.raises(ValueError, match="graph 0 holds the encoding 'in_degree'; expected graphs"):
        prepare(encode(numbered(2), AddDegrees()), tmp_path)
    without = numbered(2).graphs
    for graph in without:
        del graph.y
    with pytest.raises(ValueError, match="graph 0 has no target y; expected one"):
        prepare(dataset(without), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_of_an_edge_given_twice_the_first_is_kept(tmp_path):
    (graph,) = numbered(1).graphs
    graph.x = torch.zeros(3, 1, dtype=torch.int64)
    graph.edge_index = torch.tensor([[2, 0, 0, 2, 0, 1], [1, 1, 1, 1, 2, 1]])
    graph.edge_attr = torch.arange(6)[:, None]
    shards = prepare(dataset([graph]), tmp_path, stored=(), progress=False)
    found = read_shard(tmp_path / "train-00000.parquet")
    assert found.edge["edge_attr"].tolist() == [[0], [1], [4], [5]]
    (batch,) = ShardLoader(shards, "train", 1)
    assert_same(batch, collate([graph]))


def test_a_shard_knows_where_its_graphs_were(layout, tmp_path):
    made(layout, tmp_path)
    rows = [read_shard(tmp_path / name).graph["index"].tolist() for name in NAMES]
    molecules = pcqm4mv2(layout)
    for split in range(3):
        of_split = [row for part, name in zip(rows, NAMES, strict=True) for row in part
                    if name.startswith(("train", "val", "test")[split])]  # fmt: skip
        assert of_split == [i for i, each in enumerate(molecules.split) if each == split]


def test_nothing_is_said_of_a_folder_that_is_whole(layout, tmp_path):
    made(layout, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shards = made(layout, tmp_path)
    assert shards.split_sizes == {"train": 12, "val": 4, "test": 8}
