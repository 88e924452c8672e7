"""A user's matrix: n = 20 000 rows of d = 500 features from a file, one pass, the loss after every example.

`python benchmarks/own_matrix.py [--json] [--repeats N]`. Against each learner what an expert would write for
the very job, on one thread, with numpy, numba and scikit-learn, where OpenBLAS is set to use AVX-512 if
there is that; both have the same numbers, in float32, the engine from files. What outsiders compile is not
counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from contest import Contender, Record, Row, contest, fast_blas
from numpy.typing import NDArray

from engine.spec import reading
from hadamard_tui.headless import bench

N, D = 20_000, 500
FEATURES, NOISE = 20, 0.5
BLOCK = 256
"""Hypotheses that are evaluated together by the outsiders."""

Floats = NDArray[np.floating[Any]]

LEARNERS: dict[str, dict[str, Any]] = {
    "GD": {"architecture": {"kind": "linear"}, "update": {"kind": "gd", "lr": 1e-4}},
    "logistic GD": {"architecture": {"kind": "linear"}, "update": {"kind": "gd", "lr": 1e-2}},
    "VAW": {"solver": {"kind": "vaw"}},
    "Lasso": {"solver": {"kind": "lasso"}},
    "rbf kernel": {"solver": {"kind": "kernel"}},
}
JOBS = {"GD": "J5", "logistic GD": "J5", "VAW": "J7", "Lasso": "J7", "rbf kernel": "J7"}
EXAMPLES = {"rbf kernel": 2000}
"""Most examples of a learner, if it does not learn from all rows."""

LAM = 0.1
"""The penalty of the Lasso, its default."""


def table(signs: bool) -> tuple[Floats, Floats]:
    """Gaussian rows of some correlation, and labels of a few features with noise, or their signs."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D)).astype(np.float32)
    X[:, 1:] += X[:, :-1] / 2
    y = X[:, :FEATURES].sum(1) / FEATURES**0.5 + NOISE * generator.normal(size=N)
    return X, (np.where(y < 0, -1, 1) if signs else y).astype(np.float32)


def ours(name: str) -> Callable[[], Record]:
    """The engine, from the description of an experiment on files to its finished trace.

    The first time it reads the files, the second it has their tables, as outsiders have.
    """

    def work() -> Record:
        signs = name.startswith("logistic")
        with tempfile.TemporaryDirectory() as folder:
            X, y = Path(folder, "X.npy"), Path(folder, "y.npy")
            for path, numbers in zip((X, y), table(signs), strict=True):
                np.save(path, numbers)
            described = {
                "problem": {
                    "matrix": {"kind": "file", "path": str(X)},
                    "target": {"kind": "file", "path": str(y)},
                },
                "protocol": {
                    "kind": "one-pass",
                    "examples": EXAMPLES.get(name, N),
                    "loss": "logistic" if signs else "square",
                },
                "run": {"device": "cpu"},
                "learners": [{"name": name, **LEARNERS[name]}],
            }
            first, done = (bench.measure(reading.parse(described)) for _ in range(2))
        losses = done.trace.curves[0].mean("loss")
        times = {"cpu": done.cpu, "wall": done.wall, "first": first.cpu}
        return {**times, "peak": first.peak, **chosen_losses(losses)}

    return work


def timed(losses: Callable[[Floats, Floats], Floats], signs: bool = False) -> Callable[[], Record]:
    """An outsider, which makes the losses of its hypotheses of X and y; compiled before."""

    def work() -> Record:
        X, y = table(signs)
        losses(X[: 2 * BLOCK], y[: 2 * BLOCK])
        before = bench.peak_mib()
        wall, cpu = time.perf_counter(), time.process_time()
        computed_losses = losses(X, y)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"cpu": cpu, "wall": wall, "peak": bench.peak_mib() - before, **chosen_losses(computed_losses)}

    return work


def chosen_losses(losses: Floats) -> Record:
    """A few losses, which show that contenders compute the same."""
    return {f"loss at {k}": float(losses[k]) for k in (100, len(losses) - 1)}


