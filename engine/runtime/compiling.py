"""What is compiled for a run, by a process of its own."""

from __future__ import annotations

import json

from engine.planning.run_plan import LearnerPlan, RunPlan

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
