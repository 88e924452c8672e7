"""Headline of a picture as it is looked at, alone or beside a pinned run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.look import Look


def headline_of_look(
    look: Look, experiment: Experiment, outcomes: Sequence[Outcome], results: Results | None = None
) -> str:
    """Return what a picture shows; beside a pinned run, the difference and how it moves the curves."""
    from engine.results.headlines import (
        comparison,  # here, as no headline is shown before a run
        headline,
        headline_of,
    )

    if look.pinned and (change := look.pinned[-1].change):
        outcome = headline_of(look.view, experiment, outcomes)
        curve = None if outcome is None else outcome.claim.curve
        if sentence := comparison(change, look.pinned[-1].view, look.view, curve):
            return sentence
    return headline(look.view, experiment, outcomes, results)
