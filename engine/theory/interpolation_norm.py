"""The least path norm among the nets with a scalar input that fit all examples."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import Finding
from engine.formulas.relu_interpolation import least_norm
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_numbers


class OfOneNumber(Line, frozen=True):
    """Base class of theory lines about nets with a scalar input and one hidden layer of ReLU units."""

    source: ClassVar[str] = "SESS19; theory/implicit-bias#relu-interpolation"

    def structure(self) -> LineStructure:
        return LineStructure(in_expectation=False, per_replica=True)

    def holds(self, experiment: Setup) -> Finding:
        matrix, protocol = experiment.problem.matrix, experiment.protocol
        if (more := only_numbers(experiment)) is not None:
            return more
        if experiment.problem.target.columns(matrix) > 1:
            return Finding(False, "requires one target, and here there are several")
        if protocol.clock != "step" or len(set(protocol.examples_seen(matrix.shape()[0])[1:].tolist())) > 1:
            return Finding(False, "requires training rows that are the same from the first step on")
        return Finding(True, "instances are numbers, and the training rows are the same in every step")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        net = learner.architecture
        if net is None or not net.structure().is_relu_layer:
            requirement = "one hidden layer of relu units whose biases have no penalty"
            return Finding(False, f"the line requires {requirement}, and {learner.name} has something else")
        return Finding(True, f"{learner.name} has one hidden layer of relu units with free biases")


def training_points(at: At) -> list[NDArray[np.float64]]:
    """Return the m training inputs, in increasing order, and their labels: an array [2, m] per replica.

    An input that occurs several times is listed once, with the mean of its labels.
    """
    data, rows = at.drawn.data, int(at.k.max(initial=0))
    x = data.instances.rows[:, :rows, 0].double().cpu().numpy()
    y = data.labels.view(data.replicas, -1, data.instances.n)[:, 0, :rows].double().cpu().numpy()
    points = []
    for inputs, labels in zip(x, y, strict=True):
        places, number, times = np.unique(inputs, return_inverse=True, return_counts=True)
        points.append(np.stack((places, np.bincount(number, labels, len(places)) / times)))
    return points


class InterpolationNorm(OfOneNumber, frozen=True, tag="interpolation-norm"):
    """V* = max(S, (S + T)/2): the least Σ_j |a_j w_j| of all nets that fit the training rows.

    The nets are Σ_j a_j relu(w_j x + b_j) + c, of any width. The slopes s_1, …, s_{m−1} are those of the
    straight lines that connect the m training points in order of x. S = Σ_i |s_{i+1} − s_i|, and T = |s_1 +
    s_{m−1}|. Gradient descent comes near V* from a small start, but not from a large one. If an instance
    occurs several times, the mean of its labels is used. Source: SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    title: ClassVar[str] = "least interpolating norm"
    measure: ClassVar[str] = "path-norm"
    formula: ClassVar[str] = "max(S, (S + T)/2), S = Σ_i |s_{i+1} − s_i|, T = |s_1 + s_{m−1}|"

    def value(self, at: At) -> Floats:
        return np.array([[least_norm(x, y)] for x, y in training_points(at)])
