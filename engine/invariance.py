"""Rotation invariance: the verdict from structure, and the certificate from measurement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine import catalogue
from engine.experiment import Experiment, Learner
from engine.hypothesis import Descent, begin
from engine.lazy import torch
from engine.parts import Verdict
from engine.problems.data import draw
from engine.problems.instances import Instances
from engine.problems.rotation import haar
from engine.streams import Stream, Streams


def verdict(learner: Learner, experiment: Experiment) -> Verdict:
    """The verdict that follows from a learner's structure. Source: WKA21 Thm 2; theory.md §8."""
    if learner.solver is not None:
        return learner.solver.invariance()
    assert learner.architecture is not None, "Learner admits no other combination"
    assert learner.update is not None, "Learner admits no other combination"
    start = learner.architecture.invariance()
    steps = learner.update.invariance(experiment.problem.matrix, experiment.protocol.single)
    if start.invariant is False:
        return start
    if steps.invariant is False:
        return steps
    return Verdict(steps.invariant, f"{start.reason}, and {steps.reason}")


def certificate(experiment: Experiment, learner: Learner) -> float:
    """The largest relative change of a prediction under rotations of the instances, in float64 on the CPU.

    Trains on (X, y) and on (XUᵀ, y) for two Haar-random U, one with determinant −1, with coupled starts, and
    compares the predictions on all rows after every example of the first replica: max |Δŷ| / max |ŷ|. Below
    1e−6 the learner is invariant on this data. Source: theory.md §8.
    """
    streams = Streams([experiment.run.seed])
    data = draw(experiment.problem, streams, "float64", "cpu")
    loss = catalogue.make("losses", experiment.protocol.loss)
    change = size = torch.zeros((), dtype=torch.float64)
    for determinant in (1, -1):
        rotation = torch.from_numpy(rotation_with(determinant, streams("rotation"), data.instances.d))
        turned = replace(data, instances=Instances(data.instances.rows @ rotation.T))
        straight, rotated = begin(learner, loss, data, streams), begin(learner, loss, turned, streams)
        if isinstance(rotated, Descent):
            rotated.rotate(rotation)
        passes = [
            experiment.protocol.course(straight, data, loss),
            experiment.protocol.course(rotated, turned, loss),
        ]
        while all(len(course.advance(1).x) for course in passes):
            before, after = straight.predict(data.instances), rotated.predict(turned.instances)
            change = torch.maximum(change, (after - before).abs().max())
            size = torch.maximum(size, before.abs().max())
    return float(change / size) if size else float(change)


def rotation_with(determinant: int, stream: Stream, d: int) -> NDArray[np.float64]:
    """A Haar-random orthogonal matrix [d, d] of the given determinant, +1 or −1."""
    rotation = haar(stream.normal(d, d)[0])
    if np.sign(np.linalg.det(rotation)) != determinant:
        rotation[:, 0] *= -1
    return rotation
