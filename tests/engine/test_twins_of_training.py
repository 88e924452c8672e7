"""Twins of lines about training: plain loops over steps, and inequalities of proofs by numeric search."""

from __future__ import annotations

from functools import cache, partial, reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from building import beginning, data_of, gd
from line_twins import Array, Naive, Twin, check
from mpmath import mp, mpf
from naive import AdaGrad, Linear, Sign, one_pass, sylvester
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize
from scipy.stats import norm

from engine.spec.experiment import Experiment

RATE = 0.07


def orthogonal_steps(rule: type, described: Experiment) -> Array:
    """The losses of a linear neuron on signed Hadamard rows."""
    H = sylvester(8)
    signs = np.array([1, -1, -1, 1, 1, -1, 1, 1])
    losses, _ = one_pass(
        Linear(), {"w": rule(np.zeros(8), RATE)}, signs[:, None] * H, signs * H[:, 5], "square"
    )
    return losses


def factors_of_egu(eta: Any, error: Any) -> Any:
    return mp.exp(2 * eta * error)


def factors_of_spindly(eta: Any, error: Any) -> Any:
    """Of w = u², by steps of u along the gradient with the rate η/4."""
    return (1 + eta * error) ** 2


@cache
def constant(factor: Any, eta: Any, is_exact: bool) -> float:
    """The least c such that the square loss is at most c times the progress, by search on a grid.

    w_i are multiplied by q where x_i = 1. With a = w·x and p = u·x the relative entropy of u to w falls by p
    ln q − a(q − 1). An exact u has p = y. For another u its own loss (y − p)² is added to the progress; the
    worst p = y − ½ ln q is the vertex of a parabola.
    """
    with mp.workdps(60):
        grid = [mpf(step) / 20 for step in range(21)]
        near = [sign * mpf(10) ** -15 for sign in (1, -1)]
        worst = mpf(0)
        for a in (*grid, mpf("1.5"), mpf(3)):
            prediction = min(a, 1)
            for y in (*grid, *(prediction + step for step in near)):
                error = y - prediction
                if error == 0 or not 0 <= y <= 1:
                    continue
                q = factor(eta, error)
                p = y if is_exact else y - mp.log(q) / 2
                progress = p * mp.log(q) - a * (q - 1) + (y - p) ** 2
                worst = max(worst, error**2 / progress)
        return float(worst)


def multiplicative(factor: Any, eta: Any, is_exact: bool, described: Experiment) -> Array:
    """The mean loss is at most c times the relative entropy at the start over k, and the loss at most 1."""
    n, d = described.problem.matrix.shape()
    target, start = np.eye(d)[0], np.full(d, 1 / d)
    entropy = sum(u * np.log(u / w) if u else 0.0 for u, w in zip(target, start, strict=True))
    entropy += (start - target).sum()
    c = constant(factor, eta, is_exact)
    return np.array([1.0] + [min(1.0, c * entropy / k) for k in range(1, n + 1)])


def two_layers(described: Experiment) -> tuple[Array, Array]:
    """Loss and sharpness [R, S] of s W₂W₁x by gradient descent on one example, from where the nets start.

    In the NTK parametrisation s = 1/√(dh) for h hidden units, otherwise 1.
    """
    hypothesis, data = beginning(described)
    rate, steps = described.learners[0].update.lr, int(described.protocol.steps)
    is_ntk = described.learners[0].architecture.parametrisation == "ntk"
    losses, curvatures = [], []
    for first, second, (x,), (y,) in zip(
        *(hypothesis.tensors[tensor_name].double().numpy() for tensor_name in ("W1", "W2")),
        data.instances.rows.double().numpy(),
        data.labels.double().numpy(),
        strict=True,
    ):
        (v,), (h, d) = second, first.shape
        scale = 1 / np.sqrt(d * h) if is_ntk else 1.0
        mixed = scale * np.kron(np.eye(h), x[:, None])  # ∂²ŷ/∂W₁∂W₂
        second_derivative = np.block([[np.zeros((h * d, h * d)), mixed], [mixed.T, np.zeros((h, h))]])
        of_replica = []
        for _ in range(steps + 1):
            error = scale * v @ first @ x - y
            slope = scale * np.concatenate([np.outer(v, x).ravel(), first @ x])
            hessian = 2 * (np.outer(slope, slope) + error * second_derivative)
            of_replica.append((error**2, np.linalg.eigvalsh(hessian)[-1]))
            move = rate * 2 * error * slope
            first, v = first - move[: h * d].reshape(h, d), v - move[h * d :]
        loss, curvature = np.transpose(of_replica)
        losses.append(loss)
        curvatures.append(curvature)
    return np.array(losses), np.array(curvatures)


