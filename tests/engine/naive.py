"""Slow, plain float64 twins of everything that the engine computes with tensors.

Nothing here uses the engine. One weight, one row, one layer at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
Slope = Callable[[float, float], float]


def sylvester(d: int) -> Array:
    """The Hadamard matrix by the doubling H, [[H, H], [H, −H]]."""
    if d == 1:
        return np.ones((1, 1))
    half = sylvester(d // 2)
    return np.block([[half, half], [half, -half]])


def square(prediction: float, label: float) -> float:
    return (prediction - label) ** 2


def square_slope(prediction: float, label: float) -> float:
    return 2 * (prediction - label)


def logistic(prediction: float, label: float) -> float:
    return math.log(1 + math.exp(-label * prediction))


def logistic_slope(prediction: float, label: float) -> float:
    return -label / (1 + math.exp(label * prediction))


LOSSES = {"square": (square, square_slope), "logistic": (logistic, logistic_slope)}


class GD:
    """w ← w − η g."""

    def __init__(self, start: Array, lr: float) -> None:
        self.w, self.lr = start.astype(float).copy(), lr

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.w[i] = self.w[i] - self.lr * g[i]


class Momentum(GD):
    """v ← μ v + g, w ← w − η v."""

    def __init__(self, start: Array, lr: float, momentum: float = 0.9) -> None:
        super().__init__(start, lr)
        self.v, self.momentum = np.zeros(start.shape), momentum

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.v[i] = self.momentum * self.v[i] + g[i]
            self.w[i] -= self.lr * self.v[i]


class EGU(GD):
    """w ← w exp(−η g) from w₀."""

    def __init__(self, start: Array, lr: float, w0: float | None = None) -> None:
        super().__init__(np.full(start.shape, w0 or 1 / start.shape[-1]), lr)

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.w[i] *= math.exp(-self.lr * g[i])


class EG(GD):
    """w ← U w exp(−η g) / Σ w exp(−η g) from U/d."""

    def __init__(self, start: Array, lr: float, total: float = 1.0) -> None:
        super().__init__(np.full(start.shape, total / start.shape[-1]), lr)
        self.total = total

    def step(self, g: Array) -> None:
        raised = [w * math.exp(-self.lr * gi) for w, gi in zip(self.w, g, strict=True)]
        self.w = np.array([self.total * w / sum(raised) for w in raised])


class EGUPM:
    """w₊ ← w₊ exp(−η g), w₋ ← w₋ exp(η g), from w₊ − w₋ = start and w₊ w₋ = w₀²."""

    def __init__(self, start: Array, lr: float, w0: float | None = None) -> None:
        self.lr = lr
        w0 = w0 or 1 / (2 * start.shape[-1])
        self.plus, self.minus = np.empty(start.shape), np.empty(start.shape)
        for i in np.ndindex(start.shape):
            # w₊ is the positive root of w₊² − start·w₊ − w₀² = 0
            self.plus[i] = max(np.roots([1.0, -start[i], -(w0**2)]).real)
            self.minus[i] = w0**2 / self.plus[i]

    @property
    def w(self) -> Array:
        return self.plus - self.minus

    def step(self, g: Array) -> None:
        for i in np.ndindex(g.shape):
            self.plus[i] *= math.exp(-self.lr * g[i])
            self.minus[i] *= math.exp(self.lr * g[i])


class Hypentropy(GD):
    """w ← β sinh(asinh(w/β) − η g)."""

    def __init__(self, start: Array, lr: float, beta: float | None = None) -> None:
        super().__init__(start, lr)
        self.beta = beta or 1 / start.shape[-1]

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.w[i] = self.beta * math.sinh(math.asinh(self.w[i] / self.beta) - self.lr * g[i])


RULES = {
    "gd": GD,
    "momentum": Momentum,
    "egu": EGU,
    "eg": EG,
    "egu-pm": EGUPM,
    "hypentropy": Hypentropy,
}


class Linear:
    """ŷ = xᵀw."""

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return sum(wi * xi for wi, xi in zip(params["w"], x, strict=True))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        return {"w": np.array([slope * xi for xi in x])}


class Spindly:
    """ŷ = Σ x_i (u_i^L − v_i^L), the second half only when signed."""

    def __init__(self, depth: int = 2, signed: bool = False) -> None:
        self.depth, self.signed = depth, signed

    def predict(self, params: dict[str, Array], x: Array) -> float:
        total = 0.0
        for i, xi in enumerate(x):
            total += xi * params["u"][i] ** self.depth
            if self.signed:
                total -= xi * params["v"][i] ** self.depth
        return total

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        signs = {"u": 1.0, "v": -1.0} if self.signed else {"u": 1.0}
        return {
            name: np.array(
                [
                    sign * slope * xi * self.depth * params[name][i] ** (self.depth - 1)
                    for i, xi in enumerate(x)
                ]
            )
            for name, sign in signs.items()
        }


def _gelu(z: float) -> float:
    return z * (1 + math.erf(z / math.sqrt(2))) / 2


def _gelu_slope(z: float) -> float:
    return (1 + math.erf(z / math.sqrt(2))) / 2 + z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


TRANSFERS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "identity": (lambda z: z, lambda z: 1.0),
    "relu": (lambda z: max(z, 0.0), lambda z: float(z > 0)),
    "tanh": (math.tanh, lambda z: 1 - math.tanh(z) ** 2),
    "sigmoid": (_sigmoid, lambda z: _sigmoid(z) * (1 - _sigmoid(z))),
    "gelu": (_gelu, _gelu_slope),
}


class Dense:
    """ŷ = W_L σ(… σ(W_1 x)) with its gradient by the chain rule, written out."""

    def __init__(self, activation: str = "identity", init: str = "gaussian") -> None:
        self.transfer, self.slope = TRANSFERS[activation]

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        signals, value = [], x
        for layer in params.values():
            signals.append(np.array([sum(w * v for w, v in zip(row, value, strict=True)) for row in layer]))
            value = np.array([self.transfer(z) for z in signals[-1]])
        return signals

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(self._signals(params, x)[-1][0])

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        signals = self._signals(params, x)
        names = list(params)
        back = np.array([slope])
        gradients = {}
        for number in reversed(range(len(names))):
            below = x if number == 0 else np.array([self.transfer(z) for z in signals[number - 1]])
            gradients[names[number]] = np.array([[b * v for v in below] for b in back])
            if number:
                down = params[names[number]].T @ back
                back = np.array([down[j] * self.slope(z) for j, z in enumerate(signals[number - 1])])
        return gradients


ARCHITECTURES = {"linear": Linear, "spindly": Spindly, "dense": Dense}


def one_pass(net, rules: dict[str, object], X: Array, y: Array, loss: str) -> tuple[Array, dict[str, Array]]:
    """Average losses after k = 0 … n examples, and the parameters at the end; one rule per parameter."""
    value, slope = LOSSES[loss]

    def average() -> float:
        params = {name: rule.w for name, rule in rules.items()}
        return sum(value(net.predict(params, x), label) for x, label in zip(X, y, strict=True)) / len(X)

    found = [average()]
    for x, label in zip(X, y, strict=True):
        params = {name: rule.w for name, rule in rules.items()}
        gradients = net.gradient(params, x, slope(net.predict(params, x), label))
        for name, rule in rules.items():
            rule.step(gradients[name])
        found.append(average())
    return np.array(found), {name: rule.w for name, rule in rules.items()}


def least_squares(X: Array, y: Array) -> Array:
    """The minimum-norm solution for the first k rows, k = 0 … n, by a fresh pseudo-inverse each, [n+1, d]."""
    return np.stack([np.linalg.pinv(X[:k]) @ y[:k] if k else np.zeros(X.shape[1]) for k in range(len(X) + 1)])


def rank_bound(Y: Array) -> Array:
    """(1/nm) ‖Y − Z‖² for Y [n, m] and the Z of rank k = 0 … n that is nearest to it."""
    u, s, vt = np.linalg.svd(Y, full_matrices=False)
    found = []
    for k in range(len(Y) + 1):
        near = (u[:, :k] * s[:k]) @ vt[:k]
        found.append(((Y - near) ** 2).sum() / Y.size)
    return np.array(found)
