"""Claims of a preset, judged by the curves that a run measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.results.trace import Curve, Trace
from engine.spec.claim import Claim
from engine.spec.experiment import Experiment

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""What arithmetic alone may move a loss, relative to the initial loss; allowed where no `within` is given."""


OPPOSITE = {"<": "≥", ">": "≤", "=": "≠"}


class Outcome(NamedTuple):
    """Whether a claim holds, and the measurement that says so."""

    claim: Claim
    holds: bool
    measured: float | None
    detail: str


def judge(experiment: Experiment, trace: Trace) -> list[Outcome]:
    """The outcome of every claim of an experiment."""
    rounding = ROUNDING[experiment.run.dtype]
    return [_judge(claim, trace, rounding) for claim in experiment.claims]


def expected_to_diverge(experiment: Experiment) -> set[str]:
    """The learners of which a claim says that they diverge."""
    return {claim.learner for claim in experiment.claims if claim.diverges}


def unexpected_divergence(experiment: Experiment, trace: Trace) -> list[str]:
    """The learners that diverged although no claim says that they do."""
    expected = expected_to_diverge(experiment)
    return [
        curve.learner
        for curve in trace.curves
        if curve.diverged_at is not None and curve.best and curve.learner not in expected
    ]


def divergence(curve: Curve) -> str:
    """Where a curve diverged, or the first of how many of its replicas; nothing where none did."""
    if curve.diverged_at is None:
        return ""
    if curve.replicas == 1:
        return f"it diverged at k = {curve.diverged_at:g}"
    return f"{curve.diverged} of {curve.replicas} replicas diverged, the first at k = {curve.diverged_at:g}"


def _judge(claim: Claim, trace: Trace, rounding: float) -> Outcome:
    curve = trace.curve(claim.learner)
    if claim.diverges:
        holds = curve.diverged == curve.replicas
        return Outcome(claim, holds, curve.diverged_at, divergence(curve) or "it did not")
    if claim.same_as is not None:
        return _alike(claim, curve, trace.curve(claim.same_as))
    if claim.never_below or claim.never_above or claim.follows:
        return _along(claim, trace, curve, rounding)
    assert claim.k is not None, "Claim admits no other combination"
    if curve.diverged_at is not None and curve.diverged_at <= claim.k:
        return Outcome(claim, False, None, divergence(curve))
    measured = curve.at(claim.measure, claim.k)
    if measured is None:
        return Outcome(claim, False, None, f"there is no {claim.measure} recorded at k = {claim.k}")

    def outcome(holds: bool, sign: str, other: str) -> Outcome:
        detail = f"{measured:.6g} {sign if holds else OPPOSITE[sign]} {other}"
        return Outcome(claim, holds, measured, detail)

    if claim.below is not None:
        return outcome(measured < claim.below, "<", f"{claim.below:g}")
    if claim.above is not None:
        return outcome(measured > claim.above, ">", f"{claim.above:g}")
    if claim.rank is not None:
        return outcome(measured == claim.rank, "=", f"{claim.rank}")
    expected = claim.error if claim.loss is None else claim.loss
    assert expected is not None, "Claim admits no other combination"
    tolerance = claim.within or 0.0
    if claim.standard_errors is not None and curve.stderr is not None:
        tolerance += claim.standard_errors * float(curve.stderr[curve.x == claim.k][0])
    return outcome(abs(measured - expected) <= tolerance, "=", f"{expected:g} ± {tolerance:.2g}")


def _along(claim: Claim, trace: Trace, curve: Curve, rounding: float) -> Outcome:
    """A claim over the whole curve: at every record the gap to the bound stays within the tolerance.

    Records from the first divergence of a replica on are no part of it: there are means of the others only.
    """
    kind = claim.never_below or claim.never_above or claim.follows
    bound = next(bound for bound in trace.lines if bound.kind == kind)
    if not bound.on_problem.holds:
        return Outcome(claim, False, None, f"{kind} does not apply: {bound.on_problem.reason}")
    sound = curve.sound
    x, loss = curve.x[:sound], curve.loss[:sound]
    if not sound:
        return Outcome(claim, False, None, "the curve has no records")
    gap = loss - np.interp(x, bound.x, bound.values)
    error = np.zeros_like(gap) if curve.stderr is None else curve.stderr[:sound]
    within = rounding * loss[0] if claim.within is None else claim.within
    tolerance = within + (claim.standard_errors or 0.0) * error
    worst = -gap if claim.never_below else gap if claim.never_above else np.abs(gap)
    at = int(np.argmax(worst - tolerance))
    holds = bool(worst[at] <= tolerance[at])
    whole = sound == curve.capacity or bool(bound.x[-1] <= x[-1])
    detail = f"loss − {kind} = {gap[at]:.2g} at k = {x[at]:g}, where ± {tolerance[at]:.2g} is allowed"
    if not whole:
        detail += f"; the curve ends at k = {x[-1]:g}" if not curve.diverged else f"; {divergence(curve)}"
    return Outcome(claim, holds and whole, float(gap[at]), detail)


def _alike(claim: Claim, curve: Curve, other: Curve) -> Outcome:
    """A claim that two curves are the same: both are complete, and at every record their gap is allowed."""
    assert claim.within is not None, "Claim admits no other combination"
    for one in (curve, other):
        if one.sound < one.capacity:
            ends = f"the curve of {one.name} ends after {one.sound} records"
            return Outcome(claim, False, None, ends if not one.diverged else f"{one.name}: {divergence(one)}")
    gap = curve.loss - np.interp(curve.x, other.x, other.loss)
    at = int(np.argmax(np.abs(gap)))
    measured, holds = float(gap[at]), bool(abs(gap[at]) <= claim.within)
    where = f"at k = {curve.x[at]:g}, where ± {claim.within:.2g} is allowed"
    return Outcome(claim, holds, measured, f"loss − that of {other.name} = {measured:.2g} {where}")
