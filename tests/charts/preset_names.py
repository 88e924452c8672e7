"""Names that the charts of presets show, without running the presets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from view_fields import curve_view

from engine.pictures.picture import Picture
from engine.pictures.summaries import summaries_agree
from engine.pictures.view import CurveView, LineView, View
from engine.planning.run_plan import plan_run
from engine.results.results import Results
from engine.results.views import view
from engine.spec import documents, presets
from engine.spec.experiment import drawn
from engine.spec.sweep import Sweep
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import view_series
from hadamard_tui.charts.series import Series

NOTHING = np.empty(0)


@cache
def sweep_of(preset: str) -> Sweep:
    """Sweep of a shipped preset. Reading all presets takes long, so each process reads them once."""
    return documents.sweep_of(presets.document(preset))


def series_of(preset: str) -> Iterator[list[Series]]:
    """Named series of every chart of a preset, without points."""
    sweep = sweep_of(preset)
    for picture in drawn(sweep.experiment):
        if picture.y is None:
            yield [series for series in view_series(Look(_named(sweep, picture))) if series.name]


def _named(sweep: Sweep, picture: Picture) -> View:
    """View with empty versions of all its future curves, and of all theory lines that may appear."""
    named_view = view(picture, Results(sweep))
    curves: dict[str, CurveView] = {}
    lines: dict[str, LineView] = {}
    for point in (point for point in sweep.points if point.is_in(picture)):
        run_plan, apart = plan_run(point.experiment), sweep.apart(picture, point)
        for learner in run_plan.learners:
            for curve in learner.rates_by_curve:
                name = sweep.name(curve, picture, apart)
                curves.setdefault(name, _curve(name, len(curves), learner.learner.name, apart))
        for planned in run_plan.lines:
            line = planned.line
            asked = picture.lines is None or line.kind in picture.lines
            if not asked or line.measure != picture.measure.name or not planned.on_problem.holds:
                continue
            if not summaries_agree(line.structure().summary, picture.summary):
                continue
            bound = [learner.name for learner in point.experiment.learners if planned.binds(learner)]
            for learner_of_line in bound if line.structure().per_learner else [""]:
                named = line.name or line.kind
                name = sweep.name(
                    f"{named} of {learner_of_line}" if learner_of_line else named, picture, apart
                )
                lines.setdefault(
                    name,
                    LineView(
                        name=name, title=line.called, values=sweep.name("", picture, apart), kind=line.kind,
                        apart=apart, curve=learner_of_line, direction=line.structure().direction,
                        formula="", applies_to=(), x=NOTHING, y=NOTHING,
                    ),
                )  # fmt: skip
    named_view.curves.extend(curves.values())
    named_view.lines.extend(lines.values())
    return named_view


def _curve(name: str, number: int, learner: str, apart: tuple[int, ...]) -> CurveView:
    return curve_view(
        name=name, number=number, learner=learner, apart=apart, x=NOTHING, y=NOTHING, stderr=None, replicas=1,
        over=lambda replicas: NOTHING, diverged=0, diverged_at=None, complete=True,
    )  # fmt: skip