def gd(X: Floats, y: Floats) -> Floats:
    """Compiled steps; forms of the weights of BLOCK steps with the Gram matrix of X and y in float64."""
    steps = descent(False)
    joined = np.column_stack((X, y)).astype(float)
    gram = joined.T @ joined / len(X)
    w, losses = np.zeros(X.shape[1], np.float32), np.empty(len(X) + 1)
    for first in range(0, len(X) + 1, BLOCK):
        W = np.full((min(BLOCK, len(X) + 1 - first), X.shape[1] + 1), -1.0)
        steps(X, y, np.float32(1e-4), w, first, W)
        losses[first : first + len(W)] = ((W @ gram) * W).sum(1)
    return losses


def logistic_gd(X: Floats, y: Floats) -> Floats:
    """Steps compiled by numba; predictions of blocks of steps in one product, and their losses compiled."""
    steps, average = descent(True), softplus()
    signed = X * y[:, None]
    w, losses = np.zeros(X.shape[1], np.float32), np.empty(len(X) + 1)
    for first in range(0, len(X) + 1, BLOCK):
        W = np.empty((min(BLOCK, len(X) + 1 - first), X.shape[1]), np.float32)
        steps(X, y, np.float32(1e-2), w, first, W)
        losses[first : first + len(W)] = average(W @ signed.T)
    return losses


