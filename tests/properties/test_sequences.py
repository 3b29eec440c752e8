"""The encoder-decoder: sequences of 1 to 40 tokens, where padding is a shorter sequence."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gtcourse.models import Transformer, TransformerConfig
from tests.models.small import in_use
from tests.properties.graphs import MAX_NODES, sizes
from tests.properties.models import assert_same, enough

WORDS = 11
POST = TransformerConfig(
    source_vocabulary=WORDS,
    target_vocabulary=WORDS,
    d_model=8,
    num_heads=2,
    d_hidden=12,
    num_encoder_layers=2,
    num_decoder_layers=2,
    dropout=0.3,
)
CONFIGS = {
    "post-LN": POST,
    "pre-LN": replace(POST, norm_first=True, activation="gelu"),
    "one head": replace(POST, num_heads=1, activation="elu"),
}
EVERY_CONFIG = pytest.mark.parametrize("config", CONFIGS)


@st.composite
def sentences(draw) -> tuple[list[Tensor], list[Tensor], torch.Generator]:
    """Sources and targets of any lengths, and a generator for whatever else is random."""
    count = draw(st.integers(1, 3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    lengths = [[draw(sizes(MAX_NODES)) for _ in range(count)] for _ in range(2)]
    words = [[torch.randint(WORDS, (n,), generator=generator) for n in some] for some in lengths]
    return *words, generator


@cache
def model_of(config: str) -> Transformer:
    torch.manual_seed(0)
    return in_use(Transformer(CONFIGS[config]))


def padded(sequences: list[Tensor], generator: torch.Generator, extra: int) -> tuple:
    """Other words stand behind the end of a shorter one, and the mask."""
    length = extra + max(map(len, sequences))
    tokens = torch.randint(WORDS, (len(sequences), length), generator=generator)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[: len(sequence)] = sequence
    return tokens, torch.arange(length) < torch.tensor([*map(len, sequences)])[:, None]


@EVERY_CONFIG
@enough(1 / len(CONFIGS))
@given(given=sentences(), extra=st.integers(0, 3))
@torch.no_grad()
def test_padding_other_sequences_and_later_words_do_not_change_a_prediction(config, given, extra):
    """Behind a target's end stand other words: the causal mask keeps what comes before as it is."""
    model = model_of(config)
    sources, targets, generator = given
    source, mask = padded(sources, generator, extra)
    target, _ = padded(targets, generator, extra)
    together = model(source, target, mask)
    for row, (one, other) in enumerate(zip(sources, targets, strict=True)):
        assert_same(together[row, : len(other)], model(one[None], other[None])[0], f"row {row}")


@EVERY_CONFIG
@enough(1 / len(CONFIGS))
@given(given=sentences(), extra=st.integers(0, 2), training=st.booleans())
def test_predictions_and_gradients_are_finite(config, given, extra, training):
    torch.manual_seed(0)
    model = Transformer(CONFIGS[config]).train(training)
    sources, targets, generator = given
    source, mask = padded(sources, generator, extra)
    target, _ = padded(targets, generator, extra)
    for half in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            logits, attention = model(source, target, mask, return_attention=True)
        assert bool(logits.isfinite().all())
        assert bool(attention.isfinite().all())
        loss = (logits.float() * torch.randn(logits.shape)).sum()
        for gradient in torch.autograd.grad(loss, [*model.parameters()]):
            assert bool(gradient.isfinite().all())
