"""Backend for rules with multiplicative steps, by compiled loops over the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from engine.backends import Backend, Needs, weight_vectors, why_no_single_pass
from engine.backends.passes import code_of
from engine.core import device as devices
from engine.core.memory import Sizes
from engine.measures import Measure
from engine.training.descent import TrainingInputs
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

LOADING = 0.4
"""CPU seconds that a process needs, once, to load numba and the compiled loop."""

STEP, ALONE, AMONG = 1e-4, 6e-9, 2.4e-9
"""CPU seconds that the backend saves per step, and per weight change with one vector or with many.

Measured for 2⁷ to 2²⁰ features and 1 to 1024 weight vectors. A step saves 0.1 to 0.2 ms. A weight change
saves 5.8 to 7 ns for single long vectors, and 2.3 to 4.7 ns for eight or more vectors.
"""

LEARNING, STARTING = 5, 6
"""Numbers stored per weight of a vector in training, and of a start that all targets share.

The first number counts both halves a and b of w = a − b, two copies of w, and labels.
"""

SAMPLE = 64
"""Number of features in the small run that compiles the code."""


class Compiled(Backend):
    """Backend for rules that multiply weights by factors, in one pass over rows of a Sylvester matrix.

    The rows have entries ±1. The backend requires labels xᵀw*, square loss and one example per step.
    """

    place: ClassVar[int] = 10
    words: ClassVar[str] = "computed by a compiled loop that multiplies every weight by one of two factors"
    needs: ClassVar[Needs] = Needs(predictions=False, new_tensors=False)

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        update, architecture = learner.update, learner.architecture
        if update is None or architecture is None or update.multiplicative_step(architecture) is None:
            return "the rule's step does not multiply every weight by one of two factors"
        problem, protocol = experiment.problem, experiment.protocol
        matrix, structure = problem.matrix, problem.matrix.structure()
        if not (structure.is_sylvester and structure.entries_are_signs):
            return (
                f"with these settings, the instances of {matrix.kind} are not ±1 rows of a Sylvester matrix"
            )
        linear = problem.target_structure.linear
        if not linear or problem.labels != "soft" or problem.noise > 0:
            return "labels are not linear in the instances"
        if not experiment.loss.is_square or protocol.schedule().clips_at is not None:
            return "this backend requires square loss and predictions that are not clipped"
        if reason := why_no_single_pass(experiment):
            return reason
        if devices.resolve(experiment.run.device) != "cpu":
            return "this backend runs only on the CPU"
        return super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.parameters or needs.rows_seen or needs.under)

    def bytes_held(self, sizes: Sizes) -> int:
        starts = sizes.batch // sizes.targets
        return (sizes.batch * LEARNING + starts * STARTING) * sizes.d * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        n, d = experiment.n, experiment.d
        steps = experiment.protocol.extent(n).records - 1
        vectors = weight_vectors(learner, experiment)
        change = ALONE if vectors == 1 else AMONG
        return steps * (STEP + vectors * d * change) >= LOADING

    def code(self, learner: Learner, experiment: Experiment) -> CompiledCode | None:
        return code_of(learner, experiment.dtype)

    def sample(self, learner: Learner) -> dict[str, object]:
        return {
            "problem": {"matrix": {"kind": "hadamard", "d": SAMPLE}, "target": {"kind": "feature"}},
            "protocol": {"kind": "one-pass"},
            "learners": [msgspec.to_builtins(learner)],
        }

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        from engine.backends.passes.compiled_pass import CompiledLearner  # it imports numba

        return experiment.protocol.training_run(inputs, CompiledLearner)


BACKEND = Compiled()
