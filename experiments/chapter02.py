"""Chapter 02: reading a molecule's SMILES and writing its atoms backwards.

python -m experiments.chapter02 smiles-parts --seed 0     with and without some of its parts
python -m experiments.chapter02 smiles-learned --seed 0     the same with learned positions
python -m experiments.chapter02 smiles-bag --seed 0     the same without positions, on all splits
python -m experiments.chapter02 smiles-attention --seed 0     what its cross-attention reads
python -m experiments.chapter02 warm-up --seed 0     post-LN without and with warm-up, and pre-LN
"""

import argparse
import math
import re
import time
from contextlib import AbstractContextManager
from dataclasses import asdict
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

from experiments.runs import records_of, store
from gtcourse import device, load_dataset
from gtcourse.models import Transformer, TransformerConfig, TransformerEncoder, sinusoidal_encoding
from gtcourse.models.transformer import TokenEmbedding
from gtcourse.runs.record import Record
from gtcourse.train.loop import count_parameters

PAD = 0
BEGIN = 1
END = 2
SYMBOL = re.compile(r"\[[^\]]+\]|Br|Cl|.")
MAX_ATOMS = 16
BATCH_SIZE = 64
MAX_LR = 3e-3
BETAS = (0.9, 0.98)
MAX_LENGTH = 64
"""Positions with a learned vector; no sequence of these molecules is as long."""

DEPTH = 10
DIGITS = 10
LENGTH = 8
WIDTH = 32
DEEP_LR = 2e-3
WARM_UP = 300


def record_parts(seed: int, steps: int) -> Record:
    def run(fitted, splits):
        model, curve = fitted()
        changes = {"pre-LN": {"norm_first": True}, "one encoder block": {"num_encoder_layers": 1}}
        models = {"the chapter's model": model}
        models |= {name: fitted(**change)[0] for name, change in changes.items()}
        result = {name: exact_match(model, *splits["test"]) for name, model in models.items()}
        with without_positions():
            result["without positions"] = exact_match(fitted()[0], *splits["test"])
        return model, curve, result

    return record("smiles-parts", seed, steps, run)


def record_bag(seed: int, steps: int) -> Record:
    """The model that ``smiles-parts`` trains as "without positions", on all three splits."""

    def run(fitted, splits):
        with without_positions():
            model, curve = fitted()
            exact = {f"{name}_exact": exact_match(model, *splits[name]) for name in splits}
        return model, curve, exact

    return record("smiles-bag", seed, steps, run)


def without_positions() -> AbstractContextManager:
    """Zeros in place of the encoding of positions, in training and in evaluation."""
    return patch("gtcourse.models.transformer.sinusoidal_encoding", torch.zeros)


