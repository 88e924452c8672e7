"""The rules of J2 as loops that numba compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(fastmath=True)
def _dot(x: Any, w: Any) -> Any:
    total = np.float32(0)
    for j in range(len(x)):
        total += x[j] * w[j]
    return total


@njit(fastmath=True)
def _gd(x: Any, c: Any, lr: Any, w: Any, a: Any, b: Any) -> None:
    for j in range(len(w)):
        w[j] -= lr * c * x[j]


@njit(fastmath=True)
def _egu(x: Any, c: Any, lr: Any, w: Any, a: Any, b: Any) -> None:
    f = np.exp(-lr * c)
    g = np.float32(1) / f
    for j in range(len(w)):
        w[j] *= f if x[j] > 0 else g


@njit(fastmath=True)
def _egu_pm(x: Any, c: Any, lr: Any, w: Any, a: Any, b: Any) -> None:
    f = np.exp(-lr * c)
    g = np.float32(1) / f
    for j in range(len(w)):
        a[j] *= f if x[j] > 0 else g
        b[j] *= g if x[j] > 0 else f
        w[j] = a[j] - b[j]


@njit(fastmath=True)
def _spindly(x: Any, c: Any, lr: Any, w: Any, a: Any, b: Any) -> None:
    for j in range(len(w)):
        a[j] *= np.float32(1) - np.float32(2) * lr * c * x[j]
        w[j] = a[j] * a[j]


@njit(fastmath=True)
def _adagrad(x: Any, c: Any, lr: Any, w: Any, a: Any, b: Any) -> None:
    for j in range(len(w)):
        g = c * x[j]
        a[j] += g * g
        w[j] -= lr * g / np.sqrt(np.float32(1e-8) + a[j])


STARTS = {
    "GD": (0, 0, 0),
    "EGU": (1, 0, 0),
    "EGU±": (0, 0.5, 0.5),
    "spindly": (1, 1, 0),
    "AdaGrad": (0, 0, 0),
}
STEPS = {"GD": _gd, "EGU": _egu, "EGU±": _egu_pm, "spindly": _spindly, "AdaGrad": _adagrad}


@njit(fastmath=True)
def _sweep(step: Any, X: Any, lr: Any, w0: Any, a0: Any, b0: Any) -> Any:
    n, d = X.shape
    losses = np.zeros(n + 1, np.float64)
    w, a, b = np.empty(d, np.float32), np.empty(d, np.float32), np.empty(d, np.float32)
    for target in range(d):
        w[:], a[:], b[:] = w0, a0, b0
        for k in range(n + 1):
            if k > 0:
                x = X[k - 1]
                step(x, np.float32(2) * (_dot(x, w) - x[target]), lr, w, a, b)
            at = w[target]
            w[target] = at - 1
            losses[k] += _dot(w, w)
            w[target] = at
    return losses / d


def curve(learner: str, X: Any, lr: Any) -> Any:
    """Losses after 0 … n examples."""
    w, a, b = STARTS[learner]
    d = X.shape[1]
    root = d**-0.5 if learner == "spindly" else 1 / d
    values = (np.float32(w / d), np.float32(a * root), np.float32(b / d))
    return _sweep(STEPS[learner], X, lr, *values)
