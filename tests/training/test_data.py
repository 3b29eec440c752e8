"""What a run is trained on: the data that a name or a path means, and its loaders."""

import pytest

from gtcourse.encodings import AddRings, AddShortestPaths
from gtcourse.graphs import GraphDataset
from gtcourse.prepare import prepare
from gtcourse.recipes import get_recipe
from gtcourse.training.run import data_for, first, loaders
from tests.graphs.test_prepare import assert_same
from tests.training.tiny_data import tiny, tiny_zinc_file

RECIPE = get_recipe("csa-rings/zinc").at(batch_size=4)
RINGS = AddRings(18)


def prepared(folder, stored=(RINGS,), data: GraphDataset | None = None):
    data = tiny("zinc", 12) if data is None else data
    return prepare(data, folder / "graphs", stored=stored, rows_per_part=5, progress=False)


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


def test_a_path_is_a_graph_file_or_a_prepared_folder(tmp_path):
    folder = prepared(tmp_path)
    found = data_for(RECIPE, str(tmp_path / "graphs"))
    assert (found.columns, found.split_sizes) == (folder.columns, folder.split_sizes)
    assert len(data_for(RECIPE, str(tiny_zinc_file(tmp_path)))) == 18


def test_a_cut_keeps_the_first_graphs_and_one_of_each_split(tmp_path):
    data = tiny("zinc", 6)
    cut = first(data, 2)
    assert cut.split_sizes == {"train": 2, "val": 1, "test": 1}
    assert cut.train == data.train[:2]
    assert first(prepared(tmp_path, data=data), 2).split_sizes == cut.split_sizes


@pytest.mark.parametrize("stored", [(RINGS,), (RINGS, *RECIPE.transforms[:1])], ids=len)
@pytest.mark.parametrize("few_shapes", [False, True])
def test_batches_of_a_folder_are_those_of_its_graphs(tmp_path, stored, few_shapes):
    """What is stored is read, the rest of the recipe's encodings computed."""
    assert len(RECIPE.transforms) > 1
    memory = loaded(RECIPE, tiny("zinc", 12), few_shapes=few_shapes)
    folder = prepared(tmp_path, {repr(t): t for t in stored}.values())
    mapped = loaded(RECIPE, folder, few_shapes=few_shapes)
    for loader, other in zip(memory, mapped, strict=True):
        for batch, expected in zip(other, loader, strict=True):
            assert_same(batch, expected)


def test_a_folder_without_what_has_to_be_stored_is_refused(tmp_path):
    bare = prepared(tmp_path, stored=(AddRings(3), AddShortestPaths()))
    sentence = (
        r"holds AddRings\(max_size=3\), AddShortestPaths\(max_distance=None\); csa-rings/zinc "
        r"reads AddRings\(max_size=18\) as well, which has to be stored: expected a folder that"
    )
    with pytest.raises(ValueError, match=sentence):
        loaded(RECIPE, bare)


def test_a_split_without_graphs_is_refused(tmp_path):
    data = tiny("zinc", 6)
    data = GraphDataset("small", "made for a test", data.graphs, data.split.clamp(max=1))
    with pytest.raises(ValueError, match=r"the split 'test' of .* has no graphs; exp"):
        loaded(RECIPE, prepared(tmp_path, data=data))
