"""Backend for nets on orthogonal instances, by a compiled loop over their pre-activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.backends import Backend, Needs, weight_vectors
from engine.backends.nets import code_of
from engine.backends.structured import rotated, why_not_rotated
from engine.core import device as devices
from engine.core.activations import BENT
from engine.measures import Measure
from engine.training.descent import TrainingInputs
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.core.compiled_code import CompiledCode
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

LOADING = 0.4
"""CPU seconds that a process needs, once, to load numba and the compiled code."""

MOVE = 1.8e-9
"""CPU seconds saved per change of a pre-activation. A change takes 0.12 ns here, and 1.9 ns with torch."""

SHARE = 0.1
"""Approximate share of the allowed steps after which the loss of a model reaches the tolerance."""


class Preactivations(Backend):
    """Backend that trains a new net with one hidden layer for every k, by gradient descent on k rows.

    The loss is square loss. Orthogonal instances are rotated so that instance j has a single entry, at
    feature j. The pre-activations of instance j are then proportional to the first layer's weights for
    feature j. So in the first layer, a step on k rows changes only the weights for k features. The change for
    feature j is proportional to the error on row j. The step is one pass over these weights, which are in the
    processor's cache.
    """

    place: ClassVar[int] = 25
    words: ClassVar[str] = (
        "computed by a compiled loop over pre-activations, because the examples are orthogonal"
    )
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates"}
    needs: ClassVar[Needs] = Needs(new_tensors=False)

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        update, schedule = learner.update, experiment.protocol.schedule()
        if schedule.fresh_steps is None:
            return f"protocol {experiment.protocol.kind} does not train a new model for every k"
        if learner.architecture is None or not _is_bent_layer(learner.architecture):
            return "this backend requires one hidden layer of relu, sqrt2_relu or leaky_relu, without biases"
        structure = None if update is None else update.structure()
        if update is None or structure is None or not structure.plain or structure.mini_batch is not None:
            return "this backend requires full-batch gradient descent without momentum"
        if not experiment.loss.is_square or schedule.clips_at is not None:
            return "this backend requires square loss and predictions that are not clipped"
        if devices.resolve(experiment.run.device) != "cpu":
            return "this backend runs only on the CPU"
        return why_not_rotated(learner, experiment) or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.coordinates or needs.under)

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        schedule, architecture = experiment.protocol.schedule(), learner.architecture
        if architecture is None or schedule.fresh_steps is None:
            return False
        extent = experiment.protocol.extent(experiment.n)
        steps = schedule.fresh_steps * (1 if schedule.stops_blindly else SHARE)
        rows = extent.models * extent.last / 2
        units = architecture.layout(experiment.d).units
        return weight_vectors(learner, experiment) * units * rows * steps * MOVE >= LOADING

    def code(self, learner: Learner, experiment: Experiment) -> CompiledCode | None:
        return code_of(experiment.dtype)

    def sample(self, learner: Learner) -> dict[str, object]:
        layer = {"kind": "dense", "widths": [2], "activation": "relu"}
        return {
            "problem": {"matrix": {"kind": "hadamard", "d": 4}, "target": {"kind": "feature"}},
            "protocol": {"kind": "erm", "steps": 1},
            "learners": [{"name": "net", "architecture": layer, "update": {"kind": "gd"}}],
        }

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        from engine.backends.nets.trained_group import TrainedGroup  # it imports numba

        return experiment.protocol.training_run(rotated(inputs), TrainedGroup)


def _is_bent_layer(net: Architecture) -> bool:
    """Return whether a net is Σ_i a_i σ(w_iᵀx), with a function σ that is linear on each side of 0."""
    structure, names = net.structure(), net.layers
    hidden = structure.hidden_layers
    if hidden is None or hidden.activation not in BENT or not structure.affine or len(names) != 2:
        return False
    layout = net.layout(1)
    return net.outputs == 1 and not layout.l2_penalty and layout.shapes.keys() == set(names)


BACKEND = Preactivations()
