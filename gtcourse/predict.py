"""Trained models that are ready to use: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` has everything between a molecule and a number: the model with its weights, how
SMILES become graphs, the encodings the model reads, and the record of the run. Outside of Python it
is a ``torch.export`` program or an ONNX file, for any number of graphs and nodes.
"""

from __future__ import annotations

import copy
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.encodings import Encoding, encode
from gtcourse.graphs.batch import GraphBatch, Target, node_axes
from gtcourse.graphs.dataset import RaggedGraphs, checked, collate
from gtcourse.graphs.io import read_npz, replacing, require
from gtcourse.graphs.molecules import (
    FEATURES,
    Featurizer,
    canonical_graph,
    canonical_molecule,
    fingerprints,
    nearest_similarity,
    ogb_molecule,
    zinc_data,
)
from gtcourse.interpret import between_nodes
from gtcourse.models.csa import CGTConfig
from gtcourse.names import WEIGHTS, model_path, trained_models
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.recipes.adapt import own_recipe
from gtcourse.recipes.recipe import Recipe
from gtcourse.recipes.small import SMALL_MODELS
from gtcourse.runs.estimate import in_words, size_in_words
from gtcourse.runs.record import (
    Record,
    read_model,
    read_record,
    read_weights,
    record_in,
    record_stem,
)
from gtcourse.runs.run import read_fingerprints
from gtcourse.train.costs import prediction_memory, stretched
from gtcourse.train.loop import device, evaluating, own_random_state
from gtcourse.train.tasks import Task, graph_regression

# By the data set of a run; graphs of others are no molecules.
FEATURIZERS = dict.fromkeys(("zinc", "zinc-full", "molecules"), zinc_data)
FEATURIZERS |= dict.fromkeys(
    ("pcqm4mv2", "pcqm4mv2-subset", "ogbg-molhiv", "ogbg-molpcba"), ogb_molecule
)


