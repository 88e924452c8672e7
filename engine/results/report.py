"""The result of a run as JSON, schema 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from engine.claims import Outcome
from engine.results.caption import caption
from engine.results.outcomes import divided, judge
from engine.results.results import of_one
from engine.results.spectrum import Spectrum, spectrum_of
from engine.results.trace import Curve, Floats, TheoryLine, Trace
from engine.results.views import view
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run

MEASURES = ("error", "train", "unseen")
"""They are null where they were not measured; others are there only where they were."""

Series = Callable[[Floats], Any]


def report(experiment: Experiment, trace: Trace) -> dict[str, Any]:
    """Experiment, environment, curves, lines of theory, claims and a caption; null for what is not finite.

    `x` is what the `clock` says; `k` has the same numbers, whichever clock that is.
    """
    return _report(experiment, trace, numbers)


def encode(experiment: Experiment, trace: Trace) -> bytes:
    """The report as one line of JSON text.

    Series become text one by one: as objects a million numbers would take five times as much.
    """
    text = msgspec.json.encode(_report(experiment, trace, _text))
    return text + b"\n"


def _report(experiment: Experiment, trace: Trace, series: Series) -> dict[str, Any]:
    """The report, with `series` for arrays of numbers."""
    results, picture = of_one(experiment, trace), of_run(experiment)
    outcomes, bounds = judge(results), bounds_of(trace)
    return {
        "schema": 1,
        "experiment": msgspec.to_builtins(experiment),
        "environment": trace.environment,
        "clock": next(iter(trace.planned)),
        "curves": [_curve(curve, series) for curve in trace.curves],
        "bounds": [_bound(bound, series) for bound in bounds],
        "theory": [_line(line, trace, series) for line in trace.lines if line not in bounds],
        "claims": [claim(outcome) for outcome in outcomes],
        "summary": caption(view(picture, results), *divided(picture, experiment, outcomes)),
    }


def bounds_of(trace: Trace) -> list[TheoryLine]:
    """What theory says of the loss of all learners alike, whether it holds here or not."""
    return [line for line in trace.lines_of("loss") if not line.per_learner]


def claim(outcome: Outcome) -> dict[str, Any]:
    """A claim and its outcome."""
    return {
        "text": outcome.claim.text,
        "holds": outcome.holds,
        "measured": number(outcome.measured),
        "stderr": number(outcome.stderr),
        "detail": outcome.detail,
    }


def what_ran(curve: Curve, series: Series) -> dict[str, Any]:
    """What was run for a curve, and what became of it; `path` is the name of the backend."""
    return {
        "learner": curve.learner,
        "rate": number(curve.rate),
        "best": curve.best,
        "grid": [{"rate": rate, "mean_loss": number(mean)} for rate, mean in curve.grid.items()],
        "diverged_at": number(curve.diverged_at),
        "replicas_diverged_at": series(curve.divergences) if curve.diverged else None,
        "path": curve.backend,
        "verdict": {"invariant": curve.verdict.invariant, "reason": curve.verdict.reason},
    }


def theorem(line: TheoryLine) -> dict[str, Any]:
    """What a line says, and why it holds and binds each learner, or not."""
    return {
        "measure": line.measure,
        "reasons": {
            "problem": line.on_problem.reason,
            **{name: finding.reason for name, finding in line.on_learners.items()},
        },
        "formula": line.formula,
        "source": line.source,
    }


def _curve(curve: Curve, series: Series) -> dict[str, Any]:
    loss, spectrum = curve.mean("loss"), spectrum_of(curve)
    return {
        **what_ran(curve, series),
        **_along(curve.x, series),
        "loss": series(np.empty(0) if loss is None else loss),
        **{measure: _maybe(curve.mean(measure), series) for measure in _listed(curve)},
        "stderr": _maybe(_stderr(curve), series),
        "spectrum": None if spectrum is None else _spectrum(spectrum, series),
    }


def _stderr(curve: Curve) -> Floats | None:
    """The standard error of the loss, of no records too; None for a single replica."""
    stderr = curve.stderr_of("loss")
    return np.empty(0) if stderr is None and curve.replicas > 1 else stderr


def _along(x: Floats, series: Series) -> dict[str, Any]:
    places = series(x)
    return {"x": places, "k": places}


def _listed(curve: Curve) -> list[str]:
    """The measures beside the loss, and the rank, which is with the spectrum."""
    names = dict.fromkeys((*MEASURES, *curve.measures))
    return [name for name in names if name not in ("loss", "rank")]


def _maybe(values: Floats | None, series: Series) -> Any:
    return None if values is None else series(values)


def _spectrum(spectrum: Spectrum, series: Series) -> dict[str, Any]:
    return {
        **_along(spectrum.x, series),
        "rank": spectrum.rank.tolist(),
        "values": [series(values) for values in spectrum.values],
    }


def _bound(bound: TheoryLine, series: Series) -> dict[str, Any]:
    return {
        "id": bound.kind,
        "kind": bound.direction,
        **_along(bound.x, series),
        "loss": series(bound.values),
        "applies_to": bound.applies_to,
        **theorem(bound),
    }


def _line(line: TheoryLine, trace: Trace, series: Series) -> dict[str, Any]:
    """A line on another measure than the loss, or with values of its own for every curve."""
    return {
        "id": line.name or line.kind,
        "kind": line.direction,
        "x": series(line.x),
        **{index: series(places) for index, places in line.indices.items()},
        "values": series(line.values),
        "of_curves": {
            name: {
                "x": series(next(iter(along.clocks.values()))),
                **{index: series(places) for index, places in along.indices.items()},
                "values": series(along.values.mean(0)),
            }
            for name, along in line.of(trace.curves).items()
        },
        "applies_to": line.applies_to,
        **theorem(line),
    }


def number(value: float | None) -> float | int | None:
    """A number for JSON: null for what is not finite, a whole one as such."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def numbers(values: Floats) -> list[Any]:
    """Numbers for JSON, each as `number` has it, in lists as the array has dimensions."""
    found = values.astype(object)
    finite = np.isfinite(values)
    whole = finite & (np.trunc(values) == values) & (np.abs(values) < 2**53)
    found[whole] = values[whole].astype(np.int64)
    found[~finite] = None
    numbers: list[Any] = found.tolist()
    return numbers


def _text(values: Floats) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(numbers(values)))
