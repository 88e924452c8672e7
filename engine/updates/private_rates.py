"""Gradient descent whose rates are the weights."""

from __future__ import annotations

from engine.architectures import Architecture, Params
from engine.motion import Motion
from engine.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State
from engine.updates.egu import EGU


class PrivateRates(EGU, frozen=True, tag="private-rates"):
    """Gradient descent with a private rate η w_i for each weight: w ← w − η w ⊙ g, from w = w₀ (default 1/d).

    It follows EGU, w ← w ⊙ exp(−η g), to first order in η; weights stay positive while η g_i < 1.
    Source: KW97 (the approximated EG); talk, "sufficient/insufficient conditions"; theory.md §4.
    """

    lr: Rate = 0.125

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return {name: w - rates[name] * w * gradients[name] for name, w in params.items()}, state

    def motion(self, architecture: Architecture) -> Motion | None:
        return Motion(exponential=False)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(False, "every weight has its own value as its rate, which tells the features apart")
