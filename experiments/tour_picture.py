"""Chapter 07's EGT on tours, for the picture in its page: ``python -m experiments.tour_picture``.

The run is "egt/few-tours" of ``experiments.chapter07`` with seed 0, about a minute on one core. Its
weights are written to ``book/_static/pictures/tour.json`` in 16 bits, with what they reach on the
chapter's 100 test tours, and the outputs for one of them, to which the page's JavaScript is held.
"""

import base64
import json
from pathlib import Path

import numpy as np
import torch

from experiments.chapter07 import RUNS, load
from gtcourse import DenseLoader, collate
from gtcourse.models import EGT
from gtcourse.train.loop import evaluate, fit
from tools.paths import ROOT

OUT = ROOT / "book/_static/pictures/tour.json"
NAME = "egt/few-tours"
SEED = 0


def trained() -> tuple[EGT, object]:
    """The model, and its data set."""
    run = RUNS[NAME]
    data = load("few-tours")
    torch.manual_seed(SEED)
    model = run.build()
    train = DenseLoader(data.train, run.batch_size, shuffle=True, seed=SEED, buckets=run.buckets)
    optimizer = torch.optim.AdamW(model.parameters(), lr=run.peak)
    steps = run.epochs * len(train)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, run.peak, total_steps=steps)
    fit(model, run.task(), train, epochs=run.epochs, optimizer=optimizer, schedule=schedule)
    return model.eval(), data


@torch.no_grad()
def in_16_bits(model: EGT) -> dict:
    """Rounds the weights in place, and returns their names, shapes, scales and whole numbers."""
    shapes = {}
    scales = []
    parts = []
    for name, weight in model.state_dict().items():
        values = weight.numpy()
        scale = float(np.abs(values).max()) / 32767 or 1.0
        whole = np.round(values / scale).astype("<i2")
        weight.copy_(torch.from_numpy(whole.astype(np.float32) * np.float32(scale)))
        shapes[name] = list(values.shape)
        scales.append(scale)
        parts.append(whole.tobytes())
    data = base64.b64encode(b"".join(parts)).decode()
    return {"shapes": shapes, "scales": scales, "data": data}


def write(path: Path = OUT) -> dict:
    model, data = trained()
    weights = in_16_bits(model)
    run = RUNS[NAME]
    score = evaluate(model, run.task(), DenseLoader(data.test, 50))
    example = data.test[0]
    with torch.no_grad():
        logits = model(collate([example]))[0]  # [N, N, 2]
    found = {
        "run": f"{NAME}, seed {SEED}",
        "f1": round(score["f1"], 3),
        "heads": run.build().config.num_heads,
        "layers": run.build().config.num_layers,
        "eps": run.build().config.norm_eps,
        **weights,
        "example": {
            "places": example.x.tolist(),
            "tour": example.edge_index.T[example.y == 1].tolist(),
            "yes": [[round(x, 4) for x in row] for row in logits.softmax(-1)[..., 1].tolist()],
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    result = write()
    print(f"test F1 {result['f1']} with weights of 16 bits; {OUT.stat().st_size:,} bytes")
