"""Code that another process compiles for a run, and the backend that serves until it is there."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from engine.planning.run_plan import LearnerPlan, RunPlan
from engine.training.recorder import Block
from engine.training.training_run import Recording

MODULE = "engine.runtime.small_run"
"""The program of that process."""


def compile_meanwhile(planned: LearnerPlan) -> None:
    """Have another process compile the code of the faster backend of a learner, if there is one."""
    if planned.faster is not None:
        backend, code = planned.faster
        run = {"path": backend.name, "device": "cpu", "dtype": planned.experiment.dtype}
        code.make(MODULE, json.dumps({**backend.sample(planned.learner), "run": run}))


def compile_first(plan: RunPlan) -> None:
    """Wait until all that makes the learners of a run faster is compiled, as far as it can be."""
    for planned in plan.learners:
        compile_meanwhile(planned)
        if planned.faster is not None:
            _, code = planned.faster
            code.wait()


class Handover:
    """The records of one backend up to some record, and of another from there on: equal up to rounding.

    The other one goes through what has been recorded once more.
    """

    def __init__(
        self, serving: Recording, is_ready: Callable[[], bool], begin: Callable[[], Recording]
    ) -> None:
        """Until something is ready the first one serves; then another one begins."""
        self._serving, self._is_ready, self._begin = serving, is_ready, begin
        self._waiting, self._taken, self._again = True, 0, 0

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        if self._waiting and self._is_ready():
            self._waiting, self._again = False, self._taken
            self._serving = self._begin()
        block = self._serving.advance(records, seconds)
        count = len(block.loss)
        repeated = min(self._again, count)
        self._again -= repeated
        self._taken += count - repeated
        return block.after(repeated) if repeated else block
