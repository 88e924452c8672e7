"""Twins of lines about random rows: least squares, and both sides of van Trees' inequality by integration."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from building import experiment
from line_twins import Array, Naive, Twin, check, values_of
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2

from engine.spec.experiment import Experiment

AT_INIT = {"target": "coin", "d": None, "protocol": "at-init"}

STEP = 1e-4
"""Length of steps along the sphere, by which derivatives are taken."""


def distances(rows: Array, vectors: Array) -> Array:
    """Squared distance of each vector [N, d] to the span of the rows [k, d], by least squares."""
    weights, *_ = np.linalg.lstsq(rows.T, vectors.T, rcond=None)
    return np.square(vectors - (rows.T @ weights).T).sum(1)


@cache
def open_to_least_squares(k: int, d: int) -> float:
    """Error of least squares on a new Gaussian row after k rows, the mean over targets e₁ … e_d.

    A new row x has E(x·v)² = ‖v‖², and by symmetry all targets cost the same on average over the rows seen.
    """
    if k == 0:
        return 1.0
    rows = np.random.default_rng(k).normal(size=(k, d))
    return float(distances(rows, np.eye(d)).mean())


def gaussian(described: Experiment) -> Array:
    n, d = described.problem.matrix.shape()
    return np.array([sum(open_to_least_squares(k, d) for _ in range(k, n)) / n for k in range(n + 1)])


@cache
def open_on_the_cube(k: int, d: int) -> float:
    """The least over all k rows of signs of the mean squared distance of all rows of signs to their span.

    A prediction Σ_j a_j y_j of labels that are feature i of the rows is wrong by x_i − Σ_j a_j x_ji.
    """
    cube = np.array(list(product((-1.0, 1.0), repeat=d)))
    choices = product(range(len(cube)), repeat=k) if k else [()]
    return min(float(distances(cube[list(rows)], cube).mean()) / d if rows else 1.0 for rows in choices)


def signs(described: Experiment) -> Array:
    """The best instances are linearly independent, and more than d rows can leave nothing open."""
    n, d = described.problem.matrix.shape()
    costs = [open_on_the_cube(k, d) if k <= d else 0.0 for k in range(n + 1)]
    return np.array([(n - k) / n * cost for k, cost in enumerate(costs)])


def moved(w: Array, direction: Array, by: float) -> Array:
    """The point of the sphere that w reaches along a direction."""
    point = w + by * direction
    return point / np.linalg.norm(point)


def field(axis: Array, w: Array) -> Array:
    """e_i − w_i w: how w moves if it is drawn towards an axis."""
    return axis - (axis @ w) * w


def divergence(axis: Array, w: Array) -> float:
    """Divergence of the field on the sphere, by differences along an orthonormal basis of the tangents."""
    basis = np.linalg.svd(w[None])[2][1:]
    ahead = [
        field(axis, moved(w, tangent, STEP)) - field(axis, moved(w, tangent, -STEP)) for tangent in basis
    ]
    return float(sum(tangent @ change for tangent, change in zip(basis, ahead, strict=True)) / (2 * STEP))


def scores(w: Array, X: Array, y: Array, sigma: float) -> Array:
    """ξ_i of data sets X [N, k, d] and y [N, k]: slope of the likelihood along a field and its divergence."""

    def log_likelihood(v: Array) -> Array:
        return -np.square(y - X @ v).sum(1) / (2 * sigma**2)

    of_axes = []
    for axis in np.eye(len(w)):
        ahead, behind = (log_likelihood(moved(w, field(axis, w), step)) for step in (STEP, -STEP))
        of_axes.append((ahead - behind) / (2 * STEP) + divergence(axis, w))
    return np.stack(of_axes, 1)


@cache
def hidden(k: int, d: int, sigma: float) -> float:
    """(E Σ_i (ŵ_i − w_i) ξ_i)²/E Σ_i ξ_i², van Trees' bound on the error of any ŵ, for ŵ = 0.

    The mean is over w = ±e_i, entries ±1 of X and noise ±σ. Both integrands have degree 2 at most in every
    number of X and of the noise and in w, so these points give the mean over N(0, 1) and over the sphere.
    """
    numbers = np.array(list(product((-1.0, 1.0), repeat=k * (d + 1))))
    X, noise = numbers[:, : k * d].reshape(len(numbers), k, d), sigma * numbers[:, k * d :]
    moments = []
    for w in (*np.eye(d), *-np.eye(d)):
        xi = scores(w, X, X @ w + noise, sigma)
        moments.append((-(xi @ w).mean(), np.square(xi).sum(1).mean()))
    gain, information = np.mean(moments, 0)
    return float(gain**2 / information)


def noisy(described: Experiment) -> Naive:
    """An unseen row costs σ² plus the larger of the error of least squares and van Trees' bound."""
    (n, d), sigma = described.problem.matrix.shape(), described.problem.noise
    costs = [sigma**2 + max(open_to_least_squares(k, d), hidden(k, d, sigma)) for k in range(n)]
    return Naive(np.array([(n - k) / n * cost for k, cost in enumerate(costs)] + [0.0]), 1e-6)


