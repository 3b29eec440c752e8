"""What a filter for each pair costs: ``python -m benchmarks.csa``.

Forward and backward, in time and in memory:

1. of the paper's model for molecules with rings, ten layers that share the maps of the edges, in
   training, on the 32 largest molecules of at most 37 atoms;
2. of one attention with its edge encoding, on chains of molecules of 32, 128 and 512 atoms, in
   batches with equally many pairs.

Of the model's three forms, and of others that are written here, to see what makes a difference:
channels last, ``[B, N, N, d]``, as the equations read and the authors' code has them; and, in ten
layers, the direct form computed again in the backward pass, and two factors without that. All have
the same weights and, which is checked first, give the same numbers and gradients. They take turns,
so that whatever else the machine does meets all of them, each in a process of its own, as in
training. It runs on a GPU where there is one.
Memory is that of tensors, all that PyTorch's allocator gives out during the pass, at its highest.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.costs import apart, milliseconds, peak_mb_of, rows
from benchmarks.encodings import chain
from benchmarks.report import command_line, provenance, store
from gtcourse import GraphBatch, GraphDataset, collate, load_dataset
from gtcourse.encodings import AddRandomWalks, AddRings, encode
from gtcourse.models import CGT, CGTConfig, ChromaticSelfAttention, EdgeMaps, EdgeTerms
from gtcourse.models import csa as csa_formulas
from gtcourse.models.attention import over_heads
from gtcourse.models.embeddings import ALL, PairEncoding
from gtcourse.training.tasks import graph_regression

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CONFIG = CGTConfig(rings="categorical")
ATOMS, BATCH, RINGS = 37, 32, 18
SIZES, PAIRS = (32, 128, 512), 512**2
THREADS = 1
ROUNDS = 9
TIME_BAR, MEMORY_BAR = 1.3, 0.5
"""Of ten layers: at least so many times faster than direct, at most this share of its memory."""

CHUNKED_BAR = 1 / 8
"""Of one attention on 512 atoms, chunked: below this share of direct's memory."""

Step = Callable[[], tuple[Tensor, ...]]
FORMS = ("direct", "factorised", "chunked")
OF_ONE_LAYER = (*FORMS, "channels last")


class Written(NamedTuple):
    """Filters that the model does not have.

    Attributes:
        terms: of the maps and :math:`E^{(0)}` ``[B, N, N, d]``, once for all layers;
        gather: z ``[B, H, K, N]``, of the arguments of :func:`gtcourse.models.csa.direct`.
    """

    terms: Callable[[EdgeMaps, Tensor], EdgeTerms]
    gather: Callable[[Tensor, Tensor, EdgeTerms, Tensor | None], Tensor]

    def attend(
        self, attention: ChromaticSelfAttention, h: Tensor, terms: EdgeTerms, mask: Tensor
    ) -> Tensor:
        """As the layer, with this form's filters."""
        query, key, value = (
            attention.split_heads(project(h))
            for project in (attention.query, attention.key, attention.value)
        )
        mask = over_heads(mask)
        scores = query * query.shape[-1] ** -0.5 @ key.mT
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        z = self.gather(scores, value.mT, terms, attention._keep(h))
        z = z.masked_fill(~mask.any(dim=-1)[:, :, None], 0.0)
        return attention.output(z.flatten(1, 2).mT)


def terms_last(maps: EdgeMaps, E: Tensor) -> EdgeTerms:
    return EdgeTerms(maps.logits(E), maps.values(E))


def channels_last(
    scores: Tensor, value: Tensor, terms: EdgeTerms, keep: Tensor | None = None
) -> Tensor:
    """Eqs. 5 to 7 on ``[B, N, N, H, K]``."""
    H = scores.shape[1]
    logits = scores.permute(0, 2, 3, 1)[..., None] + terms.logits.unflatten(-1, (H, -1))
    filters = logits.softmax(dim=2)
    messages = value.permute(0, 3, 1, 2)[:, None] + terms.values.unflatten(-1, (H, -1))
    kept = filters if keep is None else filters * keep.permute(0, 2, 3, 1)[..., None]
    return (kept * messages).sum(dim=2).permute(0, 2, 3, 1)


