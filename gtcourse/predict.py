"""Trained models that are ready to use: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` has everything between a molecule and a number: the model with its weights, how
SMILES become graphs, the encodings that the model reads, and the record of the run. :func:`export`
and :func:`save_onnx` write the model for use without this package, for any number of graphs and
nodes.

Shapes:
    G: graphs, in the order given
    n: nodes of a graph
    E: edges of a graph
    T: targets
    C: classes
    L: layers
    H: attention heads
    d: width of a node's vector
"""

from __future__ import annotations

import copy
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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

from gtcourse.encodings import Encoding, computed_in_batches, encode, encode_batch
from gtcourse.graphs.batch import GraphBatch, node_axes
from gtcourse.graphs.check import check_bools, check_path, whole_number
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
from gtcourse.names import (  # noqa: F401 (readers import Card and available_models from here)
    SIZES,
    WEIGHTS,
    Card,
    available,
    available_models,
    model_path,
    shipped_seeds,
)
from gtcourse.recipes import RECIPES, as_recipe, get_recipe
from gtcourse.recipes.adapt import own_recipe
from gtcourse.recipes.recipe import Recipe
from gtcourse.recipes.small import SMALL_MODELS, Entry
from gtcourse.runs.estimate import in_words, size_in_words
from gtcourse.runs.record import (
    Record,
    read_model,
    read_record,
    read_weights,
)
from gtcourse.runs.run import read_fingerprints
from gtcourse.train.costs import prediction_memory, stretched
from gtcourse.train.loop import device, evaluating, own_random_state
from gtcourse.train.tasks import Task, graph_regression

FEATURIZERS: dict[str, Featurizer] = {
    "zinc": zinc_data,
    "zinc-full": zinc_data,
    "molecules": zinc_data,
    "pcqm4mv2": ogb_molecule,
    "pcqm4mv2-subset": ogb_molecule,
    "ogbg-molhiv": ogb_molecule,
    "ogbg-molpcba": ogb_molecule,
}
"""How a molecule becomes a graph, by the data set of a run. Graphs of others are no molecules."""

Columns = dict[str, list[Any]]
"""The columns of a table by name."""


