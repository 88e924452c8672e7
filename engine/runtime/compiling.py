"""What is compiled for a run, by a process of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engine.backends import awaited_backend

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

MODULE = "engine.runtime.small_run"
"""The program of that process."""


def compile_meanwhile(learner: Learner, experiment: Experiment) -> None:
    """Have another process compile what would make a learner faster, if anything would."""
    if (backend := awaited_backend(learner, experiment)) is not None:
        code = backend.code(learner, experiment)
        assert code is not None, "a backend without compiled code waits for none"
        code.make(MODULE, json.dumps(backend.sample(learner, experiment)))


def compile_first(experiment: Experiment) -> None:
    """Wait until all that makes the learners of an experiment faster is compiled, as far as it can be."""
    for learner in experiment.learners:
        compile_meanwhile(learner, experiment)
        if (backend := awaited_backend(learner, experiment)) and (code := backend.code(learner, experiment)):
            code.wait()
