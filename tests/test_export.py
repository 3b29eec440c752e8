"""Every model with weights, compiled without graph breaks, exported, and as ONNX."""

import pytest
import torch

from gtcourse import inference
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.molecules import zinc_data
from gtcourse.training.leaderboard import LEADERBOARD

ON_EDGES = ("gin", "gat", "gatedgcn", "signnet")
SMALL = [name for name in LEADERBOARD if name.endswith("-100k")]
TRANSFORMERS = [name for name in SMALL if name.partition("-")[0] not in ON_EDGES]
SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12", "CCO", "CCCCCCN"]


def small(name):
    """The trained model where its weights are shipped, else one with random weights."""
    if f"{name}/molecules" in inference.available():
        return inference.load(f"{name}/molecules")
    torch.manual_seed(0)
    entry = LEADERBOARD[name]
    return inference.Predictor(name, entry.build_model().eval(), entry.transforms, zinc_data, None)


class Compiled(inference.OnTensors):
    """Without the explicit form that an export needs."""

    def forward(self, tensors):
        given = {name: tensors.get(name) for name in inference.AXES}
        encodings = {name: value for name, value in tensors.items() if name not in inference.AXES}
        return self.model(GraphBatch(**given, encodings=encodings))


def cases(predictor):
    """Batches of other sizes than the example's, with the model's own outputs."""
    model = inference.OnTensors(predictor.model).eval()
    for graphs in (SMILES, SMILES[:1]):
        tensors = inference.tensors_of(predictor, graphs)
        with torch.no_grad():
            yield tensors, model(tensors)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_model_compiled_without_graph_breaks_or_exported_agrees_on_other_sizes(name):
    predictor = small(name)
    program = inference.export(predictor).module()
    torch._dynamo.reset()
    model = Compiled(predictor.model).eval()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    for tensors, expected in cases(predictor):
        torch.testing.assert_close(program(tensors), expected, atol=1e-5, rtol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(compiled(tensors), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of the converter
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_onnxruntime_agrees_on_other_sizes(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    predictor, path = small(name), tmp_path / "model.onnx"
    names = inference.save_onnx(predictor, path)
    session = runtime.InferenceSession(str(path))
    for tensors, expected in cases(predictor):
        given = {own: value.numpy() for own, value in zip(names, tensors.values(), strict=True)}
        (values,) = session.run(None, given)
        torch.testing.assert_close(torch.from_numpy(values), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [f"{name}-100k" for name in ON_EDGES])
def test_a_model_on_lists_of_edges_cannot_be_exported(name):
    with pytest.raises(ValueError, match=f"{name}.* cannot be exported, because it runs on lists"):
        inference.export(small(name))
