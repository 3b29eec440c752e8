"""Digests are stored with runs and prepared folders, so they must stay what they are."""

from gtcourse.encodings.prepare import content_of
from gtcourse.graphs import DenseLoader
from tests.graphs.small import three_chains


def test_digests_do_not_change_between_releases():
    dataset = three_chains()
    found = [dataset.digest()[:16], content_of(dataset)[:16], DenseLoader(dataset, 2).digest()[:16]]
    assert found == ["0d98bd3f4e3c65f3", "8b3306c1e4aabcee", "563679faceeb2796"]
