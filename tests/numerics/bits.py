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
from torch_geometric.data import Data

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


def molecule(n: int, seed: int = 0) -> Data:
    """A tree whose bonds reach four atoms back, and a ring of six at every seventh."""
    generator = torch.Generator().manual_seed(seed)
    tree = [
        (i, int(torch.randint(max(0, i - 4), i, (1,), generator=generator))) for i in range(1, n)
    ]
    rings = [(i, i + 5) for i in range(0, n - 6, 7)]
    bonds = torch.tensor(tree + rings, dtype=torch.int64).reshape(-1, 2).T
    types = torch.randint(1, 4, (bonds.shape[1], 1), generator=generator)
    return Data(
        x=torch.randint(0, 28, (n, 1), generator=generator),
        edge_index=torch.cat([bonds, bonds.flip(0)], dim=1),
        edge_attr=torch.cat([types, types]),
        y=torch.randn(1, generator=generator),
    )


def digest(tensors: list[Tensor]) -> str:
    content = hashlib.sha256()
    for tensor in tensors:
        content.update(str((tensor.dtype, tuple(tensor.shape))).encode())
        content.update(tensor.detach().contiguous().numpy().tobytes())
    return content.hexdigest()


def of_encodings() -> dict[str, str]:
    graphs, found = [molecule(n, seed=n) for n in (1, 2, 7, 25, 25, 25, 40, 120)], {}
    for transform in TRANSFORMS:
        encoded = encode(graphs, transform)
        names = sorted({*encoded[0].keys()} - {*graphs[0].keys()})
        found[type(transform).__name__] = digest([g[name] for g in encoded for name in names])
    return found


def step(name: str) -> list[Tensor]:
    """A prediction and its gradients, dropout and all, with PyTorch's deterministic algorithms."""
    entry = LEADERBOARD[name]
    batch = collate(encode([molecule(40), molecule(20, 1)], *entry.transforms))
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
