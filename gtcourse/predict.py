"""Predictions of trained models: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` holds all that a prediction needs: the model with its weights, the function
that makes graphs of SMILES, the encodings that the model reads, and the record of the run.
:func:`export` and :func:`save_onnx` write the model for use without this package. What they write
takes any number of graphs and nodes.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from gtcourse.graphs.arguments import check_bools, check_list, check_path, whole_number
from gtcourse.graphs.batch import GraphBatch, node_axes
from gtcourse.graphs.dataset import RaggedGraphs, checked, collate
from gtcourse.graphs.io import read_npz, replacing, require
from gtcourse.graphs.molecules import (
    BOND_NUMBERS,
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
from gtcourse.messages import shown
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
"""How a molecule becomes a graph, by the data set of a run. The graphs of other data sets are no
molecules."""

Columns = dict[str, list[Any]]
"""The columns of a table by name."""


@dataclass
class Predictor:
    """A trained model on :func:`gtcourse.device`, and what its predictions need.

    Attributes:
        name: the name of the run, such as "csa/zinc".
        model: the trained model.
        transforms: the encodings that the model reads.
        featurize: the function that makes the graph of a molecule; None if the model was not
            trained on molecules.
        record: the settings and the results of the run.
        targets: the names of the targets or of the classes; empty for a published data set.
        task: the task that the model was trained on. Without one, the outputs of the model are the
            predictions.
        largest_fragment: whether to keep only the largest piece of a salt or a mixture.
        known: the :func:`~gtcourse.graphs.molecules.fingerprints` of the training molecules. Models
            that come with the package have them, and so have runs on your own molecules; otherwise
            None.
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

    def predict(
        self,
        graphs: Sequence[str | Data],
        *,
        return_attention: bool = False,
        batch_size: int = 64,
        logits: bool = False,
    ) -> Tensor | list[Tensor] | tuple[Tensor | list[Tensor], list[Tensor]]:
        """Predicts for SMILES or graphs, in the order given.

        The model is in evaluation mode while it predicts, and has its own mode again afterwards.

        The prediction for a molecule does not depend on how its SMILES is written, because the
        graph is that of the canonical molecule
        (:func:`~gtcourse.graphs.molecules.canonical_molecule`).

        The prediction for a graph does not depend on the order of its nodes, except for models
        that read eigenvectors or singular vectors (SignNet, EGT). If an eigenvalue or a singular
        value is repeated, its vectors can be chosen in many ways, and the choice depends on the
        order.

        Args:
            graphs: SMILES, or PyG ``Data`` with the features that the model was trained on.
            return_attention: whether to return the attention as well.
            batch_size: the largest number of graphs in a batch.
            logits: whether to return the outputs of a classifier instead of probabilities.

        Returns:
            Tensor: on the CPU, ``[G]`` for one target and ``[G, T]`` for several. A regression
            predicts values in the unit of its training targets; penalised logP, the target of ZINC
            and of the embedded molecules, has no unit. A classifier predicts the probability of
            class 1 of each binary target, or the probabilities of C classes, ``[G, C]``. A model of
            node or edge targets returns a list with one tensor for each graph, ``[n, T]`` or
            ``[E, T]``.

            With ``return_attention`` it is a pair of these predictions and a list with the
            attention in each graph, ``[L, H, n, n]``, without padding and virtual nodes. CSA has
            one map for each channel, ``[L, d, n, n]``. The atoms of a molecule are in the order in
            which RDKit reads its SMILES.

        Raises:
            ValueError: an entry cannot be read or has an atom or a bond that the model does not
                know, the model has no attention to return, or an argument is of the wrong type.
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
        written: list[Tensor | None] = []  # the node of each atom of the SMILES
        for number, entry in enumerate(graphs):
            graph, nodes = self._graph(entry, number)
            data.append(graph)
            written.append(nodes)
        together = self._checked(data)
        return self._predict(data, written, together, return_attention, batch_size, logits)

    def _checked(self, data: Sequence[Data]) -> RaggedGraphs:
        """The graphs end to end; a ValueError for one that the model cannot read."""
        together = checked(data, None)
        together.check_features(self.model)
        bonds = together.columns.get("edge_attr")  # without them the model says what it reads
        if self.featurize is zinc_data and bonds is not None:
            is_none = (bonds == BOND_NUMBERS["NONE"]).any(dim=1)  # [ΣE]
            if is_none.any():
                graph_of_edge = torch.arange(len(data)).repeat_interleave(together.num_edges)
                raise ValueError(
                    f"graph {int(graph_of_edge[is_none][0])}: edge_attr has category "
                    f"{BOND_NUMBERS['NONE']} at an edge, which means no bond in ZINC's graphs; "
                    "expected 1 (single), 2 (double) or 3 (triple)."
                )
        if self.featurize is not None:
            _check_both_directions(together)
        return together

    @torch.no_grad()
    def _predict(
        self,
        data: list[Data],
        written: Sequence[Tensor | None],
        together: RaggedGraphs,
        return_attention: bool = False,
        batch_size: int = 64,
        logits: bool = False,
    ) -> Tensor | list[Tensor] | tuple[Tensor | list[Tensor], list[Tensor]]:
        """What :meth:`predict` returns, for graphs that have been checked.

        Args:
            data: the graphs.
            written: the node of each atom as written, ``[n]``, for a graph that is a molecule.
            together: the same graphs end to end.
            return_attention: whether to return the attention as well.
            batch_size: how many graphs go through the model together.
            logits: whether to return a classifier's outputs instead of probabilities.
        """
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
        """Puts graphs of similar size into batches, so that little of a batch is padding.

        Encodings are computed for a complete batch if they can be. Others are computed for some
        graphs at a time, because encodings need more memory than graphs.

        Args:
            data: the graphs.
            together: the same graphs end to end.
            batch_size: the largest number of graphs in a batch.

        Yields:
            The places of the graphs in ``data``, and their batch with its encodings.
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
        """Takes the predictions for a graph, its nodes or its edges out of a padded batch.

        Args:
            values: the row of the graph in its batch: ``[T]``, ``[N, T]`` or ``[N, N, T]``.
            graph: the graph, without padding.
            written: of a molecule the node of each atom, in the order of its SMILES, ``[n]``.

        Returns:
            Tensor: ``[T]``, ``[n, T]`` or ``[E, T]``.
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
        """What the model predicts for: each "graph", each "node" or each "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    @property
    def _has_attention(self) -> bool:
        """Whether the model returns attention: the graph Transformers do."""
        return "return_attention" in signature(self.model.forward).parameters

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> Columns:
        """Predicts for molecules, as the columns of a table with one row for each.

        A molecule without a prediction does not end the call. Its row has NaN and the reason.

        Args:
            smiles: one SMILES string for each row.
            logits: whether to return the outputs of a classifier instead of probabilities.
            max_atoms: the largest number of atoms for which to predict, not counting hydrogens; by
                default there is no limit.

        Returns:
            dict: lists by the names of their columns.

            - "prediction", or "predicted NAME" for each of your own targets. For a classifier the
              name is "probability NAME", or "logit NAME" with ``logits``.
            - "similarity", if the training molecules are known (:attr:`known`): the largest
              Tanimoto similarity to one of them, from Morgan fingerprints of radius 2. Expect a
              larger error if it is below ``SIMILAR``.
            - "reason": why there is no prediction; empty if there is one.

        Raises:
            ValueError: ``smiles`` is no list, the model does not predict for molecules, or another
                argument is of the wrong type.
        """
        self._check_rows(smiles, logits, max_atoms)
        self._warn_of_large(smiles, max_atoms)
        return self._rows(smiles, logits, max_atoms)

    def _check_rows(self, smiles: Sequence[str], logits: bool, max_atoms: int | None) -> None:
        """Raises a ValueError for a wrong argument, or if the model predicts for no molecule."""
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
        """Raises a ValueError if the logits of a model that has none are wanted."""
        check_bools(logits=logits)
        if logits and (self.task is None or self.task.kind == "value"):
            raise ValueError(
                f"logits has no effect on {self.name}, which predicts values; expected a "
                "classifier."
            )

    def _rows(self, smiles: Sequence[str], logits: bool, max_atoms: int | None) -> Columns:
        """The columns that :meth:`predict_rows` returns, computed for some rows at a time."""
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
        """Predicts for some rows of a table.

        Returns:
            The predictions ``[G, T]``, with the similarities as a last column if the training
            molecules are known; and for each row the reason why it has no prediction, or an empty
            string.
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
        # float64 holds predictions of every precision.
        values = torch.full(
            (len(smiles), len(self._columns(logits))), torch.nan, dtype=torch.float64
        )
        similarity = torch.full((len(smiles), 1), torch.nan, dtype=torch.float64)
        if graphs:
            data = [*graphs.values()]
            together = RaggedGraphs.from_data(data, "graph")  # made here, and need no check
            together.check_features(self.model)
            found = self._predict(data, [None] * len(data), together, logits=logits)
            assert isinstance(found, Tensor)  # as of all models that predict for graphs
            values[rows] = found.reshape(len(graphs), -1).double()
            if self.known is not None:
                nearest = nearest_similarity(fingerprints(molecules), self.known)
                similarity[rows] = torch.from_numpy(nearest).double()[:, None]
        is_finite = values.isfinite().all(dim=1).tolist()
        for row in rows:
            if not is_finite[row]:
                reasons[row] = "the model's output is not a finite number; expected one."
        if self.known is not None:
            values = torch.cat([values, similarity], dim=1)
        return values, reasons

    def _molecule(self, text: str, max_atoms: int | None) -> tuple[Data, Any]:
        """The graph of a molecule, and RDKit's molecule.

        Raises:
            ValueError: the molecule cannot be read or is too large.
        """
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
        """The memory in bytes that a prediction for one graph needs; it is not allocated.

        Args:
            nodes: the number of nodes of the graph.

        Returns:
            int: or None for a model that runs on lists of edges, because its memory depends on the
            number of edges.

        Raises:
            ValueError: ``nodes`` is no whole number above 0, or the model was not trained on
                molecules.
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
        """Estimates the time in seconds of predictions on this machine.

        It times the prediction for a chain of 100 atoms, and assumes that the time grows with the
        square of the number of atoms.

        Args:
            sizes: the number of atoms of each molecule.

        Raises:
            ValueError: a size is no whole number above 0, or the model was not trained on
                molecules.
        """
        check_list("sizes", sizes, "numbers of atoms")
        sizes = [whole_number("a size", size, 1) for size in sizes]
        chain = ["C" * LARGE]
        self.predict(chain)  # the first prediction takes longer
        start = time.perf_counter()
        self.predict(chain)
        of_chain = time.perf_counter() - start
        return sum((size / LARGE) ** 2 for size in sizes) * of_chain

    def _warn_of_large(self, smiles: Sequence[str], max_atoms: int | None, models: int = 1) -> None:
        """Warns about large molecules, and says how much memory and time they will take."""
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
        """The numbers of atoms of the molecules with more than ``LARGE``, up to ``max_atoms``."""
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
        """The function that makes graphs of molecules; a ValueError if the model has none."""
        if self.featurize is None:
            raise ValueError(f"{self.name} was not trained on molecules; expected PyG graphs.")
        return self.featurize

    def _graph(self, entry: str | Data, number: int) -> tuple[Data, Tensor | None]:
        """The graph of an entry of ``predict``.

        Returns:
            The graph; and, for SMILES, the node of each atom in the order of the string, ``[n]``.

        Raises:
            ValueError: the entry cannot be read; the sentence names its place, ``number``.
        """
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


