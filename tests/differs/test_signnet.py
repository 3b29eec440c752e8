"""The rows of SignNet: what is printed, what the authors' code computes, and what we compute."""

import numpy as np
import pytest
import torch
from torch import Tensor

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.encodings.spectral import laplacian, laplacian_eigenvectors
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import SignNet, SignNetConfig
from tests.graphs.small import DIAMOND, PATH_OF_FOUR

SMALL = SignNetConfig(k=2, d_model=8, phi_layers=2, phi_hidden=8, rho_layers=2, rho_hidden=8)


def small_batch():
    graphs = encode([DIAMOND, PATH_OF_FOUR], AddLaplacianEigenvectors(2, skip_first=True))
    batch = collate(graphs)
    vectors = batch.encodings["laplacian_eigenvectors"].double()
    flipped = vectors.clone()
    flipped[1] *= -1
    return batch, vectors, flipped


def test_in_training_signnet_is_sign_invariant_with_one_call_but_not_with_two():
    torch.manual_seed(0)
    model = SignNet(SMALL).double().train()
    batch, vectors, flipped = small_batch()
    for form, least, most in ((in_two_calls, 1e-3, 100), (in_one_call, 0, 1e-12)):
        moved = (form(model, vectors, batch) - form(model, flipped, batch)).abs()
        assert least <= moved.max() <= most


@torch.no_grad()
def test_padding_columns_add_twice_phi_of_zero_in_the_authors_code_but_nothing_in_ours():
    torch.manual_seed(0)
    model = SignNet(SMALL).double().eval()
    batch, vectors, _ = small_batch()
    wider = torch.cat([vectors, torch.zeros_like(vectors[:, :, :1])], dim=2)

    def added(counted):
        """What the last column, of zeros, adds to the sum over columns."""
        plus, minus = (model.phi(x, counted, batch.adjacency) for x in (wider, -wider))
        return (plus + minus).sum(dim=2) - (plus + minus)[:, :, :-1].sum(dim=2)

    every = batch.mask[:, :, None].expand_as(wider)
    of_zero = model.phi(wider[:, :, -1:], every[:, :, -1:], batch.adjacency)[:, :, 0]
    torch.testing.assert_close(added(every), 2 * of_zero)
    assert of_zero[batch.mask].abs().min() > 0
    real = every & (wider != 0).any(dim=1, keepdim=True)
    assert added(real).abs().max() < 1e-12
    ours = model.even(wider, batch.adjacency, batch.mask)
    torch.testing.assert_close(ours.sum(dim=2), ours[:, :, :-1].sum(dim=2))


@pytest.mark.parametrize("normalization", ["combinatorial", "symmetric"])
def test_eigenvectors_of_the_general_solver_need_not_be_orthogonal(normalization):
    skewed = 0
    for graph in load_dataset("molecules").test[:100]:
        A = collate([graph]).adjacency[0]
        L = laplacian(A, normalization)
        general = torch.from_numpy(np.linalg.eig(L.numpy())[1].real)
        skewed += bool(farthest_from_orthogonal(general) > 1e-6)
        assert (
            farthest_from_orthogonal(laplacian_eigenvectors(A[None], normalization)[1][0]) < 1e-12
        )
    assert skewed > 50


def farthest_from_orthogonal(vectors: Tensor) -> float:
    """The largest dot product of two columns, or deviation of a column's length from one."""
    return (vectors.T @ vectors - torch.eye(len(vectors))).abs().max().item()


def test_the_first_eigenvector_is_constant_and_skip_first_leaves_it_out():
    (kept,) = encode([PATH_OF_FOUR], AddLaplacianEigenvectors(3))
    (skipped,) = encode([PATH_OF_FOUR], AddLaplacianEigenvectors(2, skip_first=True))
    first = kept.laplacian_eigenvectors[:, 0]
    torch.testing.assert_close(first, torch.full((4,), 0.5))  # length one
    torch.testing.assert_close(skipped.laplacian_eigenvectors, kept.laplacian_eigenvectors[:, 1:])
    assert skipped.laplacian_eigenvectors[:, 0].abs().min() > 0.1


def in_two_calls(model: SignNet, vectors: Tensor, batch: GraphBatch) -> Tensor:
    """S14 as it is written: phi of the vectors, and phi of their negatives, one after the other."""
    real = batch.mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)
    h = model.phi(vectors, real, batch.adjacency) + model.phi(-vectors, real, batch.adjacency)
    return model.rho(h.flatten(2)[batch.mask])


def in_one_call(model: SignNet, vectors: Tensor, batch: GraphBatch) -> Tensor:
    return model.encode(vectors, batch.adjacency, batch.mask)[batch.mask]
