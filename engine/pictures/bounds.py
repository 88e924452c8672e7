"""Lower bounds on the curves of a view, and checks that a curve respects a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.pictures.view import FROM_BELOW, ZERO, CurveView, Floats, LineView, View

EXACTNESS = ("exact", "asymptotic", "upper", "reference")
"""Values of `LineView.direction` other than lower bounds, from the most to the least informative."""


def bounds_on(view: View, curve: CurveView) -> list[LineView]:
    """Return the lower bounds that apply to a curve's learner.

    If no bound applies, return all lower bounds that the view shows together with the curve. These bounds are
    about other learners, so the curve may fall below them.
    """
    about = [line for line in view.lines if line.direction in FROM_BELOW and line.says(curve)]
    return [line for line in about if line.binds(curve)] or about


def strongest_bound(view: View, curve: CurveView, x: float) -> LineView | None:
    """Return the highest lower bound on a curve at x, or None if no bound has a value there.

    Only the bounds that `bounds_on` returns are compared. Of bounds that are equally high at x, return the
    one with the largest mean over its x positions.
    """
    heights = [(height, line) for line in bounds_on(view, curve) if not np.isnan(height := line.at(x))]
    top = max((height for height, _ in heights), default=np.nan)
    highest = [line for height, line in heights if height == top]
    return max(highest, key=lambda line: line.mean) if len(highest) > 1 else next(iter(highest), None)


def line_for(view: View, curve: CurveView, x: float) -> LineView | None:
    """Return the theory line to compare with a curve at x, or None if no theory line has a value at x.

    The result is the strongest lower bound on the curve at x. If no lower bound has a value at x, the result
    is a line of another direction that applies to the curve's learner. Lines of this curve alone come first,
    then lines that curves share. Among these, the order is that of the directions in EXACTNESS. If several
    lines of one kind have a value at x, such as the two edges of a band, they do not count.
    """
    if (bound := strongest_bound(view, curve, x)) is not None:
        return bound
    candidates = [line for line in view.lines if line.direction in EXACTNESS and line.says(curve)]
    defined = [
        candidate for candidate in candidates if candidate.binds(curve) and not np.isnan(candidate.at(x))
    ]
    single = [line for line in defined if sum(line.kind == other.kind for other in defined) == 1]
    return min(single, key=lambda line: (not line.curve, EXACTNESS.index(line.direction)), default=None)


def bound_heights(view: View, curve: CurveView, x: Floats) -> Floats:
    """Return the values of the strongest lower bound on a curve at the positions x [N].

    The value is 0 where the curve has no bound, or where the bound is 0 up to rounding.
    """
    heights = np.zeros_like(x)
    for line in bounds_on(view, curve):
        # fmax ignores NaN, which marks places where a bound has no value; maximum would return NaN.
        np.fmax(heights, np.interp(x, line.x, line.y), out=heights)
    return np.where(heights > ZERO, heights, 0.0)


ENOUGH = 10
"""Least number of replicas from which a bound on the expectation can be judged to be broken."""

UNLIKELY = 3.2e-5
"""Probability below which a deviation counts as a broken bound.