def _check_both_directions(together: RaggedGraphs) -> None:
    """Raises a ValueError for a molecule that has a bond in one direction alone.

    The graph of a molecule has both directions of every bond, and a model of molecules has never
    seen another one.
    """
    graph = torch.arange(len(together)).repeat_interleave(together.num_edges)  # [ΣE]
    source, destination = together.edge_index
    most = int(together.num_nodes.max())
    there = (graph * most + source) * most + destination  # [ΣE], another number for each pair
    back = (graph * most + destination) * most + source  # [ΣE]
    if there.unique().equal(back.unique()):
        return
    edge = int((~torch.isin(back, there)).nonzero()[0])
    i = int(source[edge])
    j = int(destination[edge])
    raise ValueError(
        f"graph {int(graph[edge])} has a bond from {i} to {j} and none from {j} to {i}; expected "
        "both directions of every bond of a molecule, as ToUndirected() of PyG adds."
    )


SIMILAR = 0.3
"""Tanimoto similarity to the nearest training molecule below which you should expect larger errors.

Between 6 and 7 % of the test molecules of ZINC and of the embedded set are below it. There, the
errors of the models that come with the package are up to twice as large as for the other molecules.
The model cards state the errors of each model.
"""

LARGE = 100
"""A prediction for more atoms warns of its memory and time, which grow with their square."""

