import torch

from gtcourse.models.embeddings import flip_nodes, flip_pairs, flip_signs


def drawn(flip, width: int, graphs: int = 2000):
    """Each graph's signs, ``[B, width]``, of three nodes that must agree on them."""
    vectors = torch.rand(graphs, 3, width, generator=torch.Generator().manual_seed(0)) + 0.5
    torch.manual_seed(1)
    signs = flip(vectors) / vectors
    assert ((signs.abs() - 1).abs() < 1e-6).all()
    assert (signs.round() == signs.round()[:, :1]).all()
    return signs[:, 0].round()


def test_each_eigenvector_of_each_graph_has_its_own_sign_with_equal_chances():
    signs = drawn(flip_signs, 3)
    assert len(signs.unique(dim=0)) == 8
    assert signs.mean(dim=0).abs().max() < 0.1
    assert (signs.T @ signs / len(signs) - torch.eye(3)).abs().max() < 0.1


def test_both_members_of_a_pair_of_singular_vectors_flip_together():
    signs = drawn(flip_pairs, 4)
    assert torch.equal(signs[:, :2], signs[:, 2:])
    assert len(signs.unique(dim=0)) == 4


def test_a_node_flip_changes_all_that_a_node_has_and_with_it_the_products():
    svd = torch.rand(500, 3, 4, generator=torch.Generator().manual_seed(0)) + 0.5
    torch.manual_seed(1)
    flipped = flip_nodes(svd)
    signs = (flipped / svd).round()
    assert (signs == signs[..., :1]).all()
    assert len(signs[..., 0].unique(dim=0)) == 8
    products, before = (s[..., :2] @ s[..., 2:].mT for s in (flipped, svd))
    torch.testing.assert_close(products.abs(), before)
    assert not torch.allclose(products, before)
    paired = flip_pairs(svd)
    torch.testing.assert_close(paired[..., :2] @ paired[..., 2:].mT, before)
