"""What a run is trained on: the data that a name or a path means, and its loaders."""

import pytest
import torch

from gtcourse.encodings import AddRings, AddShortestPaths
from gtcourse.graphs import GraphDataset
from gtcourse.recipes import get_recipe
from gtcourse.shards import open_shards, prepare
from gtcourse.training.data import data_for, first, loaders
from tests.shards.small import assert_same
from tests.training.tiny_data import tiny, tiny_zinc_file

RECIPE = get_recipe("csa-rings/zinc").at(batch_size=4)
RINGS = AddRings(18)


def sharded(folder, stored=(RINGS,), data: GraphDataset | None = None):
    data = tiny("zinc", 12) if data is None else data
    return prepare(data, folder / "shards", stored=stored, rows_per_shard=5, progress=False)


def loaded(recipe, data, buckets=1, few_shapes=False):
    return loaders(recipe, data, seed=0, buckets=buckets, few_shapes=few_shapes)


@pytest.mark.parametrize(
    ("recipe", "source", "sentence"),
    [
        ("csa/zinc", "nowhere.npz", "data is 'nowhere.npz'; expected 'embedded', 'real', the path"),
        ("csa-small/pcqm4mv2", "embedded", "nothing embedded stands in for 'pcqm4mv2'; expected"),
    ],
)
def test_data_that_is_not_there_is_refused(recipe, source, sentence):
    with pytest.raises(ValueError, match=sentence):
        data_for(get_recipe(recipe), source)


def test_a_path_is_a_graph_file_or_a_folder_of_shards(tmp_path):
    made = sharded(tmp_path)
    assert data_for(RECIPE, str(tmp_path / "shards")) == made
    assert len(data_for(RECIPE, str(tiny_zinc_file(tmp_path)))) == 18


def test_shards_that_are_not_finished_are_refused(tmp_path):
    made = sharded(tmp_path)
    (made.folder / "train-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"train-00001.parquet is missing; expected what was wri"):
        data_for(RECIPE, str(made.folder))


def test_a_cut_keeps_the_first_graphs_and_one_of_each_split(tmp_path):
    data = tiny("zinc", 6)
    cut = first(data, 2)
    assert cut.split_sizes == {"train": 2, "val": 1, "test": 1}
    assert cut.train == data.train[:2]
    assert first(sharded(tmp_path, data=data), 2).split_sizes == cut.split_sizes


@pytest.mark.parametrize("stored", [(RINGS,), (RINGS, *RECIPE.transforms[:1])], ids=len)
def test_batches_of_shards_are_those_of_the_graphs_they_were_made_of(tmp_path, stored):
    """What is stored in them is read, the rest of the recipe's encodings computed."""
    assert len(RECIPE.transforms) > 1
    train, *others = loaded(RECIPE, tiny("zinc", 12))
    streamed, *streams = loaded(RECIPE, sharded(tmp_path, {repr(t): t for t in stored}.values()))
    for loader, stream in zip(others, streams, strict=True):
        for batch, expected in zip(stream, loader, strict=True):
            assert_same(batch, expected)
    assert len(streamed) == len(train)
    batches = [torch.cat([batch.y for batch in loader]) for loader in (streamed, train, streamed)]
    assert batches[0].sort().values.equal(batches[1].sort().values)
    assert not batches[0].equal(batches[2])  # another epoch, another order


def test_shards_without_what_has_to_be_stored_are_refused(tmp_path):
    bare = sharded(tmp_path, stored=(AddRings(3), AddShortestPaths()))
    sentence = (
        r"hold AddRings\(max_size=3\), AddShortestPaths\(max_distance=None\); csa-rings/zinc reads "
        r"AddRings\(max_size=18\) as well, which has to be stored: expected shards"
    )
    with pytest.raises(ValueError, match=sentence):
        loaded(RECIPE, bare)


def test_shards_are_not_compiled_for_few_shapes(tmp_path):
    with pytest.raises(ValueError, match="as wide as their largest graph; expected no compilation"):
        loaded(RECIPE, sharded(tmp_path), few_shapes=True)


def test_a_split_without_graphs_is_refused(tmp_path):
    data = tiny("zinc", 6)
    data = GraphDataset("small", "made for a test", data.graphs, data.split.clamp(max=1))
    made = sharded(tmp_path, data=data)
    assert open_shards(made.folder).split_sizes == {"train": 6, "val": 12, "test": 0}
    with pytest.raises(ValueError, match="holds no graphs for 'test'; expected some"):
        loaded(RECIPE, made)
