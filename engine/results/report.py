"""Encodes the results of a sweep as JSON, in version 2 of the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.claims import Outcome
from engine.core.parts import BadInput, Verdict
from engine.measures.spectrum import SingularValues
from engine.pictures.picture import Picture
from engine.pictures.view import WHY_INACCURATE, CurveView, HeatView, LineView, View
from engine.results.headlines import headline
from engine.results.results import Results, of_one
from engine.results.trace import Curve, Floats, TheoryLine, Trace
from engine.results.views import view
from engine.spec.experiment import Experiment, drawn, of_run


class Spectrum(NamedTuple):
    """Singular values of the first replica's weight matrix during training.

    The weight matrix has one row for every target. Singular values that rounding errors alone can produce are
    set to 0.
    """

    x: Floats
    """Positions of the measurements on the x-axis [S]."""

    values: Floats
    """Singular values [S, r] at each of S measurements, the largest first."""

    @property
    def rank(self) -> NDArray[np.int64]:
        """Number of nonzero singular values at each measurement [S]."""
        return np.asarray(np.count_nonzero(self.values, axis=1))


def picture_of_spectra(experiment: Experiment) -> Picture:
    """Return a heat map of a run's singular values, by clock (x) and index of the singular value (y)."""
    return structs.replace(of_run(experiment, SingularValues().name, SingularValues.label), y="j")


def spectra(shown: View) -> dict[str, Spectrum]:
    """Return the spectrum of every learner, by learner name, from a view of `picture_of_spectra`."""
    return {heat.learner: Spectrum(heat.x, heat.z.T) for heat in shown.heats}


MOST_BY_REPLICA = 4_000_000
"""Largest number of values of single replicas in a report. So many values take about 80 MB of text."""


def encode(
    document: Mapping[str, Any], results: Results, outcomes: Sequence[Outcome], by_replica: bool = False
) -> bytes:
    """Return the results of a sweep as one line of JSON.

    The JSON contains the experiment twice: as given, and with all defaults filled in. It also contains the
    data files, the runs, the pictures and the outcomes of the claims. If the experiment has no pictures, the
    JSON has one picture for each measured number, against the clock. At each sweep point, `skipped` lists the
    learners that were not run there. The results of these learners at other points already determine what the
    pictures show. Numbers that are not finite become null.

    Args:
        document: experiment as the user gave it.
        by_replica: whether to add the values of every replica to the curves.

    Raises: BadInput for more than MOST_BY_REPLICA values of single replicas.
    """
    return msgspec.json.encode(_report_of_results(document, results, outcomes, by_replica)) + b"\n"


def _report_of_results(
    document: Mapping[str, Any], results: Results, outcomes: Sequence[Outcome], by_replica: bool
) -> dict[str, Any]:
    sweep = results.sweep
    views = [view(picture, results) for picture in _reported_pictures(results)]
    if by_replica:
        _check_count_of_values(views)
    traces = reversed(list(results.traces.values()))  # the first sweep point comes last and wins
    sources = {line.kind: line for trace in traces for line in trace.lines}
    return {
        "schema": 2,
        "experiment": {"given": document, "resolved": msgspec.to_builtins(sweep.experiment)},
        "environment": next((trace.environment for trace in results.traces.values()), {}),
        "data": [report.as_json() for report in sweep.data_reports],
        "axes": [{"name": axis.name, "values": axis.grid, "log": axis.log} for axis in sweep.axes],
        "points": [
            {
                "names": dict(point.names),
                "label": point.label,
                "finished": place in results.finished,
                "skipped": sorted(results.skipped.get(place, ())),
                "runs": _learner_runs(point.experiment, results.traces.get(place)),
            }
            for place, point in enumerate(sweep.points)
        ],
        "pictures": [
            _picture_as_json(
                shown_view, headline(shown_view, sweep.experiment, outcomes, results), sources, by_replica
            )
            for shown_view in views
        ],
        "claims": [claim(outcome) for outcome in outcomes],
    }