def rows(matrix: str, n: int, d: int, **words: float) -> dict[str, Any]:
    """Random rows with their first entry as the label."""
    return {"matrix": {"kind": matrix, "n": n, "d": d}, "target": {"kind": "feature", "index": 0}, **words}


def too_little_volume(described: Experiment) -> Naive:
    """Radius of 2^b balls that contain n uniform points for some centres, with probability 10⁻³ at most."""
    (n, d), radii = described.problem.matrix.shape(), []
    for bits in range(int(np.log2(n)) + 1):
        count = 2**bits

        def excess(log_share: float, count: int = count) -> float:
            return count * np.log(np.e * n / count) + (n - count) * log_share - np.log(1e-3)

        share = np.exp(brentq(excess, -1e4, 0))
        radii.append(0.999 * (share / count) ** (1 / d))
    return Naive(np.array([radii]), 1e-9)


def packed(described: Experiment) -> Array:
    """Three times the radius at which 2^b discs have the area of the unit disc."""
    bits = range(int(np.log2(described.n)) + 1)
    return np.array([[3 * np.sqrt(np.pi / (2**b * np.pi)) for b in bits]])


def amplified(described: Experiment) -> Naive:
    """d E 1/χ²: the diagonal of the inverse of XXᵀ has 1/‖part of a row orthogonal to the others‖²."""
    free = described.d - described.n + 1
    mean, _ = quad(lambda square: chi2.pdf(square, free) / square, 0, np.inf, epsabs=1e-12, epsrel=1e-12)
    return Naive(np.array([described.d * mean]), 1e-8)


def visited(described: Experiment) -> Naive:
    """Share of walkers at every site after many steps, half of those at a site going each way."""
    d = described.d
    shares = [1.0] + [0.0] * (d - 1)
    for _ in range(4000):
        later = [0.0] * d
        for site, share in enumerate(shares):
            step = 1 if site < d // 2 else 2
            for end in (site + step, site - step):
                later[end % d] += share / 2
        shares = later
    return Naive(np.array([shares]), 1e-9)


def points(d: int) -> dict[str, Any]:
    return {"matrix": {"kind": "ball", "n": 40, "d": d}, **AT_INIT}


TWINS = (
    *(Twin("covering-volume", points(d), too_little_volume, f"d = {d}") for d in (2, 3)),
    Twin("covering-packing", points(2), packed),
    Twin("expected-features", {"matrix": {"kind": "ring-walk", "n": 3, "d": 12}, **AT_INIT}, visited),
    *(
        Twin(
            "wishart-inverse", {"matrix": {"kind": "gaussian", "n": n, "d": 9}, **AT_INIT}, amplified, f"{n}"
        )
        for n in (1, 4, 7)
    ),
    *(Twin("ri-gaussian", rows("gaussian", n, d), gaussian, f"{n}x{d}") for n, d in ((6, 6), (5, 8), (9, 4))),
    *(Twin("ri-gaussian", rows("sphere", n, d), gaussian, f"sphere {n}x{d}") for n, d in ((6, 6), (9, 4))),
    *(Twin("ri-rademacher", rows("rademacher", n, d), signs, f"{n}x{d}") for n, d in ((3, 3), (6, 3))),
    *(
        Twin("noise", rows("gaussian", n, d, noise=sigma), noisy, f"{n}x{d}")
        for n, d, sigma in ((4, 2, 0.5), (3, 3, 2.0))
    ),
)


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_the_line_matches_the_loss_on_random_rows(twin):
    check(twin)


def test_bayes_rule_on_noisy_labels_is_above_the_noise_bound_and_approaches_it():
    """w is uniform on the circle, and the mean of its posterior the best prediction, by sums over angles."""
    rng, n, sigma, draws = np.random.default_rng(0), 200, 0.5, 2000
    line = values_of("noise", experiment(**rows("gaussian", n, 2, noise=sigma)))
    angles = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    for k in (1, 3, 100):
        X = rng.normal(size=(draws, k, 2))
        y = X[:, :, 0] + sigma * rng.normal(size=(draws, k))
        quadratic = np.einsum("iv,rij,jv->rv", circle, X.mT @ X, circle)
        logs = (2 * np.einsum("rk,rki,iv->rv", y, X, circle, optimize=True) - quadratic) / (2 * sigma**2)
        posterior = np.exp(logs - logs.max(1, keepdims=True))
        estimates = posterior @ circle.T / posterior.sum(1, keepdims=True)
        errors = np.square(estimates - (1, 0)).sum(1)
        error = errors.std() / np.sqrt(draws)
        bound = line[k] / (1 - k / n) - sigma**2
        assert errors.mean() > bound - 4 * error
    assert errors.mean() < 1.05 * bound + 4 * error
