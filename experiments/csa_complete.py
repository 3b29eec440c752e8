"""Takes a run of ``csa-rings`` to a GPU on which the package is not installed, and back.

    export TRITON_INTERPRET=1  # the first command draws ablated pairs on the CPU
    python -m experiments.csa_complete start START.pt --data zinc12k.npz --folder FOLDER
    unset TRITON_INTERPRET
    python csa_step.py START.pt --state STATE.pt --seconds 500  # on the GPU
    python -m experiments.csa_complete back STATE.pt --folder FOLDER

The first command writes the graphs and the run so far, for :mod:`experiments.csa_step`. FOLDER is
that of :mod:`experiments.csa_bounded`, stopped after an epoch or later. The last command writes
what the GPU computed into the checkpoint of the run. The run then goes on as before, or evaluates
the test set once all epochs are done.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments import csa_step
from experiments.csa_bounded import RUN, with_bound
from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.dataset import GraphDataset, collate
from gtcourse.graphs.io import write_tensors
from gtcourse.models import CGT
from gtcourse.models.csa_pairs import features_of_pairs
from gtcourse.models.fused import Rows
from gtcourse.recipes.recipe import Recipe
from gtcourse.runs import run as runs
from gtcourse.runs.record import write_json
from gtcourse.train.checkpoint import FILENAME, read_tensors

CHECKED = 16
"""Graphs of the batch whose gradient is compared."""


def settings_of(recipe: Recipe, seed: int) -> dict[str, Any]:
    """What the GPU's program has to know of a run."""
    config = recipe.build_model.args[0]
    return {
        "layers": config.num_layers,
        "clip": config.clip,
        "ablation": config.edge_ablation,
        "batch_size": recipe.batch_size,
        "decay": recipe.optimizer.keywords["weight_decay"],
        "grad_clip": recipe.grad_clip,
        "seed": seed,
        "epochs": recipe.epochs,
        "lr": recipe.optimizer.keywords["lr"],
        "warmup": recipe.schedule.keywords["warmup"],
    }


