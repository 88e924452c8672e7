"""Solvers: learners that fit all examples seen so far, without a rate."""

from __future__ import annotations

from engine.hypothesis import Hypothesis
from engine.parts import Part, Verdict
from engine.problems.data import Data


class Solver(Part, frozen=True):
    """A learner that is told the examples one by one and always holds the fit to those it was told."""

    def begin(self, data: Data) -> Hypothesis:
        """The hypothesis before the first example, for every replica and target of `data`."""
        raise NotImplementedError

    def size(self, d: int) -> int:
        """The number of float64 numbers kept per replica for d features, besides d per target."""
        raise NotImplementedError

    def invariance(self) -> Verdict:
        """Whether predictions are unchanged by rotations of the instances, and why."""
        raise NotImplementedError
