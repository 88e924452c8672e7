"""Twins of lines about labels that examples leave open: the least loss over all equally likely worlds.

A world is a choice of all random signs, orders and targets. A learner cannot tell apart worlds in which it
sees the same, so in each group of such worlds it has one prediction: the best by numeric minimisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import combinations, permutations, product

import numpy as np
import pytest
from building import data_of, experiment
from line_twins import Array, Twin, check, values_of
from naive import LOSSES, sylvester
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from engine.core.streams import Streams
from engine.spec.experiment import Experiment

DRAWN = {"kind": "one-pass", "replacement": True}
SURE = 60.0
"""A prediction at which every loss of signs is 0 up to rounding."""


@cache
def least(loss: str, share: float, values: tuple[float, float]) -> float:
    """Least mean loss of one prediction of labels, of which a share has the larger value."""
    cost, _ = LOSSES[loss]
    low, high = values

    def mean(prediction: float) -> float:
        return share * cost(prediction, high) + (1 - share) * cost(prediction, low)

    minimum = minimize_scalar(mean, bounds=(-SURE, SURE), method="bounded", options={"xatol": 1e-12})
    return float(min(minimum.fun, mean(SURE), mean(-SURE)))


def least_mistakes(shares: Array) -> Array:
    """Least share of mistakes of one prediction of signs."""
    return np.minimum(shares, 1 - shares)


def same_rows(information: Array) -> NDArray[np.int64]:
    """A number [N] for each row of a matrix [N, F], the same for equal rows."""
    groups = np.zeros(len(information), int)
    for column in information.T[(information != information[:1]).any(0)]:
        _, codes = np.unique(column, return_inverse=True)
        _, groups = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)
    return groups


def best(labels: Array, information: Array, costs: Callable[[Array], Array] | str = "square") -> float:
    """Least mean cost of predictions of labels [N], the same for equal rows of `information` [N, F].

    `costs` is a loss, or the least cost of every share of labels +1. Square loss takes labels of any values.
    """
    groups = same_rows(information.round(7))
    counts = np.bincount(groups)
    means = np.bincount(groups, labels) / counts
    if costs == "square":
        return float(np.square(labels - means[groups]).mean())
    values = float(labels.min()), float(labels.max())
    shares = (means - values[0]) / (values[1] - values[0])
    if callable(costs):
        return float(counts @ costs(shares) / len(labels))
    return float(counts @ [least(costs, round(share, 12), values) for share in shares] / len(labels))


World = tuple[Array, Array]
"""Instances [n, d] and labels [n], in the order in which they are seen."""


def best_of_invariant(worlds: Iterable[World], examples: int, loss: str = "square") -> Array:
    """Least mean loss of a rotation-invariant learner after 0, 1, … examples, over all rows and worlds.

    It predicts by inner products alone: of the rows seen, and of these with the row that it predicts.
    """
    return best_when_seen(((X, y, range(len(X))) for X, y in worlds), examples, loss)


def best_when_seen(
    worlds: Iterable[tuple[Array, Array, Iterable[int]]], examples: int, loss: str = "square"
) -> Array:
    """The same for worlds that say which row is seen first, second, …"""
    X, y, order = (np.array(part) for part in zip(*((X, y, [*order]) for X, y, order in worlds), strict=True))
    costs_at_k = []
    for k in range(examples + 1):
        seen = np.take_along_axis(X, order[:, :k, None], 1)
        labels = np.take_along_axis(y, order[:, :k], 1)
        gram = (seen @ seen.mT).reshape(len(X), k * k)
        of_world = np.concatenate([gram, labels], 1)[:, None].repeat(X.shape[1], 1)
        products = np.concatenate([X @ seen.mT, np.square(X).sum(2, keepdims=True)], 2)
        costs_at_k.append(best(y.ravel(), np.concatenate([of_world, products], 2).reshape(y.size, -1), loss))
    return np.array(costs_at_k)


def signs(count: int) -> Array:
    """All vectors of signs [2^count, count]."""
    return np.array(list(product((-1.0, 1.0), repeat=count)))


def signed_rows(d: int, feature: int = 1) -> list[World]:
    """Hadamard rows with every choice of their signs."""
    H = sylvester(d)
    return [(sign[:, None] * H, sign * H[:, feature]) for sign in signs(d)]


def signed(loss: str, described: Experiment) -> Array:
    return best_of_invariant(signed_rows(8), 8, loss)


def sparse(described: Experiment) -> Array:
    """Two features of weight 1/√2 each, in every order."""
    H = sylvester(4)
    y = (H[:, 1] + H[:, 2]) / np.sqrt(2)
    orders = [list(order) for order in permutations(range(4))]
    worlds = [(sign[:, None] * H[order], sign * y[order]) for sign in signs(4) for order in orders]
    return best_of_invariant(worlds, 4)


def permuted(described: Experiment) -> Array:
    """One order for each sequence of labels: inner products of orthogonal rows are the same in all orders."""
    H = sylvester(8)
    y = H[:, 3]
    worlds = []
    for places in combinations(range(8), 4):
        order = np.empty(8, int)
        order[list(places)] = np.flatnonzero(y > 0)
        order[[place for place in range(8) if place not in places]] = np.flatnonzero(y < 0)
        worlds.append((H[order], y[order]))
    return best_of_invariant(worlds, 8)


def zero_and_one(loss: str, described: Experiment) -> Array:
    worlds = [((1 + X[1:]) / 2, (1 + y[1:]) / 2) for X, y in signed_rows(8)]
    return best_of_invariant(worlds, 7, loss)


def drawn(loss: str, described: Experiment) -> Array:
    """The rows that were drawn in every replica, with every choice of signs."""
    orders = described.protocol.order(8, Streams(range(described.run.replicas)))
    return np.array([best_when_seen(((X, y, order) for X, y in signed_rows(8)), 8, loss) for order in orders])


def repeated(times: int, d: int) -> World:
    """Every Hadamard row with both signs, as many times each."""
    rows = [sign * row for row in sylvester(d) for sign in (1, -1) for _ in range(times)]
    return np.array(rows), np.array(rows)[:, 1]


def one_after_the_other(times: int, loss: str, described: Experiment) -> Array:
    X, y = repeated(times, 4)
    return best_of_invariant([(X, y)], len(X), loss)


def independent(loss: str, described: Experiment) -> Array:
    """All draws of four of four rows, with every choice of signs."""
    orders = list(product(range(4), repeat=4))
    return best_when_seen(((X, y, order) for X, y in signed_rows(4) for order in orders), 4, loss)


def independent_of_both_signs(described: Experiment) -> Array:
    orders = product(range(4), repeat=4)
    return best_when_seen(((*repeated(1, 2), order) for order in orders), 4)


def in_random_order(times: int, loss: str, described: Experiment) -> Array:
    """All orders of the training rows by mini-batches, in which copies of a row are the same."""
    X, y = repeated(times, 2)
    examples = described.protocol.examples_seen(len(X)).astype(int)
    trained = int(examples[-1])
    numbers = [place // times for place in range(trained)]  # of different rows
    orders = []
    for order in sorted(set(permutations(numbers))):
        copies = [order[:place].count(row) for place, row in enumerate(order)]
        orders.append(times * np.array(order) + copies)
    return best_when_seen(((X, y, order) for order in orders), trained, loss)[examples]


def knowing_the_rows(y: Array, loss: str) -> Array:
    """Of a learner that tells all rows apart, over equally likely labels [W, n]."""
    rows = np.broadcast_to(np.arange(y.shape[1]), y.shape)[..., None]
    costs_at_k = []
    for k in range(y.shape[1] + 1):
        information = np.concatenate([y[:, None, :k].repeat(y.shape[1], 1), rows], 2)
        costs_at_k.append(best(y.ravel(), information.reshape(y.size, -1), loss))
    return np.array(costs_at_k)


def coins(loss: str, described: Experiment) -> Array:
    return knowing_the_rows(signs(described.problem.matrix.shape()[0]), loss)


def factor_signs(factors: tuple[int, ...], tuples: Array) -> Array:
    """Labels of tuples [n, r] for every choice of the signs of all factors, [W, n]."""
    choices = product(*(signs(factor) for factor in factors))
    return np.array(
        [np.prod([part[tuples[:, of]] for of, part in enumerate(parts)], axis=0) for parts in choices]
    )


def knowing_the_factors(loss: str, described: Experiment) -> Array:
    """Of a learner that knows which factors a row has, in the order of every replica."""
    factors = described.problem.matrix.structure().sign_factors
    labels = (factor_signs(factors, tuples) for tuples in data_of(described).tuples)
    return np.array([knowing_the_rows(y, loss) for y in labels])


def all_tuples(factors: tuple[int, ...]) -> NDArray[np.int64]:
    """The tuples of the rows of each factor in their order, [D, r]."""
    return np.array(list(product(*(range(factor) for factor in factors))))


def of_all_tuples(factors: tuple[int, ...]) -> Array:
    """Labels of all tuples for every choice of signs, [W, D]."""
    return factor_signs(factors, all_tuples(factors))


def linear_in_labels(described: Experiment) -> Array:
    """Least squares over all worlds: 1 and the labels seen predict each unseen label."""
    y = of_all_tuples(described.problem.matrix.structure().sign_factors)
    costs_at_k = []
    for k in range(y.shape[1] + 1):
        inputs = np.concatenate([np.ones((len(y), 1)), y[:, :k]], 1)
        errors = y - inputs @ np.linalg.lstsq(inputs, y, rcond=None)[0]
        costs_at_k.append(np.square(errors).mean())
    return np.array(costs_at_k)


def one_number_for_unseen_rows(described: Experiment) -> Array:
    """Of the best single prediction of all unseen rows, by someone who knows the sum of their labels."""
    y = of_all_tuples(described.problem.matrix.structure().sign_factors)
    D = y.shape[1]
    return np.array(
        [np.square(y[:, k:] - y[:, k:].mean(1, keepdims=True)).sum(1).mean() / D for k in range(D)] + [0]
    )


def parity(described: Experiment) -> Array:
    """Over all parities of three bits, all rows seen and all new rows."""
    bits = np.array(list(product((0, 1), repeat=3)))
    table = (-1.0) ** (bits @ bits.T)  # [set, row]
    costs_at_k = []
    for k in range(5):
        rows = np.array(list(product(range(8), repeat=k)), int).reshape(8**k, k)
        of_world = np.concatenate([rows[None].repeat(8, 0), table[:, rows]], 2)  # [set, rows, 2k]
        new = np.arange(8.0)[None, None, :, None]
        shape = (8, 8**k, 8)
        information = np.concatenate(
            [np.broadcast_to(of_world[:, :, None], (*shape, 2 * k)), np.broadcast_to(new, (*shape, 1))], 3
        )
        y = np.broadcast_to(table[:, None], shape)
        costs_at_k.append(best(y.ravel(), information.reshape(y.size, -1), least_mistakes))
    return np.array(costs_at_k)


def outer(*factors: int, **words):
    return {"matrix": {"kind": "outer", "factors": list(factors)}, **words}


TWINS = (
    *(
        Twin("ri-signed", {"d": 8, "loss": loss}, partial(signed, loss), loss)
        for loss in ("square", "logistic", "hinge", "exponential")
    ),
    Twin("ri-signed", {"d": 4, "target": {"kind": "sparse", "r": 2}}, sparse, "of two features"),
    Twin("ri-permuted", {"d": 8, "matrix": {"kind": "hadamard", "row_signs": False}}, permuted),
    *(
        Twin("ri-01", {"d": 8, "matrix": "hadamard01", "loss": loss}, partial(zero_and_one, loss), loss)
        for loss in ("square", "entropic")
    ),
    *(
        Twin("ri-drawn", {"d": 8, "protocol": DRAWN, "loss": loss, "replicas": 3}, partial(drawn, loss), loss)
        for loss in ("square", "logistic")
    ),
    *(
        Twin(
            "duplicates",
            {"d": 4, "matrix": {"kind": "hadamard", "repeat": times}, "loss": loss},
            partial(one_after_the_other, times, loss),
            f"{times} {loss}",
        )
        for times, loss in ((1, "square"), (2, "logistic"))
    ),
    *(
        Twin(
            "duplicates",
            {"d": 4, "protocol": DRAWN, "loss": loss},
            partial(independent, loss),
            f"drawn {loss}",
        )
        for loss in ("square", "logistic")
    ),
    Twin(
        "duplicates",
        {
            "d": 2,
            "matrix": {"kind": "hadamard", "repeat": 1, "row_signs": False},
            "target": {"kind": "feature", "index": 1},
            "protocol": DRAWN,
        },
        independent_of_both_signs,
        "drawn of both signs",
    ),
    *(
        Twin(
            "duplicates",
            {
                "d": 2,
                "matrix": {"kind": "hadamard", "repeat": times, "row_signs": False},
                "target": {"kind": "feature", "index": 1},
                "protocol": {"kind": "steps", "batch": 1, "steps": rows, "records": rows, "train": rows},
                "loss": loss,
            },
            partial(in_random_order, times, loss),
            f"{times} in random order of {rows} {loss}",
        )
        for times, rows, loss in ((1, 4, "square"), (1, 3, "square"), (1, 4, "logistic"), (2, 8, "square"))
    ),
    *(
        Twin(
            "coin-labels",
            {"matrix": {"kind": "gaussian", "n": 5}, "target": "coin", "d": 3, "loss": loss},
            partial(coins, loss),
            loss,
        )
        for loss in ("square", "logistic", "hinge", "exponential")
    ),
    Twin("percolation", outer(4, 4, replicas=2), partial(knowing_the_factors, "square")),
    Twin(
        "percolation",
        outer(2, 4, loss="logistic", replicas=2),
        partial(knowing_the_factors, "logistic"),
        "logistic",
    ),
    Twin("ladder", outer(2, 2, 4, replicas=2), partial(knowing_the_factors, "square")),
    Twin("ladder", outer(2, 2, 2, loss="logistic"), partial(knowing_the_factors, "logistic"), "logistic"),
    Twin("ladder", outer(8), partial(knowing_the_factors, "square"), "of one factor"),
    Twin("outer-linear", outer(4, 4), linear_in_labels),
    Twin("outer-rotations", outer(2, 2, 4), one_number_for_unseen_rows),
    Twin(
        "parity-unknown",
        {
            "matrix": {"kind": "rademacher", "n": 4, "d": 3},
            "target": "parity",
            "learners": {"it": {"solver": "elimination"}},
        },
        parity,
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_the_line_matches_the_loss_on_unseen_labels(twin):
    check(twin)


@pytest.mark.parametrize("factors", [(2, 2), (2, 4)])
def test_the_best_invariant_learner_attains_the_line_with_one_unseen_row(factors):
    """It is above the line before: it does not know the sum of the labels of several unseen rows."""
    rows = [
        np.kron(*(sylvester(factor)[row] for factor, row in zip(factors, numbers, strict=True)))
        for numbers in all_tuples(factors)
    ]
    y = of_all_tuples(factors)
    losses = best_of_invariant([(labels[:, None] * rows, labels) for labels in y], len(rows))
    line = values_of("outer-rotations", experiment(**outer(*factors)))
    assert (losses >= line - 1e-12).all()
    assert losses[-2] == pytest.approx(line[-2], abs=1e-12)
    assert losses[1] > line[1] + 0.01
