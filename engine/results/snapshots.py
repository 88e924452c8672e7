"""Snapshots of a learner during training: the weights of its net, and its linear weights for each target."""

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
"""Largest number of entries of the data matrix for which a learner is trained again to take snapshots."""

EVERY = 1 << 62  # larger than the number of units of any layer

UNITS = 16
"""Largest number of units per layer for which the weights of edges are stored."""

MOST_TARGETS, MOST_FEATURES = 64, 256
"""Largest number of targets, and largest number of features, for which weights are stored."""

Floats = NDArray[np.float32]


@dataclass
class Snapshots:
    """Weights of a learner's first replica at some records (evaluation points).

    The lists grow during training.
    """

    inputs: NDArray[np.int64]
    """Indices of the features for which the weights of edges are stored."""

    features: NDArray[np.int64]
    """Indices of the features for which linear weights are stored."""

    units: list[int] = field(default_factory=list)
    """Total number of units of every layer, starting with the inputs."""

    x: list[float] = field(default_factory=list)
    """Position of each record on the x-axis."""

    edges: list[list[Floats]] = field(default_factory=list)
    """Weights [units, units of the layer below] of the edges into each layer, at each record.

    The inputs have no such matrix. The list is empty if the learner is not a net.
    """

    weights: list[Floats] = field(default_factory=list)
    """Linear weights [targets, features] at each record; empty if the learner has no such weights."""

    def at(self, x: float) -> int | None:
        """Return the index of the last snapshot at or before `x`, or None if all snapshots are after `x`."""
        before = int(np.searchsorted(self.x, x, side="right"))
        return before - 1 if before else None


def why_not(experiment: Experiment) -> str | None:
    """Return why training cannot be repeated to take snapshots of weights, or None if it can."""
    n, d = experiment.n, experiment.d
    if n * d > MOST_ENTRIES:
        return f"{n} × {d} instances are too many to train the learners again for this panel"
    if experiment.protocol.extent(n).models > 1:
        return "every k has a separate model, so there is no single model to show along the run"
    return None


def take(
    experiment: Experiment,
    learner: Learner,
    rate: float | None,
    target: int | None,
    publish: Callable[[Snapshots], object] = lambda growing: None,
    going: Callable[[float], object] = lambda done: None,
) -> None:
    """Train a learner's first replica again, exactly as in the run, and store snapshots of its weights.

    Snapshots are taken at the last evaluation point, and at the evaluation points at which expensive measures
    are computed.

    Args:
        rate: rate of the curve if the learner tried several rates; otherwise None.
        target: index of the feature that is the target, or None. The weights of single connections of a net
            are stored for at most UNITS features; the target is always one of these features.
        publish: function that is called once with the snapshots, before the training adds to them.
        going: function that is called repeatedly with the finished share of the training. If it raises an
            exception, the training ends.
    """
    if rate is not None and learner.update is not None:
        learner = msgspec.structs.replace(learner, update=msgspec.structs.replace(learner.update, lr=rate))
    streams = Streams([experiment.run.seed])
    data = draw(experiment.problem, streams, experiment.dtype, "cpu").dense()
    loss = experiment.loss.of_targets(data.targets)
    with torch.no_grad():
        run: TrainingRun = experiment.protocol.training_run(TrainingInputs(learner, data, loss, streams))
        snapshots = Snapshots(
            _first_indices(data.instances.d, UNITS, target), _first_indices(data.instances.d, MOST_FEATURES)
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
                _add_weights(snapshots, run.hypothesis, data.targets, data.instances.d)
                snapshots.x.append(float(block.clocks[experiment.protocol.clock].ravel()[-1]))


def _first_indices(count: int, limit: int, among: int | None = None) -> NDArray[np.int64]:
    """Return the indices of the first `limit` of `count` items.

    If `among` is not one of these indices, it replaces the last of them.
    """
    numbers = np.arange(min(count, limit))
    if among is not None and among >= len(numbers):
        numbers[-1] = among
    return numbers


def _units_by_layer(net: Parametrised, d: int) -> list[int]:
    """Return how many units each layer of a net has, starting with the inputs.

    The numbers are extrapolated from nets with one input and with two inputs, because the weights for all d
    inputs may need too much memory. Tensors on torch's meta device would need no memory, but their first use
    imports sympy, which takes seconds.
    """
    first = {layer: tensor[:1] for layer, tensor in net.tensors.items()}
    # The number of units is an affine function of the number of inputs, which two evaluations determine.
    of_one, of_two = (
        net.architecture.edges(first, torch.zeros(count, dtype=torch.int64), EVERY) for count in (1, 2)
    )
    counts = ((low.weights.shape[1], high.weights.shape[1]) for low, high in zip(of_one, of_two, strict=True))
    return [d, *(low + (high - low) * (d - 1) for low, high in counts)]


def _add_weights(snapshots: Snapshots, hypothesis: Predictor, targets: int, d: int) -> None:
    """Add the weights of a snapshot. The caller must append its x position afterwards.

    This order matters, because other threads find a snapshot by its x position.
    """
    if isinstance(hypothesis, Parametrised):
        first = {layer: tensor[:1] for layer, tensor in hypothesis.tensors.items()}
        if not snapshots.units:
            snapshots.units = _units_by_layer(hypothesis, d)
        layers = hypothesis.architecture.edges(first, torch.from_numpy(snapshots.inputs), UNITS)
        snapshots.edges.append([layer.weights[0].numpy().astype(np.float32) for layer in layers])
    weights = getattr(hypothesis, "weights", lambda: None)()
    if weights is not None:
        excerpt = weights[: min(targets, MOST_TARGETS)][:, : len(snapshots.features)]
        snapshots.weights.append(excerpt.numpy().astype(np.float32))
