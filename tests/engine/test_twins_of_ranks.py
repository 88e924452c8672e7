"""Twins of lines about ranks: weights of many targets trained by plain loops, and labels of low rank."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from building import data_of, gd
from line_twins import Array, Naive, Twin, check

from engine.spec.experiment import Experiment

TARGETS, RATE = 40, 0.3
"""Targets with random labels, more than any rank here, and the rate of naive learners on rows of length 1."""

NEAR = 1e-6
"""Singular values below this share of the largest one count as 0."""

ROUNDS = 400
"""Rounds of alternating least squares, which converge as a power of the ratio of singular values."""


def rank(weights: Array) -> int:
    """Rank of weights [targets, d]."""
    sizes = np.linalg.svd(weights, compute_uv=False)
    return int((sizes > NEAR * sizes[0]).sum()) if sizes[0] > 0 else 0


def shown(described: Experiment) -> tuple[Array, Array]:
    """The instances of the first replica at length 1, and random labels [n, TARGETS]."""
    rows = data_of(described).instances.rows[0].double().numpy()
    labels = np.random.default_rng(0).normal(size=(len(rows), TARGETS))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def ranks_of_neurons(start: float, described: Experiment) -> Array:
    """Of linear neurons that all start at the same random weights, one step along each row."""
    rows, labels = shown(described)
    weights = np.tile(start * np.random.default_rng(1).normal(size=rows.shape[1]), (TARGETS, 1))
    ranks = [rank(weights)]
    for x, y in zip(rows, labels, strict=True):
        weights = weights - RATE * 2 * np.outer(weights @ x - y, x)
        ranks.append(rank(weights))
    return np.minimum(ranks, largest_rank(described))


def ranks_of_two_layers(described: Experiment) -> Array:
    """Of W₁ᵀw₂ for nets of two linear layers that all start alike."""
    rows, labels = shown(described)
    d, rng = rows.shape[1], np.random.default_rng(1)
    first, second = (
        np.tile(rng.normal(size=(d, d)) / np.sqrt(d), (TARGETS, 1, 1)),
        np.tile(rng.normal(size=d), (TARGETS, 1)),
    )
    ranks = [rank(np.einsum("thd,th->td", first, second))]
    for x, y in zip(rows, labels, strict=True):
        hidden = first @ x
        slope = 2 * ((second * hidden).sum(1) - y)
        first, second = (
            first - RATE / 4 * slope[:, None, None] * second[:, :, None] * x,
            second - RATE / 4 * slope[:, None] * hidden,
        )
        ranks.append(rank(np.einsum("thd,th->td", first, second)))
    return np.minimum(ranks, largest_rank(described))


def ranks_of_multiplicative_updates(described: Experiment) -> Array:
    """Of the unnormalised exponentiated gradient on rows that tell as many features apart as rows can.

    Row k has the binary digit k of the number of every feature.
    """
    n, d = described.problem.matrix.shape()
    digits = (np.arange(d)[None] >> np.arange(n)[:, None] % 8) & 1
    labels = np.random.default_rng(0).normal(size=(n, TARGETS))
    weights = np.full((TARGETS, d), 1 / d)
    ranks = [rank(weights)]
    for x, y in zip(1.0 - 2 * digits, labels, strict=True):
        weights = weights * np.exp(-RATE * 2 * np.outer(weights @ x - y, x))
        ranks.append(rank(weights))
    return np.minimum(ranks, largest_rank(described))


def largest_rank(described: Experiment) -> int:
    """The rank of the weights of the targets of an experiment if they are all independent."""
    targets = data_of(described).targets
    return min(described.problem.matrix.shape()[1], targets)


def nearest(labels: Array, rank: int) -> float:
    """Least mean square difference of labels [m, n] from products L R of a rank, by alternating fits.

    R has orthonormal rows, so the best L is Y Rᵀ, and the best R spans the rows of LᵀY.
    """
    basis = np.random.default_rng(2).normal(size=(labels.shape[1], rank))
    for _ in range(ROUNDS if rank else 0):
        basis, _ = np.linalg.qr(labels.T @ (labels @ basis))
    return float(np.square(labels - labels @ basis @ basis.T).mean())


def nearest_of_ranks(ranks, described: Experiment) -> Naive:
    """The nearest labels of the ranks that predictions have, on average over replicas."""
    data, (n, _) = data_of(described), described.problem.matrix.shape()
    labels = data.labels.view(data.replicas, data.targets, n).double().numpy()
    reached = np.minimum(ranks(described), min(labels.shape[1:]))
    distances = {rank: np.mean([nearest(Y, rank) for Y in labels]) for rank in set(reached.tolist())}
    return Naive(np.array([distances[rank] for rank in reached.tolist()]), 1e-7)


NET = {"learners": {"net": gd(0.01, kind="dense", widths=[8])}}
EGU = {"learners": {"EGU": {"update": "egu"}}}
RANKS = {
    "svd": partial(ranks_of_neurons, 0.0),
    "svd-doubled": partial(ranks_of_neurons, 1.0),
    "svd-two-layer": ranks_of_two_layers,
}
GAUSSIAN = {"matrix": {"kind": "gaussian", "n": 6, "d": 8}, "noise": 0.3, "replicas": 2}
HADAMARD = {"d": 8}

TWINS = (
    *(
        Twin(
            kind,
            {"target": "doubled", **problem, **(NET if kind == "svd-two-layer" else {})},
            partial(nearest_of_ranks, ranks),
            name,
        )
        for kind, ranks in RANKS.items()
        for name, problem in (("gaussian", GAUSSIAN), ("hadamard", HADAMARD))
    ),
    *(
        Twin(
            "rank-span",
            {"target": "all", "matrix": {"kind": "gaussian", "n": n, "d": 8}},
            RANKS["svd"],
            f"{n}x8",
        )
        for n in (6, 11)
    ),
    Twin(
        "rank-two-layer",
        {"target": "all", "matrix": {"kind": "gaussian", "n": 6, "d": 12}, **NET},
        ranks_of_two_layers,
    ),
    Twin("rank-doubling", {"target": "all", "d": 16, **EGU}, ranks_of_multiplicative_updates),
)


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_ranks_match_the_line(twin):
    check(twin)
