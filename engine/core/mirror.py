"""Flows that rules follow as their rates go to 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine.core.params import Params


class Mirror(NamedTuple):
    """A rule that with a small rate η follows dθ/dt = −∂L/∂w in the time t = η · step.

    θ are dual weights, of which the weights w are a function: themselves for gradient descent, their
    logarithms for EGU. Source: KW97; theory.md §4.
    """

    dual: Callable[[Params, dict[str, Params]], Params]
    """θ, of the parameters and the state at the start."""

    primal: Callable[[Params], Params]
    """w, of θ."""


EUCLIDEAN = Mirror(lambda params, _: params, lambda dual: dual)
"""That of gradient descent."""