def running(weights: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """The running statistics of the batch norms."""
    statistics = ("running_mean", "running_var")
    names = csa_step.norm_names(num_layers)
    of_layers = [torch.stack([weights[f"{name}.{part}"] for part in statistics]) for name in names]
    of_walks = torch.zeros(2, csa_step.FEATURES)
    for number, part in enumerate(statistics):
        of_walks[number, : csa_step.WALK_STEPS] = weights[f"node_encoding.walks.norm.{part}"]
    return {"running": torch.stack(of_layers), "running_walks": of_walks}


def packed_weights(weights: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    return {"values": csa_step.packed(weights, num_layers)} | running(weights, num_layers)


def state_of_folder(folder: Path) -> tuple[Recipe, dict[str, Any]]:
    """A run that was begun by :mod:`experiments.csa_bounded`, as the GPU's program resumes it."""
    note = json.loads((folder / RUN).read_text(encoding="utf-8"))
    saved = read_tensors(folder / FILENAME)
    if saved["current"] is not None:
        raise ValueError(f"{folder} was stopped within an epoch; expected the end of one.")
    recipe = with_bound(float(saved["run"]["clip"]))
    model = recipe.build_model()
    num_layers = model.config.num_layers
    moments: dict[str, dict[str, Tensor]] = {"exp_avg": {}, "exp_avg_sq": {}}
    for number, (name, _) in enumerate(model.named_parameters()):
        for moment, values in moments.items():
            values[name] = saved["optimizer"]["state"][number][moment]
    best = saved["history"]["best"]
    return recipe, {
        "settings": settings_of(recipe, note["seed"]),
        "steps": saved["history"]["steps"],
        "history": saved["history"]["epochs"],
        "best": {"row": best} | packed_weights(saved["best_weights"], num_layers),
        "parts": note.get("captured", []),
        "first": csa_step.packed(moments["exp_avg"], num_layers),
        "second": csa_step.packed(moments["exp_avg_sq"], num_layers),
        **packed_weights(saved["model"], num_layers),
    }


def graphs_for(model: CGT, data: GraphDataset) -> dict[str, Any]:
    """The graphs of all splits, padded to one size, with the row of each pair's bond."""
    bonds, types = [], []
    N = max(graph.num_nodes for graph in data.graphs)
    splits = {"train": data.train, "val": data.val, "test": data.test}
    places: dict[str, tuple[int, int]] = {}
    sizes, targets = [], []
    total = 0
    for name, graphs in splits.items():
        batch = collate(graphs, num_nodes=N)
        places[name] = (total, total + batch.num_graphs)
        total += batch.num_graphs
        for index in torch.arange(batch.num_graphs).split(500):
            part = batch.select(index)
            rows = Rows(part.mask)
            features = features_of_pairs(model.edge_encoding, part, rows)
            row = torch.full((part.mask.numel() * N,), -1, dtype=torch.int8)
            row[rows.pairs] = features[:, : csa_step.BONDS].argmax(dim=1).to(torch.int8)
            bonds.append(row.view(-1, N, N))
        sizes.append(batch.mask.sum(dim=1))
        types.append(batch.x[..., 0].to(torch.int8))
        targets.append(batch.y.flatten())
    return {
        "sizes": torch.cat(sizes),
        "types": torch.cat(types),
        "bonds": torch.cat(bonds),
        "targets": torch.cat(targets),
        "splits": places,
    }


def draw_ablation(seed: int, num_layers: int, rows: int, N: int, share: float) -> Tensor:
    """The factors of all pairs in a step, as the kernels draw them, ``[layers, rows, N]``."""
    count = num_layers * rows * N
    factors = torch.empty(count)
    csa_step.kept_kernel[(-(-count // 1024),)](factors, seed, count, share, 1024)
    return factors.view(num_layers, rows, N)


def set_ablation(model: CGT, factors: Tensor) -> None:
    """Gives each layer the factors of its pairs, ``[layers, B N, N]``, in place of random ones."""
    N = factors.shape[-1]
    for layer, of_layer in zip(model.layers, factors, strict=True):
        of_pairs = of_layer.view(-1, 1, N, N).double()  # [B, 1, N, N], the same in all channels
        layer.attention.ablation = lambda h, of_pairs=of_pairs: of_pairs


def expected(recipe: Recipe, state: dict[str, Any], data: GraphDataset) -> dict[str, Any]:
    """The gradient of a batch in float64 in the direct form, and the validation error."""
    N = max(graph.num_nodes for graph in data.graphs)
    settings = state["settings"]
    config = replace(recipe.build_model.args[0], form="direct")
    model = CGT(config)
    num_layers = config.num_layers
    model.load_state_dict(weights_of(state, num_layers, state["steps"]))
    val = collate(data.val, num_nodes=N)
    model.eval()
    with torch.no_grad():
        parts = [model(val.select(index)) for index in torch.arange(val.num_graphs).split(100)]
    error = (torch.cat(parts) - val.y.flatten()).abs().mean()

    count = min(CHECKED, settings["batch_size"])
    batch = in_float64(collate([*data.train][:count], num_nodes=N))
    model = model.double().train()
    seed = 12345
    factors = draw_ablation(seed, num_layers, settings["batch_size"] * N, N, config.edge_ablation)
    set_ablation(model, factors[:, : count * N])
    loss = recipe.task.loss(model(batch), batch)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {
        "graphs": torch.arange(count),
        "seed": seed,
        "loss": loss.item(),
        "gradient": csa_step.packed(gradients, num_layers),
        "val_mae": float(error),
    }


def in_float64(batch: GraphBatch) -> GraphBatch:
    encodings = {
        name: values.double() if values.is_floating_point() else values
        for name, values in batch.encodings.items()
    }
    return replace(batch, encodings=encodings, y=batch.y.double())


def weights_of(state: dict[str, Any], num_layers: int, steps: int) -> dict[str, Tensor]:
    """A model's parameters and batch norms' statistics after so many steps."""
    weights = csa_step.unpacked(state["values"], num_layers)
    for number, name in enumerate(csa_step.norm_names(num_layers)):
        weights[f"{name}.running_mean"] = state["running"][number, 0].clone()
        weights[f"{name}.running_var"] = state["running"][number, 1].clone()
        weights[f"{name}.num_batches_tracked"] = torch.tensor(steps)
    walks = "node_encoding.walks.norm"
    mean, variance = state["running_walks"][:, : csa_step.WALK_STEPS]
    weights[f"{walks}.running_mean"] = mean.clone()
    weights[f"{walks}.running_var"] = variance.clone()
    weights[f"{walks}.num_batches_tracked"] = torch.tensor(steps)
    return weights


def write_back(state: dict[str, Any], folder: Path) -> None:
    """Writes a state of the GPU's program into the checkpoint of its run."""
    saved = read_tensors(folder / FILENAME)
    note = json.loads((folder / RUN).read_text(encoding="utf-8"))
    settings = state["settings"]
    if (float(saved["run"]["clip"]), note["seed"]) != (settings["clip"], settings["seed"]):
        raise ValueError(
            f"{folder} is another run; expected that with clip={settings['clip']} and seed "
            f"{settings['seed']}."
        )
    recipe = with_bound(settings["clip"])
    model = recipe.build_model()
    num_layers = model.config.num_layers
    steps = state["steps"]
    saved["model"] = weights_of(state, num_layers, steps)
    best = state["best"]
    per_epoch = steps // len(state["history"])
    best_steps = (int(best["row"]["epoch"]) + 1) * per_epoch
    saved["best_weights"] = weights_of(best, num_layers, best_steps)
    moments = {
        "exp_avg": csa_step.unpacked(state["first"], num_layers),
        "exp_avg_sq": csa_step.unpacked(state["second"], num_layers),
    }
    for number, (name, _) in enumerate(model.named_parameters()):
        entry = {moment: values[name] for moment, values in moments.items()}
        saved["optimizer"]["state"][number] = {"step": torch.tensor(float(steps))} | entry
    total = settings["epochs"] * per_epoch
    rate = csa_step.rate_at(steps, total, settings["lr"], settings["warmup"])
    saved["schedule"] |= {"last_epoch": steps, "_step_count": steps + 1, "_last_lr": [rate]}
    saved["optimizer"]["param_groups"][0]["lr"] = rate
    saved["history"] = {"epochs": state["history"], "best": best["row"], "steps": steps}
    write_tensors(folder / FILENAME, saved)
    note["captured"] = [part | {"program": "experiments.csa_step"} for part in state["parts"]]
    write_json(folder / RUN, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="write what the GPU's program reads")
    start.add_argument("path", type=Path)
    start.add_argument("--data", required=True, help="an .npz graph file")
    start.add_argument("--folder", type=Path, required=True, help="of the run")
    back = commands.add_parser("back", help="write what the GPU computed into a run")
    back.add_argument("path", type=Path)
    back.add_argument("--folder", type=Path, required=True, help="of the run")
    arguments = parser.parse_args()
    if arguments.command == "back":
        write_back(torch.load(arguments.path, weights_only=True), arguments.folder)
        return
    if os.environ.get("TRITON_INTERPRET") != "1":
        parser.error("TRITON_INTERPRET is not 1; expected Triton's interpreter, for the CPU")
    recipe, state = state_of_folder(arguments.folder)
    data = encode(runs.data_for(recipe, arguments.data), *recipe.transforms)
    content = graphs_for(recipe.build_model(), data)
    content |= {"run": state, "check": expected(recipe, state, data)}
    write_tensors(arguments.path, content)


if __name__ == "__main__":
    main()
