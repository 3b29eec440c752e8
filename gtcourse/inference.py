"""Trained models that are ready to use: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` has everything between a molecule and a number: the model with its weights, how
SMILES become graphs, the encodings the model reads, and the record of the run.
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
from gtcourse.graphs.batch import collate
from gtcourse.recipes import RECIPES
from gtcourse.training.budget import device
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.own import FEATURES, ogb_data, own_recipe, zinc_data
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import Record, read_record, read_weights

RECORDED = Path(str(files("gtcourse") / "recorded"))
FEATURIZERS = {
    **dict.fromkeys(("zinc", "zinc-full", "molecules"), zinc_data),
    **dict.fromkeys(("pcqm4m", "pcqm4mv2", "molhiv", "molpcba"), ogb_data),
}
"""By the data set of a run; graphs of others are no molecules."""


@dataclass
class Predictor:
    """A trained model with its encodings.

    Attributes:
        name: of the run.
        model: in evaluation mode, on :func:`gtcourse.device`.
        transforms: the encodings that it reads.
        featurize: SMILES to the graph that the model was trained on; None if its graphs are no
            molecules.
        record: of the run; ``record.result`` has its test error.
        targets: the names of the predicted columns, if there are several.
    """

    name: str
    model: nn.Module = field(repr=False)
    transforms: tuple[Encoding, ...]
    featurize: Callable[[str], Data] | None = field(repr=False)
    record: Record = field(repr=False)
    targets: tuple[str, ...] = ()

    @torch.no_grad()
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
            progress: shows a bar; by default in a terminal, if it takes more than a second.

        Returns:
            Tensor: ``[G]``, or ``[G, T]`` for T targets, on the CPU, in the units of the training
            targets: penalised logP for ZINC and the embedded molecules, logits for classification.
            A model of node or edge targets returns a list: ``[n, T]`` or ``[E, T]`` per graph.

        Raises:
            ValueError: an entry cannot be read or has an atom unknown to the model.
        """
        if isinstance(graphs, str | Data):
            raise ValueError(f"graphs is one {type(graphs).__name__}; expected a list.")
        if not len(graphs):
            raise ValueError("graphs is empty; expected SMILES strings or PyG graphs.")
        data = encode([self._graph(entry, i) for i, entry in enumerate(graphs)], *self.transforms)
        # Graphs of similar size share a batch, so that little of it is padding.
        order = sorted(range(len(data)), key=lambda i: data[i].num_nodes)
        predictions, attentions = [None] * len(data), [None] * len(data)
        bar = {"unit": "batch", "delay": 0 if progress else 1, "leave": False}
        bar["disable"] = None if progress is None else not progress
        for start in tqdm(range(0, len(data), batch_size), **bar):
            members = order[start : start + batch_size]
            batch = collate([data[i] for i in members]).to(device())
            if return_attention:
                values, attention = self.model(batch, return_attention=True)
                virtual_nodes = attention.shape[-1] - batch.mask.shape[1]
                attention = between_nodes(attention, virtual_nodes)
            else:
                values = self.model(batch)
            for row, i in enumerate(members):
                n = data[i].num_nodes
                predictions[i] = self._without_padding(values[row], data[i]).cpu()
                attentions[i] = attention[row, ..., :n, :n].cpu() if return_attention else None
        values = torch.stack(predictions) if self.level == "graph" else predictions
        return (values, attentions) if return_attention else values

    @property
    def level(self) -> str:
        """What the model predicts for: "graph", "node" or "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    def _without_padding(self, values: Tensor, graph: Data) -> Tensor:
        if self.level == "node":
            return values[: graph.num_nodes]
        if self.level == "edge":
            source, destination = graph.edge_index.to(values.device)
            return values[source, destination]
        return values

    def predict_rows(self, smiles: Sequence[str]) -> dict[str, list]:
        """Predictions in columns, where some molecules cannot be read.

        Returns:
            dict: "prediction", or "predicted NAME" for each target, to values with NaN where there
            is none; "reason" to why there is none, or "".
        """
        graphs, rows, reasons = [], [], [""] * len(smiles)
        for i, text in enumerate(smiles):
            try:
                graphs.append(self._graph(text, i))
                rows.append(i)
            except ValueError as error:
                reasons[i] = str(error).partition(": ")[2]
        names = [f"predicted {name}" for name in self.targets] or ["prediction"]
        values = torch.full((len(reasons), len(names)), torch.nan)
        if rows:
            values[rows] = self.predict(graphs).reshape(len(rows), -1)
        return dict(zip(names, values.T.tolist(), strict=True)) | {"reason": reasons}

    def _graph(self, entry: str | Data, number: int) -> Data:
        if isinstance(entry, Data):
            return entry
        try:
            if self.featurize is None:
                raise ValueError(f"{self.name} was not trained on molecules; expected PyG graphs.")
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
        folder, file = RECORDED, f"{str(name).replace('/', '-')}-seed{seed}"
        if not (folder / "weights" / f"{file}.pt").is_file():
            raise ValueError(
                f"there are no weights of {str(name)!r} with seed {seed}; expected one of "
                f"{', '.join(available())}, or the folder of a finished run."
            )
        return _predictor(read_record(folder / f"{file}.json"), folder)
    records = sorted(folder.glob("*-seed*.json"))
    if len(records) != 1:
        raise ValueError(
            f"{folder} holds {len(records)} records; expected the folder of one finished run."
        )
    return _predictor(read_record(records[0]), folder)


def available() -> list[str]:
    """The names of the runs whose weights are shipped."""
    records = (RECORDED / f"{path.stem}.json" for path in (RECORDED / "weights").glob("*.pt"))
    return sorted({read_record(path).name for path in records})


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
    """A new model with the weights of a trained one, except for the head.

    Raises:
        ValueError: the two models do not match.
    """
    model = build()
    head = {key: value for key, value in model.state_dict().items() if key.startswith("head.")}
    trained = load(name).model.cpu().state_dict()
    try:
        model.load_state_dict({k: v for k, v in trained.items() if k not in head} | head)
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise ValueError(
            f"the weights of {name} do not fit the model ({reason}); expected the same recipe with "
            "the same features."
        ) from None
    return model


def _predictor(record: Record, folder: Path) -> Predictor:
    """The model is built as its recipe says: one on own data, of the leaderboard, or published."""
    name, targets = record.name, ()
    if own := record.config.get("changed", {}).get("own_data"):
        own = dict(own)
        featurize, targets = FEATURES[own["features"]].featurize, tuple(own["targets"])
        recipe = own_recipe(RECIPES[own.pop("recipe")], **own)
    elif name.rpartition("/")[0] in LEADERBOARD:
        recipe, featurize = LEADERBOARD[name.rpartition("/")[0]], zinc_data
    else:
        # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
        recipe = RECIPES.get(name) or RECIPES.get(name.rpartition("-on-")[0])
        if recipe is None:
            raise ValueError(f"{folder} holds a run of {name!r}, which is no recipe of the course.")
        featurize = FEATURIZERS.get(record.data["name"])
    model = recipe.build_model()
    model.load_state_dict(read_weights(record, folder))
    model.to(device()).eval()
    return Predictor(name, model, recipe.transforms, featurize, record, targets)
