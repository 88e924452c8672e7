"""J2: all 1024 targets on 1024 Hadamard rows, one pass, the loss over all rows after every example, float32.

`python benchmarks/all_targets.py [--json] [--repeats N]`. Every contender runs on one thread in a process
of its own, warm, and `first` is the wall clock of its first call with whatever it compiles; the
engine has a second core for that. `expert` is `fused.py` on the
rows that the engine draws; it is what J2 is measured by, and `off` is how far its curve is from the
engine's at most, as a share of 1. The others learn rows of the same kind with the same rates; JAX, numba
and torch.func measure the loss as ‖w − w*‖² (Parseval), naive torch by predictions of all rows;
scikit-learn does a sample of the steps of one target, and the rest is extrapolated.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contest import Contender, Record, Row, contest, unpinned
from numpy.typing import NDArray

from engine.core.linear_algebra import looked_at
from engine.problems.hadamard_matrices import sylvester
from engine.runtime.drawn_data import DrawnData
from hadamard_tui.headless import bench

D = 1024
LR = {"GD": 1 / (2 * D), "EGU": 0.15, "EGU±": 0.15, "spindly": 0.0375, "AdaGrad": 1 / 32}
"""Rates of the rules that every contender knows."""

FUSED = {**LR, "hypentropy": 0.15, "private rates": 0.125, "momentum": 1 / (8 * D)}
PLAIN = ("EGU", "EGU±", "hypentropy", "spindly", "private rates")
"""Rules that plain loops of numba serve, for which a user waits no longer than for the expert's vectors."""

CLOSED = ("GD", "momentum")
WHOLE = ("expert", "JAX", "numba")
"""Outsiders that do the job step by step, of which the best counts.

The closed forms make losses and nothing else: neither weights nor predictions, in which mistakes are counted.
"""

BLOCK = 64
"""Steps of an outsider that are made together."""

SAMPLE = 4
"""Slow contenders learn one in so many examples and extrapolate; scikit-learn learns far fewer."""


def instances() -> NDArray[np.float32]:
    """Rows in random order with random signs; the labels of target i are column i."""
    generator = np.random.default_rng(0)
    signs = 2.0 * generator.integers(0, 2, (D, 1)) - 1
    return (sylvester(D)[generator.permutation(D)] * signs).astype(np.float32)


def timed(work: Callable[[], Any], share: float = 1.0) -> Record:
    """Record of a first call and of a second one, which counts; a call does `share` of the job."""
    first = time.perf_counter()
    work()
    first = time.perf_counter() - first
    wall, cpu = time.perf_counter(), time.process_time()
    losses = np.asarray(work())
    record = {"cpu": (time.process_time() - cpu) / share, "wall": (time.perf_counter() - wall) / share}
    return {**record, "first": first, "loss at 100": float(losses[100]) if len(losses) > 100 else None}


def ours(learner: str, matrix: str = "hadamard") -> Callable[[], Record]:
    """The engine, from the description of an experiment to its finished trace.

    The first time nothing is compiled: a slower backend serves until it is, by a process beside this one.
    """

    def work() -> Record:
        experiment = bench.all_targets(learner, matrix=matrix)
        with tempfile.TemporaryDirectory() as compiled:
            os.environ["NUMBA_CACHE_DIR"] = compiled
            with unpinned():
                first = bench.measure(experiment, compiles_first=False)
            _, second = (bench.measure(experiment) for _ in range(2))
        loss = float(second.trace.curves[0].mean("loss")[100])
        return {
            "cpu": second.cpu,
            "wall": second.wall,
            "first": first.wall,
            "loss at 100": loss,
            "peak": first.peak,
        }

    return work