def losses(described: Experiment) -> Array:
    return two_layers(described)[0]


def relative_sharpness(described: Experiment) -> Array:
    _, curvatures = two_layers(described)
    return curvatures / curvatures[:, :1]


def pinsker(distance: float, sigma: float) -> float:
    """√(KL/2) of N(0, σ²) and N(distance, σ²), by integration: they differ by no more in any event."""
    p, q = norm(0, sigma), norm(distance, sigma)
    divergence, _ = quad(lambda z: p.pdf(z) * (p.logpdf(z) - q.logpdf(z)), -12 * sigma, 12 * sigma)
    return float(np.sqrt(divergence / 2))


def junk(described: Experiment) -> Naive:
    """½ minus the advantage of a function at a parity, minus the distance to the run on junk labels.

    Averaged over all parities, a function of length 1 has at most the length of their mean as advantage. For
    coins as labels, this is the share of the gradient at a row that belongs to a target, on average.
    """
    hypothesis, data = beginning(described)
    (learner,), steps = described.learners, int(described.protocol.steps)
    sigma, rate = learner.noise.sigma, learner.update.lr
    rows = data.instances.rows[0].double().numpy()
    bits = rows.shape[1]
    parities = np.array([[np.prod(row[list(chosen)]) for row in rows] for chosen in subsets(bits)])
    seen = float(np.sqrt(np.square(parities.mean(0)).mean()))
    first, second = (hypothesis.tensors[tensor_name].double().numpy() for tensor_name in ("W1", "W2"))
    draws, bounds = described.run.random_streams()("steps"), []
    bound = np.full(len(first), 0.5 - seen / 2)
    for _ in range(steps + 1):
        bounds.append(np.maximum(bound, 0))
        noise = [sigma * draws.normal(*tensor.shape[1:]) for tensor in (first, second)]
        lengths, moves = [], []
        for W, v in zip(first, second[:, 0], strict=True):
            hidden = np.tanh(rows @ W.T)  # [n, h]
            predictions = hidden @ v
            back = v * (1 - hidden**2)
            slopes = np.concatenate([(back[:, :, None] * rows[:, None]).reshape(len(rows), -1), hidden], 1)
            of_coins = [np.square(2 * (predictions - coin)[:, None] * slopes).sum(1) for coin in (1, -1)]
            lengths.append(np.sqrt(np.mean(of_coins)))
            moves.append(-rate * (2 * predictions[:, None] * slopes).mean(0))
        bound = bound - [pinsker(rate * length * seen, sigma) for length in lengths]
        moves = np.array(moves)
        first = first + moves[:, : first[0].size].reshape(first.shape) + noise[0]
        second = second + moves[:, first[0].size :].reshape(second.shape) + noise[1]
    return Naive(np.transpose(bounds), 1e-7)


def subsets(count: int) -> list[tuple[int, ...]]:
    return [tuple(np.flatnonzero(chosen)) for chosen in product((False, True), repeat=count)]


def missing(depth: int, scale: float, described: Experiment) -> Naive:
    """The least that W₁₂W₂₁/|W₁₁| can be with entries anywhere at the distance ℓ of 0, 1, 1, each by itself.

    ℓ is that of the exact flow of W = A₁ᵀA₂⋯A_L, and a determinant above 0 makes |W₂₂| larger than this.
    """
    labels = np.array([0.0, 1.0, 1.0])

    def factors(flat: Array) -> list[Array]:
        first, *rest = flat.reshape(depth, 2, 2)
        return [first.T, *rest]

    def misses(matrices: list[Array]) -> Array:
        return reduce(np.matmul, matrices, np.eye(2)).ravel()[:3] - labels

    def velocity(_: float, flat: Array) -> Array:
        matrices = factors(flat)
        slope = np.append(2 * misses(matrices) / 3, 0.0).reshape(2, 2)
        moves = []
        for number in range(depth):
            before, after = (
                reduce(np.matmul, part, np.eye(2)) for part in (matrices[:number], matrices[number + 1 :])
            )
            moves.append(-(before.T @ slope @ after.T))
        return np.ravel([moves[0].T, *moves[1:]])

    times = described.protocol.clocks(4)["time"]
    start = np.tile(scale * np.eye(2), (depth, 1, 1)).ravel()
    flow = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-12)
    bounds = []
    for flat in flow.y.T:
        length = np.linalg.norm(misses(factors(flat)))
        directions = np.array([point for point in product((-1, -0.5, 0, 0.5, 1), repeat=3) if any(point)])
        ball = labels + length * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        corner, above, below = ball.T
        bounds.append(above.min() * below.min() / abs(corner).max() if above.min() > 0 else 0.0)
    return Naive(np.array([bounds]), 1e-5)


