"""What expensive measures of a set-up cost, in words, for before a run."""

from __future__ import annotations

from engine.core.texts import listed
from engine.spec.experiment import Experiment


def costs(experiment: Experiment) -> list[str]:
    """A sentence for every cost of measures that pictures, claims or the set-up name, with these."""
    named = [picture.measure for picture in experiment.pictures]
    named += [claim.measure for claim in experiment.claims if claim.measure is not None]
    by_cost: dict[str, dict[str, None]] = {}
    for measure in (*named, *experiment.run.measures):
        if measure.expensive:
            by_cost.setdefault(measure.expensive, {})[measure.kind] = None
    return [f"Expensive: {listed(list(kinds))} ({cost})." for cost, kinds in by_cost.items()]