@dataclass
class Predictor:
    """A trained model on :func:`gtcourse.device`, with the record of its run.

    Attributes:
        name: the name of the run, such as "csa/zinc".
        model: the trained model.
        transforms: the encodings that it reads.
        featurize: makes the graph of a molecule; None if the model was not trained on molecules.
        record: what the run was, and its results.
        targets: the names of the targets, or of the classes; empty for a published data set.
        task: what the model was trained on; without one, its outputs are taken as values.
        largest_fragment: whether to keep only the largest piece of a salt or a mixture.
        known: the :func:`~gtcourse.graphs.molecules.fingerprints` of the training molecules, if
            they are known: of shipped models, and of runs on your own molecules.
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
        """Predictions in the order given. The model is in evaluation mode meanwhile.

        A prediction for SMILES is a function of the molecule, however it is written: the graph is
        that of the canonical molecule (:func:`~gtcourse.graphs.molecules.canonical_molecule`).

        A prediction for a graph does not depend on the order of its nodes, unless the model reads
        eigenvectors or singular vectors (SignNet, EGT). Where a value is repeated, its vectors are
        one choice of many, and another order of the nodes makes another choice.

        Args:
            graphs: SMILES, or PyG ``Data`` with the features that the model was trained on.
            return_attention: whether to return the attention as well.
            batch_size: how many graphs go through the model together.
            logits: whether to return a classifier's outputs instead of probabilities.

        Returns:
            Tensor: ``[G]``, or ``[G, T]`` for T targets, on the CPU: values in the unit of the
            training targets (penalised logP for ZINC and the embedded molecules), the probability
            of class 1 of a binary target, or the probabilities of C classes ``[G, C]``. A model of
            node or edge targets returns a list with a tensor ``[n, T]`` or ``[E, T]`` for each
            graph.

            With ``return_attention`` a pair of this and a list with a tensor ``[L, H, n, n]`` for
            each graph, without padding and virtual nodes. CSA has a map for each channel,
            ``[L, d, n, n]``. A molecule's atoms are in the order of its SMILES, as RDKit reads it.

        Raises:
            ValueError: an entry cannot be read or has an atom that the model does not know, or the
                model has no attention to return.
        """
        check_list("graphs", graphs, "SMILES or PyG graphs")
        if not len(graphs):
            raise ValueError("graphs is []; expected a list of SMILES or PyG graphs.")
        batch_size = whole_number("batch_size", batch_size, 1)
        check_bools(return_attention=return_attention)
        self._check_logits(logits)
        if return_attention and not self._has_attention:
            raise ValueError(
                f"{self.name} has no attention to return, because it passes messages along edges; "
                "expected a Transformer."
            )
        data: list[Data] = []
        written: list[Tensor | None] = []  # the node of each atom as written
        for number, entry in enumerate(graphs):
            graph, nodes = self._graph(entry, number)
            data.append(graph)
            written.append(nodes)
        together = checked(data, None)
        together.check_features(self.model)
        predictions: list[Any] = [None] * len(data)
        attentions: list[Any] = [None] * len(data)
        fused = not return_attention and len(data) >= MANY
        bar = tqdm(total=len(data), unit="graph", delay=1, leave=False, disable=None)
        with evaluating(self.model), _fused_if_possible(self.model, fused), bar:
            for numbers, batch in self._batches_of(data, together, batch_size):
                if return_attention:
                    values, attention = self.model(batch, return_attention=True)
                    virtual_nodes = attention.shape[-1] - batch.mask.shape[1]
                    attention = between_nodes(attention, virtual_nodes)  # [B, L, H, N, N]
                    for row, i in enumerate(numbers):
                        attentions[i] = _attention_of_graph(attention[row], data[i], written[i])
                else:
                    values = self.model(batch)
                if self.task is not None and not logits:
                    values = self.task.predictions(values)
                for row, i in enumerate(numbers):
                    predictions[i] = self._values_of_graph(values[row].cpu(), data[i], written[i])
                bar.update(len(numbers))
        result = torch.stack(predictions) if self.level == "graph" else predictions
        return (result, attentions) if return_attention else result

    def _batches_of(
        self, data: list[Data], together: RaggedGraphs, batch_size: int
    ) -> Iterator[tuple[list[int], GraphBatch]]:
        """Batches with their encodings, each after the numbers of its graphs in ``data``.

        Graphs of similar size share a batch, so that little of it is padding. Encodings
        are computed for a batch, or, where that cannot be, for some graphs at a time, because
        encodings need more memory than graphs.

        Args:
            data: the graphs.
            together: the same graphs end to end.
            batch_size: how many graphs a batch has at most.
        """
        of_batches = [each for each in self.transforms if _is_of_batches(each)]
        of_graphs = [each for each in self.transforms if not _is_of_batches(each)]
        pairs_at_once = PAIRS_AT_ONCE.get(device().type, PAIRS_AT_ONCE["cuda"])
        sizes = together.num_nodes.tolist()
        by_size = sorted(range(len(data)), key=lambda i: sizes[i])
        for some in _batches(by_size, sizes, ENCODED_AT_ONCE, ENCODED_PAIRS_AT_ONCE):
            graphs = together.select(torch.tensor(some))
            if of_graphs:
                encoded = encode([data[i] for i in some], *of_graphs)
                graphs = RaggedGraphs.from_data(encoded, together.target)
            row_of = {i: row for row, i in enumerate(some)}
            for numbers in _batches(some, sizes, batch_size, pairs_at_once):
                batch = graphs.batch(torch.tensor([row_of[i] for i in numbers])).to(device())
                yield numbers, encode_batch(batch, *of_batches)

    def _values_of_graph(self, values: Tensor, graph: Data, written: Tensor | None) -> Tensor:
        """The values of a graph, of its nodes (in the order written), or of its edges.

        Args:
            values: of the graph in its batch: ``[T]``, ``[N, T]`` or ``[N, N, T]``.
            graph: without padding.
            written: the node of each atom as written, ``[n]``, if the graph is a molecule.
        """
        if self.level == "node":
            of_nodes = values[: graph.num_nodes]  # [n, T]
            return of_nodes if written is None else of_nodes[written]
        if self.level == "edge":
            source, destination = graph.edge_index
            return values[source, destination]  # [E, T]
        return values

    @property
    def level(self) -> str:
        """What gets a prediction: a "graph", "node" or "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    @property
    def _has_attention(self) -> bool:
        """Whether the model returns attention: the graph Transformers do."""
        return "return_attention" in signature(self.model.forward).parameters

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> Columns:
        """The columns of a table with a row for each molecule.

        - "prediction", or "predicted NAME" for each target of your own. Of a classifier it is
          "probability NAME", or "logit NAME" with ``logits``. Where there is no prediction, the
          value is NaN.
        - "similarity", where the training molecules are known (:attr:`known`): the largest Tanimoto
          similarity to one of them (Morgan fingerprints of radius 2). Below ``SIMILAR`` a molecule
          is unlike all of them, and you should expect a larger error.
        - "reason": why there is no prediction, and otherwise empty.

        Args:
            smiles: one SMILES string for each row.
            logits: whether to return a classifier's outputs instead of probabilities.
            max_atoms: leave out molecules with more atoms, hydrogens not counted.

        Raises:
            ValueError: ``smiles`` is one string, or the model does not predict for molecules.
        """
        self._check_rows(smiles, logits, max_atoms)
        self._warn_of_large(smiles, max_atoms)
        return self._rows(smiles, logits, max_atoms)

    def _check_rows(self, smiles: Sequence[str], logits: bool, max_atoms: int | None) -> None:
        """Raises a ValueError for a wrong argument, and if no molecule gets a prediction."""
        check_list("smiles", smiles, "SMILES")
        self._check_logits(logits)
        if max_atoms is not None:
            whole_number("max_atoms", max_atoms, 1)
        self._check_molecules()
        if self.level != "graph":
            raise ValueError(
                f"{self.name} predicts for each {self.level}; expected predict(), which returns a "
                "tensor for each molecule, or a model that predicts for molecules."
            )

    def _check_logits(self, logits: bool) -> None:
        """Raises a ValueError for logits of a model that predicts values, which has none."""
        check_bools(logits=logits)
        if logits and (self.task is None or self.task.kind == "value"):
            raise ValueError(
                f"logits has no effect on {self.name}, which predicts values; expected a "
                "classifier."
            )

    def _rows(self, smiles: Sequence[str], logits: bool, max_atoms: int | None) -> Columns:
        """The columns of :meth:`predict_rows`, some rows at a time."""
        names = self._columns(logits)
        if self.known is not None:
            names.append("similarity")
        columns: Columns = {name: [] for name in [*names, "reason"]}
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
        """Predictions, and the reason for each row of NaN.

        The predictions are ``[G, T]``. Where training molecules are known, a last column holds the
        similarities.
        """
        graphs: dict[int, Data] = {}  # by the number of the row
        molecules = []
        reasons = [""] * len(smiles)
        for row, text in enumerate(smiles):
            try:
                graph, molecule = self._molecule(text, max_atoms)
            except ValueError as error:
                reasons[row] = str(error)
                continue
            graphs[row] = graph
            molecules.append(molecule)
        rows = [*graphs]
        values = torch.full((len(smiles), len(self._columns(logits))), torch.nan)
        similarity = torch.full((len(smiles), 1), torch.nan)
        if graphs:
            found = self.predict([*graphs.values()], logits=logits)
            assert isinstance(found, Tensor)  # as of all models that predict for graphs
            values[rows] = found.reshape(len(graphs), -1)
            if self.known is not None:
                nearest = nearest_similarity(fingerprints(molecules), self.known)
                similarity[rows] = torch.from_numpy(nearest)[:, None]
        is_finite = values.isfinite().all(dim=1).tolist()
        for row in rows:
            if not is_finite[row]:
                reasons[row] = "the model's output is not a finite number; expected one."
        if self.known is not None:
            values = torch.cat([values, similarity], dim=1)
        return values, reasons

    def _molecule(self, text: str, max_atoms: int | None) -> tuple[Data, Any]:
        """The graph of a molecule and RDKit's molecule, or a ValueError that says what is wrong."""
        assert self.featurize is not None
        if not isinstance(text, str):  # of a table's missing value, for instance
            raise ValueError(f"it is {text!r}; expected a SMILES string.")
        molecule, _, canonical = canonical_molecule(text, self.largest_fragment)
        graph = self.featurize(text, molecule)
        if max_atoms is not None and graph.num_nodes > max_atoms:
            raise ValueError(f"it has {graph.num_nodes} atoms; expected at most {max_atoms}.")
        graph.smiles = canonical
        return graph, molecule

    def memory_of(self, nodes: int) -> int | None:
        """Bytes of memory that a prediction for one graph of so many nodes takes.

        They are counted without taking them. None for a model on lists of edges, whose memory
        depends on the number of edges.
        """
        nodes = whole_number("nodes", nodes, 1)
        graphs = [self._graph(text, number)[0] for number, text in enumerate(("CCO", "CCCC"))]
        sample = collate(encode(graphs, *self.transforms))
        try:
            return prediction_memory(self.model, stretched(sample, 1, nodes))
        except NotImplementedError:
            return None

    def _columns(self, logits: bool) -> list[str]:
        """The names of the columns of predictions."""
        names = [*self.targets]
        if self.task is None or self.task.kind == "value":
            return [f"predicted {name}" for name in names] if names else ["prediction"]
        word = "logit" if logits else "probability"
        if self.task.kind == "probabilities" and not names:
            assert self.task.num_classes is not None  # as of all tasks with classes
            names = [f"class {number}" for number in range(self.task.num_classes)]
        return [f"{word} {name}" for name in names] if names else [word]

    def seconds_of(self, sizes: Sequence[int]) -> float:
        """An estimate of the seconds that predictions for molecules of so many atoms take here.

        A chain of 100 atoms is timed, and the time of others grows with the square of their size.
        """
        chain = ["C" * LARGE]
        self.predict(chain)  # the first prediction takes longer
        start = time.perf_counter()
        self.predict(chain)
        of_chain = time.perf_counter() - start
        return sum((size / LARGE) ** 2 for size in sizes) * of_chain

    def _warn_of_large(self, smiles: Sequence[str], max_atoms: int | None, models: int = 1) -> None:
        """Warns of large molecules, with the memory and the time that they will take."""
        sizes = self._large_sizes(smiles, max_atoms)
        if not sizes:
            return
        memory = self.memory_of(max(sizes))
        takes = "" if memory is None else f"{size_in_words(memory)} of memory and "
        seconds = models * self.seconds_of(sizes)
        what = "1 molecule has" if len(sizes) == 1 else f"{len(sizes):,} molecules have"
        warnings.warn(
            f"{what} more than {LARGE} atoms, the largest {max(sizes)}, and will take {takes}"
            f"{in_words(seconds)}; max_atoms (--max-atoms) leaves out larger ones.",
            stacklevel=3,
        )

    def _large_sizes(self, smiles: Sequence[str], max_atoms: int | None) -> list[int]:
        """The atoms of each molecule that has more than ``LARGE``, but not more than allowed."""
        most = math.inf if max_atoms is None else max_atoms
        sizes = []
        for text in smiles:
            if not isinstance(text, str) or len(text) <= LARGE:  # an atom takes a character or more
                continue
            try:
                molecule, _, _ = canonical_molecule(text, self.largest_fragment)
            except ValueError:
                continue
            size = molecule.GetNumAtoms()
            if LARGE < size <= most:
                sizes.append(size)
        return sizes

    def _check_molecules(self) -> Featurizer:
        """How a molecule becomes a graph, or a ValueError if the model is not one of molecules."""
        if self.featurize is None:
            raise ValueError(f"{self.name} was not trained on molecules; expected PyG graphs.")
        return self.featurize

    def _graph(self, entry: str | Data, number: int) -> tuple[Data, Tensor | None]:
        """A graph and, if it is that of a molecule, the node of each atom as written, ``[n]``."""
        if isinstance(entry, Data):
            if entry.get("y") is not None:  # which a prediction does not read
                entry = copy.copy(entry)
                del entry.y
            return entry, None
        if not isinstance(entry, str):
            given = entry
            if not isinstance(entry, float | int | bytes | None):
                given = f"an object of type {type(entry).__name__}"
            raise ValueError(f"entry {number} is {given}; expected a SMILES string or a PyG Data.")
        featurize = self._check_molecules()
        try:
            graph, order = canonical_graph(entry, featurize, self.largest_fragment)
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

