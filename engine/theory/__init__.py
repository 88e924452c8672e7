"""Bounds: what theory proves (or conjectures) for a combination of problem, protocol and learner."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from engine.core.catalogue import make
from engine.core.parts import Finding, Part
from engine.losses import Loss
from engine.protocols.one_pass import OnePass
from engine.results.invariance import verdict
from engine.spec.learner import Learner
from engine.spec.setup import Setup

Floats = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]

PROBES, PIECE = 4, 256
"""Vectors by which orthogonal targets are known, and how many targets are multiplied by them at once."""


class Labels:
    """The labels Y of m targets on n rows that were drawn, and what several bounds ask of them."""

    def __init__(self, values: Rows) -> None:
        """For labels [R, m, n]."""
        self._values = values
        _, self.m, self.n = values.shape

    def rank_bound(self, rank: Floats) -> Floats:
        """(1/nm) Σ_{i>r} s_i(Y)² for ranks r: the least mean square error of predictions of that rank."""
        bound: Floats = self._tails[np.minimum(rank, len(self._tails) - 1).astype(int)]
        return bound

    @cached_property
    def _tails(self) -> Floats:
        """The same for ranks 0 … min(m, n), averaged over replicas."""
        squares = np.stack([_squared_singular_values(one) for one in self._values])  # [R, min(m, n)]
        tails = np.zeros((len(squares), squares.shape[1] + 1))
        tails[:, :-1] = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
        mean: Floats = tails.mean(0) / (self.n * self.m)
        return mean


class Bound(Part, frozen=True):
    """A curve of average loss against the number k of examples, and the conditions under which it holds.

    Lower bounds decrease with k. They therefore also hold for the mean of hypotheses up to k, and for
    examples drawn with replacement, of which at most k are different.
    """

    sense: ClassVar[Literal["lower", "upper", "conjecture"]]
    in_expectation: ClassVar[bool] = True
    """Whether it is about the expectation, below which a single run may fall, or about every run."""

    formula: ClassVar[str]
    source: ClassVar[str]

    def on(self, experiment: Setup) -> Finding:
        """Whether the problem and the protocol satisfy the theorem's conditions, and why or why not."""
        raise NotImplementedError

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        """Whether the learner satisfies the theorem's conditions, and why or why not."""
        raise NotImplementedError

    def curve(self, experiment: Setup, labels: Labels, k: Floats) -> Floats:
        """The bound at every k, for the labels that were drawn."""
        raise NotImplementedError


class RotationInvariant(Bound, frozen=True):
    """A lower bound for every learner whose predictions do not change when all instances are rotated."""

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        invariant, reason = verdict(learner, experiment)
        if invariant is False:
            return Finding(False, f"{learner.name} is not rotation invariant: {reason}")
        return Finding(True, f"{learner.name} is rotation invariant: {reason}")


def loss_of(experiment: Setup) -> Loss:
    """The loss of an experiment."""
    loss: Loss = make("losses", experiment.protocol.loss)
    return loss


def loss_constant(experiment: Setup) -> float:
    """c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)] of the experiment's loss."""
    constant = loss_of(experiment).constant
    assert constant is not None, "a loss that takes labels ±1 has a constant"
    return constant


def fair_signs(experiment: Setup, reason: str) -> Finding:
    """Whether not knowing the sign of a row's label costs c on average over rows; `reason` where it does.

    It costs c where labels are ±1, and for square loss y², whose mean over rows in random order is ‖w*‖² = 1
    on a Hadamard matrix. Label noise and labels drawn by chance only make it cost more.
    """
    problem = experiment.problem
    if problem.target.values(problem.matrix) == "signs":
        return Finding(True, reason)
    if not problem.target.unit:
        return Finding(False, f"its target is a feature, and here it is {problem.target.kind}")
    if problem.labels != "soft" or experiment.protocol.loss != "square" or not problem.matrix.random_order:
        return Finding(
            False, "where labels are not ±1, it needs them soft, square loss and rows in random order"
        )
    return Finding(True, reason)


def linear_labels(experiment: Setup) -> Finding | None:
    """What keeps labels from being xᵀw* with ‖w*‖ = 1, or loss from being square; None if nothing does."""
    problem = experiment.problem
    if problem.matrix.repeat is not None:
        return Finding(False, "it is about rows that are seen once, and here they are repeated")
    if problem.labels != "soft":
        return Finding(False, f"its labels are linear, and here they are {problem.labels}")
    if not problem.target.unit:
        return Finding(False, f"its target is a unit vector, and here it is {problem.target.kind}")
    return only_square(experiment)