def terms_first(maps: EdgeMaps, E: Tensor) -> EdgeTerms:
    return maps(E)


def computed_again(*arguments) -> Tensor:
    return checkpoint(csa_formulas.direct, *arguments, use_reentrant=False)


def terms_with_factor(maps: EdgeMaps, E: Tensor) -> EdgeTerms:
    """The factor of Eq. 5, through which gradients flow."""
    terms = maps(E)
    return terms._replace(factor=(terms.logits - terms.logits.detach().amax(-1, True)).exp())


def two_factors(
    scores: Tensor, value: Tensor, terms: EdgeTerms, keep: Tensor | None = None
) -> Tensor:
    """Their product, which is stored, and what becomes of it."""
    H = scores.shape[1]
    own = (scores - scores.detach().amax(-1, True)).exp()
    product = own[:, :, None] * terms.factor.unflatten(1, (H, -1))
    return csa_formulas.gather(product, value, terms.values, keep) / product.sum(dim=-1)


WRITTEN = {
    "channels last": Written(terms_last, channels_last),
    "direct, computed again": Written(terms_first, computed_again),
    "two factors, stored": Written(terms_with_factor, two_factors),
}


class WrittenCGT(nn.Module):
    """The same function as a CGT, with filters that are written here.

    Args:
        model: whose weights are used, and shared; one whose layers share the maps of the edges.
    """

    def __init__(self, model: CGT, written: Written):
        super().__init__()
        self.model, self.written = model, written

    def forward(self, batch: GraphBatch) -> Tensor:
        model, mask = self.model, batch.mask
        (maps,) = model.edge_maps
        h = model.node_encoding(batch)
        terms = self.written.terms(maps, model.edge_encoding(batch))
        for layer in model.layers:
            h = layer.attention_norm(h + self.written.attend(layer.attention, h, terms, mask), mask)
            h = layer.feed_forward_norm(h + layer.feed_forward(h), mask)
        return (model.head(h) * mask).sum(dim=1)


def molecules(data: GraphDataset) -> GraphBatch:
    """The largest ones that are no larger than ``ATOMS``."""
    fitting = [graph for graph in data.graphs if graph.num_nodes <= ATOMS]
    fitting.sort(key=lambda graph: graph.num_nodes, reverse=True)
    transforms = AddRandomWalks(CONFIG.relative_steps), AddRings(RINGS)
    return collate(encode(fitting[:BATCH], *transforms))


def models(config: CGTConfig = CONFIG) -> dict[str, nn.Module]:
    """All with the same weights, in training mode."""
    torch.manual_seed(0)
    given: dict[str, nn.Module] = {form: CGT(replace(config, form=form)) for form in FORMS}
    for model in given.values():
        model.load_state_dict(given["direct"].state_dict())
    return given | {name: WrittenCGT(given["direct"], form) for name, form in WRITTEN.items()}


def training_step(model: nn.Module, batch: GraphBatch) -> Step:
    """Forward and backward; the step returns predictions and each parameter's gradient."""
    task, parameters = graph_regression(), [*model.parameters()]

    def run() -> tuple[Tensor, ...]:
        torch.manual_seed(0)  # the same pairs are silenced
        prediction = model(batch)
        return prediction, *torch.autograd.grad(task.loss(prediction, batch), parameters)

    return run


class Case(nn.Module):
    """One attention and what makes its edges of a batch; what all forms share.

    Attributes:
        x, direction: ``[B, N, d]``, the input and what the output's gradient is.
    """

    def __init__(self, data: GraphDataset, nodes: int, graphs: int):
        super().__init__()
        d, steps = CONFIG.d_model, CONFIG.relative_steps
        batch = collate(encode([chain(data.graphs, nodes)] * graphs, AddRandomWalks(steps)))
        self.batch = batch.to(DEVICE)
        self.encoding = PairEncoding(CONFIG.num_edge_types, d, "walks", steps, rings=None)
        self.maps = EdgeMaps(d, d, values=True, bias=True)
        self.attention = ChromaticSelfAttention(
            d, CONFIG.num_heads, edge_ablation=CONFIG.edge_ablation
        )
        self.x = nn.Parameter(torch.randn(graphs, nodes, d))
        self.register_buffer("direction", torch.randn(graphs, nodes, d))

    def forward(self, form: str) -> Tensor:
        if form in WRITTEN:
            written, mask = WRITTEN[form], self.batch.mask
            terms = written.terms(self.maps, self.encoding(self.batch))
            return written.attend(self.attention, self.x, terms, mask)
        self.attention.form = form
        edges = self.terms if form == "chunked" else self.terms()
        return self.attention(self.x, edges, mask=self.batch.mask)

    def terms(self, rows: slice = ALL) -> EdgeTerms:
        return self.maps(self.encoding(self.batch, rows))

    def step(self, form: str) -> Step:
        """As :func:`training_step`."""
        parameters = [*self.parameters()]

        def run() -> tuple[Tensor, ...]:
            torch.manual_seed(0)
            z = self(form)
            return z, *torch.autograd.grad(z, parameters, self.direction)

        return run


