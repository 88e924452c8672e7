"""Gradient-trained learners of the diagnosis: linear neurons by GD and EGU±, dense and spindly nets.

Several splits train side by side. For each split, 30 % of the training rows are held out. The loss on the
held-out rows selects the learning rate and the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.stopping import go_on

Array = NDArray[np.floating]
Parameters = dict[str, Array]

STEPS, LOOKED_AT = 200, 5
"""Number of steps, and number of steps between two evaluations of the held-out loss."""

RATES = (1.0, 0.25)
"""Learning rates that are tried, as multiples of `Rule.rate`."""

EGU_RATE = 0.2
HIDDEN = 32


class Batch(NamedTuple):
    """Rows of J splits of a table, in three parts: training rows, held-out rows and test rows."""

    fitted: Array
    """Training rows [J, m, d], without the held-out rows."""

    fitted_labels: Array
    """Labels of the training rows, [J, m, c]: numbers (c = 1), or one-hot vectors of c classes."""

    chosen_by: Array
    """Held-out rows [J, h, d], which select the rate and the number of steps."""

    chosen_by_labels: Array
    tested: Array
    """Test rows [J, t, d]."""

    are_classes: bool


class Rule(NamedTuple):
    """Model that predicts scores of rows, with the functions that train it by gradient descent.

    For a numeric label, the score is the prediction. For classes, the scores are the logits of all classes.
    """

    start: Callable[[Batch, int], Parameters]
    """Maps the rows and the number of rates to the starting parameters [rates · J, …]."""

    scores: Callable[[Parameters, Array], Array]
    """Maps parameters and rows to scores [rates · J, rows, c]."""

    gradients: Callable[[Parameters, Array, Array], Parameters]
    """Maps parameters, rows, and the derivative of the loss with respect to the scores to gradients."""

    rate: Callable[[Batch], Array]
    """Maps the rows to a learning rate for each split [J]."""


def trained_scores(rule: Rule, batch: Batch) -> Array:
    """Train a model on J splits with all learning rates, and return its scores of test rows, [J, t, c].

    For each split, the scores are those of the learning rate and the number of steps with the least loss on
    the held-out rows.
    """
    splits, rates = len(batch.fitted), len(RATES)
    parameters = rule.start(batch, rates)
    rate = np.outer(RATES, rule.rate(batch)).ravel().astype(batch.fitted.dtype)
    fitted, labels = (np.tile(part, (rates, 1, 1)) for part in (batch.fitted, batch.fitted_labels))
    chosen_by, chosen_by_labels = (
        np.tile(part, (rates, 1, 1)) for part in (batch.chosen_by, batch.chosen_by_labels)
    )
    least = np.full(rates * splits, np.inf)
    best = {name: numbers.copy() for name, numbers in parameters.items()}
    with np.errstate(all="ignore"):  # a rate that diverges is never the best
        for step in range(STEPS + 1):
            go_on()
            if step % LOOKED_AT == 0:
                losses = mean_loss(rule.scores(parameters, chosen_by), chosen_by_labels, batch.are_classes)
                is_better = losses < least
                least = np.where(is_better, losses, least)
                for name, numbers in parameters.items():
                    best[name][is_better] = numbers[is_better]
            derivative = _derivative_of_loss(rule.scores(parameters, fitted), labels, batch.are_classes)
            for name, gradient in rule.gradients(parameters, fitted, derivative).items():
                parameters[name] -= rate.reshape(-1, *[1] * (gradient.ndim - 1)) * gradient
    choice = least.reshape(rates, splits).argmin(0) * splits + np.arange(splits)
    return rule.scores({name: numbers[choice] for name, numbers in best.items()}, batch.tested)


def _softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))


def _derivative_of_loss(scores: Array, labels: Array, are_classes: bool) -> Array:
    """Return the derivative of the mean of ½(s − y)², or of the cross-entropy, with respect to scores s."""
    predictions = _softmax(scores) if are_classes else scores
    return np.asarray((predictions - labels) / scores.shape[1])


def mean_loss(scores: Array, labels: Array, are_classes: bool) -> Array:
    """Return the mean of (s − y)², or of the cross-entropy, over the rows of each of J splits, [J]."""
    if not are_classes:
        return np.asarray(((scores - labels) ** 2).mean((1, 2)))
    largest = scores.max(-1, keepdims=True)
    partition = largest[..., 0] + np.log(np.exp(scores - largest).sum(-1))
    return np.asarray((partition - (scores * labels).sum(-1)).mean(1))


def _largest_curvature(batch: Batch) -> Array:
    """Return the largest eigenvalue of XᵀX/n for the rows X of each split, [J]."""
    rows = batch.fitted
    wide = rows.shape[1] < rows.shape[2]
    moment = (rows @ rows.mT if wide else rows.mT @ rows) / rows.shape[1]
    return np.maximum(np.linalg.eigvalsh(moment)[:, -1], 1e-12)


def _zero_parameters(batch: Batch, rates: int, *names: str) -> Parameters:
    splits, _, d = batch.fitted.shape
    shape = rates * splits, d, batch.fitted_labels.shape[2]
    zeros = {name: np.zeros(shape, batch.fitted.dtype) for name in names}
    return zeros | {"bias": np.zeros((rates * splits, 1, shape[2]), batch.fitted.dtype)}


def _linear_scores(weights: Array, bias: Array, rows: Array) -> Array:
    return np.asarray(rows @ weights + bias)


GD = Rule(
    lambda batch, rates: _zero_parameters(batch, rates, "weights"),
    lambda parameters, rows: _linear_scores(parameters["weights"], parameters["bias"], rows),
    lambda parameters, rows, derivative: {
        "weights": rows.mT @ derivative,
        "bias": derivative.sum(1, keepdims=True),
    },
    lambda batch: 1 / np.maximum(1.0, _largest_curvature(batch)),
)
"""Linear neurons, trained from 0 by gradient descent at the rate 1/max(1, λ₁), λ₁ by `_largest_curvature`."""

EGU = Rule(
    lambda batch, rates: _zero_parameters(batch, rates, "exponents"),
    lambda parameters, rows: _linear_scores(_egu_weights(parameters), parameters["bias"], rows),
    lambda parameters, rows, derivative: {
        "exponents": rows.mT @ derivative,
        "bias": derivative.sum(1, keepdims=True),
    },
    lambda batch: np.full(len(batch.fitted), EGU_RATE),
)
"""EGU± on linear neurons: the weights are sinh(v)/d, and a step subtracts rate · ∂L/∂(weights) from v.

