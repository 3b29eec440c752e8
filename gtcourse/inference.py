"""Trained models that are ready to use: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` carries everything that stands between a molecule and a number: the model with
its weights, how SMILES become graphs, the encodings the model reads, and the record of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.analysis import between_nodes
from gtcourse.encodings import Encoding, encode
from gtcourse.graphs.batch import GraphBatch, collate
from gtcourse.recipes import RECIPES
from gtcourse.training.budget import device
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.own import FEATURES, ogb_data, own_recipe, zinc_data
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import Record, read_record, read_weights

OGB = ("pcqm4m", "pcqm4mv2", "molhiv", "molpcba")


@dataclass
class Predictor:
    """A trained model with its encodings.

    Attributes:
        name: of the run.
        model: in evaluation mode, on :func:`gtcourse.device`.
        transforms: the encodings that it reads.
        featurize: SMILES to the graph that the model was trained on; None if its graphs are no
            molecules.
        record: the run it comes from; ``record.result`` has its test error.
        targets: the names of the predicted columns, where there are several.
    """

    name: str
    model: nn.Module = field(repr=False)
    transforms: tuple[Encoding, ...]
    featurize: Callable[[str], Data] | None = field(repr=False)
    record: Record = field(repr=False)
    targets: tuple[str, ...] = ()

    def predict(
        self,
        graphs: Sequence[str | Data],
        *,
        return_attention: bool = False,
        batch_size: int = 64,
        progress: bool | None = None,
    ) -> Tensor | list[Tensor] | tuple[Tensor | list[Tensor], list[Tensor]]:
        """The model's outputs, in the order given.

        Args:
            graphs: SMILES, or PyG ``Data`` with the features the model was trained on.
            return_attention: also each graph's attention ``[L, H, n, n]`` without padding and
                virtual nodes (of CSA one map per channel: ``[L, d, n, n]``).
            progress: shows a bar; by default in a terminal, where it takes more than a second.

        Returns:
            Tensor: ``[G]``, or ``[G, T]`` for T targets, on the CPU, in the units of the training
            targets: penalised logP for ZINC and the embedded molecules, logits for classification.
            A model of node or edge targets returns a list: ``[n, T]`` or ``[E, T]`` per graph.

        Raises:
            ValueError: an entry cannot be read or has an atom unknown to the model; the message
                names it.
        """
        if isinstance(graphs, str | Data):
            raise ValueError(f"graphs is one {type(graphs).__name__}; expected a list.")
        if not len(graphs):
            raise ValueError("graphs is empty; expected SMILES strings or PyG graphs.")
        data = encode([self._graph(entry, i) for i, entry in enumerate(graphs)], *self.transforms)
        # Graphs of similar size share a batch, so that little of it is padding.
        order = sorted(range(len(data)), key=lambda i: data[i].num_nodes)
        predictions: list[Tensor] = [torch.empty(0)] * len(data)
        attentions: list[Tensor] = [torch.empty(0)] * len(data)
        bar = {"unit": "batch", "delay": 0 if progress else 1, "leave": False}
        bar["disable"] = None if progress is None else not progress
        for start in tqdm(range(0, len(data), batch_size), **bar):
            members = order[start : start + batch_size]
            batch = collate([data[i] for i in members]).to(device())
            values, attention = self._forward(batch, return_attention)
            for row, i in enumerate(members):
                predictions[i] = self._of_graph(values[row], data[i]).cpu()
                if attention is not None:
                    n = data[i].num_nodes
                    attentions[i] = attention[row, ..., :n, :n].cpu()
        values = torch.stack(predictions) if self.level == "graph" else predictions
        return (values, attentions) if return_attention else values

    @property
    def level(self) -> str:
        """What the model predicts for: "graph", "node" or "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    def _of_graph(self, values: Tensor, graph: Data) -> Tensor:
        """One graph's outputs without padding."""
        match self.level:
            case "node":
                return values[: graph.num_nodes]
            case "edge":
                source, destination = graph.edge_index.to(values.device)
                return values[source, destination]
        return values

    def predict_rows(self, smiles: Sequence[str]) -> dict[str, list]:
        """Predictions in columns, where some molecules cannot be read.

        Returns:
            dict: "prediction", or "predicted NAME" for each target, to values with NaN where there
            is none; "reason" to why there is none, or "".
        """
        graphs, rows, reasons = [], [], []
        for i, text in enumerate(smiles):
            try:
                graphs.append(self._graph(text, i))
            except ValueError as error:
                reasons.append(str(error).partition(": ")[2])
            else:
                reasons.append("")
                rows.append(i)
        names = [f"predicted {name}" for name in self.targets] or ["prediction"]
        values = torch.full((len(reasons), len(names)), torch.nan)
        if rows:
            values[rows] = self.predict(graphs).reshape(len(rows), -1)
        columns = {name: values[:, i].tolist() for i, name in enumerate(names)}
        return columns | {"reason": reasons}

    @torch.inference_mode()
    def _forward(self, batch: GraphBatch, return_attention: bool):
        if not return_attention:
            return self.model(batch), None
        values, attention = self.model(batch, return_attention=True)
        return values, between_nodes(attention, attention.shape[-1] - batch.mask.shape[1])

    def _graph(self, entry: str | Data, number: int) -> Data:
        if isinstance(entry, Data):
            return entry
        if self.featurize is None:
            raise ValueError(
                f"entry {number} is {entry!r}, but {self.record.name} was not trained on "
                "molecules; expected PyG graphs."
            )
        try:
            if not isinstance(entry, str):  # an empty cell of a table is NaN
                raise ValueError(f"{entry!r} is no text; expected SMILES.")
            return self.featurize(entry)
        except ValueError as error:
            raise ValueError(f"entry {number}: {error}") from None