def _check_count_of_values(views: Sequence[View]) -> None:
    count = sum(curve.replicas * len(curve.x) for shown_view in views for curve in shown_view.curves)
    if count > MOST_BY_REPLICA:
        reason = f"all replicas together have {count} values, and the limit is {MOST_BY_REPLICA}"
        raise BadInput("--by-replica", f"{reason}; take fewer replicas, evaluation points or pictures")


def _reported_pictures(results: Results) -> Sequence[Picture]:
    experiment = results.sweep.experiment
    if pictures := drawn(experiment):
        return pictures
    template = msgspec.structs.replace(of_run(experiment), title="")
    traces = results.traces.values()
    by_name = {measure.name: measure for trace in traces for measure in trace.measures if measure.is_number}
    beside = (
        msgspec.structs.replace(template, measure=measure)
        for measure_name, measure in by_name.items()
        if measure_name != "loss"
    )
    return of_run(experiment), *beside


def _picture_as_json(
    shown: View, summary: str, sources: Mapping[str, TheoryLine], by_replica: bool
) -> dict[str, Any]:
    picture = shown.picture
    return {
        "title": picture.title,
        "x": picture.x,
        "y": picture.y,
        "measure": picture.measure.name,
        "marks": [
            {"name": mark.name, "x": _mark_as_json(mark.x), "y": _mark_as_json(mark.y)}
            for mark in shown.axes.marks
        ],
        **({} if shown.points is None else {"points": [_encoded_numbers(point) for point in shown.points]}),
        "x_label": shown.axes.x_label,
        "y_label": shown.axes.y_label,
        "curves": [
            {**_curve_as_json(curve), **(_replicas_as_json(curve) if by_replica else {})}
            for curve in shown.curves
        ],
        "theory": [_line_as_json(line, sources[line.kind]) for line in shown.lines],
        "absent": _absent_lines(shown, sources),
        "heat_maps": [_heat_map_as_json(heat) for heat in shown.heats],
        "summary": summary,
    }


def _absent_lines(shown: View, sources: Mapping[str, TheoryLine]) -> list[dict[str, Any]]:
    """Describe the theory lines that a picture does not show.

    In each description, the field `why` is null if the field `reasons` already explains why the line does not
    apply.
    """
    kinds_drawn = {line.kind for line in shown.lines}
    return [
        {
            "kind": kind,
            "direction": line.statement.direction,
            "why": shown.absences.lines.get(kind),
            **_theorem_as_json(line),
        }
        for kind, line in sources.items()
        if line.statement.measure == shown.picture.measure.name and kind not in kinds_drawn
    ]


def _learner_runs(experiment: Experiment, trace: Trace | None) -> list[dict[str, Any]]:
    if trace is None:
        return []
    spectra_by_curve = spectra(view(picture_of_spectra(experiment), of_one(experiment, trace)))
    alone = {learner.name for learner in experiment.learners if learner.is_net_by_net}
    return [
        {
            **_learner_run_as_json(curve, spectra_by_curve.get(curve.name)),
            "net_by_net": curve.learner in alone,
        }
        for curve in trace.curves
    ]


def _learner_run_as_json(curve: Curve, spectrum: Spectrum | None) -> dict[str, Any]:
    return {
        "name": curve.name,
        "learner": curve.learner,
        "rate": number(curve.rate),
        "best": curve.best,
        "grid": [{"rate": rate, "mean_loss": number(mean)} for rate, mean in curve.grid.items()],
        "diverged_at": number(curve.diverged_at),
        "replicas_diverged_at": _encoded_numbers(curve.divergences) if curve.diverged else None,
        "lost_accuracy": WHY_INACCURATE if curve.inaccurate.any() else None,
        "path": curve.backend,
        "verdict": _verdict_as_json(curve.verdict),
        "spectrum": None if spectrum is None else _spectrum_as_json(spectrum),
    }


def _verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    return {"answer": verdict.answer, "invariant": verdict.invariant, "reason": verdict.reason}