def penalised(described: Experiment) -> Naive:
    """The least mean square with its penalty on the training rows of every replica."""
    data, rate = data_of(described), described.learners[0].architecture.l2_penalty
    rows = int(described.protocol.examples_seen(len(data.labels[0])).max())
    x, y = data.instances.rows[:, :rows, 0].double().numpy(), data.labels[:, :rows].double().numpy()
    return Naive(np.array([[least_penalised(*points, rate)] for points in zip(x, y, strict=True)]), 1e-6)


def least_penalised(x: Array, y: Array, rate: float) -> float:
    """Of nets with many units, by projected quasi-Newton steps.

    A unit c relu(±(x − t)) with |a| = |w| has the penalty λ|c|. Each c is a difference of two numbers from 0.
    """
    kinks = np.union1d(np.linspace(-2.5, 2.5, 11), x)
    units = np.concatenate([np.maximum(sign * (x[:, None] - kinks), 0) for sign in (1, -1)], 1)
    units = np.concatenate([units, -units], 1)

    def objective(sizes: Array) -> tuple[float, Array]:
        errors = units @ sizes[:-1] + sizes[-1] - y
        slopes = np.append(2 * units.T @ errors / len(x) + rate, 2 * errors.mean())
        return float(np.square(errors).mean() + rate * sizes[:-1].sum()), slopes

    bounds = [(0, None)] * units.shape[1] + [(None, None)]
    options = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 50}
    start = np.zeros(len(bounds))
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(best.fun)


ONE_EXAMPLE = {
    "matrix": {"kind": "sphere", "n": 1, "d": 3},
    "target": "constant",
    "protocol": {"kind": "steps", "steps": 12, "records": 12},
    "replicas": 2,
}
NETS = {
    "standard": {"net": gd(0.15, kind="dense", widths=[4])},
    "ntk": {"net": gd(0.4, kind="dense", widths=[4], parametrisation="ntk")},
}
UPPER = {
    "d": 16,
    "matrix": "hadamard01",
    "protocol": {"kind": "one-pass", "replacement": True, "average": True, "clip": 1.0},
}
CUBE = {
    "matrix": {"kind": "xor", "d": 16, "features": "bits"},
    "target": {"kind": "sparse", "r": 1},
    "protocol": {"kind": "steps", "steps": 4, "records": 4},
    "replicas": 2,
}
NOISY = {**gd(0.05, kind="dense", widths=[3], activation="tanh"), "noise": {"sigma": 0.3, "on": "weights"}}
ENTRIES = {
    "matrix": {"kind": "entries", "factors": [2, 2], "permute": False},
    "target": {"kind": "weights", "w": [0, 1, 1, 7]},
    "protocol": {"kind": "flow", "time": 30, "train": 3, "records": 10},
}


def egu(eta: float) -> dict[str, Any]:
    return {"learners": {"EGU": {"update": {"kind": "egu", "lr": eta}}}}


def spindly(eta: float) -> dict[str, Any]:
    return {"learners": {"spindly": gd(eta / 4, kind="spindly")}}


TWINS = (
    *(
        Twin(
            "scalar-steps",
            {"d": 8, "learners": {"it": {"update": {"kind": kind, "lr": RATE}}}},
            partial(orthogonal_steps, rule),
            kind,
        )
        for kind, rule in (("adagrad", AdaGrad), ("sign", Sign))
    ),
    *(
        Twin(
            "multiplicative",
            {**UPPER, **learner(1 / below)},
            partial(multiplicative, factor, mpf(1) / below, below == 2),
            f"{learner.__name__} 1/{below}",
        )
        for learner, factor in ((egu, factors_of_egu), (spindly, factors_of_spindly))
        for below in (2, 3)
    ),
    *(
        Twin(kind, {**ONE_EXAMPLE, "learners": net}, naive, name)
        for kind, naive in (("catapult-loss", losses), ("catapult-sharpness", relative_sharpness))
        for name, net in NETS.items()
    ),
    Twin("junk-flow", {**CUBE, "learners": {"net": NOISY}}, junk),
    *(
        Twin(
            "missing-entry",
            {
                **ENTRIES,
                "learners": {"W": gd(0.1, kind="factorised", init="identity", scale=0.5, depth=depth)},
            },
            partial(missing, depth, 0.5),
            f"of {depth} factors",
        )
        for depth in (2, 3)
    ),
    Twin(
        "penalised-objective",
        {
            "matrix": {"kind": "interval", "n": 6},
            "target": "coin",
            "protocol": {"kind": "steps", "steps": 2, "train": 4},
            "replicas": 2,
            "learners": {"net": gd(0.1, kind="relu-layer", width=5, l2_penalty=0.1)},
        },
        penalised,
    ),
)


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_training_matches_the_line(twin):
    check(twin)
