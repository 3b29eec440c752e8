import math

import pytest
import torch
from torch import nn

from gtcourse.models import (
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    sinusoidal_encoding,
)
from gtcourse.models.attention import FeedForward
from gtcourse.models.transformer import DecoderLayer, EncoderLayer, TokenEmbedding
from gtcourse.train.loop import count_parameters
from tests.loops.attention import encoder_layer_loop
from tests.models.small import large_weights


def copy_to_torch(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_feed_forward(ours: FeedForward, theirs: nn.Module) -> None:
    theirs.linear1.load_state_dict(ours[0].state_dict())
    theirs.linear2.load_state_dict(ours[3].state_dict())


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer_equals_loop(norm_first):
    layer = large_weights(EncoderLayer(8, 2, 6, norm_first=norm_first))
    x = torch.randn(5, 8, dtype=torch.float64)
    expected = encoder_layer_loop(layer, x)
    torch.testing.assert_close(layer(x[None])[0], expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer_equals_torch_with_equal_weights(norm_first):
    ours = large_weights(DecoderLayer(12, 3, 20, norm_first=norm_first))
    theirs = nn.TransformerDecoderLayer(
        12, 3, 20, 0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    copy_to_torch(ours.attention, theirs.self_attn)
    copy_to_torch(ours.cross_attention, theirs.multihead_attn)
    copy_feed_forward(ours.feed_forward, theirs)
    theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_attention_norm.state_dict())
    theirs.norm3.load_state_dict(ours.feed_forward_norm.state_dict())
    x = torch.randn(2, 4, 12).double()
    memory = torch.randn(2, 6, 12).double()
    memory_mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    expected = theirs(x, memory, tgt_mask=~causal_mask(4)[0], memory_key_padding_mask=~memory_mask)
    output = ours(x, memory, mask=causal_mask(4), memory_mask=memory_mask)
    torch.testing.assert_close(output, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm_first", [False, True])
def test_only_pre_ln_stacks_end_with_a_norm(norm_first):
    arguments = {"d_model": 8, "num_heads": 2, "d_hidden": 8, "norm_first": norm_first}
    for stack in (TransformerEncoder(2, **arguments), TransformerDecoder(2, **arguments)):
        assert isinstance(stack.norm, nn.LayerNorm if norm_first else nn.Identity)


def test_base_model_has_the_papers_parameter_count():
    """Table 3 says 65 million; with its one matrix for both embeddings and the output, and 37,000
    word pieces, the layers of Section 3 come to 63.1 million."""
    attention = 4 * (512 * 512 + 512)
    feed_forward = 2 * 512 * 2048 + 2048 + 512
    norm = 2 * 512
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    expected = 6 * (encoder_layer + decoder_layer) + 37_000 * 512
    assert expected == 63_082_496
    # Ours has three matrices where the paper has one, and a bias of the output.
    model = Transformer(TransformerConfig(37_000, 37_000))
    assert count_parameters(model) == expected + 2 * 37_000 * 512 + 37_000


def test_token_embedding_is_the_scaled_word_plus_its_position():
    embedding = TokenEmbedding(7, 16, 0.0)
    tokens = torch.tensor([[3, 0, 3]])
    words = [[4.0 * number for number in embedding.embedding.weight[t].tolist()] for t in [3, 0, 3]]
    expected = torch.tensor(words) + sinusoidal_encoding(3, 16)
    torch.testing.assert_close(embedding(tokens)[0], expected)


def test_unknown_tokens_give_nan_in_compiled_models():
    embedding = TokenEmbedding(5, 4, dropout=0.0)
    compiled = torch.compile(embedding, backend="eager")
    tokens = torch.tensor([[4, 5, -1], [0, 1, 2]])
    found = compiled(tokens)
    unknown = torch.tensor([[False, True, True], [False, False, False]])
    assert torch.equal(found.isnan().all(dim=-1), unknown)
    assert torch.equal(found[1], embedding(tokens[1:])[0])


def test_sinusoidal_encoding_equals_the_formula():
    encoding = sinusoidal_encoding(50, 7)
    for position in range(50):
        for i in range(7):
            angle = position / 10000 ** (2 * (i // 2) / 7)
            expected = math.sin(angle) if i % 2 == 0 else math.cos(angle)
            assert encoding[position, i] == pytest.approx(expected, abs=1e-6)
