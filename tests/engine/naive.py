"""Slow float64 twins of all computations of the engine with tensors.

They do not use the engine, and handle one weight, one row and one layer at a time.
"""

from __future__ import annotations

import cmath
import itertools
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


def mistake(prediction: float, label: float) -> float:
    return max(0.0, -label * prediction)


def mistake_slope(prediction: float, label: float) -> float:
    return -label if label * prediction <= 1e-8 else 0.0


def hinge(prediction: float, label: float) -> float:
    return max(0.0, 1 - label * prediction)


def hinge_slope(prediction: float, label: float) -> float:
    return -label if label * prediction < 1 - 1e-8 else 0.0


def exponential(prediction: float, label: float) -> float:
    return math.exp(-label * prediction)


def exponential_slope(prediction: float, label: float) -> float:
    return -label * math.exp(-label * prediction)


def entropic(prediction: float, label: float) -> float:
    odds = math.exp(prediction)
    return -math.log(odds / (1 + odds)) if label == 1 else math.log(1 + odds)


def entropic_slope(prediction: float, label: float) -> float:
    odds = math.exp(prediction)
    return odds / (1 + odds) - label


def cross_entropy(predictions: list[float], labels: list[float]) -> float:
    odds = [math.exp(prediction) for prediction in predictions]
    return -sum(label * math.log(odd / sum(odds)) for label, odd in zip(labels, odds, strict=True))


def cross_entropy_slopes(predictions: list[float], labels: list[float]) -> list[float]:
    odds = [math.exp(prediction) for prediction in predictions]
    return [odd / sum(odds) - label for label, odd in zip(labels, odds, strict=True)]


JOINT_LOSSES = {"cross-entropy": (cross_entropy, cross_entropy_slopes)}
"""Joint losses of all predictions of an instance, and their derivatives by each prediction."""

LOSSES = {
    "square": (square, square_slope),
    "logistic": (logistic, logistic_slope),
    "mistake": (mistake, mistake_slope),
    "hinge": (hinge, hinge_slope),
    "exponential": (exponential, exponential_slope),
    "entropic": (entropic, entropic_slope),
}


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


class Hedge(EG):
    """w ← w β^((1 + g)/2) / Σ w β^((1 + g)/2) from 1/d."""

    def __init__(self, start: Array, beta: float) -> None:
        super().__init__(start, lr=math.log(1 / beta) / 2)


class AdaBoost(EG):
    """w ← w exp(−α g) / Σ w exp(−α g) from 1/d, α = ½ ln((1 + w·g)/(1 − w·g)) with |w·g| < 1 − 10⁻⁶."""

    def __init__(self, start: Array, vote: float | None = None) -> None:
        super().__init__(start, lr=vote or 0.0)
        self.vote = vote

    def step(self, g: Array) -> None:
        if self.vote is None:
            edge = sum(wi * gi for wi, gi in zip(self.w, g, strict=True))
            edge = min(1 - 1e-6, max(-1 + 1e-6, edge))
            self.lr = math.log((1 + edge) / (1 - edge)) / 2
        super().step(g)


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