The start v = 0 corresponds to w⁺ = w⁻ = 1/2d.
"""


def _egu_weights(parameters: Parameters) -> Array:
    exponents = parameters["exponents"]
    return np.asarray(np.sinh(exponents) / exponents.shape[1])


def _net_start(batch: Batch, rates: int, is_spindly: bool) -> Parameters:
    splits, _, d = batch.fitted.shape
    c, copies = batch.fitted_labels.shape[2], rates * splits
    generator = np.random.default_rng(d)
    first = generator.standard_normal((d, HIDDEN)) * np.sqrt(2 / d)
    start = {
        "first": np.sign(first) * np.sqrt(np.abs(first)) if is_spindly else first,
        "thresholds": np.zeros((1, HIDDEN)),
        "last": generator.standard_normal((HIDDEN, c)),
        "bias": np.zeros((1, c)),
    }
    if is_spindly:
        start["factors"] = np.sqrt(np.abs(first))
    dtype = batch.fitted.dtype
    return {name: np.tile(numbers.astype(dtype), (copies, 1, 1)) for name, numbers in start.items()}


def _first_layer(parameters: Parameters) -> Array:
    return parameters["first"] * parameters["factors"] if "factors" in parameters else parameters["first"]


def _hidden_outputs(parameters: Parameters, rows: Array) -> Array:
    return np.maximum(rows @ _first_layer(parameters) + parameters["thresholds"], 0)


def _net_scores(parameters: Parameters, rows: Array) -> Array:
    scale = 1 / np.sqrt(np.float32(HIDDEN))
    return np.asarray(_hidden_outputs(parameters, rows) @ parameters["last"] * scale + parameters["bias"])


def _net_gradients(parameters: Parameters, rows: Array, derivative: Array) -> Parameters:
    scale = 1 / np.sqrt(np.float32(HIDDEN))
    hidden = _hidden_outputs(parameters, rows)
    of_hidden = (derivative @ parameters["last"].mT) * scale * (hidden > 0)
    of_first = rows.mT @ of_hidden
    gradients = {
        "first": of_first,
        "thresholds": of_hidden.sum(1, keepdims=True),
        "last": hidden.mT @ derivative * scale,
        "bias": derivative.sum(1, keepdims=True),
    }
    if "factors" in parameters:
        gradients |= {
            "first": of_first * parameters["factors"],
            "factors": of_first * parameters["first"],
        }
    return gradients


def _net_rate(batch: Batch) -> Array:
    return 1 / (1 + _largest_curvature(batch))


DENSE_NET = Rule(
    lambda batch, rates: _net_start(batch, rates, is_spindly=False), _net_scores, _net_gradients, _net_rate
)
"""Net of 32 ReLUs with scores aᵀ relu(Wᵀx + t)/√32 + b, trained by gradient descent.

At the start, W ~ N(0, 2/d), a ~ N(0, 1), and t = b = 0.
"""

SPINDLY_NET = Rule(
    lambda batch, rates: _net_start(batch, rates, is_spindly=True), _net_scores, _net_gradients, _net_rate
)
"""Net like `DENSE_NET`, but with W = U ∘ V, trained by gradient descent on U and V.

It starts at the same W as `DENSE_NET`, with |U| = |V|.
"""