PAIRS_AT_ONCE = {"cpu": 2**15, "cuda": 2**18}
"""Pairs of nodes in a batch, with padding. 2¹⁵ are those of 32 graphs of 32 nodes, or of 2 of 128.

On a CPU a tensor with 64 numbers for each pair then has 8 MB. Larger tensors leave the cache, and
from 32 MB on the C library returns their memory to the operating system after each operation. This
took a fifth of the time.
"""

ENCODED_AT_ONCE = 1024
"""Graphs with their encodings in memory; encodings take more of it than graphs."""

ENCODED_PAIRS_AT_ONCE = 2**20
"""Pairs of nodes in these graphs."""


def check_list(name: str, values: object, of_what: str) -> None:
    """Raises a ValueError for what has no order or no length, and for one string or graph."""
    is_one = isinstance(values, str | bytes | Data | GraphBatch)
    has_order = not isinstance(values, Mapping | Set) and hasattr(values, "__len__")
    if is_one or not has_order:
        given = repr(values) if isinstance(values, str) else f"of type {type(values).__name__}"
        raise ValueError(f"{name} is {given}; expected a list of {of_what}.")


def _is_of_batches(transform: Encoding) -> bool:
    """Whether an encoding is computed for whole batches of predictions."""
    return transform.reads in (None, "edge_attr") and computed_in_batches(transform, device())


