"""Which learners of an experiment lower bounds are going to bind, before anything runs."""

from __future__ import annotations

from engine.pictures.bound_class import BoundClass, bound_class
from engine.planning.run_plan import plan_run
from engine.spec.experiment import Experiment


def bound_classes(experiment: Experiment) -> dict[str, BoundClass | None]:
    """The class of every learner, by name, as its run is going to have it."""
    plan = plan_run(experiment)
    holding = [planned for planned in plan.lines if planned.on_problem.holds]
    directions = [planned.line.direction for planned in holding]
    return {
        learner.learner.name: bound_class(
            directions,
            [planned.line.direction for planned in holding if planned.binds(learner.learner)],
            learner.verdict,
        )
        for learner in plan.learners
    }