def load(name: str | Path, *, seed: int = 0) -> Predictor:
    """A trained model, ready to use.

    Args:
        name: one of :func:`available`, such as "csa/zinc", or the folder of a finished run of
            ``gtcourse train``.
        seed: of the shipped run, where there are several.

    Raises:
        ValueError: there is no such run, or it is not finished; the message says what there is.
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = Path(str(files("gtcourse") / "recorded"))
        path = folder / f"{str(name).replace('/', '-')}-seed{seed}.json"
        if not path.is_file() or not (record := read_record(path)).weights:
            raise ValueError(
                f"there are no weights of {str(name)!r} with seed {seed}; expected one of "
                f"{', '.join(available())}, or the folder of a finished run."
            )
    else:
        records = sorted(folder.glob("*-seed*.json"))
        if len(records) != 1:
            raise ValueError(
                f"{folder} holds {len(records)} records; expected the folder of one finished run."
            )
        record = read_record(records[0])
    return _predictor(record, folder)


def fine_tuned(recipe: Recipe, name: str) -> Recipe:
    """The recipe with a model that starts from trained weights; its head starts anew.

    Args:
        recipe: of :func:`gtcourse.training.own.own_recipe`, with the features that the trained
            model reads: ``features="zinc"`` for one that was trained on ZINC.
        name: as :func:`load` takes it.
    """
    start = partial(with_weights, recipe.build_model, name)
    return replace(recipe, build_model=start, changed=recipe.changed | {"start": str(name)})


def with_weights(build: Callable[[], nn.Module], name: str) -> nn.Module:
    """A new model with the weights of a trained one, all but those of the head.

    Raises:
        ValueError: the two are not alike.
    """
    model = build()
    trained = load(name).model.cpu().state_dict()
    body = {key: value for key, value in trained.items() if not key.startswith("head.")}
    fresh = {key: value.shape for key, value in model.state_dict().items()}
    wrong = [key for key in {*body, *fresh} if not key.startswith("head.")]
    wrong = [key for key in wrong if key not in body or body[key].shape != fresh.get(key)]
    if wrong:
        raise ValueError(
            f"the weights of {name} do not fit the model (first {min(wrong)}); expected the same "
            "recipe with the same features."
        )
    model.load_state_dict(body, strict=False)
    return model


def available() -> list[str]:
    """The names of the runs whose weights are shipped."""
    folder = Path(str(files("gtcourse") / "recorded"))
    stems = (path.stem for path in (folder / "weights").glob("*.pt"))
    return sorted({read_record(folder / f"{stem}.json").name for stem in stems})


def _predictor(record: Record, folder: Path) -> Predictor:
    name, targets, entry = record.name, (), None
    if own := record.config.get("changed", {}).get("own_data"):
        own = dict(own)
        featurize = FEATURES[own["features"]].featurize
        entry, targets = own_recipe(RECIPES[own.pop("recipe")], **own), tuple(own["targets"])
    elif name.rpartition("/")[0] in LEADERBOARD:
        entry, featurize = LEADERBOARD[name.rpartition("/")[0]], zinc_data
    else:
        # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
        entry = RECIPES.get(name) or RECIPES.get(name.rpartition("-on-")[0])
        if entry is None:
            raise ValueError(f"{folder} holds a run of {name!r}, which is no recipe of the course.")
        featurize = _featurizer(record.data["name"])
    model = entry.build_model()
    model.load_state_dict(read_weights(record, folder))
    return Predictor(name, model.to(device()).eval(), entry.transforms, featurize, record, targets)


def _featurizer(dataset: str) -> Callable[[str], Data] | None:
    if dataset in ("zinc", "zinc-full", "molecules"):
        return zinc_data
    return ogb_data if dataset in OGB else None