def _spectrum_as_json(spectrum: Spectrum) -> dict[str, Any]:
    return {
        "x": _encoded_numbers(spectrum.x),
        "rank": spectrum.rank.tolist(),
        "values": [_encoded_numbers(sigmas) for sigmas in spectrum.values],
    }


def _curve_as_json(curve: CurveView) -> dict[str, Any]:
    verdict = curve.training.verdict
    return {
        "name": curve.name,
        "learner": curve.learner,
        "reference": curve.training.is_reference,
        "verdict": None if verdict is None else _verdict_as_json(verdict),
        "path": curve.training.backend,
        "rate": number(curve.training.rate),
        "replicas": curve.replicas,
        "diverged": curve.ends.diverged,
        "diverged_at": number(curve.ends.diverged_at),
        "x": _encoded_numbers(curve.x),
        "y": _encoded_numbers(curve.y),
        "stderr": None if curve.stderr is None else _encoded_numbers(curve.stderr),
    }


def _replicas_as_json(curve: CurveView) -> dict[str, Any]:
    return {"by_replica": [_encoded_numbers(curve.over([replica])) for replica in range(curve.replicas)]}


def _line_as_json(line: LineView, source: TheoryLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "title": line.called,
        "kind": line.kind,
        "direction": line.direction,
        "applies_to": list(line.applies_to),
        "x": _encoded_numbers(line.x),
        "y": _encoded_numbers(line.y),
        **_theorem_as_json(source),
    }


def _heat_map_as_json(heat: HeatView) -> dict[str, Any]:
    return {
        "learner": heat.learner,
        "x": _encoded_numbers(heat.x),
        "y": _encoded_numbers(heat.y),
        "z": [_encoded_numbers(row) for row in heat.z],
        "stderr": None if heat.stderr is None else [_encoded_numbers(row) for row in heat.stderr],
        "contours": [
            {
                "name": contour.name,
                "line": contour.kind,
                "direction": contour.direction,
                "level": contour.level,
                "values": [_encoded_numbers(row) for row in contour.values],
            }
            for contour in heat.contours
        ],
    }


def _mark_as_json(places: Sequence[float]) -> float | list[float] | None:
    """Return the position of a mark on an axis, or the positions of its points.

    Return None if the mark is parallel to the axis.
    """
    return (places[0] if len(places) == 1 else list(places)) if places else None


def _theorem_as_json(line: TheoryLine) -> dict[str, Any]:
    return {
        "measure": line.statement.measure,
        "reasons": {
            "problem": line.on_problem.reason,
            **{learner_name: finding.reason for learner_name, finding in line.on_learners.items()},
        },
        "formula": line.statement.formula,
        "source": line.statement.source,
    }


def claim(outcome: Outcome) -> dict[str, Any]:
    """Convert a claim and its outcome to JSON. `holds` is null if the claim was not judged."""
    return {
        "text": outcome.claim.text,
        "holds": outcome.holds,
        "measured": number(outcome.measured),
        "stderr": number(outcome.stderr),
        "detail": outcome.detail if outcome.holds is not None else f"{outcome.word}: {outcome.detail}",
    }


def number(value: float | None) -> float | int | None:
    """Convert a number to JSON: to an integer if it is whole, and to null if it is missing or not finite."""
    if value is None or not math.isfinite(value):
        return None
    # Above 2^53, floats are more than 1 apart. As an integer, such a number would look exact although it is
    # not.
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def numbers(values: Floats) -> list[Any]:
    """Convert an array to nested lists for JSON, with each number converted as `number` does."""
    # Vectorised version of `number`: one Python call for each of millions of values would be too slow.
    objects = values.astype(object)
    finite = np.isfinite(values)
    integers = finite & (np.trunc(values) == values) & (np.abs(values) < 2**53)
    objects[integers] = values[integers].astype(np.int64)
    objects[~finite] = None
    numbers: list[Any] = objects.tolist()
    return numbers


def _encoded_numbers(values: Floats) -> msgspec.Raw:
    """Return numbers as JSON text, which takes a fifth of the memory of a list of Python objects."""
    return msgspec.Raw(msgspec.json.encode(numbers(values)))
