"""Trained models that are ready to use: ``gtcourse.load("csa/zinc").predict(["CCO"])``.

A :class:`Predictor` has everything between a molecule and a number: the model with its weights, how
SMILES become graphs, the encodings the model reads, and the record of the run. Outside of Python it
is a ``torch.export`` program or an ONNX file, for any number of graphs and nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.encodings import Encoding, encode
from gtcourse.graphs.batch import GraphBatch, node_axes
from gtcourse.graphs.dataset import checked, collate
from gtcourse.graphs.io import replacing
from gtcourse.graphs.molecules import ogb_data, zinc_data
from gtcourse.interpret import between_nodes
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.recipes.adapt import FEATURES, own_recipe
from gtcourse.recipes.recipe import Recipe
from gtcourse.recipes.small import SMALL_MODELS
from gtcourse.runs.record import (
    WEIGHTS,
    Record,
    read_model,
    read_record,
    read_weights,
    record_in,
    record_stem,
)
from gtcourse.train.loop import device

# By the data set of a run; graphs of others are no molecules.
FEATURIZERS = dict.fromkeys(("zinc", "zinc-full", "molecules"), zinc_data)
FEATURIZERS |= dict.fromkeys(("pcqm4m", "pcqm4mv2", "molhiv", "molpcba"), ogb_data)


@dataclass
class Predictor:
    """A trained model, in evaluation mode on :func:`gtcourse.device`, with the record of its run.

    Attributes:
        transforms: the encodings that it reads.
        featurize: SMILES to the graph that the model was trained on; None if it is no molecule.
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
        self, graphs: Sequence[str | Data], *, return_attention: bool = False, batch_size: int = 64
    ) -> Tensor | list[Tensor] | tuple[Tensor | list[Tensor], list[Tensor]]:
        """The model's outputs, in the order given.

        Args:
            graphs: SMILES, or PyG ``Data`` with the features the model was trained on.
            return_attention: also each graph's attention ``[L, H, n, n]`` without padding and
                virtual nodes (of CSA one map per channel: ``[L, d, n, n]``).

        Returns:
            Tensor: ``[G]``, or ``[G, T]`` for T targets, on the CPU, in the units of the training
            targets: penalised logP for ZINC and the embedded molecules, logits for classification.
            A model of node or edge targets returns a list: ``[n, T]`` or ``[E, T]`` per graph.

        Raises:
            ValueError: an entry cannot be read or has an atom unknown to the model.
        """
        if isinstance(graphs, str | Data) or not len(graphs):
            raise ValueError(f"graphs is {graphs!r}; expected a list of SMILES or PyG graphs.")
        data = encode([self._graph(entry, i) for i, entry in enumerate(graphs)], *self.transforms)
        checked(data, None).check_features(self.model)
        # Graphs of similar size share a batch, so that little of it is padding.
        order = sorted(range(len(data)), key=lambda i: data[i].num_nodes)
        predictions, attentions = [None] * len(data), [None] * len(data)
        starts = range(0, len(data), batch_size)
        for start in tqdm(starts, unit="batch", delay=1, leave=False, disable=None):
            members = order[start : start + batch_size]
            batch = collate([data[i] for i in members]).to(device())
            options = {"return_attention": True} if return_attention else {}
            values = self.model(batch, **options)
            values, attention = values if return_attention else (values, None)
            for row, i in enumerate(members):
                n = data[i].num_nodes
                places = {"graph": ..., "node": slice(n), "edge": (*data[i].edge_index,)}
                predictions[i] = values[row].cpu()[places[self.level]]
                if return_attention:
                    nodes = between_nodes(attention[row], attention.shape[-1] - batch.mask.shape[1])
                    attentions[i] = nodes[..., :n, :n].cpu()
        values = torch.stack(predictions) if self.level == "graph" else predictions
        return (values, attentions) if return_attention else values

    @property
    def level(self) -> str:
        """Whether the model predicts for a "graph", "node" or "edge"."""
        return getattr(getattr(self.model, "config", None), "target", "graph")

    def predict_rows(self, smiles: Sequence[str]) -> dict[str, list]:
        """Columns "prediction", or "predicted NAME" for each target, and "reason".

        Where a molecule cannot be read, its values are NaN, and the reason says why.
        """
        graphs, reasons = {}, [""] * len(smiles)
        for i, text in enumerate(smiles):
            try:
                graphs[i] = self._graph(text, i)
            except ValueError as error:
                reasons[i] = str(error).partition(": ")[2]
        names = [f"predicted {name}" for name in self.targets] or ["prediction"]
        values = torch.full((len(reasons), len(names)), torch.nan)
        if graphs:
            values[[*graphs]] = self.predict([*graphs.values()]).reshape(len(graphs), -1)
        return dict(zip(names, values.T.tolist(), strict=True)) | {"reason": reasons}

    def _graph(self, entry: str | Data, number: int) -> Data:
        if isinstance(entry, Data):
            return entry
        if self.featurize is None:
            raise ValueError(f"{self.name} was not trained on molecules; expected PyG graphs.")
        try:
            return self.featurize(entry)
        except ValueError as error:
            raise ValueError(f"entry {number}: {error}") from None