@dataclass
class Predictor:
    """A trained model on :func:`gtcourse.device`, with the record of its run.

    Attributes:
        transforms: the encodings that it reads.
        featurize: a molecule's graph as the model was trained on; None if it was not trained on
            molecules.
        targets: the names of the predicted columns, or of the classes; none for a published data
            set.
        task: what the model was trained on; None takes its outputs as values.
        largest_fragment: of salts and mixtures, read the largest piece only.
        known: :func:`~gtcourse.graphs.molecules.fingerprints` of the training molecules, of a
            reader's own run or of a shipped model.
    """

    name: str
    model: nn.Module = field(repr=False)
    transforms: tuple[Encoding, ...]
    featurize: Featurizer | None = field(repr=False)
    record: Record = field(repr=False)
    targets: tuple[str, ...] = ()
    task: Task | None = field(default=None, repr=False)
    largest_fragment: bool = False
    known: np.ndarray | None = field(default=None, repr=False)

    @torch.no_grad()
    def predict(
        self,
        graphs: Sequence[str | Data],
        *,
        return_attention: bool = False,
        batch_size: int = 64,
        logits: bool = False,
    ) -> Tensor | list[Tensor] | tuple[Tensor | list[Tensor], list[Tensor]]:
        """Predictions, in the order given; the model is in evaluation mode meanwhile.

        A prediction for SMILES is a function of the molecule, however it is written: the graph is
        that of the canonical molecule (:func:`~gtcourse.graphs.molecules.canonical_molecule`).

        Args:
            graphs: SMILES, or PyG ``Data`` with the features the model was trained on.
            return_attention: also each graph's attention ``[L, H, n, n]`` without padding and
                virtual nodes (of CSA one map per channel: ``[L, d, n, n]``). A molecule's atoms are
                in the order of its SMILES, as RDKit reads it.
            batch_size: graphs that go through the model together.
            logits: of a classification, the model's outputs instead of probabilities.

        Returns:
            Tensor: ``[G]``, or ``[G, T]`` for T targets, on the CPU: values in the unit of the
            training targets (penalised logP for ZINC and the embedded molecules), the probability
            of class 1 of a binary target, or the probabilities of C classes ``[G, C]``. A model of
            node or edge targets returns a list: ``[n, T]`` or ``[E, T]`` per graph.

        Raises:
            ValueError: an entry cannot be read or has an atom unknown to the model, or the model
                has no attention to return.
        """
        if isinstance(graphs, str | Data) or not len(graphs):
            raise ValueError(f"graphs is {graphs!r}; expected a list of SMILES or PyG graphs.")
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; expected 1 or more.")
        if return_attention and "return_attention" not in signature(self.model.forward).parameters:
            raise ValueError(
                f"{self.name} has no attention to return, it passes messages along edges; expected "
                "a Transformer."
            )
        read = [self._graph(entry, i) for i, entry in enumerate(graphs)]
        places = [atoms for _, atoms in read]
        data = [graph for graph, _ in read]
        together = checked(data, None)
        together.check_features(self.model)
        # Graphs of similar size share a batch, so that little of it is padding.
        order = sorted(range(len(data)), key=lambda i: data[i].num_nodes)
        predictions: list[Any] = [None] * len(data)
        attentions: list[Any] = [None] * len(data)
        fused = not return_attention and len(data) >= MANY
        bar = tqdm(total=len(data), unit="graph", delay=1, leave=False, disable=None)
        with evaluating(self.model), _fused_if_possible(self.model, fused), bar:
            for members, batch in self._encoded(data, order, batch_size, together.target):
                options = {"return_attention": True} if return_attention else {}
                values = self.model(batch, **options)
                values, attention = values if return_attention else (values, None)
                if self.task is not None and not logits:
                    values = self.task.predictions(values)
                bar.update(len(members))
                for row, i in enumerate(members):
                    predictions[i] = self._of_graph(values[row].cpu(), data[i], places[i])
                    if return_attention:
                        virtual = attention.shape[-1] - batch.mask.shape[1]
                        nodes = between_nodes(attention[row], virtual)
                        n = data[i].num_nodes
                        attentions[i] = _as_written(nodes[..., :n, :n].cpu(), places[i])
        values = torch.stack(predictions) if self.level == "graph" else predictions
        return (values, attentions) if return_attention else values

    def _encoded(
        self, data: list[Data], order: list[int], batch_size: int, target: Target
    ) -> Iterator[tuple[list[int], GraphBatch]]:
        """The numbers of a batch's graphs, and the batch; encodings of some graphs at a time."""
        sizes = [graph.num_nodes for graph in data]
        for some in _batches(order, sizes, ENCODED_AT_ONCE, pairs=2**20):
            encoded = encode([data[i] for i in some], *self.transforms)
            rows = RaggedGraphs.from_data(encoded, target)
            place = {i: row for row, i in enumerate(some)}
            for members in _batches(some, sizes, batch_size):
                batch = rows.batch(torch.tensor([place[i] for i in members]))
                yield members, batch.to(device())

    def _of_graph(self, values: Tensor, graph: Data, written: Tensor | None) -> Tensor:
        """The values of a graph, of its nodes (in the order written), or of its edges."""
        if self.level == "node":
            nodes = values[: graph.num_nodes]
            return nodes if written is None else nodes[written]
        if self.level == "edge":
            source, destination = graph.edge_index
            return values[source, destination]
        return values

    @property
    def level(self) -> str:
        """Whether the model predicts for a "graph", "node" or "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> dict[str, list]:
        """Columns for a table: a prediction for each target, and "reason".

        Values are called "prediction" or "predicted NAME", probabilities "probability NAME", and
        logits "logit NAME". Where there is no prediction the value is NaN, and the reason says why.
        "similarity" is the largest Tanimoto similarity (Morgan fingerprints of radius 2) to a
        training molecule, where these are known: of shipped models, and of runs on own molecules.
        Below ``SIMILAR`` a molecule is unlike all of them: expect a larger error.

        Args:
            max_atoms: leave out larger molecules.

        Raises:
            ValueError: the model was not trained on molecules, or does not predict for molecules
                but for their atoms or bonds.
        """
        self._check_rows()
        self._say_large(smiles, max_atoms)
        return self._rows(smiles, logits, max_atoms)

    def _check_rows(self) -> None:
        """Raises a ValueError for a model that does not predict a value for each molecule."""
        self._check_molecules()
        if self.level != "graph":
            raise ValueError(
                f"{self.name} predicts for each {self.level}; expected predict(), which returns a "
                "tensor for each molecule, or a model that predicts for molecules."
            )

    def _rows(self, smiles: Sequence[str], logits: bool, max_atoms: int | None) -> dict[str, list]:
        """The columns of :meth:`predict_rows`, some rows at a time."""
        names = self._columns(logits)
        if self.known is not None:
            names.append("similarity")
        columns: dict[str, list] = {name: [] for name in [*names, "reason"]}
        bar = tqdm(total=len(smiles), unit="molecule", delay=1, leave=False, disable=None)
        with bar:
            for start in range(0, len(smiles), ROWS_AT_ONCE):
                some = smiles[start : start + ROWS_AT_ONCE]
                values, reasons = self._values(some, logits, max_atoms)
                for name, column in zip(names, values.T.tolist(), strict=True):
                    columns[name] += column
                columns["reason"] += reasons
                bar.update(len(some))
        return columns

    def _values(
        self, smiles: Sequence[str], logits: bool, max_atoms: int | None
    ) -> tuple[Tensor, list[str]]:
        """Predictions and, where training molecules are known, similarities ``[G, T (+ 1)]``.

        Also the reason for each row of NaN.
        """
        assert self.featurize is not None
        graphs, molecules = {}, []
        reasons = [""] * len(smiles)
        for i, text in enumerate(smiles):
            try:
                molecule, _, canonical = canonical_molecule(text, self.largest_fragment)
                graph = self.featurize(text, molecule)
                if max_atoms is not None and graph.num_nodes > max_atoms:
                    raise ValueError(
                        f"it has {graph.num_nodes} atoms; expected at most {max_atoms}."
                    )
            except ValueError as error:
                reasons[i] = str(error)
                continue
            graph.smiles = canonical
            graphs[i] = graph
            molecules.append(molecule)
        values = torch.full((len(smiles), len(self._columns(logits))), torch.nan)
        similarity = torch.full((len(smiles), 1), torch.nan)
        if graphs:
            found = self.predict([*graphs.values()], logits=logits)
            values[[*graphs]] = found.reshape(len(graphs), -1)
            if self.known is not None:
                nearest = nearest_similarity(fingerprints(molecules), self.known)
                similarity[[*graphs]] = torch.from_numpy(nearest)[:, None]
        for i in graphs:
            if not values[i].isfinite().all():
                reasons[i] = "the model's output is no finite number; expected one."
        return (values if self.known is None else torch.cat([values, similarity], 1)), reasons

    def memory_of(self, nodes: int) -> int | None:
        """Bytes that a prediction for one graph of so many nodes takes, counted without any.

        None for a model on lists of edges, whose memory grows with the edges.
        """
        graphs = [self._graph(text, i)[0] for i, text in enumerate(("CCO", "CCCC"))]
        sample = collate(encode(graphs, *self.transforms))
        try:
            return prediction_memory(self.model, stretched(sample, 1, nodes))
        except NotImplementedError:
            return None

    def _columns(self, logits: bool) -> list[str]:
        """The names of the columns of predictions."""
        kind = "value" if self.task is None else self.task.kind
        if kind == "value":
            return [f"predicted {name}" for name in self.targets] or ["prediction"]
        word = "logit" if logits else "probability"
        count = self.task.num_classes if kind == "probabilities" else 1
        names = self.targets or [f"class {i}" for i in range(count)]
        return [f"{word} {name}" for name in names] if self.targets or count > 1 else [word]

    def seconds_of(self, sizes: Sequence[int]) -> float:
        """Seconds that predictions for molecules of so many atoms take here, estimated.

        A chain of 100 atoms is timed, and the time of others grows with the square of their size.
        """
        chain = ["C" * LARGE]
        self.predict(chain)
        start = time.perf_counter()
        self.predict(chain)
        of_chain = time.perf_counter() - start
        return sum((size / LARGE) ** 2 for size in sizes) * of_chain

    def _say_large(self, smiles: Sequence[str], max_atoms: int | None, models: int = 1) -> None:
        """Warns of large molecules, with the memory and the time that they will take."""
        sizes = []
        for text in smiles:
            if len(text) <= LARGE:  # an atom takes a character or more
                continue
            try:
                molecule, _, _ = canonical_molecule(text, self.largest_fragment)
            except ValueError:
                continue
            if LARGE < molecule.GetNumAtoms() <= (max_atoms or math.inf):
                sizes.append(molecule.GetNumAtoms())
        if not sizes:
            return
        memory = self.memory_of(max(sizes))
        takes = "" if memory is None else f"{size_in_words(memory)} of memory and "
        what = "1 molecule has" if len(sizes) == 1 else f"{len(sizes):,} molecules have"
        warnings.warn(
            f"{what} more than {LARGE} atoms, the largest {max(sizes)}, and will take {takes}"
            f"{in_words(models * self.seconds_of(sizes))}; max_atoms (--max-atoms) leaves out "
            "larger ones.",
            stacklevel=3,
        )

    def _check_molecules(self) -> None:
        if self.featurize is None:
            raise ValueError(f"{self.name} was not trained on molecules; expected PyG graphs.")

    def _graph(self, entry: str | Data, number: int) -> tuple[Data, Tensor | None]:
        """A graph; of a molecule also the node of each atom as written, ``[n]``."""
        if isinstance(entry, Data):
            return entry, None
        self._check_molecules()
        try:
            graph, order = canonical_graph(entry, self.featurize, self.largest_fragment)
        except ValueError as error:
            raise ValueError(f"entry {number}: {error}") from None
        return graph, torch.tensor(order).argsort()


SIMILAR = 0.3
"""Tanimoto similarity to the nearest training molecule, below which a molecule is unlike all.

