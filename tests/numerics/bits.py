"""What a seed decides, as digests: ``python -m tests.numerics.bits THREADS`` prints JSON.

Encodings, generated data, a training step of each small model of chapter 10, and a small run.
"""

import base64
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from gtcourse import collate
from gtcourse import encodings as enc
from gtcourse.encodings import encode
from gtcourse.graphs import load_dataset
from gtcourse.training.leaderboard import LEADERBOARD
from tests.training.small_run import run

TRANSFORMS = (
    enc.AddDegrees(),
    enc.AddShortestPaths(),
    enc.AddPathEdges(5),
    enc.AddPathTree(),
    enc.AddRandomWalks(8),
    enc.AddRings(6),
    enc.AddLaplacianEigenvectors(8),
    enc.AddSVD(8),
    enc.AddAnchorDistances(4, seed=0),
)
DATA = ("cycles", "csl")


def digest(tensors: list[Tensor]) -> str:
    content = hashlib.sha256()
    for tensor in tensors:
        content.update(str((tensor.dtype, tuple(tensor.shape))).encode())
        content.update(tensor.detach().contiguous().numpy().tobytes())
    return content.hexdigest()


def of_encodings() -> dict[str, str]:
    molecules, found = load_dataset("molecules").test[:8], {}
    for transform in TRANSFORMS:
        encoded = encode(molecules, transform)
        names = sorted({*encoded[0].keys()} - {*molecules[0].keys()})
        found[type(transform).__name__] = digest([g[name] for g in encoded for name in names])
    return found


def step(name: str) -> list[Tensor]:
    """A prediction and its gradients, dropout and all, with PyTorch's deterministic algorithms."""
    entry = LEADERBOARD[name]
    batch = collate(encode(load_dataset("molecules").test[:2], *entry.transforms))
    torch.manual_seed(0)
    model = entry.build_model().train()
    prediction = model(batch)
    prediction.square().sum().backward()
    return [prediction, *(p.grad for p in model.parameters() if p.grad is not None)]


def of_models() -> dict[str, dict]:
    """Digests of two steps in turn, and the first one's gradients as bytes."""
    found = {}
    for name in (name for name in LEADERBOARD if name.endswith("-100k")):
        first, second = step(name), step(name)
        numbers = torch.cat([t.detach().flatten() for t in first]).numpy()
        found[name] = {
            "bits": [digest(first), digest(second)],
            "numbers": base64.b64encode(numbers.tobytes()).decode(),
        }
    return found


def of_data() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        for name in DATA:
            load_dataset(name, root=folder)
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(folder).glob("*.npz"))
        }


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]))
    torch.use_deterministic_algorithms(True)
    found = {"encodings": of_encodings(), "data": of_data(), "models": of_models()}
    with tempfile.TemporaryDirectory() as folder:
        found["training"] = run(Path(folder), epochs=2)[1]
    json.dump(found, sys.stdout)
