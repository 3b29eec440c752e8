import pytest

from gtcourse.encodings import (
    AddRings,
    AddSVD,
    computed_on_device,
    encode_batch,
)
from gtcourse.graphs import collate
from tests.graphs.random_graphs import graph_of


@pytest.mark.parametrize("transform", [AddRings(6), AddSVD(2), None])
def test_what_takes_a_search_or_a_decomposition_is_to_be_stored(transform):
    assert not computed_on_device(transform)
    with pytest.raises(ValueError, match="is not computed for a whole batch; expected it"):
        encode_batch(collate([graph_of(3, [(0, 1)])]), transform)