MANY = 1000
"""From so many graphs on, CSA's fused form saves more time than the second or two of loading it."""

ROWS_AT_ONCE = 4096
"""How many molecules are in memory as graphs, so that long tables do not need more memory."""

PAIRS_AT_ONCE = {"cpu": 2**15, "cuda": 2**18}
"""The largest number of pairs of nodes in a batch, with padding, by the type of device.

32 graphs of 32 nodes have 2¹⁵ pairs, and so have two graphs of 128 nodes. On a CPU, a tensor with
64 numbers for each pair then takes 8 MB. Larger tensors do not fit into the cache. From 32 MB on,
the C library also returns their memory to the operating system after each operation, which took a
fifth of the time.
"""

ENCODED_AT_ONCE = 1024
"""How many graphs are in memory with their encodings, which take more of it than graphs."""

ENCODED_PAIRS_AT_ONCE = 2**20
"""The largest number of pairs of nodes in these graphs."""


def _is_of_batches(transform: Encoding) -> bool:
    """Whether an encoding is computed for a complete batch when a model predicts."""
    return transform.reads in (None, "edge_attr") and computed_in_batches(transform, device())


def _batches(
    numbers: list[int], sizes: list[int], max_graphs: int, max_pairs: int
) -> list[list[int]]:
    """Divides graphs into batches that are not too large.

    A graph that is too large by itself is alone in its batch.

    Args:
        numbers: the numbers of the graphs, smallest graph first.
        sizes: the number of nodes of graph i, for each i.
        max_graphs: the largest number of graphs in a batch.
        max_pairs: the largest number of pairs of nodes in a batch, with its padding.

    Returns:
        The numbers of the graphs of each batch.
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
    """A context in which CSA runs in its fused form, which halves its time on a CPU.

    The form needs numba and calls no layer. Without numba, for a model with hooks, and for other
    models, nothing changes.
    """
    owner: Any = model
    config = getattr(owner, "config", None)
    has_hooks = any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())
    if not wanted or has_hooks or not isinstance(config, CGTConfig) or not _can_be_fused(config):
        yield
        return
    owner.config = replace(config, form="fused")
    try:
        yield
    finally:
        owner.config = config


def _can_be_fused(config: CGTConfig) -> bool:
    """Whether CSA's fused form can run here, and the model has the default form and not another."""
    if device().type != "cpu" or find_spec("numba") is None:
        return False
    has_default_form = config.form == "factorised"
    is_plain_csa = config.chromatic and config.score == "dot" and config.num_edge_features == 0
    return has_default_form and is_plain_csa


