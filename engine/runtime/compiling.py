"""What is compiled for a run, by a process of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engine.backends import Backend, awaited

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

MODULE = "engine.runtime.small_run"
"""The program of that process."""


def compile_meanwhile(learner: Learner, experiment: Experiment) -> tuple[Backend, CompiledCode] | None:
    """Have another process compile what makes a learner faster; which backend waits for it, if one does."""
    if (found := awaited(learner, experiment)) is not None:
        backend, code = found
        run = {"path": backend.name, "device": "cpu", "dtype": experiment.dtype}
        code.make(MODULE, json.dumps({**backend.sample(learner), "run": run}))
    return found


def compile_first(experiment: Experiment) -> None:
    """Wait until all that makes the learners of an experiment faster is compiled, as far as it can be."""
    for learner in experiment.learners:
        if (found := compile_meanwhile(learner, experiment)) is not None:
            _, code = found
            code.wait()
