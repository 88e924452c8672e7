"""J4: the learning curve of a fully connected ReLU net, d = 128, hidden 128, k = 0, 4 … 128, 20 replicas.

`python benchmarks/learning_curve.py [--json] [--repeats N]`. Every net is trained by gradient descent with
rate 0.02 until its loss on its k rows is at most 10⁻⁶. Against it: the same nets one after the other in plain
torch, of which one replica is trained and counted 20 times.
"""

from __future__ import annotations

import time

from contest import Contender, Record, contest

from engine.problems.hadamard_matrices import sylvester
from hadamard_tui.headless import jobs

D, REPLICAS, LR = 128, 20, 0.02


def ours(path: str) -> Record:
    """All nets of the curve, as the engine trains them on one of its paths."""
    experiment = jobs.learning_curve(REPLICAS, D)
    if path != "auto":
        experiment = jobs.on_path(experiment, path)
    done = jobs.measure(experiment)
    curve = done.trace.curves[0]
    return {
        "cpu": done.cpu,
        "wall": done.wall,
        "peak": done.peak,
        "loss at 64": float(curve.mean("loss")[16]),
    }


def one_by_one() -> Record:
    """Nets of torch.nn with torch.optim.SGD, one for every k."""
    import torch

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    signs = 2 * torch.randint(0, 2, (D, 1), generator=generator) - 1
    X = torch.from_numpy(sylvester(D)).float()[torch.randperm(D, generator=generator)] * signs
    y, losses = X[:, 3], {}

    def train(k: int) -> float:
        first, last = torch.nn.Linear(D, D, bias=False), torch.nn.Linear(D, 1, bias=False)
        for layer in (first, last):
            torch.nn.init.normal_(layer.weight, 0, D**-0.5, generator=generator)
        net = torch.nn.Sequential(first, torch.nn.ReLU(), last)
        optimizer = torch.optim.SGD(net.parameters(), lr=LR)
        for _ in range(3000 if k else 0):
            optimizer.zero_grad()
            loss = (net(X[:k])[:, 0] - y[:k]).square().mean()
            loss.backward()
            optimizer.step()
            if loss.item() <= 1e-6:
                break
        with torch.no_grad():
            return float((net(X)[:, 0] - y).square().mean())

    train(4)  # what torch loads at its first step is not counted
    wall, cpu = time.perf_counter(), time.process_time()
    for k in range(0, D + 1, 4):
        losses[k] = train(k)
    record = {"cpu": REPLICAS * (time.process_time() - cpu), "wall": REPLICAS * (time.perf_counter() - wall)}
    return {**record, "loss at 64": losses[64]}


CONTENDERS = {
    "hadamard-tui": Contender(lambda: ours("auto")),
    "one by one in torch": Contender(one_by_one),
    "hadamard-tui --path dense": Contender(lambda: ours("dense")),
}

if __name__ == "__main__":
    contest("J4: learning curve of ReLU nets, 660 of them, seconds on one thread", CONTENDERS)