def _attention_of_graph(attention: Tensor, graph: Data, written: Tensor | None) -> Tensor:
    """Attention ``[..., N, N]`` without padding, ``[..., n, n]``, on the CPU.

    For a molecule, ``written`` ``[n]`` has the node of each atom in the order of the SMILES, and
    the result is in that order.
    """
    n = graph.num_nodes
    attention = attention[..., :n, :n].cpu()
    return attention if written is None else attention[..., written[:, None], written]


def load(name: str | Path, *, seed: int = 0) -> Predictor:
    """Loads a trained model.

    Args:
        name: the name of a model that comes with the package (:func:`available`), such as
            "csa/zinc"; the folder of a run of your own; or the ``.safetensors`` file of its
            weights, which can be used without the rest of the folder.
        seed: the seed of the run, for a model that comes with the package.

    Raises:
        ValueError: there is no such model, or the run is not finished.
    """
    seed = whole_number("seed", seed, 0)
    path = model_path(name, seed)
    if path.suffix == ".safetensors":
        record, weights = read_model(path)
        return _predictor(record, weights)
    record = read_record(path)
    return _predictor(record, read_weights(record, path.parent), path.parent)


def _same_run(members: Sequence[Predictor]) -> tuple[int, int] | None:
    """The places of two members with the same weights, which two runs never share; or None.

    Records of the first releases do not say what the weights are.
    """
    weights = [member.record.weights for member in members]
    for number, sha256 in enumerate(weights):
        earlier = weights.index(sha256)
        if earlier != number and sha256 != "":
            return earlier, number
    return None


