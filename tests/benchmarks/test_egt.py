"""What the benchmark compares is comparable; how fast is not a matter of tests."""

from dataclasses import replace

import torch

from benchmarks.egt import CONFIG, PaddedEGT, batches, parts
from gtcourse import collate, load_dataset
from gtcourse.encodings import AddSVD, encode
from gtcourse.models import EGT


def test_the_padded_version_is_the_same_function_with_the_same_gradients():
    molecules = sorted(load_dataset("molecules").train[:200], key=lambda graph: len(graph.x))
    batch = collate(encode([*molecules[:2], *molecules[-2:]], AddSVD(8)))
    model = EGT(replace(CONFIG, num_layers=3)).double()
    gradients = []
    for version in (model, PaddedEGT(model)):
        model.zero_grad()
        prediction = version(batch)
        (prediction - batch.y).square().sum().backward()
        gradients.append([prediction, *(p.grad for p in model.parameters())])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_a_batch_holds_molecules_of_mixed_size():
    for batch in batches(load_dataset("molecules")):
        assert batch.num_graphs == 64
        assert batch.pair_mask.numel() > 1.5 * int(batch.sizes.square().sum())


def test_every_part_of_a_layer_can_be_timed():
    molecules = encode(load_dataset("molecules").train[:3], AddSVD(8))
    model = EGT(replace(CONFIG, num_layers=2))
    for run in parts(model, collate(molecules)).values():
        run()
    assert all(p.grad is not None for p in model.layers[0].parameters())
