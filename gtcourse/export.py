"""Trained models outside of Python: ``torch.export`` and ONNX, with any number of graphs and nodes.

The exported function takes the tensors of a :class:`~gtcourse.GraphBatch` by name and returns the
outputs ``[B]`` or ``[B, T]``. GIN, GAT, GatedGCN and SignNet cannot be exported: they run on lists
of edges, whose length depends on the values of ``adjacency``.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch, collate, node_axes
from gtcourse.graphs.files import replacing
from gtcourse.inference import Predictor

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


def export(predictor: Predictor, graphs: list | None = None) -> ExportedProgram:
    """The model as an ``ExportedProgram`` with dynamic batch and node axes.

    Args:
        graphs: two or more examples, SMILES or PyG graphs; only needed if the model was not
            trained on molecules.

    Raises:
        ValueError: the model cannot be exported.
    """
    if "return_attention" not in signature(predictor.model.forward).parameters:
        raise ValueError(
            f"{predictor.name} cannot be exported, because it runs on lists of edges; expected a "
            "Transformer."
        )
    tensors = tensors_of(predictor, list(graphs or EXAMPLES))
    B, N = Dim("B", max=1 << 20), Dim("N", min=2, max=1 << 14)
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
