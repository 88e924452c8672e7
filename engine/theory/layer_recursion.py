"""The variance of the signals in the layers of an untrained, infinitely wide net."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from engine.architectures import Signals
from engine.core.activations import slope, transfer
from engine.core.lazy import torch
from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure

ROUNDING = {4: 6, 8: 12}
"""Number of decimals of squared row lengths that are free of rounding errors, for 4-byte and 8-byte
numbers.
"""


class LayerRecursion(Line, frozen=True, tag="layer-recursion"):
    """v_l = C_w E σ(z)², z ~ N(0, C_b + v_{l−1}): the signals' variance V_l as the width n → ∞.

    At width n, V_l is the variance of a signal of layer l + 1 over draws of the weights of layer l + 1, for
    fixed outputs of layer l. The limit of V_l is v_l. C_w is the variance of the weights times the number of
    a unit's inputs, and C_b is the variance of the biases. The line is about the start of training, averaged
    over the instances. For ReLU or linear σ, the line equals E V_l at every width. The expectation over z is
    computed by Gauss–Hermite quadrature at 200 points. Source: RYH ch. 2; theory/wide-nets#criticality.
    """

    title: ClassVar[str] = "wide limit"
    measure: ClassVar[str] = "layer-variance"
    formula: ClassVar[str] = "v_l = C_w E σ(z)², z ~ N(0, C_b + v_{l−1})"
    source: ClassVar[str] = "RYH ch. 2"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for wide nets",
            per_learner=True,
            needs_k_rows=False,
            of="the signals' variances",
        )

    def holds(self, experiment: Setup) -> Finding:
        return Finding(
            True, "the distribution of a net's signals at the start depends only on the lengths of instances"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if signals_of(learner) is None:
            return Finding(
                False, f"the line requires a fully connected net with a Gaussian start, not {learner.name}"
            )
        return Finding(True, f"{learner.name} is fully connected and starts with Gaussian weights")

    def value(self, at: At) -> Floats:
        return only_at_the_start(at, infinite(at))


def signals_of(learner: Learner) -> Signals | None:
    """Return the distribution of the signals in a learner's untrained net, or None if it is not known.

    The distribution is known only for fully connected nets with Gaussian initial weights.
    """
    replaced = learner.update is not None and learner.update.structure().own_start
    return None if learner.architecture is None or replaced else learner.architecture.structure().signals


def starts_anew(learner: Learner) -> Finding | None:
    """Return None if replicas of a learner start from independent weights; otherwise, the reason why not."""
    if not learner.start_seed:
        return None
    return Finding(
        False, f"the line is a mean over starts, and all replicas of {learner.name} have the same start"
    )


def signals_at(at: At) -> Signals:
    """Return the distribution of the signals in the untrained net of the learner `at.learner`.

    A theory line about signals must apply to this learner.
    """
    signals = signals_of(at.learner)
    assert signals is not None, "binds() admits no other architecture"
    return signals


def as_function(signals: Signals) -> wide_nets.Transfer:
    """Return the net's transfer function σ as a function of numpy arrays."""
    return lambda z: transfer(signals.activation, torch.from_numpy(z)).numpy()


def slope_function(signals: Signals) -> wide_nets.Transfer:
    """Return the derivative σ′ of the net's transfer function as a function of numpy arrays."""
    return lambda z: slope(signals.activation, torch.from_numpy(z)).numpy()


def infinite(at: At) -> Floats:
    """Return the variances v_l [L] of signals in infinitely wide layers l = 1 … L, as in `layer-recursion`.

    The variances are averaged over instances and replicas.
    """
    return averaged(at, lambda first, variances: variances)


def averaged(at: At, of_layers: Callable[[float, Floats], Floats]) -> Floats:
    """Return the mean, over instances and replicas, of a function of the signals' variances in a wide net.

    The net is infinitely wide. The function `of_layers(K_1, v)` receives the variance K_1 of the signals of
    the first layer, and the array v of the variances v_l of `layer-recursion`. K_1 depends only on the length
    of an instance, so the function is evaluated once for every length.
    """
    signals = signals_at(at)
    rows = at.drawn.data.instances.rows
    squares = rows.double().square().sum(-1) / rows.shape[-1]
    lengths, counts = np.unique(
        squares.cpu().numpy().round(ROUNDING[rows.dtype.itemsize]), return_counts=True
    )
    of_lengths = []
    for length in lengths:
        first = signals.cb[0] + signals.cw[0] * length
        variances = wide_nets.layer_variances(as_function(signals), first, signals.cw[1:], signals.cb[1:])
        of_lengths.append(of_layers(first, variances))
    mean: Floats = counts @ np.array(of_lengths) / counts.sum()
    return mean


def only_at_the_start(at: At, at_start: Floats | float) -> Floats:
    """Return an array with `at_start` [*index] at the first evaluation point, and NaN at all later ones."""
    records = len(next(iter(at.clocks.values())))
    number = np.arange(records).reshape(-1, *[1] * np.ndim(at_start))
    return np.where(number == 0, at_start, np.nan)
