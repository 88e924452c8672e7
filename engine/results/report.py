"""The result of a run as JSON, schema 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.trace import Curve, Floats, Spectrum, TheoryLine, Trace
from engine.spec.experiment import Experiment

MEASURES = ("error", "train", "unseen")
"""They are null where they were not measured; others are there only where they were."""

Series = Callable[[Floats], Any]


def report(experiment: Experiment, trace: Trace) -> dict[str, Any]:
    """Experiment, environment, curves, bounds and claims; numbers that are not finite become null."""
    return _report(experiment, trace, numbers)


def encode(experiment: Experiment, trace: Trace) -> bytes:
    """The report as one line of JSON text.

    Series become text one by one: as objects a million numbers would take five times as much.
    """
    text = msgspec.json.encode(_report(experiment, trace, _text))
    return text + b"\n"


def _report(experiment: Experiment, trace: Trace, series: Series) -> dict[str, Any]:
    """The report, with `series` for arrays of numbers."""
    return {
        "schema": 1,
        "experiment": msgspec.to_builtins(experiment),
        "environment": trace.environment,
        "curves": [_curve(curve, series) for curve in trace.curves],
        "bounds": [_bound(bound, series) for bound in trace.bounds],
        "claims": [
            {
                "text": outcome.claim.text,
                "holds": outcome.holds,
                "measured": _number(outcome.measured),
                "detail": outcome.detail,
            }
            for outcome in judge(of_one(experiment, trace))
        ],
    }


def _curve(curve: Curve, series: Series) -> dict[str, Any]:
    return {
        "learner": curve.learner,
        "rate": _number(curve.rate),
        "best": curve.best,
        "grid": [{"rate": rate, "mean_loss": _number(mean)} for rate, mean in curve.grid.items()],
        "k": series(curve.x),
        "loss": series(curve.loss),
        **{measure: _maybe(curve.mean(measure), series) for measure in _listed(curve)},
        "stderr": _maybe(curve.stderr, series),
        "spectrum": None if curve.spectrum is None else _spectrum(curve.spectrum, series),
        "diverged_at": _number(curve.diverged_at),
        "replicas_diverged_at": series(curve.divergences) if curve.diverged else None,
        "path": curve.backend,
        "verdict": {"invariant": curve.verdict.invariant, "reason": curve.verdict.reason},
    }


def _listed(curve: Curve) -> list[str]:
    """The measures beside the loss, and the rank, which is with the spectrum."""
    names = dict.fromkeys((*MEASURES, *curve.measures))
    return [name for name in names if name not in ("loss", "rank")]


def _maybe(values: Floats | None, series: Series) -> Any:
    return None if values is None else series(values)


def _spectrum(spectrum: Spectrum, series: Series) -> dict[str, Any]:
    return {
        "k": series(spectrum.x),
        "rank": spectrum.rank.tolist(),
        "values": [series(values) for values in spectrum.values],
    }


def _bound(bound: TheoryLine, series: Series) -> dict[str, Any]:
    return {
        "id": bound.kind,
        "kind": bound.direction,
        "k": series(bound.x),
        "loss": series(bound.values),
        "applies_to": bound.applies_to,
        "reasons": {
            "problem": bound.on_problem.reason,
            **{name: finding.reason for name, finding in bound.on_learners.items()},
        },
        "formula": bound.formula,
        "source": bound.source,
    }


def _number(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def numbers(values: Floats) -> list[float | int | None]:
    """Numbers for JSON: null for what is not finite, whole ones as such."""
    """Each as `_number` has it."""
    found = values.astype(object)
    finite = np.isfinite(values)
    whole = finite & (np.trunc(values) == values) & (np.abs(values) < 2**53)
    found[whole] = values[whole].astype(np.int64)
    found[~finite] = None
    numbers: list[float | int | None] = found.tolist()
    return numbers


def _text(values: Floats) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(numbers(values)))
