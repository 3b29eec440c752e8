"""Which encodings tell what apart: the table of chapter 04 is what these tests compute."""

import json

from experiments.encoding_table import PATH, table

# A skip of 2 closes triangles with the ring's edges, a skip of 3 does not. Of the two pairs of
# nodes three steps apart, one lies on a ring: 2/8 after three steps there, 1/8 on the path.
CLAIMS = {
    "ring of 6, two triangles": ("1-WL colours", "shortest paths", "RWSE"),
    "decalin, bicyclopentyl": ("1-WL colours", "shortest paths", "RWSE"),
    "CSL: 41 nodes, skips 2 and 3": ("1-WL colours", "rings", "random walks"),
    "3 steps apart in a ring of 6, in a path of 6": ("shortest paths", "rings", "random walks"),
    "middle edge of the diamond, of the path of 4": ("shortest paths", "random walks"),
    "two graphs of one Laplacian spectrum": ("Laplacian eigenvalues", "Laplacian projectors"),
}
"""Pairs that the first encoding cannot tell apart, and the others can."""


def test_the_stored_table_is_the_computed_one_and_its_rows_are_as_claimed():
    computed = table()
    assert json.loads(PATH.read_text()) == computed
    cells = {row["pair"]: row["cells"] for row in computed["rows"]}
    for pair, (alike, *apart) in CLAIMS.items():
        assert not cells[pair][alike]
        assert all(cells[pair][encoding] for encoding in apart)
