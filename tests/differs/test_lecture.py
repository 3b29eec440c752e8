"""The rows of the lecture and the Transformer: what is printed, and what we compute."""

import torch
from torch import nn

from gtcourse import collate
from gtcourse.models import BagTransformer, BagTransformerConfig, MultiHeadAttention
from gtcourse.models.graphormer import Graphormer
from gtcourse.training.records import recorded
from tests.differs.changes import edge_encoding, scale_queries
from tests.encodings.graphs import of_edges
from tests.models.graphormers import SMALL, encoded, large_weights


def test_the_lost_scale_is_that_of_the_head_and_changes_the_result():
    torch.manual_seed(0)
    model = BagTransformer(BagTransformerConfig(d_model=16, num_heads=4))
    layer, x = model.encoder.layers[0].attention, torch.randn(1, 5, 16)
    q, k, v = (layer.split_heads(p(x)) for p in (layer.query, layer.key, layer.value))
    plain = layer.output(layer.join_heads((q @ k.mT).softmax(-1) @ v))
    before = layer(x)
    unscaled(model)
    torch.testing.assert_close(layer(x), plain)
    assert (before - plain).abs().max() > 1e-3


def test_a_shift_of_the_keys_changes_nothing_and_one_of_the_queries_does():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(16, 4).double(), torch.randn(2, 5, 16).double()
    before = layer(x)
    layer.key.bias.data.normal_()
    torch.testing.assert_close(layer(x), before)
    layer.query.bias.data.normal_()
    assert (layer(x) - before).abs().max() > 1e-3


def test_the_sum_is_the_mean_times_the_length_of_the_path():
    chain = of_edges(4, [(0, 1), (1, 2), (2, 3)])
    chain.x = torch.zeros(4, 1).long()
    chain.edge_attr = torch.tensor([1, 2, 3] * 2)[:, None]
    model = large_weights(Graphormer(SMALL))
    encoding, batch = edge_encoding(model), collate(encoded(chain))
    mean = encoding(batch)
    sum_along_paths(model)
    total, table = encoding(batch), encoding.table()
    torch.testing.assert_close(total[0, :, 0, 3], table[0, 1] + table[1, 2] + table[2, 3])
    torch.testing.assert_close(total[0, :, 0, 3], 3 * mean[0, :, 0, 3])
    assert total[0, :, 0, 0].abs().max() == 0


def test_the_recorded_warm_up_decides_for_post_ln_alone():
    found = warm_up()
    runs = recorded("transformer/warm-up")
    assert len(runs) == 3
    assert found["plain"] > found["warm"] == found["pre"] == 0


def unscaled(model: nn.Module) -> None:
    """Logits as the later slides have them, without the root of d_k."""
    config = model.config
    scale_queries(model, (config.d_model // config.num_heads) ** 0.5)


def sum_along_paths(model: nn.Module) -> None:
    """S11: the sum along a path, where Eq. 7 has the mean."""
    edge_encoding(model).reduce = "sum"


def warm_up() -> dict:
    """Recorded seeds of a toy that end with a training loss above 1."""
    runs = recorded("transformer/warm-up")
    return {
        name: sum(run.result[kind] > 1 for run in runs)
        for name, kind in (("plain", "post-LN"), ("warm", "post-LN, warm-up"), ("pre", "pre-LN"))
    }