def rule(learner: str, m: Any) -> tuple[Callable[[], Any], Callable[[Any], Any], Callable[..., Any]]:
    """(start, weights, step) of a learner for one target, on arrays of the module m (jax.numpy or torch)."""
    lr = LR[learner]
    full = lambda value: m.full((D,), value)  # noqa: E731 - a name for what every start is made of

    def factor(c: Any, x: Any) -> Any:
        f = m.exp(-lr * c)
        return m.where(x > 0, f, 1 / f)

    def adagrad(s: Any, c: Any, x: Any) -> Any:
        h = s[1] + (c * x) ** 2
        return s[0] - lr * c * x / m.sqrt(1e-8 + h), h

    def both(s: Any, c: Any, x: Any) -> Any:
        f = factor(c, x)
        return s[0] * f, s[1] / f

    return {
        "GD": (lambda: (full(0.0),), lambda s: s[0], lambda s, c, x: (s[0] - lr * c * x,)),
        "EGU": (lambda: (full(1 / D),), lambda s: s[0], lambda s, c, x: (s[0] * factor(c, x),)),
        "EGU±": (lambda: (full(0.5 / D), full(0.5 / D)), lambda s: s[0] - s[1], both),
        "spindly": (
            lambda: (full(D**-0.5),),
            lambda s: s[0] * s[0],
            lambda s, c, x: (s[0] * (1 - 2 * lr * c * x),),
        ),
        "AdaGrad": (lambda: (full(0.0), full(0.0)), lambda s: s[0], adagrad),
    }[learner]


def in_jax(learner: str) -> Callable[[], Record]:
    """One compiled scan over examples, mapped over targets."""

    def work() -> Record:
        import jax
        import jax.numpy as jnp

        X, stars = jnp.asarray(instances()), jnp.eye(D, dtype=jnp.float32)
        start, weights, step = rule(learner, jnp)

        def curve_of_target(star: Any, labels: Any) -> Any:
            def example(state: Any, pair: Any) -> Any:
                x, y = pair
                state = step(state, 2 * (jnp.dot(x, weights(state)) - y), x)
                error = weights(state) - star
                return state, jnp.dot(error, error)

            state = start()
            error = weights(state) - star
            return jnp.concatenate(
                [jnp.dot(error, error)[None], jax.lax.scan(example, state, (X, labels))[1]]
            )

        curve = jax.jit(lambda: jax.vmap(curve_of_target, in_axes=(0, 1))(stars, X).mean(0))
        return timed(lambda: curve().block_until_ready())

    return work


def in_torch_func(learner: str) -> Callable[[], Record]:
    """torch.func.vmap over targets, a Python loop over examples."""

    def work() -> Record:
        import torch

        torch.set_num_threads(1)
        X, stars = torch.from_numpy(instances()), torch.eye(D)
        start, weights, step = rule(learner, torch)

        def step_of_target(state: Any, star: Any, x: Any, y: Any) -> Any:
            state = step(state, 2 * (torch.dot(x, weights(state)) - y), x)
            error = weights(state) - star
            return state, torch.dot(error, error)

        mapped = torch.func.vmap(step_of_target, in_dims=(0, 0, None, 0))

        def curve() -> list[float]:
            state = tuple(part.expand(D, D).contiguous() for part in start())
            losses = [float((weights(state) - stars).square().sum(1).mean())]
            for k in range(0, D, SAMPLE):
                state, loss = mapped(state, stars, X[k], X[k])
                losses.append(float(loss.mean()))
            return losses

        return {**timed(curve, 1 / SAMPLE), "loss at 100": None}

    return work


def in_naive_torch(learner: str) -> Callable[[], Record]:
    """Autograd of the loss of one example, all targets as one batch, losses from predictions of all rows."""

    def work() -> Record:
        import torch

        torch.set_num_threads(1)
        X = torch.from_numpy(instances())
        start, weights, step = rule(learner, torch)

        def curve() -> list[float]:
            state = tuple(part.expand(D, D).contiguous() for part in start())
            losses = []
            for k in range(0, D, 8 * SAMPLE):
                leaf = weights(state).detach().requires_grad_()
                (leaf @ X[k] - X[k]).square().sum().backward()
                assert leaf.grad is not None
                c = (leaf.grad * X[k]).mean(1, keepdim=True)  # the gradient is c x, and x² = 1
                state = step(state, c, X[k])
                losses.append(float((weights(state) @ X.T - X.T).square().mean()))
            return losses

        return {**timed(curve, 1 / (8 * SAMPLE)), "loss at 100": None}

    return work


def in_numba(learner: str) -> Callable[[], Record]:
    """Compiled loops, target by target, so that one weight vector stays in the cache."""

    def work() -> Record:
        import numba_rules

        X = instances()
        return timed(lambda: numba_rules.curve(learner, X, np.float32(LR[learner])))

    return work


