"""The examples of a problem as they are drawn: arrays of numpy, instance by instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Rows, drawn_rows

if TYPE_CHECKING:
    from engine.problems.problem import Problem
    from engine.problems.targets import Combination

Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Examples:
    """Instances [R, n, d] and labels [R, m, n] of every replica and target; `values` says what labels are."""

    instances: Numbers
    labels: Numbers
    values: Values


def examples(problem: Problem, streams: Streams, dtype: str) -> Examples:
    """Draw the examples of a problem once per replica.

    Raises: BadInput for a file that cannot be used.
    """
    combination, streams = problem.target.combination(problem.matrix, streams), streams.of_data()
    instances, labels = tabled(problem, combination, streams)
    labels = given(problem, labels, streams)
    return Examples(
        np.ascontiguousarray(instances, dtype), np.ascontiguousarray(labels, dtype), problem.label_values
    )


def tabled(problem: Problem, combination: Combination | None, streams: Streams) -> tuple[Rows, Rows]:
    """The instances [R, n, d] and what labels [R, m, n] are made of."""
    matrix = problem.matrix
    rows = drawn_rows(matrix, streams)
    if combination is None:
        labels = problem.target.labels(matrix, lambda: matrix.named(rows), streams)
    else:
        labels = combination.labels(matrix.columns_of(rows))
    return matrix.instances(rows, streams), labels


def given(problem: Problem, labels: Rows, streams: Streams) -> Rows:
    """The labels [R, m, n] that learners are given: the target's, their signs or coins, with noise."""
    _, targets, n = labels.shape
    if problem.labels == "sign":
        labels = np.where(labels < 0, -1.0, 1.0)
    elif problem.labels == "bernoulli":
        heads = streams("labels").uniform(targets, n) < (1 + np.tanh(labels / 2)) / 2
        labels = np.where(heads, 1.0, -1.0)
    if problem.noise > 0:
        labels = labels + problem.noise * streams("noise").normal(targets, n)
    return labels