def _batches(
    numbers: list[int], sizes: list[int], max_graphs: int, max_pairs: int
) -> list[list[int]]:
    """Divides graphs into batches of ``max_graphs`` and ``max_pairs`` of nodes at most.

    A graph with more pairs than that is a batch by itself.

    Args:
        numbers: of the graphs, by ascending size.
        sizes: the nodes of graph i, for each i.
        max_graphs: of a batch.
        max_pairs: of a batch, with its padding.
    """
    batches: list[list[int]] = [[]]
    for i in numbers:
        batch = batches[-1]
        is_full = len(batch) == max_graphs
        takes_too_much = (len(batch) + 1) * sizes[i] ** 2 > max_pairs
        if batch and (is_full or takes_too_much):
            batches.append([])
        batches[-1].append(i)
    return batches


@contextmanager
def _fused_if_possible(model: nn.Module, wanted: bool) -> Iterator[None]:
    """While inside, CSA runs in its form for the CPU: the same function in half the time.

    It needs numba; without it, and for other models, nothing changes.
    """
    owner: Any = model
    config = getattr(owner, "config", None)
    if not wanted or not isinstance(config, CGTConfig) or not _can_be_fused(config):
        yield
        return
    owner.config = replace(config, form="fused")
    try:
        yield
    finally:
        owner.config = config


