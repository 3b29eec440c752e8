"""What the benchmark compares is comparable; how fast is not a matter of tests."""

import torch

from benchmarks.encodings import chain
from benchmarks.graphormer import (
    KINDS,
    MODELS,
    flag_step,
    long_graph,
    memory,
    molecules,
    plain_step,
)
from gtcourse import load_dataset
from gtcourse.training.fit import count_parameters


def test_a_bias_in_each_layer_is_the_same_function():
    batch = molecules(load_dataset("molecules")).select(torch.arange(3))
    shared, repeated = (MODELS[name]().eval() for name in [*MODELS][1:])
    repeated.load_state_dict(shared.state_dict())
    torch.testing.assert_close(repeated(batch), shared(batch))


def test_the_transformer_without_a_graph_has_the_slim_models_layers():
    plain, graphormer = (MODELS[name]() for name in [*MODELS][:2])
    assert count_parameters(plain.encoder.layers) == count_parameters(graphormer.layers)


def test_every_kind_of_step_gives_every_parameter_a_gradient():
    graph = chain(load_dataset("molecules").graphs, 12)
    graph.y = torch.ones(1)
    for kind, build in KINDS.items():
        model = build()
        plain_step(model, long_graph(kind, graph))()
        assert all(p.grad is not None for p in model.parameters())
    flag_step(model, long_graph("path tree", graph), 2)()
    assert all(p.grad is not None for p in model.parameters())


def test_paths_take_no_less_memory_than_trees():
    small, graph = (chain(load_dataset("molecules").graphs, size) for size in (8, 64))
    small.y = graph.y = torch.ones(1)
    stored = {kind: memory(kind, small, graph)["encodings_mb"] for kind in KINDS}
    assert stored["distances alone"] < stored["path tree"] < stored["path edges"]