class LearnedPositions(TokenEmbedding):
    """Word vectors plus a learned vector for each position, instead of a sinusoidal one."""

    def __init__(self, vocabulary: int, d_model: int, dropout: float):
        super().__init__(vocabulary, d_model, dropout)
        self.positions = nn.Embedding(MAX_LENGTH, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(words + self.positions.weight[: tokens.shape[1]])


def record_learned_positions(seed: int, steps: int) -> Record:
    def run(fitted, splits):
        with patch("gtcourse.models.transformer.TokenEmbedding", LearnedPositions):
            model, curve = fitted()
        return model, curve, {"test_exact": exact_match(model, *splits["test"])}

    return record("smiles-learned", seed, steps, run)


def record_attention(seed: int, steps: int) -> Record:
    def run(fitted, splits):
        model, curve = fitted()
        result = {"test_exact": exact_match(model, *splits["test"])}
        return model, curve, result | attention_on_atoms(model, *splits["test"])

    return record("smiles-attention", seed, steps, run)


def record(name: str, seed: int, steps: int, run) -> Record:
    dataset = load_dataset("molecules")
    splits, words = sequences(dataset)

    def fitted(**changes):
        torch.manual_seed(seed)
        layers = {"num_encoder_layers": 2, "num_decoder_layers": 1} | changes
        sizes = {"d_model": 64, "num_heads": 4, "d_hidden": 128, "dropout": 0.0}
        model = Transformer(TransformerConfig(words, words, **sizes, **layers)).to(device())
        return model, train(model, splits, steps, seed)

    start = time.perf_counter()
    model, curve, result = run(fitted, splits)
    return Record(
        name=f"transformer/{name}",
        config={
            "model": asdict(model.config),
            "max_atoms": MAX_ATOMS,
            "steps": steps,
            "batch_size": BATCH_SIZE,
            "optimizer": "Adam",
            "betas": BETAS,
            "schedule": "OneCycleLR, 10 % warm-up",
            "max_lr": MAX_LR,
            "grad_clip": 1.0,
        },
        data=dataset.provenance | {"sizes": {name: len(s) for name, (s, _) in splits.items()}},
        seed=seed,
        seconds=round(time.perf_counter() - start, 1),
        parameters=count_parameters(model),
        curve=curve,
        result=result,
        command=f"python -m experiments.chapter02 {name} --seed {seed} --steps {steps}",
    )


def sequences(dataset) -> tuple[dict[str, tuple[Tensor, Tensor]], int]:
    """Sources and targets ``[G, N]``, ``[G, M]`` by split, padded, and the number of symbols."""
    symbols = sorted({s for graph in dataset.train for s in SYMBOL.findall(graph.smiles)})
    number = {symbol: i + 3 for i, symbol in enumerate(symbols)}

    def encode(graphs) -> tuple[Tensor, Tensor]:
        texts = [SYMBOL.findall(g.smiles) for g in graphs if g.num_nodes <= MAX_ATOMS]
        texts = [text for text in texts if set(text) <= set(symbols)]
        atoms = [[s for s in reversed(text) if s[0] == "[" or s[0].isalpha()] for text in texts]
        sources = [[*(number[s] for s in text), END] for text in texts]
        return padded(sources), padded([[BEGIN, *(number[s] for s in a), END] for a in atoms])

    splits = {name: encode(dataset[name]) for name in ("train", "val", "test")}
    return splits, len(symbols) + 3


def padded(rows: list[list[int]]) -> Tensor:
    rows = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device())