def _can_be_fused(config: CGTConfig) -> bool:
    """Whether this machine runs the model in CSA's fused form, and it is not asked for another."""
    if device().type != "cpu" or find_spec("numba") is None:
        return False
    has_default_form = config.form == "factorised"
    is_plain_csa = config.chromatic and config.score == "dot" and config.num_edge_features == 0
    return has_default_form and is_plain_csa


def _attention_of_graph(attention: Tensor, graph: Data, written: Tensor | None) -> Tensor:
    """``[..., N, N]`` without padding, ``[..., n, n]``, on the CPU.

    A molecule's atoms are in the order of its SMILES, if ``written`` ``[n]`` has the node of each.
    """
    n = graph.num_nodes
    attention = attention[..., :n, :n].cpu()
    return attention if written is None else attention[..., written[:, None], written]


def load(name: str | Path, *, seed: int = 0) -> Predictor:
    """A trained model, ready to use.

    Args:
        name: a model that comes with the package (:func:`available`), such as "csa/zinc"; or the
            folder of a run of your own, or the file of its weights (``.safetensors``), which holds
            all that is needed.
        seed: of the run, for a model that comes with the package.

    Raises:
        ValueError: there is no such model, or the run is not finished.
    """
    path = model_path(name, seed)
    if path.suffix == ".safetensors":
        record, weights = read_model(path)
        return _predictor(record, weights)
    record = read_record(path)
    return _predictor(record, read_weights(record, path.parent), path.parent)


@dataclass
class Ensemble:
    """Several runs on one table, with other seeds or folds.

    Attributes:
        members: a predictor for each run; all have the same targets.
    """

    members: list[Predictor]

    @property
    def task(self) -> Task | None:
        """What the members were trained on."""
        return self.members[0].task

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> Columns:
        """The columns of :meth:`Predictor.predict_rows`, as means over the members.

        After each column NAME of predictions, "NAME sd" is the standard deviation over the members:
        how much the prediction depends on chance in training. It does not include an error that all
        members share. "similarity" is that to the nearest training molecule of any member.
        """
        self.members[0]._check_rows(smiles, logits, max_atoms)
        self.members[0]._warn_of_large(smiles, max_atoms, len(self.members))
        tables = [member._rows(smiles, logits, max_atoms) for member in self.members]
        columns: Columns = {}
        for name in tables[0]:
            if name == "reason":
                continue
            values = torch.tensor([table[name] for table in tables])  # [members, G]
            if name == "similarity":
                columns[name] = values.amax(dim=0).tolist()
            else:
                columns[name] = values.mean(dim=0).tolist()
                columns[f"{name} sd"] = values.std(dim=0).tolist()
        of_rows = zip(*(table["reason"] for table in tables), strict=True)
        columns["reason"] = [_first_reason(reasons) for reasons in of_rows]
        return columns