Of the test molecules of ZINC and of the embedded set 6 to 7 % are below it, and the errors of the
shipped models on these are up to twice as large as on the others (the model cards say how large).
"""

LARGE = 100
"""Atoms beyond which memory and time of a prediction, which grow with their square, are stated."""

MANY = 1000
"""Graphs for which loading CSA's fused form, which takes a second or two, is worth it."""

ROWS_AT_ONCE = 4096
"""Molecules in memory as graphs, so that memory does not grow with the length of a table."""

PAIRS_AT_ONCE = 2**18
"""Of nodes in a batch, padding included: 64 graphs of 64 nodes, 4 of 256, or one that is larger."""


ENCODED_AT_ONCE = 1024
"""Graphs with their encodings in memory; encodings take more of it than graphs."""


def _batches(
    order: list[int], sizes: list[int], batch_size: int, pairs: int = PAIRS_AT_ONCE
) -> list[list[int]]:
    """Graphs by ascending size, as many to a batch as memory for their pairs allows."""
    batches = [[]]
    for i in order:
        full = len(batches[-1]) == batch_size
        if batches[-1] and (full or (len(batches[-1]) + 1) * sizes[i] ** 2 > pairs):
            batches.append([])
        batches[-1].append(i)
    return batches


@contextmanager
def _fused_if_possible(model: nn.Module, wanted: bool) -> Iterator[None]:
    """CSA's form for the CPU meanwhile: the same function in half the time, if numba is there."""
    config: Any = getattr(model, "config", None)
    possible = (
        isinstance(config, CGTConfig)
        and (config.form, config.chromatic, config.score) == ("factorised", True, "dot")
        and config.num_edge_features == 0
    )
    if not (wanted and possible and device().type == "cpu" and find_spec("numba")):
        yield
        return
    model.config = replace(config, form="fused")
    try:
        yield
    finally:
        model.config = config