@dataclass
class Ensemble:
    """Several runs of one recipe on the same data, with different seeds or folds.

    Attributes:
        members: a predictor for each run; all have the same targets.

    Raises:
        ValueError: there are fewer than two members, or two of them do not predict the same.
    """

    members: list[Predictor]

    def __post_init__(self) -> None:
        check_list("members", self.members, "predictors")
        for member in self.members:
            _check_predictor(member)
        if len(self.members) < 2:
            raise ValueError(f"members has {len(self.members)} predictor(s); expected two or more.")
        if same := _same_run(self.members):
            earlier, later = same
            raise ValueError(
                f"members {earlier} and {later} are the same run, whose predictions would count "
                "twice; expected each run once."
            )
        first, *others = map(_what_it_predicts, self.members)
        for number, other in enumerate(others, start=1):
            for what, value in other.items():
                if value != first[what]:
                    raise ValueError(
                        f"members 0 and {number} cannot be one ensemble, because their {what} is "
                        f"{first[what]} and {value}; expected the seeds or folds of one run."
                    )

    @property
    def task(self) -> Task | None:
        """The task that the members were trained on."""
        return self.members[0].task

    def predict_rows(
        self, smiles: Sequence[str], *, logits: bool = False, max_atoms: int | None = None
    ) -> Columns:
        """Predicts for molecules by the mean of the members.

        The arguments, the columns and the errors are those of :meth:`Predictor.predict_rows`. Each
        column NAME of predictions is followed by "NAME sd", the standard deviation over the
        members. It says how much the prediction depends on chance in training, but does not include
        errors that all members share. "similarity" is that to the nearest training molecule of any
        member.
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
    """The first reason that is not empty, or an empty string."""
    for reason in reasons:
        if reason:
            return reason
    return ""


def load_ensemble(folder: str | Path) -> Ensemble:
    """Loads several runs, whose predictions are then averaged.

    Args:
        folder: the name of a model that comes with several seeds, such as "csa-100k/molecules"; or
            a folder with finished runs, in it or in its subfolders, such as ``gtcourse train``
            writes for several seeds or folds.

    Raises:
        ValueError: there are fewer than two runs, or two of them were trained on different data,
            predict different targets or read different features. The sentence names these two.
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
    if same := _same_run(members):
        earlier, later = same
        raise ValueError(
            f"{records[earlier].parent} and {records[later].parent} hold the same run, whose "
            "predictions would count twice; expected each run once."
        )
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
    """What has to be the same for all members of an ensemble, by its description in messages."""
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
    """A recipe for fine-tuning: its model has trained weights, except for a new head.

    Args:
        recipe: a published recipe, or its name. Its data need the features that the trained model
            reads, as graphormer-base/molhiv has those of graphormer-base/pcqm4m. For your own data
            it is a recipe of :func:`gtcourse.recipes.adapt.own_recipe`, made with the
            trained model's features (:func:`features_of`) and vocabularies
            (:func:`vocabularies_of`).
        name: the trained model, as :func:`load` takes it.

    Raises:
        ValueError: there is no such recipe or trained model, or the two models differ in their
            configuration or in the features that they read.
    """
    recipe = as_recipe(recipe)
    _check_start(recipe, name)
    build_model = partial(with_weights, recipe.build_model, name)
    # The weights are part of the run's identity: another run may replace them under this name.
    start = {"start": str(name), "start_weights": load(name).record.weights}
    return replace(recipe, build_model=build_model, changed={**recipe.changed, **start})