def vaw(X: Floats, y: Floats) -> Floats:
    """A compiled recursion of A⁻¹, all rows times what a block of steps changes in it, a compiled pass.

    The product, of 4·10¹¹ operations, is most of it. It is in float32 once all leverages are at most 1: what
    rounds off then is as small as what rounding labels to float32 does.
    """
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def images(P: Any, X: Any, first: int, G: Any, s: Any) -> None:
        for j in range(len(G)):
            x = X[first + j]
            G[j] = P @ x
            for i in range(j):
                G[j] -= (G[i] @ x / s[i]) * G[i]
            s[j] = 1 + G[j] @ x

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def losses_of(U: Any, s: Any, first: int, y: Any, p: Any, h: Any, losses: Any) -> None:
        for j in range(len(U)):
            gain, total = (y[first + j] - p[first + j]) / s[j], 0.0
            for i in range(len(p)):
                u = U[j, i]
                p[i] += gain * u
                h[i] -= u * u / s[j]
                error = p[i] / (1 + h[i]) - y[i]
                total += error * error
            losses[first + j + 1] = total / len(p)

    rows, d = X.astype(float), X.shape[1]
    P, p, h = np.eye(d), np.zeros(len(X)), (rows * rows).sum(1)
    losses = np.empty(len(X) + 1)
    losses[0] = (y.astype(float) ** 2).mean()
    for first in range(0, len(X), BLOCK // 4):
        G = np.empty((min(BLOCK // 4, len(X) - first), d))
        s = np.empty(len(G))
        images(P, rows, first, G, s)
        U = G @ rows.T if h.max() > 1 else G.astype(np.float32) @ X.T
        losses_of(U, s, first, y.astype(float), p, h, losses)
        P -= (G / s[:, None]).T @ G
    return losses


def lasso(X: Floats, y: Floats) -> Floats:
    """scikit-learn's compiled descent along coordinates on the Gram matrix, from the solution before it."""
    from sklearn.linear_model import _cd_fast

    rows, labels, d = X.astype(float), y.astype(float), X.shape[1]
    full = np.column_stack((rows, labels))
    full = full.T @ full / len(X)
    gram, products, squares = np.zeros((d, d)), np.zeros(d), 0.0
    W, losses = np.full((BLOCK, d + 1), -1.0), np.empty(len(X) + 1)
    w = W[0, :d] = np.zeros(d)
    generator = np.random.RandomState(0)
    for k in range(len(X) + 1):
        if k:
            x, label = rows[k - 1], labels[k - 1]
            gram += np.outer(x, x)
            products += label * x
            squares += label * label
            w, *_ = _cd_fast.enet_coordinate_descent_gram(
                w, LAM / 2 * k, 0.0, gram, products, labels[:k], 1000, 1e-8, generator, False, False
            )
            W[k % BLOCK, :d] = w
        if k % BLOCK == BLOCK - 1 or k == len(X):
            count = k % BLOCK + 1
            losses[k + 1 - count : k + 1] = ((W[:count] @ full) * W[:count]).sum(1)
    return losses


def rbf(X: Floats, y: Floats) -> Floats:
    """Kernels of the examples with all rows, a Cholesky factor, one triangular solution, a compiled pass."""
    import numba
    from scipy.linalg import cholesky, solve_triangular
    from scipy.linalg.blas import dtrsm

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def losses_of(Z: Any, c: Any, y: Any, losses: Any) -> None:
        p = np.zeros(len(y))
        for j in range(len(Z)):
            total = 0.0
            for i in range(len(p)):
                p[i] += c[j] * Z[j, i]
                total += (p[i] - y[i]) ** 2
            losses[j + 1] = total / len(p)

    rows, k = X.astype(float), min(len(X), EXAMPLES["rbf kernel"])
    squares = (rows * rows).sum(1)
    K = rows[:k] @ rows.T
    K *= 2
    K -= squares
    K -= squares[:k, None]
    K /= 2 * X.shape[1]
    np.exp(K, out=K)
    factor = cholesky(K[:, :k], lower=True)
    c = solve_triangular(factor, y[:k].astype(float), lower=True)
    Z = dtrsm(1.0, factor, K.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
    losses = np.empty(k + 1)
    losses[0] = (y.astype(float) ** 2).mean()
    losses_of(Z, c, y.astype(float), losses)
    return losses


def descent(logistic: bool) -> Callable[..., None]:
    """A pass of gradient descent that writes the weights of some steps, numbers `first` to the end of W."""
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def steps(X: Any, y: Any, lr: Any, w: Any, first: int, W: Any) -> None:
        for k in range(first, first + len(W)):
            if k > 0:
                x, label = X[k - 1], y[k - 1]
                z = np.float32(0)
                for i in range(len(w)):
                    z += x[i] * w[i]
                slope = -label / (1 + np.exp(label * z)) if logistic else 2 * (z - label)
                for i in range(len(w)):
                    w[i] -= np.float32(lr * slope) * x[i]
            for i in range(len(w)):
                W[k - first, i] = w[i]

    return steps  # type: ignore[no-any-return]


def softplus() -> Callable[[Floats], Floats]:
    """The mean of ln(1 + e^−m) of every row: exponentials by numpy, and a logarithm of 32 factors at once."""
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def sums(margins: Any, exponentials: Any) -> Any:
        means = np.zeros(len(margins))
        for k in range(len(margins)):
            n, total = margins.shape[1], 0.0
            for first in range(0, n, 32):
                product, linear = 1.0, np.float32(0)
                for i in range(first, min(first + 32, n)):
                    linear += max(-margins[k, i], np.float32(0))
                    product *= 1 + exponentials[k, i]
                total += linear + np.log(product)
            means[k] = total / n
        return means

    def average(margins: Floats) -> Floats:
        exponentials = np.abs(margins)
        np.negative(exponentials, out=exponentials)
        np.exp(exponentials, out=exponentials)
        return sums(margins, exponentials)  # type: ignore[no-any-return]

    return average


OUTSIDERS: dict[str, Callable[[], Record]] = {
    "GD: numba and a Gram matrix": timed(gd),
    "logistic GD: numba and products of blocks": timed(logistic_gd, signs=True),
    "VAW: numba and products of blocks": timed(vaw),
    "Lasso: scikit-learn on the Gram matrix": timed(lasso),
    "rbf kernel: a Cholesky factor and numba": timed(rbf),
}
CONTENDERS = {f"{name}: hadamard-tui": Contender(ours(name)) for name in LEARNERS}
CONTENDERS |= {name: Contender(work, environment=fast_blas()) for name, work in OUTSIDERS.items()}
ROWS = [
    Row(f"{job} {name}", f"{name}: hadamard-tui", (outsider,), times=1.0)
    for (name, job), outsider in zip(JOBS.items(), OUTSIDERS, strict=True)
]

if __name__ == "__main__":
    contest(f"J5, J7: a user's matrix {N} × {D}, seconds on one thread", CONTENDERS, rows=ROWS)