def _as_written(attention: Tensor, written: Tensor | None) -> Tensor:
    """Attention ``[..., n, n]`` with a molecule's atoms in the order of its SMILES."""
    return attention if written is None else attention[..., written[:, None], written]


def load(name: str | Path, *, seed: int = 0) -> Predictor:
    """A trained model, ready to use: a shipped run by its name and seed, or a run of one's own.

    Names are those of :func:`available`, such as "csa/zinc". A run of one's own is the folder that
    it was trained in, or its file of weights (``.safetensors``), which holds all that is needed.
    Raises a ValueError if there is no such run, or it is not finished; the message says what there
    is.
    """
    path = model_path(name, seed)
    if path.suffix == ".safetensors":
        return _predictor(*read_model(path))
    record = read_record(path)
    return _predictor(record, read_weights(record, path.parent), path.parent)


@dataclass
class Ensemble:
    """Several runs of one recipe on one table, with other seeds or folds.

    Attributes:
        members: one predictor a run, with the same targets.
    """

    members: list[Predictor]

    @property
    def task(self) -> Task | None:
        return self.members[0].task

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> dict[str, list]:
        """The columns of :meth:`Predictor.predict_rows`: means, and for each NAME "NAME sd".

        This is the standard deviation over the members: how much the prediction depends on chance
        in training. It says nothing of an error that all of them share. The similarity is that to
        the nearest training molecule of any member.
        """
        self.members[0]._check_rows()
        self.members[0]._say_large(smiles, max_atoms, len(self.members))
        rows = [member._rows(smiles, logits, max_atoms) for member in self.members]
        columns = {}
        for name in rows[0]:
            if name == "reason":
                continue
            values = torch.tensor([each[name] for each in rows])  # [members, G]
            if name == "similarity":
                columns[name] = values.amax(dim=0).tolist()
            else:
                columns[name] = values.mean(dim=0).tolist()
                columns[f"{name} sd"] = values.std(dim=0).tolist()
        reasons = zip(*(each["reason"] for each in rows), strict=True)
        columns["reason"] = [next(filter(None, of_row), "") for of_row in reasons]
        return columns


