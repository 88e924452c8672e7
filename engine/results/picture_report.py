"""The pictures of an experiment as JSON, schema 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.claims import Outcome
from engine.pictures.view import CurveView, HeatView, LineView, View
from engine.results.caption import caption
from engine.results.outcomes import Divided, divided
from engine.results.report import claim, number, numbers, theorem, what_ran
from engine.results.results import Results
from engine.results.trace import TheoryLine, Trace
from engine.results.views import view
from engine.spec.pictures import pictures_of


def picture_report(
    document: Mapping[str, Any], results: Results, outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """The experiment as given and as resolved at every point, its pictures, and its claims.

    Learners that are skipped at a point are those whose reading along an axis is known without it.
    Numbers that are not finite are null.
    """
    plan = results.plan
    traces = reversed(list(results.traces.values()))  # so that the reasons are those at the first point
    sources = {line.kind: line for trace in traces for line in trace.lines}
    return {
        "schema": 2,
        "experiment": {"given": document, "resolved": msgspec.to_builtins(plan.experiment)},
        "environment": next((trace.environment for trace in results.traces.values()), {}),
        "axes": [{"name": axis.name, "values": axis.grid, "log": axis.log} for axis in plan.axes],
        "points": [
            {
                "names": dict(point.names),
                "label": point.label,
                "finished": place in results.finished,
                "skipped": sorted(results.skipped.get(place, ())),
                "runs": _runs(results.traces.get(place)),
            }
            for place, point in enumerate(plan.points)
        ],
        "pictures": [
            _picture(view(picture, results), divided(picture, plan.experiment, outcomes), sources)
            for picture in pictures_of(plan.experiment)
        ],
        "claims": [claim(outcome) for outcome in outcomes],
    }


def encode_pictures(document: Mapping[str, Any], results: Results, outcomes: Sequence[Outcome]) -> bytes:
    """The same as one line of JSON text."""
    return msgspec.json.encode(picture_report(document, results, outcomes)) + b"\n"


def _picture(found: View, outcomes: Divided, sources: Mapping[str, TheoryLine]) -> dict[str, Any]:
    picture = found.picture
    return {
        "title": picture.title,
        "x": picture.x,
        "y": picture.y,
        "measure": picture.measure.name,
        "marks": [{"name": mark.name, "x": _of_mark(mark.x), "y": _of_mark(mark.y)} for mark in found.marks],
        **({} if found.points is None else {"points": [numbers(one) for one in found.points]}),
        "x_label": found.x_label,
        "y_label": found.y_label,
        "curves": [_curve(curve) for curve in found.curves],
        "theory": [_line(line, sources[line.kind]) for line in found.lines],
        "heat_maps": [_heat(heat) for heat in found.heats],
        "summary": caption(found, outcomes.own, outcomes.others),
    }


def _runs(trace: Trace | None) -> list[dict[str, Any]]:
    """What was run at a point: every learner, at each of its rates."""
    return [] if trace is None else [{"name": one.name, **what_ran(one, numbers)} for one in trace.curves]


def _curve(curve: CurveView) -> dict[str, Any]:
    verdict = curve.verdict
    return {
        "name": curve.name,
        "learner": curve.learner,
        "reference": curve.is_reference,
        "verdict": None if verdict is None else {"invariant": verdict.invariant, "reason": verdict.reason},
        "path": curve.backend,
        "rate": number(curve.rate),
        "replicas": curve.replicas,
        "diverged": curve.diverged,
        "diverged_at": number(curve.diverged_at),
        "x": numbers(curve.x),
        "y": numbers(curve.y),
        "stderr": None if curve.stderr is None else numbers(curve.stderr),
    }


def _line(line: LineView, source: TheoryLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "kind": line.kind,
        "direction": line.direction,
        "applies_to": list(line.applies_to),
        "x": numbers(line.x),
        "y": numbers(line.y),
        **theorem(source),
    }


def _heat(heat: HeatView) -> dict[str, Any]:
    return {
        "learner": heat.learner,
        "x": numbers(heat.x),
        "y": numbers(heat.y),
        "z": [numbers(row) for row in heat.z],
        "stderr": None if heat.stderr is None else [numbers(row) for row in heat.stderr],
        "contours": [
            {
                "name": contour.name,
                "line": contour.kind,
                "direction": contour.direction,
                "level": contour.level,
                "values": [numbers(row) for row in contour.values],
            }
            for contour in heat.contours
        ],
    }


def _of_mark(places: Sequence[float]) -> float | list[float] | None:
    """Where a mark is: at one place, at several or, if a straight line goes on for ever, nowhere."""
    return (places[0] if len(places) == 1 else list(places)) if places else None