def _first_reason(reasons: Sequence[str]) -> str:
    """The first that is not empty, if there is one."""
    for reason in reasons:
        if reason:
            return reason
    return ""


def load_ensemble(folder: str | Path) -> Ensemble:
    """The seeds of a trained model of the package, or the runs in a folder.

    Args:
        folder: The name of a model that comes with the package with several seeds, such as
            "csa-100k/molecules"; or a folder that holds finished runs, itself or in its folders,
            such as the seeds or folds of a run.

    Raises:
        ValueError: there are fewer than two, or they were trained on different tables, predict
            different targets, or read different features. The sentence names two such runs.
    """
    seeds = shipped_seeds(str(folder))
    if len(seeds) > 1:
        return Ensemble([load(folder, seed=seed) for seed in seeds])
    if len(seeds) == 1:
        raise ValueError(
            f"{folder} comes with one seed; expected a model that comes with several, or a folder "
            "that holds several finished runs."
        )
    if not isinstance(folder, str | Path) or not Path(folder).is_dir():
        raise ValueError(
            f"{folder} is not a folder; expected one that holds several finished runs, or a model "
            "that comes with several seeds."
        )
    records = sorted(Path(folder).rglob("*-seed*.json"))
    members = [load(path.parent) for path in records]
    if len(members) < 2:
        raise ValueError(
            f"{folder} holds {len(members)} finished run(s); expected two or more, such as those "
            "of several --seed or of --folds."
        )
    common = _what_it_predicts(members[0])
    for path, member in zip(records, members, strict=True):
        for what, value in _what_it_predicts(member).items():
            if value != common[what]:
                raise ValueError(
                    f"{records[0].parent} and {path.parent} cannot be one ensemble, because their "
                    f"{what} is {common[what]} in the first and {value} in the second; expected "
                    "the seeds or folds of one run."
                )
    return Ensemble(members)


def _what_it_predicts(predictor: Predictor) -> dict[str, object]:
    """What the members of an ensemble have in common."""
    featurize = predictor.featurize
    return {
        "data": predictor.record.data["source"],  # the same for all folds of a table
        "list of targets": ", ".join(predictor.targets) or "empty",
        "kind of prediction": "value" if predictor.task is None else predictor.task.kind,
        "level of targets": predictor.level,
        "way to read a molecule": "none" if featurize is None else featurize.__name__,
        "choice to keep only the largest fragment": predictor.largest_fragment,
        "record of the training molecules": "missing" if predictor.known is None else "there",
    }


def fine_tuned(recipe: Recipe | str, name: str) -> Recipe:
    """The recipe with a model that starts from trained weights; only its head starts anew.

    Args:
        recipe: a published recipe, or its name, whose data have the features that the trained model
            reads, such as graphormer-base/molhiv for a run of graphormer-base/pcqm4m. Or a recipe
            of :func:`gtcourse.recipes.adapt.own_recipe` with the trained model's
            :func:`features_of` and :func:`vocabularies_of`.
        name: the trained model, as :func:`load` takes it.

    Raises:
        ValueError: the trained model has another configuration than the recipe's, or reads other
            features.
    """
    recipe = as_recipe(recipe)
    _check_start(recipe, name)
    build_model = partial(with_weights, recipe.build_model, name)
    # A run is identified by what it started from, which another run under this name may replace.
    start = {"start": str(name), "start_weights": load(name).record.weights}
    return replace(recipe, build_model=build_model, changed={**recipe.changed, **start})


