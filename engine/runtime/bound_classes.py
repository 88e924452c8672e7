"""Which learners of an experiment lower bounds are going to bind, before anything runs."""

from __future__ import annotations

from engine.pictures.bound_class import BoundClass, bound_class
from engine.results.invariance import verdict
from engine.runtime.theory_lines import lines_about
from engine.spec.experiment import Experiment


def bound_classes(experiment: Experiment) -> dict[str, BoundClass | None]:
    """The class of every learner, by name, as its run is going to have it."""
    holding = [line for line in lines_about(experiment) if line.on_problem(experiment).holds]
    directions = [line.direction for line in holding]
    return {
        learner.name: bound_class(
            directions,
            [line.direction for line in holding if line.judged(learner, experiment).holds],
            verdict(learner, experiment),
        )
        for learner in experiment.learners
    }
