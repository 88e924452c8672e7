"""The posterior band of a Gaussian process after k examples."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_numbers


class GPBand(Line, frozen=True, tag="gp-band"):
    """The posterior mean of f ~ GP(0, K), given noisy labels, plus and minus one standard deviation.

    The label noise has the variance λ. Let k be the row vector of the kernel's values K(x, x_j) at the
    examples x_j. The mean k(K + λI)⁻¹y equals the prediction of kernel ridge regression with the penalty λ.
    The variance is K(x, x) − k(K + λI)⁻¹kᵀ. Source: theory/kernels-and-entropy#kernels.
    """

    title: ClassVar[str] = "posterior edge"
    measure: ClassVar[str] = "function"
    formula: ClassVar[str] = "k(K + λI)⁻¹y ± √(K(x, x) − k(K + λI)⁻¹kᵀ)"
    source: ClassVar[str] = "theory/kernels-and-entropy#kernels"

    deviations: Annotated[
        float, Meta(title="deviations", description="half-width of the band, in standard deviations")
    ] = 1.0

    def structure(self) -> LineStructure:
        return LineStructure(in_expectation=False, per_learner=True, per_replica=True)

    @classmethod
    def every(cls) -> tuple[Line, ...]:
        return cls(1.0), cls(-1.0)

    @property
    def name(self) -> str:
        return f"{self._side_in_words} {self.kind}"

    @property
    def called(self) -> str:
        return f"{self._side_in_words} {self.title}"

    @property
    def _side_in_words(self) -> str:
        return "upper" if self.deviations > 0 else "lower"

    def holds(self, experiment: Setup) -> Finding:
        if (more := only_numbers(experiment)) is not None:
            return more
        if experiment.m > 1:
            return Finding(False, "requires one target, and here there are several")
        seen = experiment.protocol.examples_seen(experiment.n)
        if experiment.protocol.schedule().trains and len(set(seen[1:].tolist())) > 1:
            return Finding(False, "requires training rows that are the same from the first step on")
        return Finding(
            True, "instances are numbers, and the training rows are the same from the first step on"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if learner.solver is None or learner.solver.structure().prior_noise is None:
            requirement = "kernel ridge regression with a penalty"
            return Finding(False, f"the line requires {requirement}, and {learner.name} is something else")
        return Finding(True, f"{learner.name} predicts the posterior mean of a Gaussian process")

    def value(self, at: At) -> Floats:
        data, rows = at.drawn.data, int(at.k.max(initial=0))
        x, y = data.instances.rows[:, :rows].double(), data.labels[:, :rows, None].double()
        inputs = torch.from_numpy(at.indices["input"]).to(x)[None, :, None].expand(len(x), -1, -1)
        solver = at.learner.solver
        assert solver is not None, "`binds` admits no other"
        variance = solver.structure().prior_noise
        assert variance is not None, "`binds` admits no other"
        noise = variance * torch.eye(rows).to(x)
        across = solver.values(inputs, x)  # k [R, N, k]
        gained = torch.linalg.solve(solver.values(x, x) + noise, torch.cat((y, across.mT), 2))
        mean, explained = (across @ gained[:, :, :1])[:, :, 0], (across * gained[:, :, 1:].mT).sum(2)
        points = inputs.reshape(-1, 1, 1)
        prior = solver.values(points, points).view_as(explained)
        edge = mean + self.deviations * (prior - explained).clamp(min=0).sqrt()
        return np.asarray(edge[:, None].cpu().numpy())