def load(name: str | Path, *, seed: int = 0) -> Predictor:
    """A trained model, ready to use: a shipped run by its name and seed, or a run of one's own.

    Names are those of :func:`available`, such as "csa/zinc". A run of one's own is the folder that
    it was trained in, or its file of weights (``.safetensors``), which holds all that is needed.
    Raises a ValueError if there is no such run, or it is not finished; the message says what there
    is.
    """
    folder = Path(name)
    if folder.suffix == ".safetensors" and folder.is_file():
        return _predictor(*read_model(folder))
    if folder.is_dir():
        records = sorted(folder.glob("*-seed*.json"))
        if len(records) == 1 and [*(folder / "weights").glob(f"{records[0].stem}.*")]:
            record = read_record(records[0])
            return _predictor(record, read_weights(record, folder))
    else:
        shipped = WEIGHTS / f"{record_stem(str(name), seed)}.safetensors"
        if shipped.is_file():
            return _predictor(*read_model(shipped))
    raise ValueError(
        f"{name} is no trained model (seed {seed}); expected one of {', '.join(available())}, or "
        "the folder of one finished run."
    )


def available() -> list[str]:
    """The names of the runs whose weights are shipped."""
    return sorted({record_in(path).name for path in WEIGHTS.glob("*.safetensors")})


def fine_tuned(recipe: Recipe, name: str) -> Recipe:
    """The recipe with a model that starts from trained weights; its head starts anew.

    The recipe is one of :func:`gtcourse.recipes.adapt.own_recipe` with the features that the
    trained model reads: ``features="zinc"`` for one that was trained on ZINC.
    """
    start = partial(with_weights, recipe.build_model, name)
    return replace(recipe, build_model=start, changed=recipe.changed | {"start": str(name)})


def with_weights(build: Callable[[], nn.Module], name: str) -> nn.Module:
    """A new model with the weights of a trained one, except for the head."""
    model = build()
    head = {key: value for key, value in model.state_dict().items() if key.startswith("head.")}
    trained = load(name).model.cpu().state_dict()
    model.load_state_dict(trained | head)
    return model


def _predictor(record: Record, weights: Mapping[str, Tensor]) -> Predictor:
    """The model is built as its recipe says: one on own data, of the leaderboard, or published."""
    name, targets = record.name, ()
    if own := record.config.get("changed", {}).get("own_data"):
        featurize, targets = FEATURES[own["features"]][0], tuple(own["targets"])
        recipe = own_recipe(**own | {"recipe": RECIPES[own["recipe"]]})
    elif name.rpartition("/")[0] in SMALL_MODELS:
        recipe, featurize = SMALL_MODELS[name.rpartition("/")[0]], zinc_data
    else:
        # "csa/zinc-on-molecules" is the recipe csa/zinc trained on other data.
        recipe = get_recipe(name if name in RECIPES else name.rpartition("-on-")[0])
        featurize = FEATURIZERS.get(record.data["name"])
    model = recipe.build_model()
    model.load_state_dict(weights)
    model.to(device()).eval()
    return Predictor(name, model, recipe.transforms, featurize, record, targets)


EXAMPLES = ("CCO", "c1ccccc1O", "CC(=O)Nc1ccc(O)cc1")
AXES = {"x": 1, "adjacency": 2, "edge_attr": 2, "mask": 1}  # the node axes of what is no encoding


class OnTensors(nn.Module):
    """A model as a function of a batch's tensors by name."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        given = {name: tensors.get(name) for name in AXES}
        encodings = {name: value for name, value in tensors.items() if name not in AXES}
        # With attention the formulas run line by line: fused kernels fix their output's layout.
        return self.model(GraphBatch(**given, encodings=encodings), return_attention=True)[0]


def tensors_of(predictor: Predictor, graphs: list) -> dict[str, Tensor]:
    """What the exported function takes, for SMILES or PyG graphs."""
    data = [predictor.featurize(graph) if isinstance(graph, str) else graph for graph in graphs]
    batch = collate(encode(data, *predictor.transforms))
    given = {name: getattr(batch, name) for name in AXES} | batch.encodings
    return {name: value for name, value in given.items() if value is not None}


def export(predictor: Predictor, graphs: list | None = None) -> torch.export.ExportedProgram:
    """The model as an ``ExportedProgram`` with dynamic batch and node axes.

    ``graphs`` are two or more examples, needed if the model was not trained on molecules. Raises a
    ValueError for a model on lists of edges, which cannot be exported.
    """
    if "return_attention" not in signature(predictor.model.forward).parameters:
        raise ValueError(
            f"{predictor.name} cannot be exported: it runs on edges; expected a Transformer."
        )
    tensors = tensors_of(predictor, list(graphs or EXAMPLES))
    B, N = torch.export.Dim("B", max=1 << 20), torch.export.Dim("N", min=2, max=1 << 14)
    axes = {name: AXES.get(name, node_axes(name, value)) for name, value in tensors.items()}
    dynamic = {name: {0: B} | dict.fromkeys(range(1, axes[name] + 1), N) for name in tensors}
    model = OnTensors(predictor.model.cpu()).eval()
    with torch.no_grad():
        return torch.export.export(model, (tensors,), dynamic_shapes=(dynamic,), strict=False)


def save_onnx(predictor: Predictor, path: str | Path) -> list[str]:
    """Writes one ONNX file (needs onnx and onnxscript); returns the names of its inputs."""
    program = torch.onnx.export(export(predictor), dynamo=True, verbose=False)
    with replacing(Path(path)) as temporary:
        program.save(str(temporary), external_data=False)
    return [value.name for value in program.model.graph.inputs]
