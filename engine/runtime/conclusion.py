"""Summary of a finished run for lists of runs: its headline, its claims and a small chart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from engine.claims import Outcome
from engine.core.parts import BadInput
from engine.results import report
from engine.results.headlines import headline
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.store import Store
from engine.spec.experiment import drawn, of_run

WIDTH = 24
"""Number of values in a small chart."""


def conclude(store: Store, run: str, finished: Results, outcomes: Sequence[Outcome]) -> None:
    """Store the summary of a finished run. If that fails, the run itself stays stored."""
    with suppress(BadInput):
        if (stored := store.run(run)) is not None:
            store.mark(stored, **_headline_and_chart(finished, outcomes))


def _headline_and_chart(finished: Results, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    experiment = finished.sweep.experiment
    picture = next(iter(drawn(experiment)), None) or of_run(experiment)
    shown = view(picture, finished)
    heights: list[float | None] = []
    curve = next((curve for curve in shown.curves if len(curve.x)), None)
    if curve is not None:
        places = np.linspace(0, len(curve.x) - 1, min(WIDTH, len(curve.x))).round().astype(int)
        heights = [report.number(float(y)) for y in curve.y[places]]
    return {
        "headline": headline(shown, experiment, outcomes, finished),
        "chart": heights,
        "claims": [report.claim(outcome) for outcome in outcomes],
    }
