"""Twins of lines about nets before their first step: numeric integration over weights, and counting."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations, product
from math import acos, comb, cos, erf, exp, inf, lgamma, log, pi, sqrt, tanh

import numpy as np
import pytest
from building import data_of, gd
from line_twins import Array, Naive, Twin, check
from scipy.integrate import quad
from scipy.optimize import brentq

from engine.spec.experiment import Experiment

AT_INIT = {"protocol": "at-init"}
CUBE = {"matrix": {"kind": "xor", "d": 8, "features": "bits"}, **AT_INIT}


def instances(described: Experiment) -> Array:
    """The rows of all replicas [R, n, d]."""
    return data_of(described).instances.rows.double().numpy()


def density_of(z: float) -> float:
    """Density of N(0, 1)."""
    return exp(-(z**2) / 2) / sqrt(2 * pi)


def aligned(described: Experiment) -> Array:
    """Largest eigenvalue of the mean of f_g f_gᵀ over all images f_g of the labels."""
    alignments = []
    for rows, labels in zip(instances(described), data_of(described).labels.numpy(), strict=True):
        number = {tuple(row): place for place, row in enumerate(rows)}
        (n, bits), total = rows.shape, np.zeros((len(rows), len(rows)))
        groups = list(product(permutations(range(bits)), product((1, -1), repeat=bits)))
        for order, signs in groups:
            image = labels[[number[tuple(row[list(order)] * signs)] for row in rows]]
            total += np.outer(image, image)
        alignments.append(np.linalg.eigvalsh(total / len(groups))[-1] / n)
    return np.array([np.mean(alignments)])


@cache
def pairs(cosine: float) -> tuple[float, float]:
    """E relu(u) relu(v) and P(u > 0, v > 0) of N(0, 1) numbers with this correlation.

    They are r cos φ and r cos(φ − α) for a Gaussian point of the plane, where cos α is the correlation.
    """
    angle = acos(cosine)
    length, _ = quad(lambda r: r**3 * exp(-(r**2) / 2), 0, inf)
    ramps, _ = quad(lambda phi: cos(phi) * cos(phi - angle), angle - pi / 2, pi / 2)
    steps, _ = quad(lambda phi: 1.0, angle - pi / 2, pi / 2)
    return length * ramps / (2 * pi), steps / (2 * pi)


def sees_parity(described: Experiment) -> Array:
    """E ‖E_x f ∇ŷ‖² over Gaussian weights, layer by layer, as a mean over all pairs of rows.

    ŷ = Σ_j a_j relu(w_j·x), so ∇ŷ is a_j x 1[w_j·x > 0] for the first layer and relu(w_j·x) for the second.
    """
    (rows,), (labels,) = instances(described), data_of(described).labels.double().numpy()
    net, (n, d) = described.learners[0].architecture, rows.shape
    (width,), (first, second) = net.widths, net.cw
    layers = np.zeros(2)
    for x, f in zip(rows, labels, strict=True):
        for z, g in zip(rows, labels, strict=True):
            ramps, steps = pairs(float(np.clip(x @ z / d, -1, 1)))
            layers += f * g * np.array([width * second / width * steps * (x @ z), width * first * ramps])
    return np.array([layers / n**2])


def pieces(described: Experiment) -> Array:
    """1 and the probability for each unit that wx + b changes its sign between the instances."""
    net = described.learners[0].architecture
    (width,), w_scale, b_scale = net.widths, sqrt(net.cw), sqrt(net.cb)

    def bends(low: float, high: float) -> float:
        def density(w: float) -> float:
            ends = (erf(-end * w / b_scale / sqrt(2)) / 2 for end in (low, high))
            return abs(next(ends) - next(ends)) * density_of(w / w_scale) / w_scale

        return sum(quad(density, *half, epsabs=1e-12)[0] for half in ((-inf, 0), (0, inf)))

    return np.array([np.mean([1 + width * bends(rows.min(), rows.max()) for rows in instances(described)])])


def cells(described: Experiment) -> Array:
    """The number of sides that points have to Gaussian lines a·x + c = 0.

    Every cell has a corner, where two lines cross, and the cells at a corner have all four sides to these.
    """
    (width,) = described.learners[0].architecture.widths
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(width, 2)), rng.normal(size=width)
    patterns = set()
    for pair in combinations(range(width), 2):
        corner = np.linalg.solve(a[list(pair)], -c[list(pair)])
        sides = a @ corner + c > 0
        for of_pair in product((True, False), repeat=2):
            sides[list(pair)] = of_pair
            patterns.add(tuple(sides))
    return np.array([len(patterns)])


def mean(function, variance: float) -> float:
    """E f(z) for z ~ N(0, variance), by adaptive integration."""
    scale = sqrt(variance)
    return quad(lambda z: function(scale * z) * density_of(z), -12, 12, epsabs=1e-13, limit=200)[0]


def susceptible(described: Experiment) -> Naive:
    """C_w E σ′(z)² of every layer for σ = tanh, averaged over rows, by the recursion of variances."""
    net, of_rows = described.learners[0].architecture, []
    for row in instances(described).reshape(-1, described.problem.matrix.shape()[1]):
        variance, layers = net.cb + net.cw * float(np.mean(row**2)), []
        for _ in range(len(net.widths)):
            layers.append(net.cw * mean(lambda z: (1 - tanh(z) ** 2) ** 2, variance))
            variance = net.cb + net.cw * mean(lambda z: tanh(z) ** 2, variance)
        of_rows.append(layers)
    return Naive(np.array([np.mean(of_rows, 0)]), 1e-6)


def correlated(described: Experiment) -> Naive:
    """Correlation of the signals of two rows in every layer of a ReLU net, averaged over replicas."""
    net, of_replicas = described.learners[0].architecture, []
    for rows in instances(described):
        kernel, layers = net.cb + net.cw * rows[:2] @ rows[:2].T / rows.shape[1], []
        for _ in range(len(net.widths)):
            scales = np.sqrt(kernel.diagonal())
            cosine = float(kernel[0, 1] / scales.prod())
            ramps = scales.prod() * pairs(cosine)[0]
            means = np.array([[kernel[0, 0] / 2, ramps], [ramps, kernel[1, 1] / 2]])
            kernel = net.cb + net.cw * means
            layers.append(kernel[0, 1] / np.sqrt(kernel.diagonal().prod()))
        of_replicas.append(layers)
    return Naive(np.array([np.mean(of_replicas, 0)]), 1e-6)


def tangents_of_pairs(described: Experiment) -> Naive:
    """Tangent kernel of two rows in a wide ReLU net without biases, by its two arc-cosine functions."""
    net, of_replicas = described.learners[0].architecture, []
    for rows in instances(described):
        kernel = net.cw * rows[:2] @ rows[:2].T / rows.shape[1]
        tangent = kernel[0, 1]
        for _ in range(len(net.widths)):
            scales = np.sqrt(kernel.diagonal())
            cosine = float(kernel[0, 1] / scales.prod())
            ramps = scales.prod() * pairs(cosine)[0]
            kernel = net.cw * np.array([[kernel[0, 0] / 2, ramps], [ramps, kernel[1, 1] / 2]])
            tangent = kernel[0, 1] + net.cw * (np.pi - np.arccos(cosine)) / (2 * np.pi) * tangent
        of_replicas.append(tangent)
    return Naive(np.array([np.mean(of_replicas)]), 1e-6)


def embedded(described: Experiment) -> Naive:
    """Smallest ε for which m units suffice by m ≥ (8/ε²) ln k."""
    (units,) = described.learners[0].architecture.widths
    least = brentq(lambda change: 8 * log(described.n) / change**2 - units, 1e-3, 1e3, xtol=1e-12)
    return Naive(np.array([least]), 1e-9)


def lengths(described: Experiment) -> tuple[Array, Array]:
    """E ‖a_l‖² of the inputs of all layers of a ReLU net, averaged over rows, and E ‖∂ŷ/∂z_l‖²: [L + 1]."""
    net, rows = described.learners[0].architecture, instances(described)
    forward, back = [float(np.mean(np.sum(rows**2, 2)))], [1.0]
    for width, fan_in in zip(net.widths, (rows.shape[2], *net.widths), strict=False):
        forward.append(width * net.cw / fan_in * forward[-1] / 2)
    for _ in net.widths:
        back.append(net.cw * back[-1] / 2)
    return np.array(forward), np.array(back[::-1])


def tangents(described: Experiment) -> Array:
    """E ‖∂ŷ/∂θ‖² of a ReLU net without biases: Σ ‖a_l‖² ‖∂ŷ/∂z_l‖², times C_w/n_{l−1} for `ntk`."""
    net, (forward, back) = described.learners[0].architecture, lengths(described)
    fans = np.array([instances(described).shape[2], *net.widths])
    factors = net.cw / fans if net.parametrisation == "ntk" else 1.0
    return np.array([np.sum(factors * forward * back)])


def slopes(described: Experiment) -> Array:
    """E (∂ŷ/∂x_p)² of a ReLU net: the squared length of ∂ŷ/∂z_1 times the variance of a weight."""
    net, (_, back), d = described.learners[0].architecture, lengths(described), instances(described).shape[2]
    return np.full((1, d), back[0] * net.cw / d)


def slopes_fluctuating(described: Experiment) -> Naive:
    """E q²/(E q)² − 1 for q = s²: s is Gaussian given V, so E s⁴ = 3 E V²."""
    of_layers = fluctuating(described).values[0, -1] + 1
    return Naive(np.full((1, instances(described).shape[2]), 3 * of_layers - 1), 1e-9)


def fluctuating(described: Experiment) -> Naive:
    """Var V/(E V)² of homogeneous layers: E V² is a sum over all pairs of units of each layer."""
    net, second, layers = described.learners[0].architecture, 1.0, []
    relu = net.activation == "relu"
    squares, fourths = (mean(lambda z, p=power: max(z, 0) ** p if relu else z**p, 1.0) for power in (2, 4))
    for width in net.widths:
        pairs_of_units = np.full((width, width), squares**2) + np.eye(width) * (fourths - squares**2)
        second *= pairs_of_units.mean() / squares**2
        layers.append(second - 1)
    return Naive(np.array([layers]), 1e-9)


def chi_square_mean(function, freedom: int) -> float:
    """E f(log χ²_B) by integration over log χ²_B, whose density is x^(B/2) e^(−x/2)/(2^(B/2) Γ(B/2))."""

    def density(t: float) -> float:
        return exp(freedom / 2 * (t - log(2)) - exp(t) / 2 - lgamma(freedom / 2))

    center = log(freedom)
    ends = center - 60 / freedom - 8 / sqrt(freedom), center + 8 / sqrt(freedom)
    return quad(lambda t: function(t) * density(t), *ends, epsabs=1e-12, limit=400)[0]


def logarithms(described: Experiment) -> tuple[Array, Array]:
    """Mean and variance of log V of the layers relative to the first order: sums over χ² of each layer."""
    net, moments = described.learners[0].architecture, []
    for width in net.widths:
        halved = net.activation == "relu"
        freedoms = range(1, width + 1) if halved else (width,)
        chances = np.array([comb(width, b) / 2**width if halved else 1.0 for b in freedoms])
        powers = [
            chances @ [chi_square_mean(lambda t, p=power: t**p, b) for b in freedoms] / chances.sum()
            for power in (1, 2)
        ]
        moments.append((powers[0] - log(width / 2 if halved else width), powers[1] - powers[0] ** 2))
    return tuple(np.cumsum(moments, 0).T)


def mean_logarithm(described: Experiment) -> Naive:
    """exp(E log V) of homogeneous layers with a single input of length √d."""
    net, (shift, _) = described.learners[0].architecture, logarithms(described)
    passed = net.cw / 2 if net.activation == "relu" else net.cw
    infinite = net.cw * passed ** np.arange(1, len(net.widths) + 1)
    return Naive(np.array([infinite * np.exp(shift)]), 1e-7)


def variance_of_logarithm(described: Experiment) -> Naive:
    """Var log V of homogeneous layers."""
    return Naive(logarithms(described)[1][None], 1e-7)


def fluctuating_little(described: Experiment) -> Naive:
    """The same to first order in 1/n for tanh, with slopes of the recursion of variances by differences."""
    net, (x,) = described.learners[0].architecture, instances(described)[0]
    variance, spread, layers, step = net.cb + net.cw * float(np.mean(x**2)), 0.0, [], 1e-4
    for width in net.widths:
        ends = [mean(lambda z: tanh(z) ** 2, variance + sign * step) for sign in (1, -1)]
        second, fourth = (mean(lambda z, p=power: tanh(z) ** p, variance) for power in (2, 4))
        passed_on = (net.cw * (ends[0] - ends[1]) / (2 * step)) ** 2 * spread
        spread = net.cw**2 * (fourth - second**2) / width + passed_on
        layers.append(spread / (net.cw * second) ** 2)
        variance = net.cb + net.cw * second
    return Naive(np.array([layers]), 1e-6)


def net(**words) -> dict[str, object]:
    return {"learners": {"net": gd(0.1, kind="dense", **words)}}


RELU = {"activation": "relu", "widths": [5]}
ONE_INPUT = {"matrix": {"kind": "sphere", "n": 1, "d": 4}, **AT_INIT}

TWINS = (
    Twin("alignment", {**CUBE, "target": "coin", "replicas": 2, **net(widths=[4])}, aligned, "of coins"),
    Twin(
        "alignment",
        {**CUBE, "target": {"kind": "feature", "index": 3}, **net(widths=[4])},
        aligned,
        "of a parity",
    ),
    *(
        Twin(
            "parity-gradient",
            {**CUBE, "target": {"kind": "feature", "index": index}, **net(**RELU, cw=[0.5, 3.0])},
            sees_parity,
            f"of {index:b}",
        )
        for index in (1, 3)
    ),
    Twin(
        "pieces-one-layer",
        {
            "matrix": {"kind": "interval", "n": 4},
            "target": "coin",
            "replicas": 3,
            **AT_INIT,
            **net(**RELU, cw=2.0, cb=0.5),
        },
        pieces,
    ),
    Twin("johnson-lindenstrauss", {"d": 4, **AT_INIT, **net(widths=[6])}, embedded),
    Twin("zaslavsky", {"d": 4, **AT_INIT, **net(**RELU, cb=1.0)}, cells),
    *(
        Twin(
            "tangent-norm-mean",
            {"matrix": {"kind": "gaussian", "n": 3, "d": 4}, "replicas": 2, **AT_INIT}
            | net(widths=[6, 3], activation="relu", cw=1.4, parametrisation=parametrisation),
            tangents,
            parametrisation,
        )
        for parametrisation in ("standard", "ntk")
    ),
    Twin("input-gradient-mean", {**ONE_INPUT, **net(widths=[6, 3], activation="relu", cw=1.4)}, slopes),
    Twin(
        "input-gradient-fluctuation",
        {**ONE_INPUT, **net(widths=[6, 3], activation="relu", cw=1.4)},
        slopes_fluctuating,
    ),
    *(
        Twin(
            "layer-fluctuation",
            {**ONE_INPUT, **net(widths=[6, 3], cw=0.7, activation=kind)},
            fluctuating,
            kind,
        )
        for kind in ("relu", "identity")
    ),
    *(
        Twin(kind, {**ONE_INPUT, **net(widths=[33, 40], cw=1.4, activation=activation)}, naive, activation)
        for kind, naive in (("layer-log-mean", mean_logarithm), ("layer-log-variance", variance_of_logarithm))
        for activation in ("relu", "identity")
    ),
    Twin(
        "layer-fluctuation-wide",
        {**ONE_INPUT, **net(widths=[6, 3, 6], activation="tanh", cw=1.5, cb=0.2)},
        fluctuating_little,
    ),
    Twin(
        "chi-perp",
        {
            "matrix": {"kind": "gaussian", "n": 3, "d": 4},
            **AT_INIT,
            **net(widths=[6, 6, 6], activation="tanh", cw=1.5, cb=0.2),
        },
        susceptible,
    ),
    Twin(
        "correlation-recursion",
        {
            "matrix": {"kind": "gaussian", "n": 3, "d": 4},
            "replicas": 2,
            **AT_INIT,
            **net(widths=[6, 6, 6], activation="relu", cw=1.5, cb=0.2),
        },
        correlated,
    ),
    Twin(
        "tangent-recursion",
        {
            "matrix": {"kind": "gaussian", "n": 3, "d": 4},
            "replicas": 2,
            **AT_INIT,
            **net(widths=[6, 6, 6], activation="relu", cw=1.5, parametrisation="ntk"),
        },
        tangents_of_pairs,
    ),
)


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_nets_at_their_start_match_the_line(twin):
    check(twin)