A normal distribution deviates by more than four standard errors, in one given direction, with this
probability.
"""


class Respect(NamedTuple):
    """Result of a check whether a curve respects a bound."""

    bound: str
    """Kind of the bound."""

    called: str
    """Name of the bound in charts and captions."""

    holds: bool | None
    """Whether the curve respects the bound; None if the run is too small to decide."""

    detail: str
    """Text that gives the distance between curve and bound, or the reason why there is none."""

    exact: bool = False
    """Whether the curve equals the bound up to rounding."""

    beyond: float = 0.0
    """Largest distance by which the curve violates the bound; 0 if it respects the bound up to rounding."""

    at: float = 0.0
    """Position on the x-axis at which the distance `beyond` is reached."""

    @property
    def word(self) -> str:
        return "? not decided" if self.holds is None else "✓ respected" if self.holds else "✗ broken"


def respect(curve: CurveView, line: LineView, rounding: float) -> Respect:
    """Check whether a curve respects a bound that applies to its learner.

    Only the x positions before any replica diverges are compared. An exact theory line is checked as a lower
    bound.

    A bound on every run is broken if the curve violates it by more than `rounding` times the curve's first
    value. A bound on the expectation is judged only with ENOUGH replicas or more. Suppose that the summary
    over replicas violates the bound by t standard errors. The bound is broken if Student's distribution
    exceeds t with a probability below UNLIKELY. The result is undecided if rare values, which no replica
    happens to have, could explain the deviation of a mean; see `unseen`.
    """
    places = np.flatnonzero(curve.ends.sound & np.isfinite(curve.y))
    if not len(places):
        return Respect(line.kind, line.called, None, "the curve has no evaluation points")
    sign = -1 if line.direction == "upper" else 1
    x, y = curve.x[places], curve.y[places]
    gap = sign * (y - np.interp(x, line.x, line.y))
    rounding = rounding * abs(float(y[0]))
    until = (
        ""
        if curve.ends.diverged_at is None
        else f" (the curve {curve.ends.fate} at {curve.ends.diverged_at:g})"
    )

    def at(place: int | np.intp) -> str:
        return standing(curve, line, int(places[place]), rounding)

    outside, least = gap < -rounding, int(gap.argmin())
    if not outside.any():
        exact = bool(np.abs(gap).max() <= rounding)
        return Respect(
            line.kind, line.called, True, f"closest: {at(_closest_position(x, line, gap))}{until}", exact
        )
    broken = f"{at(least)}{until}"
    outcome = Respect(line.kind, line.called, False, broken, beyond=-float(gap[least]), at=float(x[least]))
    if not line.in_expectation:
        return outcome
    if curve.stderr is None or curve.replicas < ENOUGH:
        few = f"so a comparison needs {ENOUGH} replicas, and this run has {curve.replicas}"
        detail = f"{at(least)}{until}; the bound is on the expectation, {few}"
        return outcome._replace(holds=None, detail=detail)
    errors = np.where(outside, gap / np.maximum(curve.stderr[places], rounding), np.inf)
    worst, allowed = int(errors.argmin()), allowed_errors(curve.replicas)
    detail = f"{at(worst)}{until}; a violation by up to {allowed:.1f} standard errors is allowed"
    beyond = errors < -allowed
    if not beyond.any():
        return outcome._replace(holds=True, detail=detail)
    if curve.summary == "mean":
        by_replica = np.stack([curve.over([replica])[places] for replica in range(curve.replicas)])
        largest = float(np.nanmax(sign * (by_replica - y), initial=0.0))
        beyond &= unseen(-gap, largest, curve.replicas) < UNLIKELY
    if beyond.any():
        return outcome._replace(holds=False, detail=detail)
    rare = f"rare values, which none of these {curve.replicas} replicas has, may explain this"
    return outcome._replace(holds=None, detail=f"{detail}; {rare}")


def unseen(missing: Floats, largest: float, replicas: int) -> Floats:
    """Return the probability [N] that no replica has the rare values that would explain a broken bound.

    Student's t distribution assumes that the values of replicas are approximately normal. But rare large
    values may dominate the expectation. Most samples do not contain such values. These samples have a small
    spread, and a mean below the expectation.

    Let D = `largest` be the largest distance of any replica from the mean, toward the bound. Values at
    distance D would explain the violation if they had probability p = missing/D. With probability (1 − p)^R,
    none of R replicas has such a value.

    Args:
        missing: distance [N] by which the mean violates the bound.
    """
    missing = np.maximum(missing, 0.0)
    shares = np.divide(missing, largest, out=np.ones_like(missing), where=missing < largest)
    return np.asarray((1 - shares) ** replicas)


def allowed_errors(replicas: int) -> float:
    """Return the number of standard errors that Student's t exceeds with the probability UNLIKELY."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(replicas - 1, 1 - UNLIKELY))


def _closest_position(x: Floats, line: LineView, gap: Floats) -> int:
    """Return the index of the position at which a curve comes closest to a bound.

    Positions with x ≤ 0, or with a bound of 0, count only if there are no other positions.
    """
    matters = (x > 0) & (np.interp(x, line.x, line.y) > ZERO)
    return int(np.where(matters, gap, np.inf).argmin() if matters.any() else gap.argmin())


def standing(curve: CurveView, line: LineView, place: int, rounding: float) -> str:
    """Return how far a curve is from a bound at one position, as text.

    If the curve has standard errors, the text also gives the distance in standard errors. A distance up to
    `rounding` is shown as 0.
    """
    x = float(curve.x[place])
    gap = float(curve.y[place]) - float(np.interp(x, line.x, line.y))
    if abs(gap) <= rounding:
        return f"loss − {line.called} = 0 at {x:g}"
    text = f"loss − {line.called} = {gap:+.2g} at {x:g}"
    if curve.stderr is not None and curve.stderr[place] > rounding:
        text += f", {gap / float(curve.stderr[place]):+.1f} standard errors"
    return text