def load_ensemble(folder: str | Path) -> Ensemble:
    """All finished runs in a folder and the folders in it, such as the seeds or folds of a run.

    Raises:
        ValueError: there are fewer than two, or they predict other targets or read other features.
    """
    if not Path(folder).is_dir():
        raise ValueError(f"{folder} is no folder; expected one that holds several finished runs.")
    paths = sorted(Path(folder).rglob("*-seed*.json"))
    members = [load(path.parent) for path in paths]
    if len(members) < 2:
        raise ValueError(
            f"{folder} holds {len(members)} finished run(s); expected two or more, such as those "
            "of several --seed or of --folds."
        )
    first = members[0]
    for member in members[1:]:
        same = (member.targets, member.featurize, member.largest_fragment)
        if same != (first.targets, first.featurize, first.largest_fragment):
            raise ValueError(
                f"{folder} holds {first.name} and {member.name}, which predict other targets or "
                "read other features; expected the seeds or folds of one run."
            )
    return Ensemble(members)


@dataclass(frozen=True)
class Card:
    """What is known of a shipped model, in one line of ``gtcourse models``.

    Attributes:
        target: what it predicts, with its unit; data: what it was trained on.
        atoms: the sizes of the training molecules, smallest and largest.
        test_error: mean absolute error on test molecules; tested: which they are.
    """

    name: str
    target: str
    data: str
    atoms: tuple[int, int]
    test_error: float
    tested: str


TARGETS = dict.fromkeys(("zinc", "molecules"), "penalised logP, without a unit")
SIZES = {"zinc": (9, 37), "molecules": (9, 37)}
"""Atoms of the smallest and the largest training molecule, hydrogens not counted."""


def available_models() -> list[Card]:
    """A card for each shipped model, the most accurate first on each data set."""
    cards = []
    for name in available():
        record = record_in(WEIGHTS / f"{record_stem(name, 0)}.safetensors")
        data = record.data["name"]
        sizes = record.data["sizes"]
        which = "of ZINC" if data == "zinc" else "embedded in RDKit"
        described, tested = (f"{sizes[part]:,} molecules {which}" for part in ("train", "test"))
        error = record.result["test_mae"]
        cards.append(Card(name, TARGETS[data], described, SIZES[data], error, tested))
    return sorted(cards, key=lambda card: (card.data, card.test_error))


def available() -> list[str]:
    """The names of the runs whose weights are shipped."""
    return trained_models()


