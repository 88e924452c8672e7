"""Warnings about expensive parts of a set-up, to show before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.core.texts import listed

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment

SECONDS = 1e10
"""Number of multiplications above which a run takes several seconds."""


def costs(experiment: Experiment) -> list[str]:
    """Return warnings about expensive measures and solvers.

    Measures that are expensive for the same reason share a warning.
    """
    named = [picture.measure for picture in experiment.pictures]
    named += [claim.measure for claim in experiment.claims if claim.measure is not None]
    by_cost: dict[str, dict[str, None]] = {}
    for measure in (*named, *experiment.run.measures):
        if cost := measure.schedule().expensive:
            by_cost.setdefault(cost, {})[measure.kind] = None
    measures = [
        f"Expensive: {listed(list(kinds))}. Each value needs {cost}." for cost, kinds in by_cost.items()
    ]
    return [*measures, *_warnings_of_refits(experiment)]


def _warnings_of_refits(experiment: Experiment) -> list[str]:
    """Return a warning for each learner whose fits after each example take seconds in total."""
    from engine.planning.run_plan import sizes_of

    warnings = []
    for learner in experiment.learners:
        if learner.solver is None:
            continue
        sizes = sizes_of(learner, experiment)
        count = learner.solver.operations(sizes)
        if count >= SECONDS:
            often = f"fitted again after each of {sizes.examples} examples"
            warnings.append(f"Expensive: {learner.name} ({often}: about {count:.1e} multiplications).")
    return warnings
