"""J4: the learning curve of a fully connected ReLU net, d = 128, hidden 128, k = 0, 4 … 128, 20 replicas.

`python benchmarks/learning_curve.py [--json] [--repeats N]`. Every net is trained by gradient descent with
rate 0.02 until its loss on its k rows is at most 10⁻⁶: 5000 steps of nets for every replica, in which single
pre-activations move 45 million times. The outsiders know what the engine knows: rows are orthogonal, so the
pre-activations Z = WX of the fixed rows are all there is to W; one product makes them, a step moves those of
row j by −η·d·δ_j and no others, and rows not seen stay as they are. Times are those of a second run in a
process, after what is compiled; `first` is the first one, of the engine with loading numba.

Plain torch trains the same nets one after the other, of which one replica counts 20 times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from contest import Contender, Record, Row, contest
from numpy.typing import NDArray

from engine.problems.hadamard_matrices import sylvester
from hadamard_tui.headless import bench

D, REPLICAS, LR, STEPS, TOLERANCE = 128, 20, 0.02, 3000, 1e-6
GRID = range(0, D + 1, 4)

Floats = NDArray[np.float32]

Net = tuple[Floats, Floats, Floats]
"""The pre-activations of all rows [n, h], the output weights [h] and labels [n] of one replica."""


def ours(path: str) -> Record:
    """All nets of the curve, as the engine trains them by one of its backends."""
    experiment = bench.learning_curve(REPLICAS, D)
    if path != "auto":
        experiment = bench.on_path(experiment, path)
    first, done = (bench.measure(experiment, threads()) for _ in range(2))
    curve = done.trace.curves[0]
    return {
        "cpu": done.cpu,
        "wall": done.wall,
        "first": first.cpu,
        "peak": first.peak,
        "loss at 64": float(curve.mean("loss")[16]),
    }


def threads() -> int:
    """Number of threads for this process."""
    return int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))


def replica(number: int) -> Net:
    """Rows in random order with random signs, a start, and its pre-activations of all rows."""
    generator = np.random.default_rng(number)
    signs = generator.choice((-1.0, 1.0), (D, 1))
    X = (sylvester(D)[generator.permutation(D)] * signs).astype(np.float32)
    W = generator.normal(0, D**-0.5, (D, D)).astype(np.float32)
    a = generator.normal(0, D**-0.5, D).astype(np.float32)
    return X @ W.T, a, np.ascontiguousarray(X[:, 3])


def timed(curve: Callable[[], Floats]) -> Record:
    """Record of the second of two runs that compute the losses of every k and replica."""
    first = time.process_time()
    curve()
    first = time.process_time() - first
    wall, cpu = time.perf_counter(), time.process_time()
    losses = curve()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu, "wall": wall, "first": first, "loss at 64": float(losses[16].mean())}


def loss(Z: Floats, a: Floats, y: Floats) -> float:
    """Loss over all rows."""
    return float(np.square(np.maximum(Z, 0) @ a - y).mean())


def in_jax() -> Record:
    """A loop of steps on k pre-activations of one net, compiled for every k; nets on all threads.

    The best of four: nets of one k as a batch by einsum take 1.1 times as long, since they go on until the
    last of them rests, by sums that XLA fuses 1.9, all nets of one k in `lax.map` the same. What is left is
    five passes over Z for a step, which XLA on a CPU does not fuse across its products: 0.27 ns for every
    pre-activation, where memory in the cache would allow 0.03.
    """
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")

    @jax.jit
    def train(Z: Any, a: Any, y: Any) -> Any:
        def step(state: Any) -> Any:
            Z, a, number, _ = state
            H = jnp.maximum(Z, 0)
            errors = H @ a - y
            slopes = errors * (2 / len(y))
            moved = Z - (LR * D) * jnp.where(Z > 0, slopes[:, None] * a, 0)
            return moved, a - LR * (slopes @ H), number + 1, jnp.square(errors).mean() > TOLERANCE

        state_at_end = jax.lax.while_loop(lambda state: state[3] & (state[2] < STEPS), step, (Z, a, 0, True))
        return state_at_end[:2]

    def trained(case: tuple[int, Net]) -> float:
        k, (start, a, y) = case
        Z = start.copy()
        if k:
            Z[:k], a = (np.asarray(part) for part in train(start[:k], a, y[:k]))
        return loss(Z, a, y)

    return timed(lambda: _of_all(trained))


def in_numba() -> Record:
    """One compiled pass over the pre-activations for a step, four rows at a time; nets on all threads.

    Every number is read twice and written once while it is in the first-level or second-level cache, and
    all of prediction, slopes of the output and move is done with it: 0.09 ns for every pre-activation of a
    step, 5 cycles for 16 of them, of which loads and stores alone take 3. One row at a time takes 1.2 times
    as long, predictions of all rows before the moves 1.1 times.
    """
    train = fused()

    def trained(case: tuple[int, Net]) -> float:
        k, (start, a, y) = case
        Z, a = start.copy(), a.copy()
        if k:
            train(Z[:k], a, y[:k], np.float32(LR * D), np.float32(LR), STEPS, np.float32(TOLERANCE))
        return loss(Z, a, y)

    return timed(lambda: _of_all(trained))


def _of_all(trained: Callable[[tuple[int, Net]], float]) -> Floats:
    """The losses [K, R] of nets that are trained one after the other on every thread."""
    nets = [replica(number) for number in range(REPLICAS)]
    cases = [(k, net) for k in GRID for net in nets]
    losses, count = np.empty(len(cases), np.float32), threads()

    def part(number: int) -> None:
        losses[number::count] = [trained(case) for case in cases[number::count]]

    if count == 1:
        part(0)
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(part, range(count)))
    return losses.reshape(len(GRID), REPLICAS)


@cache
def fused() -> Callable[..., None]:
    """The compiled steps of a net on k rows, k a multiple of four."""
    import numba

    @numba.njit(nogil=True, fastmath={"reassoc", "nsz", "arcp", "contract"})  # type: ignore[untyped-decorator]
    def train(Z: Any, a: Any, y: Any, row_rate: Any, rate: Any, step_limit: int, tolerance: Any) -> None:
        (k, h), zero = Z.shape, np.float32(0)
        slopes, share = np.empty_like(a), np.float32(2) / np.float32(k)
        for _ in range(step_limit):
            total = zero
            for i in range(h):
                slopes[i] = zero
            for j in range(0, k, 4):
                z0, z1, z2, z3 = Z[j], Z[j + 1], Z[j + 2], Z[j + 3]
                p0 = p1 = p2 = p3 = zero
                for i in range(h):
                    p0 += a[i] * max(z0[i], zero)
                    p1 += a[i] * max(z1[i], zero)
                    p2 += a[i] * max(z2[i], zero)
                    p3 += a[i] * max(z3[i], zero)
                e0, e1, e2, e3 = p0 - y[j], p1 - y[j + 1], p2 - y[j + 2], p3 - y[j + 3]
                total += e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3
                s0, s1, s2, s3 = share * e0, share * e1, share * e2, share * e3
                m0, m1, m2, m3 = row_rate * s0, row_rate * s1, row_rate * s2, row_rate * s3
                for i in range(h):
                    v0, v1, v2, v3 = z0[i], z1[i], z2[i], z3[i]
                    slopes[i] += s0 * max(v0, zero) + s1 * max(v1, zero)
                    slopes[i] += s2 * max(v2, zero) + s3 * max(v3, zero)
                    z0[i] = v0 - (m0 * a[i] if v0 > zero else zero)
                    z1[i] = v1 - (m1 * a[i] if v1 > zero else zero)
                    z2[i] = v2 - (m2 * a[i] if v2 > zero else zero)
                    z3[i] = v3 - (m3 * a[i] if v3 > zero else zero)
            for i in range(h):
                a[i] -= rate * slopes[i]
            if total / np.float32(k) <= tolerance:
                break

    return train  # type: ignore[no-any-return]


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
        for _ in range(STEPS if k else 0):
            optimizer.zero_grad()
            loss = (net(X[:k])[:, 0] - y[:k]).square().mean()
            loss.backward()
            optimizer.step()
            if loss.item() <= TOLERANCE:
                break
        with torch.no_grad():
            return float((net(X)[:, 0] - y).square().mean())

    train(4)  # what torch loads at its first step is not counted
    wall, cpu = time.perf_counter(), time.process_time()
    for k in GRID:
        losses[k] = train(k)
    record = {"cpu": REPLICAS * (time.process_time() - cpu), "wall": REPLICAS * (time.perf_counter() - wall)}
    return {**record, "loss at 64": losses[64]}


CONTENDERS = {
    "hadamard-tui": Contender(lambda: ours("auto")),
    "JAX": Contender(in_jax, "jax"),
    "numba": Contender(in_numba),
    "hadamard-tui, all cores": Contender(lambda: ours("auto"), all_cores=True),
    "JAX, all cores": Contender(in_jax, "jax", all_cores=True),
    "numba, all cores": Contender(in_numba, all_cores=True),
    "hadamard-tui --path structured": Contender(lambda: ours("structured")),
    "hadamard-tui --path dense": Contender(lambda: ours("dense")),
    "one by one in torch": Contender(one_by_one),
}
ROWS = (
    Row("J4 on one thread", "hadamard-tui", ("JAX",), times=1.0),
    Row("J4 on one thread, beside numba", "hadamard-tui", ("numba",), times=1.0),
    Row("J4 on all cores", "hadamard-tui, all cores", ("JAX, all cores",), times=1.0, key="wall"),
)

if __name__ == "__main__":
    contest("J4: learning curve of ReLU nets, 660 of them, seconds", CONTENDERS, rows=ROWS)