def by_expert(learner: str, closed: bool = False) -> Callable[[], Record]:
    """Fused passes in SIMD registers, or a closed form, on the rows that the engine draws."""

    def work() -> Record:
        import fused

        experiment = bench.all_targets(learner)
        trace = bench.measure(experiment).trace.curves[0]
        expected, errors = trace.mean("loss"), trace.mean("error")
        X, lr = DrawnData().of(experiment, "cpu").instances.rows[0].numpy(), FUSED[learner]
        curve = fused.closed_curve if closed else fused.curve
        counted = np.array([looked_at(record, dense=3) for record in range(D + 1)])
        record = timed(lambda: curve(learner, X, lr, counted)[0])
        curves = curve(learner, X, lr, counted)
        off = {"off": float(np.abs(curves[0] - expected).max())}
        if not closed:
            off["errors off"] = float(np.nanmax(np.abs(curves[1] - errors)))
        return {**record, **off}

    return work


def in_blocks() -> Record:
    """GD on random signs by errors on all rows and inner products of rows: BLOCK steps are three products.

    Within a block only the errors on its rows are known; the squared length of all errors follows from their
    products with those of the rows.
    """
    X = np.random.default_rng(0).choice(np.float32([-1, 1]), (D, D))
    lr = np.float32(LR["GD"])

    def curve() -> list[float]:
        E, K = -np.ascontiguousarray(X.T), X @ X.T
        losses = [float((E * E).mean())]
        for first in range(0, D, BLOCK):
            block = slice(first, first + BLOCK)
            squares, block_errors, along = np.einsum("ij,ij->i", E, E), E[:, block].copy(), E @ K[:, block]
            inner, lengths = K[block, block], K[block] @ K[:, block]
            S = np.empty((D, inner.shape[1]), np.float32)
            for i in range(inner.shape[1]):
                S[:, i] = 2 * lr * (block_errors[:, i] - S[:, :i] @ inner[:i, i])
                products = along[:, i] - S[:, :i] @ lengths[:i, i]
                squares += S[:, i] * (S[:, i] * lengths[i, i] - 2 * products)
                losses.append(float(squares.mean() / D))
            E -= S @ K[block]
        return losses

    return timed(curve)


def in_sklearn() -> Record:
    """SGDRegressor.partial_fit for one target and some examples; both extrapolated."""
    from sklearn.linear_model import SGDRegressor

    X, examples = instances(), 64
    model = SGDRegressor(penalty=None, learning_rate="constant", eta0=2 * LR["GD"], fit_intercept=False)

    def curve() -> list[float]:
        losses = []
        for k in range(examples):
            model.partial_fit(X[k : k + 1], X[k : k + 1, 3])
            error = model.coef_.copy()
            error[3] -= 1
            losses.append(float(error @ error))
        return losses

    return {**timed(curve, examples / (D * D)), "loss at 100": None}


CONTENDERS = {
    f"{learner}: {name}": Contender(way(learner), module)
    for learner in LR
    for name, way, module in (
        ("hadamard-tui", ours, None),
        ("JAX", in_jax, "jax"),
        ("numba", in_numba, "numba"),
        ("torch.func", in_torch_func, None),
        ("naive torch", in_naive_torch, None),
    )
}
for learner in FUSED:
    CONTENDERS.setdefault(f"{learner}: hadamard-tui", Contender(ours(learner)))
    CONTENDERS[f"{learner}: expert"] = Contender(by_expert(learner))
for learner in CLOSED:
    CONTENDERS[f"{learner}: closed form"] = Contender(by_expert(learner, closed=True))
CONTENDERS["GD on random signs: hadamard-tui"] = Contender(ours("GD", "rademacher"))
CONTENDERS["GD on random signs: products of blocks"] = Contender(in_blocks)
CONTENDERS["GD: scikit-learn"] = Contender(in_sklearn)
SIGNS = "GD on random signs"
ROWS = [
    Row(
        f"J2 {learner}",
        f"{learner}: hadamard-tui",
        tuple(
            name for name in CONTENDERS if name.startswith(f"{learner}: ") and name.split(": ")[1] in WHOLE
        ),
        times=1 / 3 if learner in PLAIN else 1.0,
    )
    for learner in FUSED
]
ROWS.append(Row(f"J2 {SIGNS}", f"{SIGNS}: hadamard-tui", (f"{SIGNS}: products of blocks",), most=0.39))

if __name__ == "__main__":
    contest("J2: 1024 targets, d = 1024, one pass, seconds on one thread", CONTENDERS, rows=ROWS)