def only_square(experiment: Setup) -> Finding | None:
    """What a bound about square loss says where there is another; None for square loss."""
    loss = experiment.protocol.loss
    return None if loss == "square" else Finding(False, f"it is about square loss, and the loss is {loss}")


def product_curve(experiment: Setup, k: Floats) -> Floats:
    """(1 − k/n)(1 − k/d), 0 beyond k = d: the unseen share of rows times what each of them costs."""
    n, d = experiment.problem.matrix.shape()
    return (1 - k / n) * np.maximum(0, 1 - k / d)


def several_targets(experiment: Setup) -> Finding:
    """Whether the loss is the square loss, averaged over several targets, of predictions left as they are."""
    protocol, targets = experiment.protocol, experiment.problem.target.columns(experiment.problem.matrix)
    if targets < 2:
        return Finding(False, "it averages over several targets, and there is one")
    if isinstance(protocol, OnePass) and protocol.clip is not None:
        return Finding(False, "it is about linear predictions, and clipped ones are not linear")
    return only_square(experiment) or Finding(True, f"the loss is averaged over {targets} targets")


def stays_in_span(learner: Learner, experiment: Setup, any_start: bool) -> Finding:
    """Whether a linear learner's weights stay in the span of the instances seen, and of any start of its own.

    The rotation that flips what is orthogonal to the instances seen leaves these as they are, so the weights
    of an invariant learner that starts at 0 have no part there. Predictions that are linear in the labels
    seen have the same rank, whatever the kernel.
    """
    name = learner.name
    if learner.architecture is not None:
        kind, transfer = learner.architecture.kind, getattr(learner.architecture, "activation", "identity")
        if kind not in ("linear", "neuron") or transfer != "identity":
            other = kind if kind not in ("linear", "neuron") else f"a neuron with transfer {transfer}"
            return Finding(False, f"it is about a single linear neuron, and {name} is {other}")
        if getattr(learner.architecture, "init", "zero") != "zero" and not any_start:
            return Finding(False, f"it is about weights that start at 0, and those of {name} do not")
    if learner.solver is not None and learner.solver.linear_in_labels:
        return Finding(True, f"the predictions of {name} are linear in the k labels it has seen")
    invariant, reason = verdict(learner, experiment)
    if invariant is False:
        return Finding(False, f"the weights of {name} leave the span of the instances: {reason}")
    start = " and its start" if any_start else ""
    return Finding(True, f"the weights of {name} stay in the span of the k instances it has seen{start}")


def _squared_singular_values(labels: Rows) -> Floats:
    """s_i² of a matrix [m, n], largest first.

    Where its rows are orthogonal, or its columns if it has more rows, these are their squared lengths. All
    features of a Hadamard matrix are such targets, and so are these with their negatives.
    """
    wide = labels if len(labels) <= labels.shape[1] else labels.T
    if (lengths := _lengths_if_orthogonal(wide)) is not None:
        return np.sort(lengths)[::-1]
    return np.square(np.linalg.svd(labels.astype(np.float64), compute_uv=False))


def _lengths_if_orthogonal(labels: Rows) -> Floats | None:
    """‖y_i‖² of the rows of a matrix [m, n] if they are orthogonal.

    They are if YYᵀv has the entries ‖y_i‖² v_i for random whole-number vectors v; for another matrix of whole
    numbers, which are exact here, that happens with probability 2⁻⁸⁰ at most.
    """
    probes = np.random.default_rng(0).integers(0, 1 << 20, (len(labels), PROBES)).astype(np.float64)
    images, lengths = np.zeros((labels.shape[1], PROBES)), np.empty(len(labels))
    pieces = [slice(first, first + PIECE) for first in range(0, len(labels), PIECE)]
    for some in pieces:
        rows = labels[some].astype(np.float64)
        images += rows.T @ probes[some]
        lengths[some] = np.einsum("mn,mn->m", rows, rows)
    expected = lengths[:, None] * probes
    same = (np.array_equal(labels[some].astype(np.float64) @ images, expected[some]) for some in pieces)
    return lengths if all(same) else None
