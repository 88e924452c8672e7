"""What a learner is made of as it trains: the edges of its net, and its weights across targets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.linear_algebra import looked_at
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Parametrised, Predictor
from engine.learners.learner import Learner
from engine.problems.data import draw
from engine.spec.experiment import Experiment
from engine.training.descent import TrainingInputs
from engine.training.training_run import TrainingRun

MOST_ENTRIES = 1 << 22
"""A learner is not trained once more on a matrix with more entries."""

EVERY = 1 << 62

UNITS = 16
"""So many units of every layer are kept."""

MOST_TARGETS, MOST_FEATURES = 64, 256
"""Weights of at most so many targets and features are kept."""

Floats = NDArray[np.float32]


@dataclass
class Snapshots:
    """Some of the numbers of a learner at some records of the first replica; it grows as records come.

    `inputs` and `features` are the numbers of the features that are kept, of edges and of weights.
    """

    inputs: NDArray[np.int64]
    features: NDArray[np.int64]
    units: list[int] = field(default_factory=list)
    """How many units every layer has in all, the inputs first."""

    x: list[float] = field(default_factory=list)
    edges: list[list[Floats]] = field(default_factory=list)
    """At every record the layers from the inputs up, [units, units below]; none of what is no such net."""

    weights: list[Floats] = field(default_factory=list)
    """At every record the weights across targets [targets, features]; none where there is no such matrix."""

    def at(self, x: float) -> int | None:
        """The number of the last record that is not beyond a place; None before the first."""
        before = int(np.searchsorted(self.x, x, side="right"))
        return before - 1 if before else None


def why_not(experiment: Experiment) -> str | None:
    """Why no learner is trained once more to look inside it, in one sentence; None if it can be."""
    n, d = experiment.n, experiment.d
    if n * d > MOST_ENTRIES:
        return f"{n} × {d} instances are too many to repeat the training for a picture"
    if experiment.protocol.extent(n).models > 1:
        return "every k has a model of its own, and none changes along the run"
    return None


def take(
    experiment: Experiment,
    learner: Learner,
    rate: float | None,
    target: int | None,
    publish: Callable[[Snapshots], object] = lambda growing: None,
    going: Callable[[float], object] = lambda done: None,
) -> None:
    """Train a learner once more as the run did, and keep what it is made of where expensive measures look.

    Args:
        rate: that of the curve, where the learner tried several.
        target: the number of the feature that is the target, which is kept in any case.
        publish: called once with the snapshots, which grow from then on.
        going: called again and again with the share that is done; what it raises ends the training.
    """
    if rate is not None and learner.update is not None:
        learner = msgspec.structs.replace(learner, update=msgspec.structs.replace(learner.update, lr=rate))
    streams = Streams([experiment.run.seed])
    data = draw(experiment.problem, streams, experiment.dtype, "cpu").dense()
    loss = experiment.loss.of_targets(data.targets)
    with torch.no_grad():
        run: TrainingRun = experiment.protocol.training_run(TrainingInputs(learner, data, loss, streams))
        snapshots = Snapshots(
            _first(data.instances.d, UNITS, target), _first(data.instances.d, MOST_FEATURES)
        )
        publish(snapshots)
        complete, records = 0, experiment.protocol.extent(data.instances.n).records
        while complete < records:
            going(complete / records)
            block = run.advance(1)
            if not len(block.loss):
                continue
            complete += len(block.loss)
            if not math.isfinite(float(block.loss[-1, 0, 0])):
                break
            if looked_at(complete - 1) or complete == records:
                _keep(snapshots, run.hypothesis, data.targets, data.instances.d)
                snapshots.x.append(float(block.clocks[experiment.protocol.clock].ravel()[-1]))


def _first(count: int, limit: int, among: int | None = None) -> NDArray[np.int64]:
    """The first so many of some numbers, with a certain one among them."""
    numbers = np.arange(min(count, limit))
    if among is not None and among >= len(numbers):
        numbers[-1] = among
    return numbers


def _units(net: Parametrised, d: int) -> list[int]:
    """How many units every layer has, from its edges for one input and for two: all may be too many.

    Tensors on torch's meta device would say it, too, but their first use imports sympy, which takes seconds.
    """
    first = {name: tensor[:1] for name, tensor in net.tensors.items()}
    of_one, of_two = (
        net.architecture.edges(first, torch.zeros(count, dtype=torch.int64), EVERY) for count in (1, 2)
    )
    counts = ((low.weights.shape[1], high.weights.shape[1]) for low, high in zip(of_one, of_two, strict=True))
    return [d, *(low + (high - low) * (d - 1) for low, high in counts)]


def _keep(snapshots: Snapshots, hypothesis: Predictor, targets: int, d: int) -> None:
    """Add a snapshot; what is read by others comes before the place that makes it known."""
    if isinstance(hypothesis, Parametrised):
        first = {name: tensor[:1] for name, tensor in hypothesis.tensors.items()}
        if not snapshots.units:
            snapshots.units = _units(hypothesis, d)
        layers = hypothesis.architecture.edges(first, torch.from_numpy(snapshots.inputs), UNITS)
        snapshots.edges.append([layer.weights[0].numpy().astype(np.float32) for layer in layers])
    weights = getattr(hypothesis, "weights", lambda: None)()
    if weights is not None:
        excerpt = weights[: min(targets, MOST_TARGETS)][:, : len(snapshots.features)]
        snapshots.weights.append(excerpt.numpy().astype(np.float32))
