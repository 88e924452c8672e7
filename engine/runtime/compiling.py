"""Compiles a run's code in a separate process, while the run begins on a slower backend."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from engine.planning.run_plan import LearnerPlan, RunPlan
from engine.training.recorder import Block
from engine.training.training_run import Recording

MODULE = "engine.runtime.run"
"""Module that the separate process runs to compile code."""


def compile_meanwhile(planned: LearnerPlan) -> None:
    """Start to compile the code of the learner's faster backend in another process.

    If the learner has no faster backend, do nothing.
    """
    if planned.faster is not None:
        backend, code = planned.faster
        run = {"path": backend.name, "device": "cpu", "dtype": planned.experiment.dtype}
        code.make(MODULE, json.dumps({**backend.sample(planned.learner), "run": run}))


def compile_first(plan: RunPlan) -> None:
    """Compile the code of a run's faster backends, and wait until the compilers end, even if one fails."""
    for planned_learner in plan.learners:
        compile_meanwhile(planned_learner)
        if planned_learner.faster is not None:
            _, code = planned_learner.faster
            code.wait()


class Handover:
    """Training run that begins on a slow backend, and changes to a faster one when its code is compiled.

    The faster backend starts again at the first evaluation point. Up to rounding, both backends give the same
    results.
    """

    def __init__(
        self, serving: Recording, is_ready: Callable[[], bool], begin: Callable[[], Recording]
    ) -> None:
        self._serving, self._is_ready, self._begin = serving, is_ready, begin
        self._waiting, self._records_taken, self._to_repeat = True, 0, 0

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        if self._waiting and self._is_ready():
            self._waiting, self._to_repeat = False, self._records_taken
            self._serving = self._begin()
        block = self._serving.advance(records, seconds)
        count = len(block.loss)
        repeated = min(self._to_repeat, count)
        self._to_repeat -= repeated
        self._records_taken += count - repeated
        # The faster backend cannot start in the middle, because its state is known only at the start. The
        # records that it repeats are dropped.
        return block.after(repeated) if repeated else block
