"""A theory line of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure


class MyPart(Line, frozen=True, tag="my-part"):
    """The constant 1, which is the square loss of predicting 0 if all labels are ±1. Source: none needed."""

    title: ClassVar[str] = "loss of predicting 0"
    measure: ClassVar[str] = "loss"
    formula: ClassVar[str] = "1"
    source: ClassVar[str] = "none needed"

    def structure(self) -> LineStructure:
        return LineStructure(direction="reference")

    def holds(self, experiment: Setup) -> Finding:
        if experiment.problem.label_values != "signs":
            return Finding(False, f"requires labels ±1, but the labels are {experiment.problem.label_values}")
        return Finding(True, "labels are ±1, and their squares are 1")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"{learner.name}, like any learner, can be compared with a constant prediction")

    def value(self, at: At) -> Floats:
        return np.ones(len(at.k))
