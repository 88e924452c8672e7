"""Rotation invariance: the verdict from structure, and the certificate from measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.streams import Stream, Streams
from engine.problems.data import draw
from engine.problems.instances import Dense, Instances
from engine.problems.rotation import haar
from engine.protocols import TrainingRun
from engine.runtime.descent import rates_of
from engine.runtime.hypothesis import Turnable
from engine.spec.learner import Learner
from engine.spec.setup import Setup

INVARIANT = 1e-6
"""Predictions that change by less under rotations, relative to the largest, count as unchanged."""


def verdict(learner: Learner, experiment: Setup) -> Verdict:
    """The verdict that follows from a learner's structure. Source: WKA21 Thm 2; theory.md §8."""
    if learner.solver is not None:
        return learner.solver.invariance()
    assert learner.architecture is not None, "Learner admits no other combination"
    start = learner.architecture.invariance(experiment.problem.matrix.shape()[1])
    if start.invariant is False:
        return start
    if learner.update is None:
        return Verdict(start.invariant, f"{start.reason}, and it is not trained")
    frozen = learner.layer_rates.get(learner.architecture.layers[0]) == 0
    if frozen and not learner.update.own_start:
        return Verdict(True, f"{start.reason}, and the input layer stays as it is")
    steps = learner.update.invariance(experiment.problem.matrix, experiment.protocol.single)
    if steps.invariant is False:
        return steps
    return Verdict(steps.invariant, f"{start.reason}, and {steps.reason}")


MOST_ENTRIES = 1 << 24
"""A matrix with more entries is not rotated: two copies in float64 and their products would take too long."""


def certificate(
    experiment: Setup, learner: Learner, going: Callable[[float], object] = lambda done: None
) -> float | None:
    """The largest relative change of a prediction under rotations of the instances, in float64 on the CPU.

    Trains on (X, y) and on (XUᵀ, y) for two Haar-random U, one with determinant −1, with coupled starts, and
    compares the predictions on all rows at every record of the first replica, as long as they are finite:
    max |Δŷ| / max |ŷ|. Below INVARIANT the learner is invariant on this data. A rule that has an invariant
    counterpart, as diagonal AdaGrad has the one that shares a rate among all inputs, is compared with it:
    rotated ±1 data are not ±1, so invariance on this data means that the learner equals that rule here.
    Source: theory.md §8. None for a matrix of more than MOST_ENTRIES.

    `going` is called again and again with the share that is done; what it raises ends the measurement.
    """
    if math.prod(experiment.problem.matrix.shape()) > MOST_ENTRIES:
        return None
    streams = Streams([experiment.run.seed])
    data = draw(experiment.problem, streams, "float64", "cpu").dense().with_variants(len(rates_of(learner)))
    records = experiment.protocol.record_count(data.instances.n)
    loss = catalogue.make("losses", experiment.protocol.loss)
    if learner.update is not None:
        counterpart = msgspec.structs.replace(learner, update=learner.update.invariant_counterpart())
    else:
        counterpart = learner
    change = size = torch.zeros((), dtype=torch.float64)
    for half, determinant in enumerate((1, -1)):

        def share(done: float, half: int = half) -> None:
            going((half + done) / 2)

        rotation = torch.from_numpy(rotation_with(determinant, streams("rotation"), data.instances.d))
        turned = replace(data, instances=Dense(data.instances.rows @ rotation.T), w_star=None, teacher=None)
        straight = experiment.protocol.training_run(learner, data, loss, streams)
        rotated = experiment.protocol.training_run(counterpart, turned, loss, streams)
        if isinstance(rotated.hypothesis, Turnable):
            rotated.hypothesis.rotate(rotation)
        pairs = zip(
            _predictions(straight, data.instances, records, share),
            _predictions(rotated, turned.instances, records, share),
            strict=True,
        )
        with torch.no_grad():
            for before, after in pairs:
                if not (before.isfinite().all() and after.isfinite().all()):
                    break
                change = torch.maximum(change, (after - before).abs().max())
                size = torch.maximum(size, before.abs().max())
    return float(change / size) if size else float(change)


def _predictions(
    course: TrainingRun, instances: Instances, records: int, going: Callable[[float], object]
) -> Iterator[torch.Tensor]:
    """Predictions on all instances at every record, or at those that are complete all at once."""
    taken = 0
    while taken < records:
        going(taken / records)
        if new := len(course.advance(1).loss):
            taken += new
            yield course.hypothesis.predict(instances)


def rotation_with(determinant: int, stream: Stream, d: int) -> NDArray[np.float64]:
    """A Haar-random orthogonal matrix [d, d] of the given determinant, +1 or −1."""
    rotation = haar(stream.normal(d, d)[0])
    if np.sign(np.linalg.det(rotation)) != determinant:
        rotation[:, 0] *= -1
    return rotation