def features_of(name: str | Path) -> str:
    """The key in ``FEATURES`` of the features that a trained model reads of a molecule.

    Raises:
        ValueError: the model was not trained on molecules, or on molecules with other features.
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
    config: Any = load(name).model.config
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
    own = _settings(built)
    other = _settings(trained.model)
    settings = [
        f"{key} is {value!r}, not {own[key]!r}"
        for key, value in other.items()
        if key in own and own[key] != value and key not in MAY_DIFFER
    ]
    if not differ and not settings:
        return
    what = ", ".join(settings[:6])
    if not what:
        what = f"other weights, such as {differ[0]}"
    raise ValueError(
        f"{name} ({type(trained.model).__name__}) cannot start a model of the recipe {recipe.name} "
        f"({type(built).__name__}): {what}; expected a trained model of the same configuration."
    )


MAY_DIFFER = {
    # These change the head, which gets new weights.
    *("num_targets", "target", "head_widths", "readout"),
    # These have an effect in training alone.
    *("dropout", "node_dropout", "edge_dropout", "attention_dropout", "input_dropout"),
    *("node_ablation", "edge_ablation", "channel_ablation", "node_noise", "flip_signs"),
    # All forms of CSA compute the same function.
    "form",
}
"""Settings in which a model may differ from the trained model that it starts from."""


def _settings(model: nn.Module) -> dict[str, object]:
    """The fields of a model's configuration by name; empty if it has none."""
    config = getattr(model, "config", None)
    return {} if config is None else dict(vars(config))


def with_weights(build: Callable[[], nn.Module], name: str) -> nn.Module:
    """A new model with the weights of a trained one, except for the head."""
    model = build()
    weights = load(name).model.cpu().state_dict()
    for key, value in model.state_dict().items():
        if key.startswith("head."):
            weights[key] = value
    model.load_state_dict(weights)
    return model


def training_fingerprints(data: str, molecules: int) -> np.ndarray | None:
    """The fingerprints of the training molecules of a model that comes with the package.

    Args:
        data: the name of the data set.
        molecules: how many of its training molecules were used.

    Returns:
        ndarray: or None, if they are not stored.
    """
    path = WEIGHTS / f"training-{data}-{molecules}.npz"
    return read_npz(path)["morgan"] if path.is_file() else None


def _predictor(
    record: Record, weights: Mapping[str, Tensor], folder: Path | None = None
) -> Predictor:
    """The predictor of a run; its model is built as the recipe of the run says.

    Args:
        record: of the run.
        weights: by the names of ``state_dict``.
        folder: of the run, which may hold fingerprints of its training molecules.
    """
    name = record.name
    targets: tuple[str, ...] = ()
    largest_fragment = False
    recipe: Recipe | Entry
    own_data = record.config.get("changed", {}).get("own_data")
    small_model = name.rpartition("/")[0]  # gin-100k, for instance, of gin-100k/molecules
    if own_data is not None:
        recipe = own_recipe(**own_data)
        task = recipe.task
        featurize = FEATURES[own_data["features"]][0] if _is_of_molecules(own_data) else None
        targets = tuple(own_data["targets"])
        largest_fragment = own_data.get("largest_fragment", False)
    elif small_model in SMALL_MODELS:
        recipe = SMALL_MODELS[small_model]
        task = graph_regression()
        featurize = zinc_data
    else:
        # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
        recipe = get_recipe(name if name in RECIPES else name.rpartition("-on-")[0])
        task = recipe.task
        featurize = FEATURIZERS.get(record.data["name"])
    with own_random_state():  # a new model draws weights at random, which the next line replaces
        model = recipe.build_model()
    model.load_state_dict(weights)
    model.to(device()).eval()
    known = None
    if folder is not None:
        known = read_fingerprints(folder)
    elif record.data["name"] in SIZES:
        known = training_fingerprints(record.data["name"], record.data["sizes"]["train"])
    return Predictor(
        name=name,
        model=model,
        transforms=recipe.transforms,
        featurize=featurize,
        record=record,
        targets=targets,
        task=task,
        largest_fragment=largest_fragment,
        known=known,
    )


def _is_of_molecules(own: Mapping[str, Any]) -> bool:
    """Whether a run on a reader's own data, with these settings, was one on molecules.

    Records written before January 2027 have features "any" for graphs that are no molecules, too;
    such graphs have the sizes of their features among the settings.
    """
    has_sizes = any("types" in name or name.endswith("columns") for name in own)
    return own["features"] is not None and not has_sizes


EXAMPLES = ("CCO", "c1ccccc1O", "CC(=O)Nc1ccc(O)cc1")
"""Molecules of several sizes, with which a model is exported."""

AXES = {"x": 1, "adjacency": 2, "edge_attr": 2, "mask": 1}
"""How many axes of nodes the tensors of a batch have that are no encodings."""

NARROW = (torch.uint8, torch.int8, torch.int16)
"""Integers in which encodings are stored, and with which ONNX Runtime computes little."""


