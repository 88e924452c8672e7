"""Backend that computes with the full data matrix. It can run every learner, step by step."""

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
    """Backend that stores the instances as a full matrix. It can run every learner, without shortcuts."""

    needs: ClassVar[Needs] = Needs(matrix=True)

    def refuses(self, learner: Learner, experiment: Experiment) -> None:
        return None

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        if not isinstance(inputs.data.instances, DenseInstances):
            inputs = replace(inputs, data=inputs.data.dense())
        return coupled(inputs, experiment.protocol.training_run)


BACKEND = OnMatrix()