def fine_tuned(recipe: Recipe, name: str) -> Recipe:
    """The recipe with a model that starts from trained weights; its head starts anew.

    The recipe is a published one whose data have the same features as those that the model was
    trained on, such as graphormer-base/molhiv for a run of graphormer-base/pcqm4m; or one of
    :func:`gtcourse.recipes.adapt.own_recipe` with the features that the trained model reads,
    :func:`features_of`, and their :func:`vocabularies_of`.

    Raises:
        ValueError: the trained model is another one than the recipe's, or reads other features.
    """
    _check_start(recipe, name)
    start = partial(with_weights, recipe.build_model, name)
    # A run is identified by what it started from, which another run under this name may replace.
    begun = {"start": str(name), "start_weights": load(name).record.weights}
    return replace(recipe, build_model=start, changed=recipe.changed | begun)


def features_of(name: str | Path) -> str:
    """The features that a trained model reads of a molecule, a key of ``FEATURES``.

    Raises:
        ValueError: it was not trained on molecules, or on others than these features.
    """
    featurize = load(name).featurize
    for features, (known, *_) in FEATURES.items():
        if featurize is known:
            return features
    raise ValueError(
        f"{name} was not trained on molecules with features that a CSV file gives; expected a "
        "model trained on ZINC, on OGB's data or on a CSV file, such as "
        f"{', '.join(available()[:3])}."
    )


