"""The result of a run as JSON, schema 1."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from engine.claims import judge
from engine.experiment import Experiment
from engine.trace import BoundCurve, Curve, Floats, Spectrum, Trace


def report(experiment: Experiment, trace: Trace) -> dict[str, Any]:
    """Experiment, environment, curves, bounds and claims; numbers that are not finite become null."""
    return {
        "schema": 1,
        "experiment": msgspec.to_builtins(experiment),
        "environment": trace.environment,
        "curves": [_curve(curve) for curve in trace.curves],
        "bounds": [_bound(bound) for bound in trace.bounds],
        "claims": [
            {
                "text": outcome.claim.text,
                "holds": outcome.holds,
                "measured": _number(outcome.measured),
                "detail": outcome.detail,
            }
            for outcome in judge(experiment, trace)
        ],
    }


def encode(experiment: Experiment, trace: Trace) -> bytes:
    """The report as one line of JSON text."""
    return msgspec.json.encode(report(experiment, trace)) + b"\n"


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "learner": curve.learner,
        "rate": _number(curve.rate),
        "best": curve.best,
        "grid": [{"rate": rate, "mean_loss": _number(mean)} for rate, mean in curve.grid.items()],
        "k": _numbers(curve.x),
        "loss": _numbers(curve.loss),
        "error": None if curve.error is None else _numbers(curve.error),
        "train": None if curve.train is None else _numbers(curve.train),
        "unseen": None if curve.unseen is None else _numbers(curve.unseen),
        "stderr": None if curve.stderr is None else _numbers(curve.stderr),
        "spectrum": None if curve.spectrum is None else _spectrum(curve.spectrum),
        "diverged_at": _number(curve.diverged_at),
        "path": curve.path,
        "verdict": curve.verdict._asdict(),
    }


def _spectrum(spectrum: Spectrum) -> dict[str, Any]:
    return {
        "k": _numbers(spectrum.x),
        "rank": spectrum.rank.tolist(),
        "values": [_numbers(values) for values in spectrum.values],
    }


def _bound(bound: BoundCurve) -> dict[str, Any]:
    return {
        "id": bound.kind,
        "kind": bound.sense,
        "k": _numbers(bound.x),
        "loss": _numbers(bound.loss),
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


def _numbers(values: Floats) -> list[float | int | None]:
    return [_number(value) for value in values.tolist()]
