"""The rows of the lecture and the Transformer: what is printed, and what we compute."""

import torch

from gtcourse import collate
from gtcourse.course.records import recorded
from gtcourse.encodings.spectral import laplacian
from gtcourse.models import BagTransformer, BagTransformerConfig, MultiHeadAttention
from gtcourse.models.graphormer import Graphormer
from tests.models.small import GRAPHORMER as SMALL
from tests.models.small import chain, edge_encoding, encoded, large_weights, scale_queries
from tools.differs import read


def test_the_lectures_missing_scale_is_the_root_of_the_head_width():
    torch.manual_seed(0)
    model = BagTransformer(BagTransformerConfig(d_model=16, num_heads=4))
    layer = model.encoder.layers[0].attention
    x = torch.randn(1, 5, 16)
    q, k, v = (layer.split_heads(p(x)) for p in (layer.query, layer.key, layer.value))
    plain = layer.output(layer.join_heads((q @ k.mT).softmax(-1) @ v))
    before = layer(x)
    scale_queries(model, 4**0.5)  # a head is 4 wide
    torch.testing.assert_close(layer(x), plain)
    assert (before - plain).abs().max() > 1e-3


def test_a_bias_of_the_queries_changes_the_output_but_a_bias_of_the_keys_does_not():
    torch.manual_seed(0)
    layer = MultiHeadAttention(16, 4).double()
    x = torch.randn(2, 5, 16).double()
    before = layer(x)
    layer.key.bias.data.normal_()
    torch.testing.assert_close(layer(x), before)
    layer.query.bias.data.normal_()
    assert (layer(x) - before).abs().max() > 1e-3


def test_the_sum_of_edge_terms_is_the_mean_times_the_path_length():
    encoding = edge_encoding(large_weights(Graphormer(SMALL)))
    batch = collate(encoded(chain(1, 2, 3)))
    mean = encoding(batch)
    encoding.reduce = "sum"
    total = encoding(batch)
    table = encoding.table()
    torch.testing.assert_close(total[0, :, 0, 3], table[0, 1] + table[1, 2] + table[2, 3])
    torch.testing.assert_close(total[0, :, 0, 3], 3 * mean[0, :, 0, 3])
    assert total[0, :, 0, 0].abs().max() == 0


def test_after_600_steps_only_post_ln_without_warm_up_still_has_a_high_loss():
    """The training loss on a toy task is still above 1; later all three seeds learn it."""
    runs = recorded("transformer/warm-up")
    assert len(runs) == 3
    losses = [next(row for row in run.curve if row["step"] == 600) for run in runs]
    plain, warm, pre = (
        sum(row[kind] > 1 for row in losses) for kind in ("post-LN", "post-LN, warm-up", "pre-LN")
    )
    assert plain > warm == pre == 0
    assert all(run.curve[-1]["post-LN"] < 0.1 for run in runs)


def test_pre_ln_needs_the_fewest_steps_and_the_page_says_how_many():
    runs = recorded("transformer/warm-up")
    steps = {
        kind: [next(row["step"] for row in run.curve if row[kind] < 0.1) for run in runs]
        for kind in ("pre-LN", "post-LN, warm-up", "post-LN")
    }
    pre, warm, plain = (f"{min(found)} to {max(found)}" for found in steps.values())
    (row,) = (row for row in read("lecture")["row"] if row["id"] == "warm-up")
    assert f"after {pre} steps with pre-LN, after {warm} with post-LN and warm-up" in row["why"]
    assert f"after {plain} with post-LN without it" in row["why"]
    assert max(steps["pre-LN"]) < min(steps["post-LN, warm-up"] + steps["post-LN"])


def test_zero_is_an_eigenvalue_once_for_each_component_in_one_laplacian_but_not_in_the_other():
    A = torch.zeros(3, 3, dtype=torch.bool)
    A[0, 1] = A[1, 0] = True  # node 2 has no edge: two components
    zeros = {
        form: int((torch.linalg.eigvalsh(laplacian(A, form)).abs() < 1e-9).sum())
        for form in ("combinatorial", "symmetric")
    }
    assert zeros == {"combinatorial": 2, "symmetric": 1}
    assert laplacian(A, "symmetric")[2].tolist() == [0, 0, 1]
