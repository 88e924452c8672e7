"""Backend on the full data matrix. It runs every learner, step by step as the protocol says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from engine.backends import Backend, Needs
from engine.problems.instances import DenseInstances
from engine.training.descent import TrainingInputs
from engine.training.training_run import TrainingRun, coupled

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment


class OnMatrix(Backend):
    """Backend for every learner, on the matrix of its instances, without shortcuts."""

    needs: ClassVar[Needs] = Needs(matrix=True)

    def refuses(self, learner: Learner, experiment: Experiment) -> None:
        return None

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        if not isinstance(inputs.data.instances, DenseInstances):
            inputs = replace(inputs, data=inputs.data.dense())
        return coupled(inputs, experiment.protocol.training_run)


BACKEND = OnMatrix()