def check_equal(steps: dict[str, Step]) -> None:
    """All give what the first one gives, numbers and gradients; for steps in float64."""
    first, *others = (step() for step in steps.values())
    for other in others:
        for one, two in zip(first, other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)


def compare(steps: dict[str, Step], rounds: int) -> list[dict]:
    with apart(steps) if DEVICE == "cpu" else nullcontext(steps) as waiting:
        compared = rows(milliseconds(waiting, rounds))
    for row, step in zip(compared, steps.values(), strict=True):
        row["peak_mb"] = peak_mb_of(step, DEVICE)
    return compared


def layers(data: GraphDataset, rounds: int) -> dict:
    batch = molecules(data).to(DEVICE)
    given = {name: model.to(DEVICE) for name, model in models().items()}
    doubles = {name: copy.deepcopy(model).double() for name, model in given.items()}
    check_equal({name: training_step(model, batch) for name, model in doubles.items()})
    steps = {name: training_step(model, batch) for name, model in given.items()}
    return {
        "layers": CONFIG.num_layers,
        "graphs": batch.num_graphs,
        "nodes": batch.mask.shape[1],
        "compared": compare(steps, rounds),
    }


def attention(data: GraphDataset, nodes: int, rounds: int) -> dict:
    torch.manual_seed(0)
    case = Case(data, nodes, PAIRS // nodes**2).to(DEVICE)
    double = copy.deepcopy(case).double()
    check_equal({form: double.step(form) for form in OF_ONE_LAYER})
    return {
        "layers": 1,
        "graphs": len(case.x),
        "nodes": nodes,
        "compared": compare({form: case.step(form) for form in OF_ONE_LAYER}, rounds),
    }


def measure(rounds: int, sizes: tuple[int, ...]) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    ten = layers(data, rounds)
    show(ten)
    results = []
    for nodes in sizes:
        results.append(attention(data, nodes, rounds))
        show(results[-1])
    return {
        "name": "csa-benchmark",
        "data": data.provenance,
        "model": ten,
        "sizes": results,
        "d_model": CONFIG.d_model,
        "heads": CONFIG.num_heads,
        "edge_ablation": CONFIG.edge_ablation,
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("csa")


def show(result: dict) -> None:
    print(f"{result['layers']} layer(s), {result['graphs']} graphs of {result['nodes']} atoms")
    for row in result["compared"]:
        print(f"  {row['method']:26}{row['ms']:8.1f} ms{row['peak_mb']:9.1f} MB", flush=True)
    direct, factorised, chunked = result["compared"][: len(FORMS)]
    print(
        f"  factorised: {1 / factorised['ratio']:.2f} x faster than direct (ten layers: at least "
        f"{TIME_BAR}), {factorised['peak_mb'] / direct['peak_mb']:.2f} of its memory (at most "
        f"{MEMORY_BAR});\n  chunked: {chunked['peak_mb'] / direct['peak_mb']:.3f} of its memory "
        f"(512 atoms: below {CHUNKED_BAR})",
        flush=True,
    )


def main() -> None:
    parser = command_line(__doc__, ROUNDS, SIZES)
    args = parser.parse_args()
    print(f"On {DEVICE}")
    store(measure(args.rounds, tuple(args.sizes)), args.out)


if __name__ == "__main__":
    main()
