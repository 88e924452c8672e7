"""The perceptron as a solver, which repeats passes over the examples until a pass makes no mistake."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure


class Perceptron(Solver, frozen=True, tag="perceptron"):
    """The perceptron from w = 0: w ← w + y_j x_j if y_j x_jᵀw ≤ 0, in passes until a pass makes no mistake.

    Every pass takes the examples in order. For every k, training begins anew, and makes at most `passes`
    passes. Labels are ±1, and the model has no bias. An example also counts as a mistake if y_j x_jᵀw is
    positive but at most √ε max‖x‖², with the machine epsilon ε. Without this tolerance, rounding would decide
    the mistakes on orthogonal examples. Separable examples with ‖x‖ ≤ R and margin γ cause at most (R/γ)²
    mistakes. A mistake costs O(d + k), because inner products of the examples are stored. Source: Rosenblatt
    1958; Novikoff 1962; theory/symmetry#half-spaces.
    """

    passes: Annotated[
        Count, Meta(title="passes", description="maximum number of passes through the examples")
    ] = 1000

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="gradient", labels="signs")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, partial(consistent, passes=self.passes))

    def size(self, n: int, d: int) -> int:
        return n * (n + d)

    def invariance(self) -> Verdict:
        return Verdict(
            True, "w is a sum of signed instances, and inner products decide which instances are in this sum"
        )


def consistent(X: Floats, y: Floats, passes: int) -> Floats:
    """Return the perceptron's weights [d] after its passes over X [k, d], for labels y [k] of ±1."""
    Z = X * y[:, None]
    gram, margins, added = Z @ Z.T, np.zeros(len(Z)), np.zeros(len(Z))
    none = np.sqrt(np.finfo(gram.dtype).eps) * gram.diagonal().max(initial=0.0)
    for _ in range(passes):
        go_on()
        if (margins > none).all():
            break
        place = 0
        while (wrong := margins[place:] <= none).any():
            place += int(wrong.argmax())
            margins += gram[place]
            added[place] += 1
            place += 1
    w: Floats = added @ Z
    return w
