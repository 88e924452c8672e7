"""The loss of a linear neuron after one step along each of k orthogonal examples."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, ByVerdict, Floats, LineStructure, at_rate_lr, only_square, shown_once


class ScalarSteps(ByVerdict, frozen=True, tag="scalar-steps"):
    """1 − k/d + (1/d) Σ_{j≤k} (1 − s_j d)²: the loss of a linear neuron on orthogonal rows of ±1.

    Example j is a row x_j with the label y_j. Step j uses this example alone, and has the size s_j. The
    neuron starts at 0. The line applies to update rules such as AdaGrad and sign descent. These rules are not
    rotation invariant. But on a single example with entries ±1, a step of these rules adds a multiple of the
    example, as for invariant rules: w ← w + s_j y_j x_j. Step j changes the prediction for x_j by s_j y_j d,
    and no other prediction. With s_j = η, the loss is 1 − k/d + (k/d)(1 − ηd)². With s_j = 1/d, the loss is 1
    − k/d. Source: theory/symmetry#modern-optimizers.
    """

    title: ClassVar[str] = "loss of scalar steps"
    formula: ClassVar[str] = "1 − k/d + (1/d) Σ_{j≤k} (1 − s_j d)²"
    source: ClassVar[str] = "theory/symmetry#modern-optimizers"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", in_expectation=False, per_learner=True)

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        matrix = problem.matrix
        if repeated := shown_once(experiment):
            return repeated
        structure = matrix.structure()
        if not (structure.is_orthogonal and structure.entries_are_signs):
            return Finding(False, f"requires orthogonal rows of ±1, and the matrix is {matrix.kind}")
        if not protocol.schedule().online:
            return Finding(False, "requires one pass of steps along single rows")
        if problem.label_values != "signs":
            return Finding(False, f"requires labels ±1, and here they are {problem.label_values}")
        other = only_square(experiment)
        return other or Finding(
            True, "a step along a row changes only the prediction for this row, because rows are orthogonal"
        )

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        name, architecture, update = learner.name, learner.architecture, learner.update
        if architecture is None or update is None or update.scalar_step(architecture) is None:
            requirement = "a linear neuron whose steps are multiples of single examples"
            return Finding(False, f"the line requires {requirement}, and {name} is not known to be one")
        if judged.invariant != "on this data":
            rules = "rules that are rotation invariant on rows of ±1 only"
            on_all = "is rotation invariant on all rows" if judged.invariant else "is not rotation invariant"
            return Finding(False, f"the line is for {rules}, but {name} {on_all}")
        return at_rate_lr(learner, experiment) or Finding(
            True, f"the steps of {name} along single rows of ±1 are multiples of these rows"
        )

    def value(self, at: At) -> Floats:
        architecture, update = at.learner.trained
        step = update.scalar_step(architecture)
        assert step is not None, "binds() admits no other rule"
        n, d = at.experiment.n, at.experiment.d
        label, memory = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
        slope = at.experiment.loss.slope(torch.zeros_like(label), label)
        moves, _ = step(slope.expand(n, 1), at.rate, memory)
        seen = np.append(0.0, ((1 + moves[:, 0] * d) ** 2).cumsum(0).numpy())
        losses: Floats = 1 - at.k / n + np.interp(at.k, np.arange(n + 1), seen) / n
        return losses