class OnTensors(nn.Module):
    """A model as a function of a batch's tensors by name."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        """The predictions for tensors as :func:`tensors_of` returns them."""
        tensors = {
            name: values.long() if values.dtype in NARROW else values
            for name, values in tensors.items()
        }
        batch = GraphBatch(
            x=tensors["x"],
            adjacency=tensors["adjacency"],
            edge_attr=tensors.get("edge_attr"),
            mask=tensors["mask"],
            encodings={name: values for name, values in tensors.items() if name not in AXES},
        )
        # With attention the formulas run line by line: fused kernels fix their output's layout.
        predictions, _ = self.model(batch, return_attention=True)
        return predictions


def tensors_of(predictor: Predictor, graphs: Sequence[str | Data]) -> dict[str, Tensor]:
    """The inputs of the exported model for SMILES or PyG graphs, by name."""
    data = [predictor._graph(graph, number)[0] for number, graph in enumerate(graphs)]
    batch = collate(encode(data, *predictor.transforms))
    tensors = {"x": batch.x, "adjacency": batch.adjacency}
    if batch.edge_attr is not None:
        tensors["edge_attr"] = batch.edge_attr
    tensors["mask"] = batch.mask
    return tensors | batch.encodings


def export(
    predictor: Predictor, graphs: Sequence[str | Data] | None = None
) -> torch.export.ExportedProgram:
    """The model as an ``ExportedProgram`` for any number of graphs and nodes.

    The predictor's own model stays where it is.

    Args:
        predictor: of a graph Transformer.
        graphs: two or more examples of different sizes. They are needed if the model was not
            trained on molecules.

    Raises:
        ValueError: there are fewer than two examples, or the model works on lists of edges, which
            cannot be exported.
    """
    _check_predictor(predictor)
    graphs = list(EXAMPLES if graphs is None else graphs)
    if len(graphs) < 2:
        raise ValueError(
            f"graphs has {len(graphs)} example(s); expected two or more, of different sizes, to "
            "export a batch of any size."
        )
    if not predictor._has_attention:
        raise ValueError(
            f"{predictor.name} cannot be exported, because it runs on lists of edges; expected a "
            "Transformer."
        )
    tensors = tensors_of(predictor, graphs)
    B = torch.export.Dim("B", max=1 << 20)
    N = torch.export.Dim("N", min=2, max=1 << 14)
    dynamic = {}
    for name, values in tensors.items():
        num_axes = AXES.get(name, node_axes(name, values))
        dynamic[name] = {0: B} | dict.fromkeys(range(1, num_axes + 1), N)
    model = OnTensors(copy.deepcopy(predictor.model).cpu()).eval()
    with torch.no_grad():
        return torch.export.export(model, (tensors,), dynamic_shapes=(dynamic,), strict=False)


def save_onnx(
    predictor: Predictor, path: str | Path, graphs: Sequence[str | Data] | None = None
) -> list[str]:
    """Writes the model as one ONNX file.

    Args:
        predictor: of a graph Transformer.
        path: of the file.
        graphs: examples, as :func:`export` takes them.

    Returns:
        list: the names of the inputs, which are those of :func:`tensors_of`. The output is called
        "prediction".

    Raises:
        ImportError: ``pip install 'gtcourse[onnx]'`` is missing.
        ValueError: the path is that of a folder, or the model cannot be exported.
    """
    for library in ("onnx", "onnxscript"):
        require(library, library)
    _check_predictor(predictor)
    check_path("the ONNX file", path)
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected the name of a file.")
    examples = list(EXAMPLES if graphs is None else graphs)
    with _quiet("torch.onnx", "onnxscript", "onnx_ir"):
        program = torch.onnx.export(
            export(predictor, examples),
            dynamo=True,
            verbose=False,
            input_names=[*tensors_of(predictor, examples)],
            output_names=["prediction"],
        )
    assert program is not None  # as with dynamo=True
    with replacing(path) as temporary:
        program.save(str(temporary), external_data=False)
    return [str(value.name) for value in program.model.graph.inputs]


def _check_predictor(predictor: object) -> None:
    """Raises a ValueError for what is no :class:`Predictor`, such as its model alone."""
    if not isinstance(predictor, Predictor):
        raise ValueError(
            f"predictor is of type {type(predictor).__name__}; expected a Predictor, as "
            "load('csa/zinc') returns."
        )


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Inside, these loggers report errors only, and nothing warns.

    What else they say is for the developers of the converter to ONNX.
    """
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