def vocabularies_of(name: str | Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The categories of each column of ``x``, and of ``edge_attr``, that a trained model knows."""
    config = load(name).model.config
    return config.num_node_types, getattr(config, "num_edge_types", ())


def _check_start(recipe: Recipe, name: str) -> None:
    """Compares a trained model with the one that the recipe builds, except for their heads."""
    trained = load(name)
    with torch.device("meta"):  # without memory
        built = recipe.build_model()
    shapes = {key: value.shape for key, value in built.state_dict().items()}
    found = {key: value.shape for key, value in trained.model.state_dict().items()}
    differ = [
        key
        for key in sorted(shapes.keys() | found.keys())
        if not key.startswith("head.") and shapes.get(key) != found.get(key)
    ]
    if not differ:
        return
    own, other = _settings(built), _settings(trained.model)
    settings = [
        f"{key} is {value!r}, not {own[key]!r}"
        for key, value in other.items()
        if key in own and own[key] != value and key not in ("num_targets", "target")
    ]
    what = ", ".join(settings[:6]) or f"other weights, such as {differ[0]}"
    raise ValueError(
        f"{name} ({type(trained.model).__name__}) cannot start a model of the recipe {recipe.name} "
        f"({type(built).__name__}): {what}; expected a trained model of the same configuration."
    )


def _settings(model: nn.Module) -> dict[str, object]:
    """A model's configuration by name; empty if it has none."""
    config = getattr(model, "config", None)
    return {each.name: getattr(config, each.name) for each in fields(config)} if config else {}


def with_weights(build: Callable[[], nn.Module], name: str) -> nn.Module:
    """A new model with the weights of a trained one, except for the head."""
    model = build()
    head = {key: value for key, value in model.state_dict().items() if key.startswith("head.")}
    trained = load(name).model.cpu().state_dict()
    model.load_state_dict(trained | head)
    return model


def training_fingerprints(data: str, molecules: int) -> np.ndarray | None:
    """Those of a shipped model's training molecules; None where they are not stored."""
    path = WEIGHTS / f"training-{data}-{molecules}.npz"
    return read_npz(path)["morgan"] if path.is_file() else None


def _predictor(
    record: Record, weights: Mapping[str, Tensor], folder: Path | None = None
) -> Predictor:
    """The model is built as its recipe says: one on own data, of the leaderboard, or published.

    The folder of a run may hold fingerprints of its training molecules.
    """
    name, targets, largest_fragment = record.name, (), False
    if own := record.config.get("changed", {}).get("own_data"):
        # Records written before January 2027 say "any" of graphs that are no molecules, too.
        molecules = own["features"] is not None and not any("types" in key for key in own)
        molecules = molecules and not any(key.endswith("columns") for key in own)
        featurize = FEATURES[own["features"]][0] if molecules else None
        targets, largest_fragment = tuple(own["targets"]), own.get("largest_fragment", False)
        recipe = own_recipe(**own | {"recipe": get_recipe(own["recipe"])})
        task = recipe.task
    elif name.rpartition("/")[0] in SMALL_MODELS:
        recipe, featurize = SMALL_MODELS[name.rpartition("/")[0]], zinc_data
        task = graph_regression()
    else:
        # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
        recipe = get_recipe(name if name in RECIPES else name.rpartition("-on-")[0])
        featurize, task = FEATURIZERS.get(record.data["name"]), recipe.task
    with own_random_state():  # what the weights begin with is drawn at random
        model = recipe.build_model()
    model.load_state_dict(weights)
    model.to(device()).eval()
    known = None
    if folder is not None:
        known = read_fingerprints(folder)
    elif record.data["name"] in SIZES:
        known = training_fingerprints(record.data["name"], record.data["sizes"]["train"])
    return Predictor(
        name, model, recipe.transforms, featurize, record, targets, task, largest_fragment, known
    )


EXAMPLES = ("CCO", "c1ccccc1O", "CC(=O)Nc1ccc(O)cc1")
AXES = {"x": 1, "adjacency": 2, "edge_attr": 2, "mask": 1}  # the node axes of what is no encoding
NARROW = (torch.uint8, torch.int8, torch.int16)


class OnTensors(nn.Module):
    """A model as a function of a batch's tensors by name."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        # ONNX Runtime computes little with the narrow integers in which paths are stored.
        tensors = {n: v.long() if v.dtype in NARROW else v for n, v in tensors.items()}
        given = {name: tensors.get(name) for name in AXES}
        encodings = {name: value for name, value in tensors.items() if name not in AXES}
        # With attention the formulas run line by line: fused kernels fix their output's layout.
        return self.model(GraphBatch(**given, encodings=encodings), return_attention=True)[0]


def tensors_of(predictor: Predictor, graphs: list) -> dict[str, Tensor]:
    """What the exported function takes, for SMILES or PyG graphs."""
    data = [predictor._graph(graph, i)[0] for i, graph in enumerate(graphs)]
    batch = collate(encode(data, *predictor.transforms))
    given = {name: getattr(batch, name) for name in AXES} | batch.encodings
    return {name: value for name, value in given.items() if value is not None}


def export(predictor: Predictor, graphs: list | None = None) -> torch.export.ExportedProgram:
    """The model as an ``ExportedProgram`` with dynamic batch and node axes.

    The predictor's own model stays where it is. ``graphs`` are two or more examples of different
    sizes, needed if the model was not trained on molecules. Raises a ValueError for a model on
    lists of edges, which cannot be exported.
    """
    graphs = list(EXAMPLES if graphs is None else graphs)
    if len(graphs) < 2:
        raise ValueError(
            f"graphs has {len(graphs)} example(s); expected two or more, of different sizes, to "
            "export a batch of any size."
        )
    if "return_attention" not in signature(predictor.model.forward).parameters:
        raise ValueError(
            f"{predictor.name} cannot be exported: it runs on edges; expected a Transformer."
        )
    tensors = tensors_of(predictor, graphs)
    B, N = torch.export.Dim("B", max=1 << 20), torch.export.Dim("N", min=2, max=1 << 14)
    axes = {name: AXES.get(name, node_axes(name, value)) for name, value in tensors.items()}
    dynamic = {name: {0: B} | dict.fromkeys(range(1, axes[name] + 1), N) for name in tensors}
    model = OnTensors(copy.deepcopy(predictor.model).cpu()).eval()
    with torch.no_grad():
        return torch.export.export(model, (tensors,), dynamic_shapes=(dynamic,), strict=False)


def save_onnx(predictor: Predictor, path: str | Path) -> list[str]:
    """Writes one ONNX file; returns the names of its inputs.

    They are the names of :func:`tensors_of`, and the output is called "prediction". It needs
    ``pip install 'gtcourse[onnx]'``, and raises an ImportError where that is missing.
    """
    for library in ("onnx", "onnxscript"):
        require(library, library)
    names = [*tensors_of(predictor, list(EXAMPLES))]
    with _quiet("torch.onnx", "onnxscript", "onnx_ir"):
        program = torch.onnx.export(
            export(predictor), dynamo=True, verbose=False, input_names=names,
            output_names=["prediction"],
        )  # fmt: skip
    with replacing(Path(path)) as temporary:
        program.save(str(temporary), external_data=False)
    return [str(value.name) for value in program.model.graph.inputs]


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Only errors of these loggers and no warnings, which are for the converter's developers."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
