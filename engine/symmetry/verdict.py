"""Verdicts that follow from the structure of a learner.

They name the group of transformations that change no predictions of the learner. They also say whether its
predictions are affine in the labels.
"""

from __future__ import annotations

import math

from engine.core.groups import SIGNED_PERMUTATIONS, TRIVIAL, Group
from engine.core.parts import Finding, Verdict
from engine.learners.learner import AtStart, Fitted, Learner, Trained
from engine.spec.experiment import Setup
from engine.updates import BEST


def verdict(learner: Learner, setup: Setup) -> Verdict:
    """Return the verdict on a learner's invariance, which follows from the structure of the learner.

    Source: WKA21 Thm 2; theory/symmetry#rotation-invariance.
    """
    if isinstance(form := learner.form, Fitted):
        return form.solver.invariance()
    start = form.architecture.invariance(setup.d)
    net = form.architecture.structure()
    drawn = not (net.fixed_input_start or net.by_inner_products)
    if learner.start_seed and drawn:
        start = Verdict(
            False,
            "`start_seed` fixes the starting weights, so predictions depend on the coordinate axes",
            TRIVIAL,
        )
    if isinstance(form, AtStart):
        return start._replace(reason=f"{start.reason}, and the learner is not trained")
    structure = form.update.structure()
    if net.by_inner_products and not structure.own_start:
        return start
    steps = _verdict_with_options(learner, _verdict_on_steps(form, setup))
    if start.invariant is False:
        return start._replace(otherwise=_unchanged_group(learner, form, start, steps))
    frozen = learner.layer_rates.get(form.architecture.layers[0]) == 0
    if frozen and structure.layerwise and not structure.own_start:
        return Verdict(True, f"{start.reason}, and the input layer is not trained")
    if steps.invariant is False:
        return steps
    if steps.invariant == "on this data" and form.architecture.layout(setup.d).l2_penalty:
        reason = "with the penalty, gradient entries have different sizes, so the rates of weights differ"
        return Verdict(False, reason, SIGNED_PERMUTATIONS)
    return steps._replace(reason=f"{start.reason}, and {steps.reason}")


def _verdict_on_steps(trained: Trained, setup: Setup) -> Verdict:
    """Return the verdict on the steps alone, as if the learner had no clipping, noise or other options."""
    architecture, update = trained
    matrix = setup.problem.matrix
    if (of_vectors := update.structure().invariance_of_vectors) is not None:
        shapes = architecture.layout(setup.d).shapes
        if all(math.prod(shapes[layer][:-1]) == 1 for layer in architecture.layers):
            return of_vectors
    return update.invariance(matrix, setup.protocol.schedule().single)


def _unchanged_group(learner: Learner, trained: Trained, start: Verdict, steps: Verdict) -> Group:
    """Return the largest known group of transformations that change no predictions of a learner.

    The learner is not rotation invariant, because its initial weights favour some features. But it may still
    be invariant under a smaller group, such as permutations and sign flips of the features.
    """
    architecture, update = trained
    if learner.noise is not None and len(architecture.layers) > 1:
        return TRIVIAL  # a symmetry would transform every layer, and the noise of every layer
    if start.group.factors is not None:
        # Each factor of an instance has a separate layer, so steps may only multiply gradients by scalars.
        return start.group & steps.group if update.structure().along_gradients else TRIVIAL
    rates = {learner.layer_rates.get(layer, 1.0) for layer in architecture.layers}
    if architecture.structure().exchanges_on_flips and update.structure().entries_alike and len(rates) == 1:
        return SIGNED_PERMUTATIONS & steps.group
    return start.group & steps.group


def _verdict_with_options(learner: Learner, steps: Verdict) -> Verdict:
    """Return the verdict on training steps with the learner's options, such as clipping and noise.

    Schedules, clipping by norm and decay in proportion to the weights multiply vectors by scalars, so they
    keep rotation invariance. Gaussian noise favours no direction. But some rules are invariant only as long
    as all entries of a gradient have the same size. With Gaussian noise on gradients, the entries have
    different sizes, so such rules lose their invariance.

    Source: theory/symmetry#habits.
    """
    by_entry = []
    if learner.clip is not None and learner.clip.value is not None:
        by_entry.append("clipping by value cuts each gradient entry separately")
    if learner.decay is not None and learner.decay.p == "1":
        by_entry.append("weight decay with p = 1 shrinks each weight separately")
    noisy = learner.noise is not None and learner.noise.on == "gradient"
    if noisy and steps.invariant == "on this data":
        by_entry.append("noise gives the entries of a gradient different sizes")
    if steps.invariant is False or not by_entry:
        return steps._replace(otherwise=steps.otherwise & SIGNED_PERMUTATIONS) if by_entry else steps
    reason = f"{', and '.join(by_entry)}, so steps depend on the coordinate axes"
    return Verdict(False, reason, SIGNED_PERMUTATIONS)


def linear_in_labels(learner: Learner, setup: Setup) -> Finding:
    """Return whether every prediction is a₀ + Σ_j a_j y_j, with coefficients that do not depend on labels.

    The coefficients may depend on the instances and on random numbers of the learner. Predictions have this
    form for least squares, ridge regression and kernels. They also have it for gradient descent on square
    loss of one linear neuron, if neither its rates nor its end depend on labels. Source:
    theory/hadamard#random-signs.
    """
    name = learner.name
    if setup.protocol.schedule().clips_at is not None:
        return Finding(False, f"the predictions of {name} are clipped, and not linear in the labels")
    if isinstance(form := learner.form, Fitted):
        if form.solver.structure().linear_in_labels:
            return Finding(True, f"the predictions of {name} are linear in the labels seen")
        return Finding(False, f"the predictions of {name} are not known to be linear in the labels seen")
    if isinstance(form, AtStart):
        return Finding(True, f"{name} is not trained, and its predictions depend on no label")
    if reason := _reason_for_nonlinearity(learner, setup):
        return Finding(False, f"it requires predictions that are linear in the labels, and {reason}")
    return Finding(True, f"{name} is one linear neuron, and its steps are linear in the labels seen")


def _reason_for_nonlinearity(learner: Learner, setup: Setup) -> str | None:
    """Return why a trained learner predicts nonlinearly in the labels; None if it predicts linearly."""
    name, (architecture, update) = learner.name, learner.trained
    if setup.protocol.schedule().of_logarithm:
        return f"{name} descends on the logarithm of the loss, whose gradient is not linear in the labels"
    if architecture.structure_at(setup.d).linear_layers != 1:
        return f"{name} is not a single linear neuron but {architecture.kind}"
    if update.response(1) is None:
        return f"the steps of {update.kind} are not linear in the gradients of {name}"
    if not setup.loss.is_square:
        return f"the gradients of {name} come from {setup.protocol.loss} loss"
    if learner.schedule is not None and learner.schedule.of_loss:
        return f"the rates of {name} depend on its losses"
    if learner.clip is not None:
        return f"the gradients of {name} are clipped"
    if learner.decay is not None and learner.decay.p == "1":
        return f"the weight decay of {name} depends only on the signs of weights"
    if learner.rate_choice in (None, BEST):
        return f"the rate of {name} is chosen by the losses"
    if not setup.protocol.schedule().stops_blindly:
        return f"the losses decide when the training of {name} stops"
    return None
