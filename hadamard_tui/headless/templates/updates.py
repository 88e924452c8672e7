"""An update rule of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, zeros


class MyPart(Update, frozen=True, tag="my-part"):
    """Heavy-ball momentum: v ← μ v + g, w ← w − η v, from v = 0.

    The first dimension of every tensor is a batch of learners. `rates` has the learning rate of each tensor.
    Source: Polyak 1964.
    """

    lr: Rate = 0.01
    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="factor by which v shrinks per step")
    ] = 0.9

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"v": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        velocity = {name: self.momentum * state["v"][name] + g for name, g in gradients.items()}
        moved = {name: w - rates[name] * velocity[name] for name, w in params.items()}
        return moved, {"v": velocity}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        # A rule that treats each weight separately returns Verdict(False, reason, SIGNED_PERMUTATIONS). This
        # group is in engine.core.groups. Without this method, only a measurement shows if the rule is
        # invariant.
        return Verdict(True, "v sums gradients, which rotate with the instances")


def naive_my_part(rule: MyPart, w: NDArray[Any], gradients: NDArray[Any]) -> NDArray[Any]:
    """Return the weights after steps along the gradients [T, d], computed in the plainest way."""
    w, v = w.copy(), np.zeros_like(w)
    for gradient in gradients:
        v = rule.momentum * v + gradient
        w = w - float(rule.lr) * v  # type: ignore[arg-type]
    return w