class Spectral(GD):
    """β times the corner of sinh of the dilation (0 Z; Zᵀ 0), by its series, Z ← Z − η g, W from 0."""

    def __init__(
        self, start: Array, lr: float, beta: float | None = None, factors: tuple[int, int] | None = None
    ) -> None:
        super().__init__(start, lr)
        assert not start.any()
        d = start.shape[-1]
        self.beta = beta or 1 / d
        rows, _ = factors or max((r, d // r) for r in range(1, d + 1) if d % r == 0 and r * r <= d)
        self.dual = np.zeros((rows, d // rows))

    def step(self, g: Array) -> None:
        self.dual = self.dual - self.lr * g.reshape(self.dual.shape)
        rows, columns = self.dual.shape
        dilation = np.zeros((rows + columns, rows + columns))
        dilation[:rows, rows:], dilation[rows:, :rows] = self.dual, self.dual.T
        term, total = dilation, np.zeros_like(dilation)
        for power in range(1, 60, 2):
            total = total + term
            term = term @ dilation @ dilation / ((power + 1) * (power + 2))
        self.w = self.beta * total[:rows, rows:].reshape(self.w.shape)


class SGD(GD):
    """Gradient descent on gradients that the caller has averaged over the mini-batch."""

    def __init__(self, start: Array, lr: float, batch: int = 1) -> None:
        super().__init__(start, lr)


class EGPM:
    """w₊ ← U w₊ exp(−η g) / Z, w₋ ← U w₋ exp(η g) / Z from U/(2d), where Z makes them sum to U."""

    def __init__(self, start: Array, lr: float, total: float = 1.0) -> None:
        self.lr, self.total = lr, total
        self.plus = np.full(start.shape, total / (2 * len(start)))
        self.minus = self.plus.copy()

    @property
    def w(self) -> Array:
        return self.plus - self.minus

    def step(self, g: Array) -> None:
        for i in range(len(g)):
            self.plus[i] *= math.exp(-self.lr * g[i])
            self.minus[i] *= math.exp(self.lr * g[i])
        mass = sum(self.plus) + sum(self.minus)
        self.plus, self.minus = self.total * self.plus / mass, self.total * self.minus / mass


class PNorm(GD):
    """θ ← θ − η g; w_i = sign(θ_i) |θ_i|^(p−1) ‖θ‖_p^(2−p), and back with q in place of p."""

    def __init__(self, start: Array, lr: float, p: float | None = None) -> None:
        super().__init__(start, lr)
        self.p = p or max(2.0, 2 * math.log(start.size))
        self.theta = self.link(self.w, self.p / (self.p - 1))

    def link(self, values: Array, p: float) -> Array:
        norm = sum(abs(v) ** p for v in values.flat) ** (1 / p)
        dual = np.zeros(values.shape)
        for i in np.ndindex(values.shape):
            if values[i]:
                dual[i] = math.copysign(abs(values[i]) ** (p - 1) * norm ** (2 - p), values[i])
        return dual

    def step(self, g: Array) -> None:
        self.theta = self.theta - self.lr * g
        self.w = self.link(self.theta, self.p)


class PrivateRates(EGU):
    """w ← w − η w g from w₀."""

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.w[i] -= self.lr * self.w[i] * g[i]


class AdaGrad(GD):
    """h ← h + g², w ← w − η g / √(ε + h)."""

    def __init__(self, start: Array, lr: float, eps: float = 1e-8) -> None:
        super().__init__(start, lr)
        self.h, self.eps = np.zeros(start.shape), eps

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.h[i] += g[i] ** 2
            self.w[i] -= self.lr * g[i] / math.sqrt(self.eps + self.h[i])


class AdaGradMomentum(AdaGrad):
    """h ← ρ h + g², v ← μ v + g / √(ε + h), w ← w − η v."""

    def __init__(
        self, start: Array, lr: float, momentum: float = 0.9, memory: float = 0.99, eps: float = 1e-8
    ) -> None:
        super().__init__(start, lr, eps)
        self.v, self.momentum, self.memory = np.zeros(start.shape), momentum, memory

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.h[i] = self.memory * self.h[i] + g[i] ** 2
            self.v[i] = self.momentum * self.v[i] + g[i] / math.sqrt(self.eps + self.h[i])
            self.w[i] -= self.lr * self.v[i]


class RMSProp(AdaGrad):
    """v ← ρ v + (1 − ρ) g², w ← w − η g / √(ε + v)."""

    def __init__(self, start: Array, lr: float, memory: float = 0.99, eps: float = 1e-8) -> None:
        super().__init__(start, lr, eps)
        self.memory = memory

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.h[i] = self.memory * self.h[i] + (1 - self.memory) * g[i] ** 2
            self.w[i] -= self.lr * g[i] / math.sqrt(self.eps + self.h[i])


class Adam(AdaGrad):
    """m and v are weighted means of all g and g² so far, w ← w − η m / √(ε + v)."""

    def __init__(
        self, start: Array, lr: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
    ) -> None:
        super().__init__(start, lr, eps)
        self.beta1, self.beta2, self.past = beta1, beta2, []

    def step(self, g: Array) -> None:
        self.past.insert(0, g)

        def mean(beta: float, power: int) -> Array:
            weights = [beta**age for age in range(len(self.past))]
            return sum(a * gradient**power for a, gradient in zip(weights, self.past, strict=True)) / sum(
                weights
            )

        self.w -= self.lr * mean(self.beta1, 1) / np.sqrt(self.eps + mean(self.beta2, 2))


class AdaGradFull(GD):
    """w ← w − η g A^(−1/2), A = ε I + Σ gᵀg over rows of all gradients = MᵀM, by the singular values of M."""

    def __init__(self, start: Array, lr: float, eps: float = 0.01) -> None:
        super().__init__(start, lr)
        self.rows = math.sqrt(eps) * np.eye(start.shape[-1])

    def step(self, g: Array) -> None:
        self.rows = np.vstack([self.rows, g])
        _, size, axes = np.linalg.svd(self.rows, full_matrices=False)
        self.w -= self.lr * g @ (axes.T / size) @ axes


class OnlineNewton(GD):
    """w ← w − η g A⁻¹, A = ε I + Σ gᵀg over rows of all gradients, by a fresh solution each."""

    def __init__(self, start: Array, lr: float, eps: float = 1.0) -> None:
        super().__init__(start, lr)
        self.A = eps * np.eye(start.shape[-1])

    def step(self, g: Array) -> None:
        for row in np.atleast_2d(g):
            self.A += np.outer(row, row)
        self.w -= self.lr * np.linalg.solve(self.A, g.T).T


def _frobenius(g: Array) -> float:
    return math.sqrt(sum(x * x for x in g.flat))


def _spread(g: Array) -> float:
    """√(outputs/inputs) of a layer; a vector has one output."""
    return math.sqrt((len(g) if g.ndim == 2 else 1) / g.shape[-1])


class AGD(GD):
    """W_l ← W_l − (η/L) √(d_l/d_{l−1}) ∇_l/‖∇_l‖ with one η for all layers.

    Where it allows for a penalty, an exact η minimises −ηG + ½(e^η − 1)² + ½aη², found by halving.
    """

    def __init__(
        self, start: Array, loss_scale: float = 1.0, l2_penalty: float = 0.0, exact: bool = False
    ) -> None:
        super().__init__(start, 1.0)
        self.loss_scale, self.l2_penalty, self.exact = loss_scale, l2_penalty, exact

    def rate(self, G: float, a: float) -> float:
        if not self.exact:
            return math.log((1 + math.sqrt(1 + 4 * G / (1 + a))) / 2)
        low, high = 0.0, 1.0 + G
        for _ in range(200):
            middle = (low + high) / 2
            rises = -G + (math.exp(middle) - 1) * math.exp(middle) + a * middle > 0
            low, high = (low, middle) if rises else (middle, high)
        return low

    @staticmethod
    def step_together(
        rules: dict[str, AGD], gradients: dict[str, Array], measured: dict[str, Array] | None = None
    ) -> None:
        first = next(iter(rules.values()))
        sizes = [first.loss_scale * _spread(g) * _frobenius(g) for g in (measured or gradients).values()]
        shapes = sum(_spread(g) ** 2 for g in gradients.values()) / len(sizes)
        a = first.loss_scale * first.l2_penalty * shapes / len(sizes)
        rate = first.rate(sum(sizes) / len(sizes), a) / len(sizes)
        for tensor_name, g in gradients.items():
            if _frobenius(g):
                rules[tensor_name].w = rules[tensor_name].w - rate * _spread(g) / _frobenius(g) * g


class AGDLayerwise(AGD):
    """The same with an η for each layer from its own gradient."""

    @staticmethod
    def step_together(rules: dict[str, AGD], gradients: dict[str, Array]) -> None:
        for tensor_name, g in gradients.items():
            if size := _frobenius(g):
                rate = rules[tensor_name].rate(rules[tensor_name].loss_scale * _spread(g) * size, 0.0) / len(
                    gradients
                )
                rules[tensor_name].w = rules[tensor_name].w - rate * _spread(g) / size * g


class AGDMomentum(AGD):
    """AGD along V ← μ V + (1 − μ) ∇, with the G of V or of ∇."""

    def __init__(
        self, start: Array, momentum: float = 0.9, loss_scale: float = 1.0, plain_size: bool = False
    ) -> None:
        super().__init__(start, loss_scale)
        self.V, self.momentum, self.plain_size = np.zeros(start.shape), momentum, plain_size

    @staticmethod
    def step_together(rules: dict[str, AGDMomentum], gradients: dict[str, Array]) -> None:
        for tensor_name, g in gradients.items():
            rules[tensor_name].V = (
                rules[tensor_name].momentum * rules[tensor_name].V + (1 - rules[tensor_name].momentum) * g
            )
        plain = next(iter(rules.values())).plain_size
        averages = {tensor_name: rule.V for tensor_name, rule in rules.items()}
        AGD.step_together(rules, averages, gradients if plain else None)


def _signs(v: Array) -> Array:
    """sign(v), and 0 for entries that are rounding beside the largest."""
    largest = max(abs(x) for x in v.flat)
    return np.array([0.0 if abs(x) <= 5e-14 * largest else math.copysign(1, x) for x in v.flat]).reshape(
        v.shape
    )


class Sign(GD):
    """w ← w − η sign(g)."""

    def step(self, g: Array) -> None:
        self.w -= self.lr * _signs(g)


class Coordinate(GD):
    """w_j ← w_j − η g_j at the first of the largest |g_j|."""

    @staticmethod
    def step_together(rules: dict[str, Coordinate], gradients: dict[str, Array]) -> None:
        entries = [(tensor_name, j) for tensor_name, g in gradients.items() for j in np.ndindex(g.shape)]
        largest = max(abs(gradients[name][j]) for name, j in entries)
        name, j = next(
            entry for entry in entries if abs(gradients[entry[0]][entry[1]]) >= (1 - 1e-13) * largest
        )
        rules[name].w[j] -= rules[name].lr * gradients[name][j]


class Polyak(GD):
    """w ← w − η g/‖g‖²."""

    @staticmethod
    def step_together(rules: dict[str, Polyak], gradients: dict[str, Array]) -> None:
        square = sum(x * x for g in gradients.values() for x in g.flat)
        for tensor_name, rule in rules.items() if square > 0 else ():
            rule.w -= rule.lr * gradients[tensor_name] / square


class Lion(GD):
    """w ← w − η sign(β₁m + (1 − β₁)g), m ← β₂m + (1 − β₂)g."""

    def __init__(self, start: Array, lr: float, beta1: float = 0.9, beta2: float = 0.99) -> None:
        super().__init__(start, lr)
        self.m, self.beta1, self.beta2 = np.zeros(start.shape), beta1, beta2

    def step(self, g: Array) -> None:
        self.w -= self.lr * _signs(self.beta1 * self.m + (1 - self.beta1) * g)
        self.m = self.beta2 * self.m + (1 - self.beta2) * g


def _trust(w: Array, step: Array) -> float:
    """‖w‖/‖step‖, 1 where either is 0."""
    return _frobenius(w) / _frobenius(step) if _frobenius(w) and _frobenius(step) else 1.0


class LARS(Momentum):
    """M ← μM + g ‖w‖/‖g‖, w ← w − η M."""

    def __init__(self, start: Array, lr: float, momentum: float = 0.9) -> None:
        super().__init__(start, lr, momentum)

    def step(self, g: Array) -> None:
        super().step(_trust(self.w, g) * g)


class AdamW(GD):
    """AdamW as torch writes it: weights shrink by η λ first, and ε is added to the root."""

    def __init__(self, start: Array, lr: float) -> None:
        super().__init__(start, lr)
        self.m, self.v, self.count = np.zeros(start.shape), np.zeros(start.shape), 0

    def step(self, g: Array) -> None:
        self.count += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        mean, square = self.m / (1 - 0.9**self.count), self.v / (1 - 0.999**self.count)
        self.w = self.w * (1 - 0.01 * self.lr) - self.lr * mean / (np.sqrt(square) + 1e-8)


class LAMB(Adam):
    """Step of Adam, scaled to the length of w."""

    def step(self, g: Array) -> None:
        before, rate = self.w.copy(), self.lr
        self.lr = 1.0
        super().step(g)
        move, self.lr = before - self.w, rate
        self.w = before - rate * _trust(before, move) * move


class AdamMini(GD):
    """m is a weighted mean of all g, and v of the means of g² over the weights that share a rate."""

    def __init__(
        self,
        start: Array,
        lr: float,
        per: str = "neuron",
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(start, lr)
        is_single_part = per == "tensor" or start.ndim == 1
        self.parts = [Adam(part, lr, beta1, beta2, eps) for part in ([start] if is_single_part else start)]

    def step(self, g: Array) -> None:
        for part, gradient in zip(self.parts, [g] if len(self.parts) == 1 else g, strict=True):
            gradient = gradient.reshape(part.w.shape)
            part.past.insert(0, gradient)
            m, v = [
                sum(beta**age * value for age, value in enumerate(values))
                / sum(beta**age for age in range(len(values)))
                for beta, values in (
                    (part.beta1, part.past),
                    (part.beta2, [sum(x * x for x in past.flat) / past.size for past in part.past]),
                )
            ]
            part.w = part.w - self.lr * m / math.sqrt(part.eps + v)
        self.w = np.stack([part.w for part in self.parts]).reshape(g.shape)


class Adafactor(GD):
    """g / √(R_i C_j / mean R), shortened to a root mean square of 1."""

    def __init__(self, start: Array, lr: float, memory: float = 0.8, eps: float = 1e-16) -> None:
        super().__init__(start, lr)
        self.memory, self.eps, self.count = memory, eps, 0
        self.R, self.C = np.zeros(len(np.atleast_2d(start))), np.zeros(start.shape[-1])

    def step(self, g: Array) -> None:
        G = np.atleast_2d(g)
        self.count += 1
        decay = 1 - self.count**-self.memory
        for i, row in enumerate(G):
            self.R[i] = decay * self.R[i] + (1 - decay) * (sum(x * x for x in row) / len(row) + self.eps)
        for j, column in enumerate(G.T):
            self.C[j] = decay * self.C[j] + (1 - decay) * (
                sum(x * x for x in column) / len(column) + self.eps
            )
        mean = sum(self.R) / len(self.R)
        u = np.array(
            [
                [x / math.sqrt(self.R[i] * self.C[j] / mean) for j, x in enumerate(row)]
                for i, row in enumerate(G)
            ]
        )
        self.w = self.w - self.lr * (u / max(1.0, _frobenius(u) / math.sqrt(u.size))).reshape(g.shape)


class Muon(GD):
    """Nesterov momentum with its singular values put through the polynomial five times, or all made 1."""

    def __init__(
        self,
        start: Array,
        lr: float,
        momentum: float = 0.95,
        by: str = "newton-schulz",
        hidden: bool = False,
    ) -> None:
        super().__init__(start, lr)
        self.M, self.momentum, self.by, self.hidden = np.zeros(start.shape), momentum, by, hidden
        self.adam = Adam(start, lr)

    @staticmethod
    def step_together(rules: dict[str, Muon], gradients: dict[str, Array]) -> None:
        layers = [tensor_name for tensor_name, g in gradients.items() if g.shape[-1] > 1]
        for tensor_name, g in gradients.items():
            rule = rules[tensor_name]
            if rule.hidden and (tensor_name not in layers or tensor_name in (layers[0], layers[-1])):
                rule.adam.step(g)
                rule.w = rule.adam.w
            else:
                rule.step(g)

    def step(self, g: Array) -> None:
        self.M = self.momentum * self.M + g
        if not self.M.any():
            return
        u, sizes, right = np.linalg.svd(np.atleast_2d(g + self.momentum * self.M), full_matrices=False)
        sizes = sizes / math.sqrt(sum(sizes**2))
        for _ in range(5):
            sizes = 3.4445 * sizes - 4.7750 * sizes**3 + 2.0315 * sizes**5
        sizes = np.ones_like(sizes) if self.by == "svd" else sizes
        longer = max(1.0, len(u) / right.shape[1]) ** 0.5
        self.w = self.w - self.lr * longer * ((u * sizes) @ right).reshape(g.shape)


def _power_of_gram(rows: Array, p: float) -> Array:
    """(MᵀM)^p of the matrix M with these rows, by its singular values."""
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    return (axes.T * sizes ** (2 * p)) @ axes


class Shampoo(GD):
    """L^(−1/4) G R^(−1/4), or L^(−1/2) G, from εI, in its own length or another."""

    def __init__(
        self,
        start: Array,
        lr: float,
        factors: str = "both",
        grafting: str = "none",
        block: int | None = None,
        eps: float = 1e-6,
    ) -> None:
        super().__init__(start, lr)
        self.factors, self.grafting = factors, grafting
        rows, d = np.atleast_2d(start).shape
        self.blocks = [list(range(d)[first : first + (block or d)]) for first in range(0, d, block or d)]
        self.columns = [math.sqrt(eps) * np.eye(rows) for _ in self.blocks]  # of all gradients, as rows
        self.rows = [math.sqrt(eps) * np.eye(len(block)) for block in self.blocks]
        self.adam = Adam(start, 1.0)

    def step(self, g: Array) -> None:
        G = np.atleast_2d(g)
        moves = []
        for number, block in enumerate(self.blocks):
            part = G[:, block]
            self.columns[number] = np.vstack([self.columns[number], part.T])
            self.rows[number] = np.vstack([self.rows[number], part])
            if self.factors == "left":
                moves.append(_power_of_gram(self.columns[number], -1 / 2) @ part)
            else:
                left_factor, right = (
                    _power_of_gram(averages[number], -1 / 4) for averages in (self.columns, self.rows)
                )
                moves.append(left_factor @ part @ right)
        move = np.hstack(moves)
        before = self.adam.w.copy()
        self.adam.step(g)
        lengths = {
            "none": _frobenius(move),
            "sgd": _frobenius(G),
            "adam": _frobenius(self.adam.w - before),
        }
        if move.any():
            move = move * lengths[self.grafting] / _frobenius(move)
        self.w = self.w - self.lr * move.reshape(g.shape)


class SOAP(GD):
    """Adam along those eigenvectors of averages of GGᵀ and GᵀG that any gradient had a part of."""

    def __init__(
        self, start: Array, lr: float, beta1: float = 0.95, beta2: float = 0.95, eps: float = 1e-8
    ) -> None:
        super().__init__(start, lr)
        self.beta1, self.beta2, self.eps, self.past = beta1, beta2, eps, []
        self.V = np.zeros(np.atleast_2d(start).shape)

    def step(self, g: Array) -> None:
        G = np.atleast_2d(g)
        self.past.insert(0, G)
        weights = [self.beta2**age for age in range(len(self.past))]
        bases, is_positive = [], []
        for products in ([P @ P.T for P in self.past], [P.T @ P for P in self.past]):
            mean = sum(a * product for a, product in zip(weights, products, strict=True))
            sizes, axes = np.linalg.eigh(mean)
            bases.append(axes)
            is_positive.append(sizes > 1e-9 * max(sizes))
        left_axes, right = bases
        new = (left_axes.T @ G @ right) ** 2 * np.outer(*is_positive)
        self.V = self.beta2 * self.V + (1 - self.beta2) * new
        m = sum(self.beta1**age * P for age, P in enumerate(self.past))
        m = left_axes.T @ (m / sum(self.beta1**age for age in range(len(self.past)))) @ right
        inside = m / np.sqrt(self.eps + self.V / (1 - self.beta2 ** len(self.past)))
        self.w = self.w - self.lr * (left_axes @ (inside * np.outer(*is_positive)) @ right.T).reshape(g.shape)


class KFAC(GD):
    """(S + λI)⁻¹ G (A + λI)⁻¹ with averages of aaᵀ and δδᵀ."""

    def __init__(self, start: Array, lr: float, memory: float = 0.95, damping: float = 0.01) -> None:
        super().__init__(start, lr)
        self.memory, self.damping, self.count = memory, damping, 0
        rows, d = np.atleast_2d(start).shape
        self.A, self.S = np.zeros((d, d)), np.zeros((rows, rows))

    @staticmethod
    def sent(loss: str, prediction: float, label: float) -> float:
        return LOSSES[loss][1](prediction, label)

    def observe(self, inputs: Array, back: Array) -> None:
        self.count += 1
        decay = min(1 - 1 / self.count, self.memory)
        self.A = decay * self.A + (1 - decay) * np.outer(inputs, inputs)
        self.S = decay * self.S + (1 - decay) * np.outer(back, back)

    def step(self, g: Array) -> None:
        A, S = (factor + self.damping * np.eye(len(factor)) for factor in (self.A, self.S))
        move = np.linalg.inv(S) @ np.atleast_2d(g) @ np.linalg.inv(A)
        self.w = self.w - self.lr * move.reshape(g.shape)


class Sophia(GD):
    """w ← w − η clip(M / max(γh, δ)) with averages of g and of L'' (∂ŷ/∂w)²."""

    def __init__(
        self,
        start: Array,
        lr: float,
        beta1: float = 0.96,
        beta2: float = 0.99,
        gamma: float = 0.01,
        delta: float = 1e-12,
    ) -> None:
        super().__init__(start, lr)
        self.beta1, self.beta2, self.gamma, self.delta = beta1, beta2, gamma, delta
        self.M, self.h = np.zeros(start.shape), np.zeros(start.shape)

    @staticmethod
    def sent(loss: str, prediction: float, label: float) -> float:
        """√L'': the slope of square loss, which is the one that it is tried with, is a straight line."""
        slope = LOSSES[loss][1]
        return math.sqrt(slope(prediction + 0.5, label) - slope(prediction - 0.5, label))

    def observe(self, inputs: Array, back: Array) -> None:
        squares = (np.outer(back, inputs) ** 2).reshape(self.h.shape)
        self.h = self.beta2 * self.h + (1 - self.beta2) * squares

    def step(self, g: Array) -> None:
        for i in np.ndindex(self.w.shape):
            self.M[i] = self.beta1 * self.M[i] + (1 - self.beta1) * g[i]
            ratio = self.M[i] / max(self.gamma * self.h[i], self.delta)
            self.w[i] -= self.lr * min(1.0, max(-1.0, ratio))


RULES = {
    "gd": GD,
    "sgd": SGD,
    "momentum": Momentum,
    "egu": EGU,
    "eg": EG,
    "hedge": Hedge,
    "adaboost": AdaBoost,
    "egu-pm": EGUPM,
    "eg-pm": EGPM,
    "hypentropy": Hypentropy,
    "spectral": Spectral,
    "p-norm": PNorm,
    "private-rates": PrivateRates,
    "perceptron": GD,
    "winnow": EGU,
    "adagrad": AdaGrad,
    "adagrad-full": AdaGradFull,
    "adagrad-momentum": AdaGradMomentum,
    "rmsprop": RMSProp,
    "adam": Adam,
    "online-newton": OnlineNewton,
    "agd": AGD,
    "agd-layerwise": AGDLayerwise,
    "agd-momentum": AGDMomentum,
    "sign": Sign,
    "coordinate": Coordinate,
    "polyak": Polyak,
    "lion": Lion,
    "lars": LARS,
    "lamb": LAMB,
    "adam-mini": AdamMini,
    "adafactor": Adafactor,
    "muon": Muon,
    "shampoo": Shampoo,
    "soap": SOAP,
    "kfac": KFAC,
    "sophia": Sophia,
    "torch": AdamW,
}


class Linear:
    """ŷ = xᵀw."""

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return sum(wi * xi for wi, xi in zip(params["w"], x, strict=True))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        return {"w": np.array([slope * xi for xi in x])}

    def through(self, params: dict[str, Array], x: Array, sent: float) -> dict[str, tuple[Array, Array]]:
        return {"w": (x, np.array([sent]))}


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


def _softplus(z: float) -> float:
    return math.log(1 + math.exp(z))


def _mish_slope(z: float) -> float:
    t = math.tanh(_softplus(z))
    return t + z * (1 - t * t) * _sigmoid(z)


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""The constants for which N(0, 1) is a fixed point. Source: Klambauer et al. 2017."""

TRANSFERS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "identity": (lambda z: z, lambda z: 1.0),
    "relu": (lambda z: max(z, 0.0), lambda z: float(z > 0)),
    "sqrt2_relu": (lambda z: math.sqrt(2) * max(0.0, z), lambda z: math.sqrt(2) if z > 0 else 0.0),
    "leaky_relu": (lambda z: z if z > 0 else 0.01 * z, lambda z: 1.0 if z > 0 else 0.01),
    "elu": (lambda z: z if z > 0 else math.exp(z) - 1, lambda z: 1.0 if z > 0 else math.exp(z)),
    "selu": (
        lambda z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * (math.exp(z) - 1)),
        lambda z: SELU_SCALE * (1.0 if z > 0 else SELU_ALPHA * math.exp(z)),
    ),
    "gelu": (_gelu, _gelu_slope),
    "silu": (lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) * (1 + z * (1 - _sigmoid(z)))),
    "mish": (lambda z: z * math.tanh(_softplus(z)), _mish_slope),
    "softplus": (_softplus, _sigmoid),
    "softsign": (lambda z: z / (1 + abs(z)), lambda z: 1 / (1 + abs(z)) ** 2),
    "sigmoid": (_sigmoid, lambda z: _sigmoid(z) * (1 - _sigmoid(z))),
    "tanh": (math.tanh, lambda z: 1 - math.tanh(z) ** 2),
    "erf": (math.erf, lambda z: 2 / math.sqrt(math.pi) * math.exp(-z * z)),
}


class Dense:
    """z_l = m_l W_l σ(z_{l−1}) + b_l with its gradient by the chain rule, written out."""

    def __init__(
        self,
        activation: str = "identity",
        scale: float = 1.0,
        cw: float | list[float] | None = None,
        parametrisation: str = "standard",
    ) -> None:
        self.transfer, self.slope = TRANSFERS[activation]
        self.cw, self.parametrisation = scale**2 if cw is None else cw, parametrisation

    def _layers(self, params: dict[str, Array]) -> list[str]:
        return [name for name in params if name.startswith("W")]

    def _factor(self, params: dict[str, Array], number: int) -> float:
        """m of layer `number`, counted from 0."""
        layers = self._layers(params)
        inputs = params[layers[number]].shape[1]
        if self.parametrisation == "ntk":
            return math.sqrt((self.cw[number] if isinstance(self.cw, list) else self.cw) / inputs)
        return 1 / inputs if self.parametrisation == "mean-field" and number == len(layers) - 1 else 1.0

    def rates(self, params: dict[str, Array]) -> dict[str, float]:
        """Factor of the rate of every parameter."""
        factors_by_name = dict.fromkeys(params, 1.0)
        first, last = self._layers(params)[0], self._layers(params)[-1]
        if self.parametrisation in ("mean-field", "mup"):
            for tensor_name, value in params.items():
                if tensor_name == last:
                    inputs = value.shape[1]
                    factors_by_name[tensor_name] = (
                        inputs if self.parametrisation == "mean-field" else 1 / inputs
                    )
                elif tensor_name == first or tensor_name.startswith("b"):
                    factors_by_name[tensor_name] = value.shape[0]
                elif tensor_name.startswith("W"):
                    factors_by_name[tensor_name] = value.shape[0] / value.shape[1]
        return factors_by_name

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        signals, value = [], x
        for number, layer_name in enumerate(self._layers(params)):
            factor, bias = self._factor(params, number), params.get(layer_name.replace("W", "b"))
            sums = [
                factor * sum(w * v for w, v in zip(row, value, strict=True)) for row in params[layer_name]
            ]
            signals.append(np.array(sums) + (0 if bias is None else bias[:, 0]))
            value = np.array([self.transfer(z) for z in signals[-1]])
        return signals

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(self._signals(params, x)[-1][0])

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        return {
            name: np.array([[b * v for v in below] for b in back])
            for name, (below, back) in self.through(params, x, slope).items()
        }

    def through(self, params: dict[str, Array], x: Array, sent: float) -> dict[str, tuple[Array, Array]]:
        """Inputs of every layer, and the signal sent back from the prediction to its outputs."""
        signals = self._signals(params, x)
        names = self._layers(params)
        back = np.array([sent])
        through_layers = {}
        for number in reversed(range(len(names))):
            name, factor = names[number], self._factor(params, number)
            below = x if number == 0 else np.array([self.transfer(z) for z in signals[number - 1]])
            through_layers[name] = factor * below, back
            if (bias := name.replace("W", "b")) in params:
                through_layers[bias] = np.ones(1), back
            if number:
                down = factor * params[name].T @ back
                back = np.array([down[j] * self.slope(z) for j, z in enumerate(signals[number - 1])])
        return through_layers


class Linearised(Dense):
    """A dense net to first order in the distance from where it starts."""

    def _started(self, params: dict[str, Array]) -> dict[str, Array]:
        return {
            tensor_name.removeprefix("start "): value
            for tensor_name, value in params.items()
            if "start " in tensor_name
        }

    def predict(self, params: dict[str, Array], x: Array) -> float:
        start, change = self._started(params), self.gradient(params, x, 1.0)
        moved = sum(
            float((change[tensor_name] * (params[tensor_name] - start[tensor_name])).sum())
            for tensor_name in change
        )
        return super().predict(start, x) + moved

    def through(self, params: dict[str, Array], x: Array, sent: float) -> dict[str, tuple[Array, Array]]:
        return super().through(self._started(params), x, sent)


class Normalised:
    """A dense net of instances with standardised features, or with entries standardised among themselves."""

    def __init__(self, of: str = "features", activation: str = "identity", scale: float = 1.0) -> None:
        self.of, self.net = of, Dense(activation, scale)

    def fitted(self, X: Array) -> dict[str, Array]:
        """The means and deviations of the features over the rows."""
        mean = [sum(column) / len(X) for column in X.T]
        squares = [sum((x - m) ** 2 for x in column) / len(X) for column, m in zip(X.T, mean, strict=True)]
        return {"mean": np.array(mean), "deviation": np.sqrt(squares)}

    def _seen(self, params: dict[str, Array], x: Array) -> Array:
        if self.of == "features":
            return (x - params["mean"]) / params["deviation"]
        mean = sum(x) / len(x)
        deviation = math.sqrt(sum((xi - mean) ** 2 for xi in x) / len(x) + 1e-5)
        return np.array([(xi - mean) / deviation for xi in x])

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        return self.net._signals(params, self._seen(params, x))

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return self.net.predict(params, self._seen(params, x))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        return self.net.gradient(params, self._seen(params, x), slope)


class Neuron:
    """ŷ = σ(xᵀw)."""

    def __init__(self, activation: str = "tanh") -> None:
        self.transfer, self.slope = TRANSFERS[activation]

    def _signal(self, params: dict[str, Array], x: Array) -> float:
        return sum(wi * xi for wi, xi in zip(params["w"], x, strict=True))

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return self.transfer(self._signal(params, x))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        steep = slope * self.slope(self._signal(params, x))
        return {"w": np.array([steep * xi for xi in x])}


class TwoWeight:
    """ŷ = Σ x_i u_i v_i."""

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return sum(xi * ui * vi for xi, ui, vi in zip(x, params["u"], params["v"], strict=True))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        return {
            name: np.array([slope * xi * other for xi, other in zip(x, params[partner], strict=True)])
            for name, partner in (("u", "v"), ("v", "u"))
        }


class Valley:
    """ŷ = √(1 + v²) u x₁."""

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return math.sqrt(1 + params["v"][0] ** 2) * params["u"][0] * x[0]

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        gain, u, v = math.sqrt(1 + params["v"][0] ** 2), params["u"][0], params["v"][0]
        return {"u": np.array([slope * gain * x[0]]), "v": np.array([slope * u * x[0] * v / gain])}


class DenseSpindly:
    """A spindly net of the signals h = W₁x."""

    def __init__(self, depth: int = 2, signed: bool = False) -> None:
        self.top = Spindly(depth, signed)

    def _signals(self, params: dict[str, Array], x: Array) -> Array:
        return np.array([sum(w * xi for w, xi in zip(row, x, strict=True)) for row in params["W1"]])

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return self.top.predict(params, self._signals(params, x))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        signals = self._signals(params, x)
        first = np.zeros(params["W1"].shape)
        for j in range(len(signals)):
            unit_vector = np.array([float(other == j) for other in range(len(signals))])
            weight = self.top.predict(params, unit_vector)  # u_j^L − v_j^L
            for i, xi in enumerate(x):
                first[j, i] = slope * weight * xi
        return {"W1": first, **self.top.gradient(params, signals, slope)}


class Factorised:
    """Σ_ij W_ij x_ij, W = A₁ᵀ A₂ ⋯ A_L, for instances x that are matrices read row by row."""

    def _product(self, params: dict[str, Array], x: Array) -> float:
        first, *later_factors = params.values()
        w = first.T
        for factor in later_factors:
            w = w @ factor
        return float(sum(a * b for a, b in zip(w.ravel(), x, strict=True)))

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return self._product(params, x)

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        """The product is linear in every entry: its slope is the product with 1 there, and 0 around it."""
        gradients = {}
        for tensor_name, factor in params.items():
            gradients[tensor_name] = np.zeros(factor.shape)
            for place in np.ndindex(*factor.shape):
                alone = np.zeros(factor.shape)
                alone[place] = 1.0
                gradients[tensor_name][place] = slope * self._product({**params, tensor_name: alone}, x)
        return gradients


class TwoLayerDecoder:
    """w₂ᵀ W₁ φ(x), φ the linear map that takes row t of the instances, of length √d, to (ψ_t, m_t)."""

    def __init__(self, eps: float = 0.5, mu: float = 0.5, gain: float = 2.0) -> None:
        self.eps, self.mu, self.gain = eps, mu, gain

    def fitted(self, X: Array) -> dict[str, Array]:
        d = X.shape[1]
        h, kappa = d // 2 + 1, self.eps / math.sqrt(2)
        features = np.zeros((2 * h, d))
        for t in range(min(d, len(X))):
            psi, m = np.zeros(h), np.zeros(h)
            if t == 1:
                psi[0] = math.sqrt(0.5) * self.eps / self.gain
                psi[1] = math.sqrt(0.5 * (1 - self.eps**2)) / self.gain
                m[1] = math.sqrt(0.5)
            elif t < h:
                psi[t], m[t] = 1 / self.gain, self.mu
            else:
                a = t - h + 2
                c = 1.5 - 0.75 * self.eps**2 + (a - 2)
                psi[a] = -c / (kappa * self.gain)
                m[a] = (1 / self.mu + c / (self.mu * self.gain**2)) / kappa
            for i, xi in enumerate(X[t]):
                features[:, i] += np.concatenate((psi, m)) * xi / d
        return {"map": features}

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(params["W2"][0] @ (params["W1"] @ (params["map"] @ x)))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        phi = params["map"] @ x
        first = np.array([[slope * w * feature for feature in phi] for w in params["W2"][0]])
        return {"W1": first, "W2": slope * (params["W1"] @ phi)[None]}


class SparseInput:
    """ŷ = Σ_j a_j σ(Σ_i W_ji x_i) over the given edges; over all by default."""

    def __init__(self, activation: str = "identity") -> None:
        self.transfer, self.slope = TRANSFERS[activation]

    def _signals(self, params: dict[str, Array], x: Array) -> list[float]:
        signals = []
        for j, row in enumerate(params["W1"]):
            seen = [i for i in range(len(x)) if "edges" not in params or params["edges"][j, i]]
            signals.append(sum(row[i] * x[i] for i in seen))
        return signals

    def predict(self, params: dict[str, Array], x: Array) -> float:
        signals = self._signals(params, x)
        return sum(a * self.transfer(z) for a, z in zip(params["W2"][0], signals, strict=True))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        signals = self._signals(params, x)
        first = np.zeros(params["W1"].shape)
        for j, i in np.ndindex(first.shape):
            if "edges" not in params or params["edges"][j, i]:
                first[j, i] = slope * params["W2"][0, j] * self.slope(signals[j]) * x[i]
        return {"W1": first, "W2": np.array([[slope * self.transfer(z) for z in signals]])}


class Conv:
    """ŷ = Σ x_i β_i with β the circular convolution of all filters, by its definition."""

    def __init__(self, depth: int = 2) -> None:
        pass

    def convolve(self, filters: list[Array], d: int) -> Array:
        product = np.array([1.0] + [0.0] * (d - 1))
        for filter_ in filters:
            product = np.array(
                [sum(product[j] * filter_[(i - j) % d] for j in range(d)) for i in range(d)],
            )
        return product

    def predict(self, params: dict[str, Array], x: Array) -> float:
        beta = self.convolve(list(params.values()), len(x))
        return sum(xi * bi for xi, bi in zip(x, beta, strict=True))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        d, gradients = len(x), {}
        for tensor_name in params:
            rest = self.convolve([value for other, value in params.items() if other != tensor_name], d)
            gradients[tensor_name] = np.array(
                [slope * sum(x[i] * rest[(i - j) % d] for i in range(d)) for j in range(d)]
            )
        return gradients


class ReluLayer:
    """Σ_j a_j max(0, w_jᵀx + b_j) + c, unit by unit."""

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(self._signals(params, x)[-1][0])

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        units = self._units(params, x)
        last = sum(a * max(0.0, z) for a, z in units) + float(params["b2"][0, 0])
        return [np.array([z for _, z in units]), np.array([last])]

    def _units(self, params: dict[str, Array], x: Array) -> list[tuple[float, float]]:
        return [
            (float(a), sum(wi * xi for wi, xi in zip(w, x, strict=True)) + float(b[0]))
            for a, w, b in zip(params["W2"][0], params["W1"], params["b1"], strict=True)
        ]

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        units = self._units(params, x)
        back = [slope * a if z > 0 else 0.0 for a, z in units]
        return {
            "W1": np.array([[b * xi for xi in x] for b in back]),
            "b1": np.array([[b] for b in back]),
            "W2": np.array([[slope * max(0.0, z) for _, z in units]]),
            "b2": np.array([[slope]]),
        }


class Tent:
    """A chain of rectified layers, the last of which is linear, unit by unit."""

    def __init__(self, times: int = 4) -> None:
        self._count = 2 * times + 1

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(self._signals(params, x)[-1][0])

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        below, signals = [float(coordinate) for coordinate in x], []
        for number in range(1, self._count + 1):
            rows = zip(params[f"W{number}"], params[f"b{number}"], strict=True)
            signals.append(
                [sum(w * a for w, a in zip(row, below, strict=True)) + float(b[0]) for row, b in rows]
            )
            below = [max(0.0, z) for z in signals[-1]]
        return [np.array(layer) for layer in signals]

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        signals = self._signals(params, x)
        back, gradients = [slope], {}
        for number in range(self._count, 0, -1):
            below = x if number == 1 else [max(0.0, z) for z in signals[number - 2]]
            gradients[f"W{number}"] = np.array([[g * a for a in below] for g in back])
            gradients[f"b{number}"] = np.array([[g] for g in back])
            sent = [
                sum(g * row[i] for g, row in zip(back, params[f"W{number}"], strict=True))
                for i in range(len(below))
            ]
            if number > 1:
                back = [g if z > 0 else 0.0 for g, z in zip(sent, signals[number - 2], strict=True)]
        return gradients


class Quadratic:
    """(Φᵀθ + (ε/2) θᵀΨθ)/√d, parameter by parameter."""

    def __init__(self, epsilon: float = 0.1, parameters: int = 30) -> None:
        self._epsilon = epsilon

    def predict(self, params: dict[str, Array], x: Array) -> float:
        theta, total = params["theta"], 0.0
        for feature, coordinate in enumerate(x):
            linear = sum(phi * t for phi, t in zip(params["Phi"][:, feature], theta, strict=True))
            square = sum(t * float(row @ theta) for t, row in zip(theta, params["Psi"][feature], strict=True))
            total += coordinate * (linear + self._epsilon / 2 * square)
        return float(total / np.sqrt(len(x)))

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        theta = params["theta"]
        moved = [
            params["Phi"][:, feature] + self._epsilon * params["Psi"][feature] @ theta
            for feature in range(len(x))
        ]
        total = sum(coordinate * features for coordinate, features in zip(x, moved, strict=True))
        return {"theta": slope * total / np.sqrt(len(x))}


class LayerByLayer:
    """z_{l+1} = √(C_b + C_w mean σ(z_l)²) g_{l+1}, mean ‖x‖²/d at first, with the chain rule written out."""

    def __init__(self, activation: str = "relu", cw: float = 1.0, cb: float = 0.0) -> None:
        self.transfer, self.slope = TRANSFERS[activation]
        self.cw, self.cb = cw, cb

    def _signals(self, params: dict[str, Array], x: Array) -> list[Array]:
        return [
            deviation * g[:, 0]
            for deviation, g in zip(self._deviations(params, x), params.values(), strict=True)
        ]

    def _deviations(self, params: dict[str, Array], x: Array) -> list[float]:
        mean, deviations = sum(entry**2 for entry in x) / len(x), []
        for g in params.values():
            deviations.append(math.sqrt(self.cb + self.cw * mean))
            mean = sum(self.transfer(deviations[-1] * gain) ** 2 for gain in g[:, 0]) / len(g)
        return deviations

    def predict(self, params: dict[str, Array], x: Array) -> float:
        return float(self._signals(params, x)[-1][0])

    def gradient(self, params: dict[str, Array], x: Array, slope: float) -> dict[str, Array]:
        deviations, signals = self._deviations(params, x), self._signals(params, x)
        names, back, gradients = list(params), np.array([slope]), {}
        for number in reversed(range(len(names))):
            gradients[names[number]] = (back * deviations[number])[:, None]
            if number:
                by_variance = sum(back * params[names[number]][:, 0]) / (2 * deviations[number])
                below = signals[number - 1]
                by_signal = [2 * self.transfer(z) * self.slope(z) / len(below) for z in below]
                back = by_variance * self.cw * np.array(by_signal)
        return {name: gradients[name] for name in names}


ARCHITECTURES = {
    "linear": Linear,
    "neuron": Neuron,
    "spindly": Spindly,
    "two-weight": TwoWeight,
    "valley": Valley,
    "identity-spindly": Spindly,
    "dense": Dense,
    "normalised": Normalised,
    "linearised": Linearised,
    "dense-spindly": DenseSpindly,
    "sparse-input": SparseInput,
    "factorised": Factorised,
    "two-layer-decoder": TwoLayerDecoder,
    "conv": Conv,
    "layer-by-layer": LayerByLayer,
    "relu-layer": ReluLayer,
    "tent": Tent,
    "quadratic": Quadratic,
}


def follow(rules: dict[str, object], gradients: dict[str, Array]) -> None:
    """One step of the rules of all parameters; rules that depend on one another step together."""
    first = next(iter(rules.values()))
    if hasattr(first, "step_together"):
        first.step_together(rules, gradients)
        return
    for tensor_name, rule in rules.items():
        rule.step(gradients[tensor_name])


def one_pass(
    net, rules: dict[str, object], X: Array, y: Array, loss: str, fixed: dict[str, Array] | None = None
) -> tuple[Array, dict[str, Array]]:
    """Average losses after k = 0 … n examples, and the parameters at the end; one rule per parameter.

    `fixed` are the parameters that have no rule.
    """
    value, slope = LOSSES[loss]

    def average() -> float:
        params = {**{tensor_name: rule.w for tensor_name, rule in rules.items()}, **(fixed or {})}
        return sum(value(net.predict(params, x), label) for x, label in zip(X, y, strict=True)) / len(X)

    losses = [average()]
    for x, label in zip(X, y, strict=True):
        params = {**{tensor_name: rule.w for tensor_name, rule in rules.items()}, **(fixed or {})}
        prediction = net.predict(params, x)
        gradients = net.gradient(params, x, slope(prediction, label))
        if hasattr(first := next(iter(rules.values())), "observe"):
            for name, seen in net.through(params, x, first.sent(loss, prediction, label)).items():
                rules[name].observe(*seen)
        follow(rules, gradients)
        losses.append(average())
    return np.array(losses), {tensor_name: rule.w for tensor_name, rule in rules.items()}


def least_squares(X: Array, y: Array) -> Array:
    """The minimum-norm solution for the first k rows, k = 0 … n, by a fresh pseudo-inverse each, [n+1, d]."""
    return np.stack([np.linalg.pinv(X[:k]) @ y[:k] if k else np.zeros(X.shape[1]) for k in range(len(X) + 1)])


def least_infinity(X: Array, y: Array) -> float:
    """The least ‖w‖∞ with Xw = y for X [k, d] in general position, k ≤ d, corner by corner.

    At a corner d + 1 − k entries are ±t, and the others and t follow from the k equations.
    """
    k, d = X.shape
    norms = []
    for tight in itertools.combinations(range(d), d + 1 - k):
        free_columns = [i for i in range(d) if i not in tight]
        for signs in itertools.product((-1.0, 1.0), repeat=len(tight)):
            *rest, t = np.linalg.solve(np.column_stack([X[:, free_columns], X[:, list(tight)] @ signs]), y)
            if t >= 0 and all(abs(w) <= t * (1 + 1e-9) for w in rest):
                norms.append(t)
    return min(norms)


def ridge(X: Array, y: Array, lam: float) -> Array:
    """argmin ‖Xw − y‖² + λ‖w‖² for the first k rows, k = 0 … n, as least squares with d more rows √λ I."""
    d = X.shape[1]
    more = math.sqrt(lam) * np.eye(d)
    return np.stack(
        [
            np.linalg.lstsq(np.vstack([X[:k], more]), np.concatenate([y[:k], np.zeros(d)]))[0]
            for k in range(len(X) + 1)
        ]
    )


def forecasts(X: Array, y: Array, eps: float, rows: Array) -> Array:
    """xᵀ(εI + Σ x_j x_jᵀ + x xᵀ)⁻¹ Σ y_j x_j for every row x and k = 0 … n, [n+1, rows].

    That is ridge regression with the example (x, 0) added.
    """
    return np.array(
        [
            [ridge(np.vstack([X[:k], x]), np.concatenate([y[:k], [0.0]]), eps)[-1] @ x for x in rows]
            for k in range(len(X) + 1)
        ]
    )


def _angle(x: Array, z: Array) -> float:
    if (x == z).all() or not x.any() or not z.any():
        return 0.0
    if (x == -z).all():
        return math.pi
    return math.acos((x @ z) / math.sqrt((x @ x) * (z @ z)))


def _ntk(x: Array, z: Array) -> float:
    angle, lengths = _angle(x, z), math.sqrt(x @ x) * math.sqrt(z @ z)
    both_on = (math.pi - angle) / math.pi
    product = (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi
    return (x @ z) * both_on + lengths * product


KERNELS: dict[str, Callable[..., float]] = {
    "linear": lambda x, z: sum(a * b for a, b in zip(x, z, strict=True)),
    "polynomial": lambda x, z, degree=2, offset=1.0: (offset + x @ z) ** degree,
    "rbf": lambda x, z, width=None: math.exp(-((x - z) @ (x - z)) / (2 * (width or math.sqrt(len(x))) ** 2)),
    "xor-product": lambda x, z: math.prod(1 + a * b for a, b in zip(x, z, strict=True)),
    "ntk": _ntk,
}


def kernel_predictions(
    kernel: Callable[[Array, Array], float], X: Array, y: Array, lam: float, rows: Array
) -> Array:
    """Σ_j a_j K(x_j, row) with a fresh a = (K + λI)⁻¹y, or K⁺y if λ = 0, for k = 0 … n, [n+1, rows]."""
    gram = np.array([[kernel(x, z) for z in X] for x in X])
    to_rows = np.array([[kernel(x, row) for row in rows] for x in X])
    predictions = [np.zeros(len(rows))]
    for k in range(1, len(X) + 1):
        K = gram[:k, :k]
        a = np.linalg.solve(K + lam * np.eye(k), y[:k]) if lam else np.linalg.pinv(K, 1e-12) @ y[:k]
        predictions.append(a @ to_rows[:k])
    return np.array(predictions)


def least_l1(X: Array, y: Array) -> float:
    """min ‖w‖₁ s.t. Xw = y: the least over all sets of rank(X) columns, one of which is a solution."""
    rank = np.linalg.matrix_rank(X)
    norms = []
    for columns in itertools.combinations(range(X.shape[1]), rank):
        part = X[:, columns]
        if np.linalg.matrix_rank(part) == rank:
            w = np.linalg.lstsq(part, y)[0]
            if abs(part @ w - y).max() < 1e-9:
                norms.append(abs(w).sum())
    return min(norms)


def lasso(X: Array, y: Array, lam: float) -> Array:
    """The minimiser of mean (Xw − y)² + λ‖w‖₁ for XᵀX of full rank, by trying every pattern of signs."""
    k, d = X.shape
    for signs in itertools.product((0, 1, -1), repeat=d):
        on = [i for i in range(d) if signs[i]]
        w = np.zeros(d)
        if on:
            steep = k * lam / 2 * np.array([signs[i] for i in on])
            w[on] = np.linalg.solve(X[:, on].T @ X[:, on], X[:, on].T @ y - steep)
        slopes = 2 / k * X.T @ (y - X @ w)
        if all(w[i] * signs[i] > 0 for i in on) and abs(slopes).max() <= lam * (1 + 1e-9):
            return w
    raise AssertionError("one of the patterns is the right one")


def rank_bound(Y: Array) -> Array:
    """(1/nm) ‖Y − Z‖² for Y [n, m] and the Z of rank k = 0 … n that is nearest to it."""
    u, s, vt = np.linalg.svd(Y, full_matrices=False)
    losses = []
    for k in range(len(Y) + 1):
        near = (u[:, :k] * s[:k]) @ vt[:k]
        losses.append(((Y - near) ** 2).sum() / Y.size)
    return np.array(losses)


def hold_out(
    fit: Callable[[Array, Array, float], Array], X: Array, y: Array, strengths: list[float]
) -> float:
    """The first strength whose fit to 70 % of the rows has the fewest mistakes on the others."""
    count = round(0.7 * len(X))
    best, fewest = strengths[0], math.inf
    for strength in strengths:
        w = fit(X[:count], y[:count], strength)
        mistakes = 0.0
        for x, label in zip(X[count:], y[count:], strict=True):
            mistakes += 0.5 if x @ w == 0 else float((x @ w > 0) != (label > 0))
        if mistakes < fewest:
            best, fewest = strength, mistakes
    return best


def logistic_objective(X: Array, y: Array, w: Array, C: float, penalty: float) -> float:
    """C Σ_j ln(1 + e^(−y_j x_jᵀw)) plus a penalty."""
    return C * sum(logistic(x @ w, label) for x, label in zip(X, y, strict=True)) + penalty


def perceptron(X: Array, y: Array, passes: int) -> tuple[Array, int]:
    """Weights after at most `passes` passes through the examples, and the mistakes of the last."""
    w, mistakes = np.zeros(X.shape[1]), 0
    for _ in range(passes):
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            if label * (x @ w) <= 0:
                w, mistakes = w + label * x, mistakes + 1
        if not mistakes:
            break
    return w, mistakes


def widest_margin(X: Array, y: Array) -> Array:
    """The w of least ‖w‖₂ with y_j x_jᵀw ≥ 1: the best of those with margin 1 on some rows, or NaN."""
    Z, best = X * y[:, None], np.full(X.shape[1], math.nan)
    for count in range(1, min(X.shape) + 1):
        for support in itertools.combinations(range(len(Z)), count):
            w = np.linalg.pinv(Z[list(support)]).sum(1)
            if (Z @ w).min() >= 1 - 1e-9 and not w @ w >= best @ best:
                best = w
    return best


def excess_risk(w: Array, w_star: Array, second_moment: Array) -> float:
    """(w − w*)ᵀΣ(w − w*) as the sum over pairs of entries."""
    gaps = [a - b for a, b in zip(w, w_star, strict=True)]
    return sum(gaps[i] * second_moment[i, j] * gaps[j] for i in range(len(gaps)) for j in range(len(gaps)))


def fourier(w: Array) -> list[complex]:
    """The coefficients of the unitary discrete Fourier transform of w, by their definition."""
    turns = [[cmath.exp(-2j * math.pi * f * i / len(w)) for i in range(len(w))] for f in range(len(w))]
    return [np.dot(turn, w) / math.sqrt(len(w)) for turn in turns]


def norm_angle(w: Array, rows: Array, labels: Array, q: str) -> tuple[float, int]:
    """1 − cos(ĝ, ŵ|ŵ|^(p−2)) for g = Σ_j y_j x_j e^(−y_j x_jᵀw), of the |ŵ_i| > max|ŵ|/20, and how many."""
    g = sum((y * math.exp(-y * (x @ w)) * x for x, y in zip(rows, labels, strict=True)), 0 * w)
    coordinates, against = (fourier(v) if q.startswith("fourier") else list(v) for v in (w, g))
    power = 2 / 3 if q.endswith("2/3") else {"2": 2, "1": 1, "fourier": 1}[q]
    pairs = [
        (a, b) for a, b in zip(coordinates, against, strict=True) if abs(a) > max(map(abs, coordinates)) / 20
    ]
    slopes = [a * abs(a) ** (power - 2) for a, _ in pairs]
    product = sum((s.conjugate() * b).real for s, (_, b) in zip(slopes, pairs, strict=True))
    sizes = math.sqrt(sum(abs(s) ** 2 for s in slopes) * sum(abs(b) ** 2 for _, b in pairs))
    return (1 - product / sizes if sizes else math.nan), len(pairs)


def length(w: Array, p: str) -> float:
    """‖w‖_p, entry by entry, or that of its Fourier coefficients, by their definition."""
    if p == "2/3":
        return sum(abs(x) ** (2 / 3) for x in w) ** 1.5
    if p.startswith("fourier"):
        power = 2 / 3 if p.endswith("2/3") else 1
        return sum(abs(c) ** power for c in fourier(w)) ** (1 / power)
    return {"1": sum(map(abs, w)), "2": math.sqrt(sum(x * x for x in w)), "max": max(map(abs, w))}[p]


def angle_error(w: Array, w_star: Array) -> float:
    """arccos(cos(w, w*))/π."""
    if not w.any():
        return 0.5
    cosine = (w @ w_star) / (length(w, "2") * length(w_star, "2"))
    return math.acos(min(1.0, max(-1.0, cosine))) / math.pi
