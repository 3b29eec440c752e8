import torch

from gtcourse.encodings.signs import flip_pairs, flip_signs


def drawn(flip, width: int, graphs: int = 2000):
    """Each graph's signs, ``[B, width]``, of three nodes that must agree on them."""
    vectors = torch.rand(graphs, 3, width, generator=torch.Generator().manual_seed(0)) + 0.5
    signs = flip(vectors, torch.Generator().manual_seed(1)) / vectors
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


def test_a_generator_repeats_the_signs():
    vectors = torch.randn(5, 4, 6)
    first, again = (flip_signs(vectors, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, flip_signs(vectors, torch.Generator().manual_seed(8)))
