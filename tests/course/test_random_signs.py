"""What the recorders report of random signs, for models of which the answers are known."""

import math

import pytest
import torch
from torch import nn

from experiments.chapter05 import random_signs
from experiments.cycles_signs import under_random_signs
from gtcourse import DenseLoader
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs.molecules import zinc_data
from gtcourse.train.tasks import graph_multiclass


class Answers(nn.Module):
    """Answers yes to each graph, or yes where the first node has a positive entry."""

    def __init__(self, *, reads_signs: bool):
        super().__init__()
        self.reads_signs = reads_signs
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, batch):
        entry = batch.encodings["laplacian_eigenvectors"][:, 0, 0]
        yes = entry.sign() if self.reads_signs else torch.ones_like(entry)
        return self.scale * torch.stack([-yes, yes], dim=1)


@pytest.fixture
def graphs():
    graphs = encode(
        [zinc_data(smiles) for smiles in ("CCO", "CCCN")],
        AddLaplacianEigenvectors(1, skip_first=True),
    )
    for label, graph in enumerate(graphs):
        graph.y = torch.tensor([label])
    return graphs


def test_a_model_that_ignores_signs_gives_one_answer(graphs):
    assert under_random_signs(Answers(reads_signs=False), graphs) == {
        "accuracy_random_signs": 0.5,
        "graphs_with_both_answers": 0.0,
        "mean_range_of_chances": 0.0,
    }


def test_a_model_that_reads_a_sign_gives_both_answers(graphs):
    found = under_random_signs(Answers(reads_signs=True), graphs)
    assert found["graphs_with_both_answers"] == 1.0
    assert found["mean_range_of_chances"] == pytest.approx(math.tanh(1), abs=1e-6)
    assert 0.3 < found["accuracy_random_signs"] < 0.7  # of 64 coins


def test_random_signs_do_not_change_the_accuracy_of_a_model_that_ignores_them(graphs):
    loader = DenseLoader(graphs, batch_size=1)
    task = graph_multiclass(2)
    found = random_signs(task, Answers(reads_signs=False), loader)
    assert found == {"test_accuracy_random_signs": 0.5}


def test_the_signs_differ_from_draw_to_draw(graphs):
    loader = DenseLoader(graphs[:1], batch_size=1)
    found = random_signs(graph_multiclass(2), Answers(reads_signs=True), loader)
    assert 0 < found["test_accuracy_random_signs"] < 1  # one draw gives 0 or 1