def train(model: nn.Module, splits: dict, steps: int, seed: int) -> list[dict]:
    optimizer = Adam(model.parameters(), lr=MAX_LR, betas=BETAS)
    schedule = OneCycleLR(optimizer, MAX_LR, total_steps=steps, pct_start=0.1)
    generator = torch.Generator().manual_seed(seed)
    sources, targets = splits["train"]
    curve = []
    for step in range(1, steps + 1):
        chosen = torch.randint(len(sources), (BATCH_SIZE,), generator=generator)
        source = trimmed(sources[chosen])
        target = trimmed(targets[chosen])
        logits = model(source, target[:, :-1], source != PAD)
        loss = F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % (steps // 10) == 0:
            exact = exact_match(model, *splits["val"])
            curve.append({"step": step, "train_loss": loss.item(), "val_exact": exact})
    return curve


def trimmed(tokens: Tensor) -> Tensor:
    return tokens[:, : int((tokens != PAD).sum(1).max())]


@torch.no_grad()
def exact_match(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """Greedy decoding; the fraction of targets that are written without a mistake."""
    written = torch.full((len(source), 1), BEGIN, device=source.device)
    for _ in range(target.shape[1] - 1):
        logits = model(source, written, source != PAD)[:, -1]
        written = torch.cat([written, logits.argmax(-1, keepdim=True)], dim=1)
    return ((written == target) | (target == PAD)).all(1).float().mean().item()


@torch.no_grad()
def attention_on_atoms(model: nn.Module, source: Tensor, target: Tensor) -> dict[str, float]:
    """Where the decoder's cross-attention lies while it is shown the right answer.

    Returns three means over all written atoms: the weight on the atom that is being written, the
    weight that it would have if all symbols had the same, and the share of steps in which the mean
    position of the weight moves to the left.
    """
    mask = source != PAD
    _, attention = model(source, target[:, :-1], mask, return_attention=True)
    attention = attention[:, -1].mean(dim=1)  # [G, M, N], of the last block, over the heads
    is_atom = torch.isin(source, target[target > END])  # [G, N]
    on_atom = []
    uniform = []
    left = []
    for weights, symbols, atoms in zip(attention, mask, is_atom, strict=True):
        positions = atoms.nonzero()[:, 0].flip(0)  # in the order of writing
        length = int(symbols.sum())
        weights = weights[: len(positions), :length]  # [atoms, symbols]
        on_atom.append(weights.gather(1, positions[:, None]).flatten())
        uniform.append(torch.full((len(positions),), 1 / length))
        mean_position = weights @ torch.arange(length, dtype=weights.dtype, device=weights.device)
        left.append((mean_position.diff() < 0).float())
    means = [torch.cat(values).mean().item() for values in (on_atom, uniform, left)]
    return dict(zip(("weight_on_atom", "uniform_weight", "moves_left"), means, strict=True))


def record_warm_up(seed: int, steps: int) -> Record:
    start = time.perf_counter()
    runs = {
        "post-LN": shift_losses(seed, steps, norm_first=False, warm_up=1),
        "post-LN, warm-up": shift_losses(seed, steps, norm_first=False, warm_up=WARM_UP),
        "pre-LN": shift_losses(seed, steps, norm_first=True, warm_up=1),
    }
    return Record(
        name="transformer/warm-up",
        config={
            "layers": DEPTH,
            "d_model": WIDTH,
            "num_heads": 2,
            "d_hidden": 2 * WIDTH,
            "steps": steps,
            "batch_size": 32,
            "optimizer": "Adam",
            "lr": DEEP_LR,
            "warm_up": WARM_UP,
        },
        data={
            "name": "digits",
            "source": f"generated: {LENGTH} random digits; at each place, name the digit before it",
            "checksum": "generated from the seed",
            "sizes": {"train": 32 * steps},
        },
        seed=seed,
        seconds=round(time.perf_counter() - start, 1),
        parameters=count_parameters(shift_model(norm_first=True)),
        curve=[
            {"step": step, **{name: losses[step - 1] for name, losses in runs.items()}}
            for step in range(10, steps + 1, 10)
        ],
        result={name: sum(losses[-20:]) / 20 for name, losses in runs.items()},
        command=f"python -m experiments.chapter02 warm-up --seed {seed} --steps {steps}",
    )


def shift_model(*, norm_first: bool) -> nn.ModuleDict:
    encoder = TransformerEncoder(
        DEPTH, d_model=WIDTH, num_heads=2, d_hidden=2 * WIDTH, norm_first=norm_first
    )
    ends = {"embedding": nn.Embedding(DIGITS, WIDTH), "head": nn.Linear(WIDTH, DIGITS)}
    return nn.ModuleDict({**ends, "encoder": encoder})


def shift_losses(seed: int, steps: int, *, norm_first: bool, warm_up: int) -> list[float]:
    """Losses while a deep encoder learns to predict at each place the digit before it."""
    torch.manual_seed(seed)
    model = shift_model(norm_first=norm_first)
    optimizer = Adam(model.parameters(), lr=DEEP_LR)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warm_up))
    positions = sinusoidal_encoding(LENGTH, WIDTH)
    losses = []
    for _ in range(steps):
        digits = torch.randint(DIGITS, (32, LENGTH))
        logits = model["head"](model["encoder"](model["embedding"](digits) + positions))
        loss = F.cross_entropy(logits.flatten(0, 1), digits.roll(1, 1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


SMILES = {
    "smiles-parts": (record_parts, 700),
    "smiles-bag": (record_bag, 700),
    "smiles-learned": (record_learned_positions, 700),
    "smiles-attention": (record_attention, 700),
}
RECORDERS = SMILES | {"warm-up": (record_warm_up, 2000)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", choices=RECORDERS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int)
    args = parser.parse_args()
    recorder, steps = RECORDERS[args.run]
    store(recorder(args.seed, args.steps or steps), records_of("chapter02"))
