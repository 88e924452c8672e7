"""Balance of gradient and gradient noise in the steady state of mini-batch descent."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas import catapult
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.measures.gradient_norm import GradientNorm
from engine.measures.row_gradients import RowGradients
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends


class FluctuationDissipation(Line, frozen=True, tag="fluctuation-dissipation"):
    """⟨θ·∇L⟩ = (η/2) ⟨E‖∇L_b‖²⟩ in the steady state, for mini-batch gradients ∇L_b and any rate η.

    θ are all parameters, L is the training loss, E is the mean over mini-batches, and ⟨·⟩ is the mean over
    time. A step changes ‖θ‖² by −2η θ·∇L_b + η²‖∇L_b‖². For mini-batches independent of the past, the mean of
    this change is −2η θ·∇L + η² E‖∇L_b‖². In a steady state, this mean is 0 on average over time. The
    relation holds for any reference point θ₀, with θ − θ₀ in place of θ. Let L_j be the loss on row j. The
    second moment of the gradients is E‖∇L_b‖² = ‖∇L‖² + v((1/n) Σ_j‖∇L_j‖² − ‖∇L‖²). For mini-batches of B
    rows drawn with replacement, v = 1/B. For B rows drawn without replacement, v = (n − B)/(B(n − 1)). The
    line is computed from values measured along the learner's run. In passes through the rows, reshuffled or
    not, mini-batches are correlated, and the relation does not hold. Source: Yai18;
    theory/noise-of-sgd#steady-state.
    """

    title: ClassVar[str] = "fluctuation-dissipation relation"
    measure: ClassVar[str] = "weights-dot-gradient"
    formula: ClassVar[str] = "(η/2)(‖∇L‖² + v((1/n) Σ_j‖∇L_j‖² − ‖∇L‖²)), v = 1/b or (n − b)/(b(n − 1))"
    source: ClassVar[str] = "Yai18"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="in the long run",
            per_learner=True,
            per_replica=True,
            along_runs=True,
            needs_k_rows=False,
        )

    def holds(self, experiment: Setup) -> Finding:
        if experiment.protocol.schedule().batches is None:
            requirement = "requires mini-batches that are drawn independently of earlier ones"
            return Finding(False, f"{requirement}, as in the protocol `steps` with `fresh` or `replacement`")
        return Finding(True, "every mini-batch is drawn independently of all earlier ones")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if (lacking := descends(learner, experiment)) is not None:
            return lacking
        name, (architecture, update) = learner.name, learner.trained
        if update.structure().stable_up_to != catapult.MONOTONE_BELOW:
            return Finding(
                False, f"the line requires gradient descent without momentum, and {name} uses {update.kind}"
            )
        if architecture.layout(experiment.d).l2_penalty or experiment.m > 1:
            return Finding(
                False,
                f"the line requires one target and no penalty, and {name} has several targets or a penalty",
            )
        return Finding(True, f"{name} takes plain steps with one rate along the gradient of mini-batches")

    def measures(self, learner: Learner, experiment: Setup) -> tuple[Measure, ...]:
        return GradientNorm(), RowGradients()

    def value(self, at: At) -> Floats:
        protocol = at.experiment.protocol
        batches = protocol.schedule().batches
        assert batches is not None, "holds() admits no other mini-batches"
        variance = batches.variance(protocol.extent(at.experiment.n).rows)
        full_square = at.measured[GradientNorm().name] ** 2
        right_side: Floats = (
            at.rate / 2 * (full_square + variance * (at.measured[RowGradients().name] - full_square))
        )
        return right_side
