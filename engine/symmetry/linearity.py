"""Whether predictions are affine in the labels, by the structure of a learner."""

from __future__ import annotations

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.setup import Setup
from engine.updates import BEST


def linear_in_labels(learner: Learner, experiment: Setup) -> Finding:
    """Whether every prediction is a₀ + Σ_j a_j y_j, where the a know instances and coins, but no label.

    Least squares, ridge and kernels are such, and gradient descent on square loss of one linear neuron, if
    neither its rates nor its end depend on labels. Source: theory-open.md §18b.
    """
    name = learner.name
    if experiment.protocol.schedule().clips_at is not None:
        return Finding(False, f"the predictions of {name} are clipped, and not linear in the labels")
    if learner.solver is not None:
        if learner.solver.structure().linear_in_labels:
            return Finding(True, f"the predictions of {name} are linear in the labels seen")
        return Finding(False, f"the predictions of {name} are not known to be linear in the labels seen")
    if learner.update is None:
        return Finding(True, f"{name} is not trained, and its predictions depend on no label")
    if reason := _bends(learner, experiment):
        return Finding(False, f"it requires predictions that are linear in the labels, and {reason}")
    return Finding(True, f"{name} is one linear neuron, and its steps are linear in the labels seen")


def _bends(learner: Learner, experiment: Setup) -> str | None:
    """Return why predictions of a learner with an update rule are not linear in the labels."""
    name, update, architecture = learner.name, learner.update, learner.architecture
    assert update is not None, "asked of learners that are trained"
    assert architecture is not None, "Learner admits no other combination"
    if experiment.protocol.schedule().of_logarithm:
        return f"steps go along the logarithm of the loss of {name}, which is not linear in the labels"
    if architecture.structure_at(experiment.d).linear_layers != 1:
        return f"{name} is not a single linear neuron but {architecture.kind}"
    if update.response(1) is None:
        return f"the steps of {update.kind} are not linear in the gradients of {name}"
    if not experiment.loss.is_square:
        return f"the gradients of {name} are those of {experiment.protocol.loss} loss"
    if learner.schedule is not None and learner.schedule.of_loss:
        return f"the rates of {name} are made of its losses"
    if learner.clip is not None or (learner.decay is not None and learner.decay.p == "1"):
        return f"the steps of {name} are cut or decay by signs"
    if learner.rate_choice in (None, BEST):
        return f"the rate of {name} is chosen by the losses"
    if not experiment.protocol.schedule().stops_blindly:
        return f"the losses decide when the training of {name} stops"
    return None