def features_of(name: str | Path) -> str:
    """The features of a molecule that a trained model reads, as a key of ``FEATURES``.

    Args:
        name: the trained model, as :func:`load` takes it.

    Raises:
        ValueError: the model was not trained on molecules, or reads features that are not in
            ``FEATURES``.
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
    """How many categories a trained model knows in each column of ``x`` and of ``edge_attr``.

    Args:
        name: the trained model, as :func:`load` takes it.
    """
    config: Any = load(name).model.config
    return config.num_node_types, getattr(config, "num_edge_types", ())


def _check_start(recipe: Recipe, name: str) -> None:
    """Raises a ValueError if a trained model and the recipe's differ, except in their heads."""
    trained = load(name)
    with torch.device("meta"):  # without memory
        built = recipe.build_model()
    shapes = {key: value.shape for key, value in built.state_dict().items()}
    found = {key: value.shape for key, value in trained.model.state_dict().items()}
    differ = [
        key
        for key in sorted(shapes.keys() | found.keys())
        if not key.startswith(HEADS) and shapes.get(key) != found.get(key)
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


HEADS = ("head.", "heads.")
"""How the names of a head's weights begin; GIN has a head for each layer."""

MAY_DIFFER = {
    # These change only the head, which gets new weights.
    *("num_targets", "target", "head_widths", "readout"),
    # These have an effect only in training.
    *("dropout", "node_dropout", "edge_dropout", "attention_dropout", "input_dropout"),
    *("node_ablation", "edge_ablation", "channel_ablation", "node_noise", "flip_signs"),
    # All forms of CSA compute the same function.
    "form",
}
"""The settings in which a model may differ from the trained model that it starts from."""


def _settings(model: nn.Module) -> dict[str, object]:
    """The fields of a model's configuration, by their names; empty if it has none."""
    config = getattr(model, "config", None)
    return {} if config is None else dict(vars(config))


def with_weights(build: Callable[[], nn.Module], name: str) -> nn.Module:
    """A new model with the weights of a trained one, except for the head."""
    model = build()
    weights = load(name).model.cpu().state_dict()
    for key, value in model.state_dict().items():
        if key.startswith(HEADS):
            weights[key] = value
    model.load_state_dict(weights)
    return model


def training_fingerprints(data: str, molecules: int) -> np.ndarray | None:
    """The fingerprints of the training molecules of a model that comes with the package.

    Args:
        data: the name of the data set.
        molecules: how many of its training molecules the model was trained on.

    Returns:
        ndarray: ``[molecules, 256]`` bytes, or None if the package does not have them.
    """
    path = WEIGHTS / f"training-{data}-{molecules}.npz"
    return read_npz(path)["morgan"] if path.is_file() else None


def _predictor(
    record: Record, weights: Mapping[str, Tensor], folder: Path | None = None
) -> Predictor:
    """The predictor of a run, with the model that the recipe of the run builds.

    Args:
        record: the record of the run.
        weights: the weights, by their names in ``state_dict``.
        folder: the folder of the run, if there is one. It may have fingerprints of the training
            molecules.
    """
    name = record.name
    targets: tuple[str, ...] = ()
    largest_fragment = False
    recipe: Recipe | Entry
    own_data = record.config.get("changed", {}).get("own_data")
    # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
    published = name if name in RECIPES else name.rpartition("-on-")[0]
    small_model = name.rpartition("/")[0]  # gin-100k, for instance, of gin-100k/molecules
    if own_data is not None:
        recipe = _recorded_recipe(own_data, name)
        task = recipe.task
        featurize = FEATURES[own_data["features"]][0] if _is_of_molecules(own_data) else None
        targets = tuple(own_data["targets"])
        largest_fragment = own_data.get("largest_fragment", False)
    elif published not in RECIPES and small_model in SMALL_MODELS:
        recipe = SMALL_MODELS[small_model]
        task = graph_regression()
        featurize = zinc_data
    else:
        recipe = get_recipe(published)
        task = recipe.task
        featurize = FEATURIZERS.get(record.data["name"])
    with own_random_state():  # a new model draws weights at random, which the next line replaces
        model = recipe.build_model()
    _load_weights(model, weights, name)
    model.to(device()).eval()
    known = None
    if folder is not None:
        known = read_fingerprints(folder)
    elif own_data is None and record.data["name"] in SIZES:
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


def _recorded_recipe(own_data: Any, name: str) -> Recipe:
    """The recipe of a run on own data, from the settings in its record.

    Raises:
        ValueError: they are not those of :func:`own_recipe`.
    """
    required = ("recipe", "task", "targets", "features")
    if not isinstance(own_data, dict) or not own_data.keys() >= {*required}:
        raise ValueError(
            f"the record of {name} has own_data = {shown(own_data)}; expected settings with "
            f"{', '.join(required)}."
        )
    return own_recipe(**own_data)


def _load_weights(model: nn.Module, weights: Mapping[str, Tensor], name: str) -> None:
    """Loads the weights of a run into its model.

    Raises:
        ValueError: they are those of another model.
    """
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        shapes = {key: values.shape for key, values in model.state_dict().items()}
        found = {key: values.shape for key, values in weights.items()}
        keys = sorted(shapes.keys() | found.keys())
        differ = [key for key in keys if shapes.get(key) != found.get(key)]
        raise ValueError(
            f"the weights of {name} do not fit its model, {type(model).__name__}: {len(differ)} "
            f"differ in name or shape, such as {differ[0]}; expected the weights that were saved "
            "with the record."
        ) from None


def _is_of_molecules(own: Mapping[str, Any]) -> bool:
    """Whether a run with these settings of ``own_recipe`` was trained on molecules.

    Records that were written before January 2027 have the features "any" even for graphs that are
    no molecules. The settings of such graphs include the sizes of their features.
    """
    has_sizes = any("types" in name or name.endswith("columns") for name in own)
    return own["features"] is not None and not has_sizes


EXAMPLES = ("CCO", "c1ccccc1O", "CC(=O)Nc1ccc(O)cc1")
"""The examples with which a model is exported, molecules of different sizes."""

AXES = {"x": 1, "adjacency": 2, "edge_attr": 2, "mask": 1}
"""The number of node axes of each tensor of a batch that is no encoding."""

NARROW = (torch.uint8, torch.int8, torch.int16)
"""The integers in which encodings are stored. ONNX Runtime has few operations on them."""


class OnTensors(nn.Module):
    """A model that takes the tensors of a batch, by their names, in place of a ``GraphBatch``."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        """Returns the predictions for tensors such as :func:`tensors_of` returns."""
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
        # With return_attention no fused kernel is used; they fix the layout of their output.
        predictions, _ = self.model(batch, return_attention=True)
        return predictions


def tensors_of(predictor: Predictor, graphs: Sequence[str | Data]) -> dict[str, Tensor]:
    """The inputs of an exported model for SMILES or PyG graphs.

    Args:
        predictor: the predictor whose model was exported.
        graphs: SMILES, or PyG ``Data`` with the features that the model was trained on.

    Returns:
        dict: the tensors of one batch by their names: "x", "adjacency", "edge_attr" if the graphs
        have it, "mask", and the encodings. Their shapes are those of
        :class:`~gtcourse.graphs.GraphBatch`.

    Raises:
        ValueError: an entry cannot be read or has a feature that the model does not know, or an
            argument is of the wrong type.
    """
    _check_predictor(predictor)
    check_list("graphs", graphs, "SMILES or PyG graphs")
    data = [predictor._graph(graph, number)[0] for number, graph in enumerate(graphs)]
    predictor._checked(data)
    batch = collate(encode(data, *predictor.transforms))
    tensors = {"x": batch.x, "adjacency": batch.adjacency}
    if batch.edge_attr is not None:
        tensors["edge_attr"] = batch.edge_attr
    tensors["mask"] = batch.mask
    return tensors | batch.encodings


def export(
    predictor: Predictor, graphs: Sequence[str | Data] | None = None
) -> torch.export.ExportedProgram:
    """Exports the model as an ``ExportedProgram`` of PyTorch, for any number of graphs and nodes.

    The model of the predictor itself stays on its device and in its mode.

    Args:
        predictor: the predictor of a graph Transformer.
        graphs: two or more examples of different sizes, as :meth:`Predictor.predict` takes them. By
            default they are the molecules ``EXAMPLES``, which a model of other graphs cannot read.

    Raises:
        ValueError: there are fewer than two examples, one of them cannot be read, or the model runs
            on lists of edges, which cannot be exported.
    """
    _check_predictor(predictor)
    if graphs is not None:
        check_list("graphs", graphs, "SMILES or PyG graphs")
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
    if tensors["mask"].shape[1] == 1:
        raise ValueError(
            "all examples have one node, and one node would become the fixed size of the exported "
            "model; expected an example with two nodes or more."
        )
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
    """Writes the model to an ONNX file, for any number of graphs and nodes.

    Args:
        predictor: the predictor of a graph Transformer.
        path: the file to write.
        graphs: examples, as :func:`export` takes them.

    Returns:
        list: the names of the inputs; :func:`tensors_of` makes such tensors. The output is called
        "prediction".

    Raises:
        ImportError: the libraries for ONNX are missing; ``pip install 'gtcourse[onnx]'`` installs
            them.
        ValueError: the path is that of a folder, or the model cannot be exported.
    """
    for library in ("onnx", "onnxscript"):
        require(library, library)
    _check_predictor(predictor)
    check_path("the ONNX file", path)
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected the name of a file.")
    if graphs is not None:
        check_list("graphs", graphs, "SMILES or PyG graphs")
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
    """Raises a ValueError for what is no :class:`Predictor`, such as the model of one."""
    if not isinstance(predictor, Predictor):
        raise ValueError(
            f"predictor is of type {type(predictor).__name__}; expected a Predictor, as "
            "load('csa/zinc') returns."
        )


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """A context in which these loggers report errors only, and no warning is shown.

    Their other messages are for the developers of the converter to ONNX.
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
