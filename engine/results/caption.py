"""The caption of a picture: what curves and lines of theory show, in a few sentences made by rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.claims import Outcome
from engine.core.groups import ROTATIONS
from engine.core.texts import cut
from engine.protocols import CLOCKS
from engine.results.judgement import ENOUGH, allowed_errors
from engine.results.view import CurveView, HeatView, LineView, View

Floats = NDArray[np.float64]

MOST = 3
"""So many curves are named in a sentence; of more, the first and how many others there are."""

SHARE = 0.1
"""A curve that starts at y₀ > 0 has come down once it is below SHARE·y₀."""

ALIKE = 0.25
"""Curves start alike if they do so within this share of the greatest."""

FITS = 0.99
"""The share of the variance of log y that a power law has to explain to be told."""

POINTS, SPAN = 4, 4.0
"""A power law takes at least so many places, the last at least so many times the first."""

LONGEST_CLAIM = 80


def caption(view: View, outcomes: Sequence[Outcome] = (), letters: Mapping[str, str] | None = None) -> str:
    """One to a few sentences on a picture as far as it has come; nothing while it is empty.

    They say who comes down to a tenth of the start and when, how lower bounds stand to those that they bind,
    how close curves are to exact and asymptotic lines, power laws and ranges, who diverged, what is only
    conjectured, and how many of the claims hold.

    Args:
        outcomes: those of the claims of the experiment, once they are judged.
        letters: what stands before the name of a curve, by its name, as in "B (EGU)".
    """
    said = [*_Words(view, letters or {}).sentences(), *_claims(outcomes)]
    return " ".join(f"{one}." for one in said)


class _Words:
    """The sentences on one view."""

    def __init__(self, view: View, letters: Mapping[str, str]) -> None:
        self._view, self._letters = view, letters
        self._curves = [curve for curve in view.curves if np.isfinite(curve.y[curve.sound]).any()]
        self._learners = [curve for curve in self._curves if not curve.is_reference]
        self._low = self._threshold()

    def sentences(self) -> Iterator[str]:
        """The sentences, the most telling first."""
        if self._view.heats:
            yield from map(self._range_of_heat, self._view.heats)
            return
        bound = self._strongest()
        if self._low is not None:
            yield self._come_down(self._low, bound)
        if bound is not None:
            yield self._bounded(bound)
        followed = list(self._followed())
        yield from followed
        if self._low is None and bound is None and not followed:
            yield from self._shapes()
        yield from self._diverged()
        yield from self._conjectures()

    def _name(self, curve: CurveView) -> str:
        """The name of a curve with its letter; without that of its learner where there is no other."""
        letter, name = self._letters.get(curve.name), curve.name
        if all(other.learner == curve.learner for other in self._learners):
            name = name.removeprefix(f"{curve.learner}, ")
        return f"{letter} ({name})" if letter else name

    def _at(self, x: float) -> str:
        """A place on the x-axis, in words."""
        return f"{self._view.picture.x} = {_number(x)}"

    @property
    def _along_clock(self) -> bool:
        return self._view.picture.x in CLOCKS and self._view.picture.reading is None

    def _threshold(self) -> float | None:
        """A tenth of where the curves start, if they start alike above 0 and any of them comes there."""
        if not self._along_clock or not self._learners:
            return None
        starts = np.array([curve.y[0] for curve in self._learners])
        if not (np.isfinite(starts).all() and starts.min() > 0):
            return None
        if np.ptp(starts) > ALIKE * starts.max():
            return None
        low = float(f"{SHARE * starts.max():.1g}")
        return low if any(self._below(curve, low) is not None for curve in self._learners) else None

    @staticmethod
    def _below(curve: CurveView | LineView, low: float) -> float | None:
        """From where on a curve is below a height; None if it is not at its end."""
        above = np.flatnonzero(~(curve.y < low))
        first = int(above[-1]) + 1 if len(above) else 0
        return float(curve.x[first]) if first < len(curve.x) else None

    def _come_down(self, low: float, bound: LineView | None) -> str:
        """Who is below a tenth of the start, in order of time."""
        reached = [(self._below(curve, low), curve) for curve in self._learners if curve.chosen]
        there = sorted(
            ((at, self._name(curve)) for at, curve in reached if at is not None), key=lambda one: one[0]
        )
        free = there
        if bound is not None:
            bound_names = {self._name(curve) for curve in self._bound_by(bound)}
            free = [one for one in there if one[1] not in bound_names] or there
        (at, name), *others = free
        text = f"{name} is below {_number(low)} after {self._at(at)}"
        text += "".join(f", {other} after {_number(x)}" for x, other in others[: MOST - 1])
        left = len(others) - (MOST - 1)
        return f"{text} and {left} more later" if left > 0 else text

    def _bound_by(self, line: LineView) -> list[CurveView]:
        """The curves of the learners that a line binds."""
        return [
            curve
            for curve in self._learners
            if curve.learner in line.applies_to and curve.apart == line.apart and curve.chosen
        ]

    def _strongest(self) -> LineView | None:
        """The greatest of the lower bounds that bind a curve here, or of all that are drawn."""
        lower = [line for line in self._view.lines if line.direction == "lower" and len(line.y)]
        binding = [line for line in lower if self._bound_by(line)]
        return max(binding or lower, key=lambda line: float(np.nanmean(line.y)), default=None)

    def _bounded(self, line: LineView) -> str:
        """Whom a lower bound holds up, and how those here stand to it."""
        bound = self._bound_by(line)
        who = "Every rotation-invariant learner" if line.group == ROTATIONS else "Every learner that it binds"
        text = f"{who} stays above {line.formula}"
        if self._low is not None:
            at = self._below(line, self._low)
            last = f"up to {self._at(float(line.x[-1]))}" if at is None else f"before {self._at(at)}"
            text += f" and cannot be there {last}"
        if not bound:
            return f"{text}; none here is one of those"
        stands: dict[str, list[str]] = {}
        for curve in bound:
            stands.setdefault(self._standing(curve, line), []).append(self._name(curve))
        said = (f"{_listed(names)} {_plural(how, names)}" for how, names in stands.items())
        return f"{text}; {', '.join(said)}"

    def _standing(self, curve: CurveView, line: LineView) -> str:
        """How a curve stands to a lower bound that binds it."""
        there = curve.sound & np.isfinite(curve.y)
        x, y = curve.x[there], curve.y[there]
        gap = y - np.interp(x, line.x, line.y)
        rounding = self._view.rounding * abs(float(y[0]))
        if np.abs(gap).max() <= rounding:
            return "follows that line exactly"
        worst = int(gap.argmin())
        if gap[worst] >= -rounding:
            return "stays above it"
        below = f"is below it by {-gap[worst]:.1g} at {self._at(float(x[worst]))}"
        if not line.in_expectation:
            return f"{below}, against the theorem"
        if curve.stderr is None or curve.replicas < ENOUGH:
            return f"{below}, as {'a single run' if curve.replicas == 1 else 'so few runs'} may be"
        error = np.maximum(curve.stderr[there], rounding)
        if (gap >= -allowed_errors(curve.replicas) * error).all():
            return "stays above it within its error"
        return f"{below}, against the theorem"

    def _followed(self) -> Iterator[str]:
        """How close curves come to lines that theory says are theirs, exactly or in a limit."""
        for kind in ("exact", "asymptotic"):
            close = []
            for line in (one for one in self._view.lines if one.direction == kind):
                curves = [one for one in self._learners if one.name == line.curve] if line.curve else []
                close += [
                    (self._name(curve), self._distance(curve, line))
                    for curve in curves or self._bound_by(line)
                ]
            if close:
                said = (f"{name} {how}" for name, how in close[:MOST])
                more = f" ({len(close) - MOST} more beside it)" if len(close) > MOST else ""
                yield f"Beside the {kind} value{'s' if len(close) > 1 else ''} {', '.join(said)}{more}"

    def _distance(self, curve: CurveView, line: LineView) -> str:
        """How far a curve is from a line that is its own."""
        there = curve.sound & np.isfinite(curve.y) & (curve.x >= line.x[0]) & (curve.x <= line.x[-1])
        x, y = curve.x[there], curve.y[there]
        if not len(x):
            return "has no value yet"
        theory = np.interp(x, line.x, line.y)
        gap = np.abs(y - theory)
        if gap.max() <= self._view.rounding * max(abs(float(y[0])), float(np.abs(theory).max())):
            return "is the same to rounding"
        with np.errstate(divide="ignore", invalid="ignore"):
            share = 100 * float(np.where(gap > 0, gap / np.abs(theory), 0.0).max())
        text = f"is off by at most {f'{share:.2g} %' if share < 1000 else _number(float(gap.max()))}"
        if curve.stderr is None or not (curve.stderr[there] > 0).all():
            return text
        return f"{text}, {float((gap / curve.stderr[there]).max()):.1f} standard errors"

    def _shapes(self) -> Iterator[str]:
        """Power laws where both axes are logarithmic, and otherwise from where to where curves go."""
        laws, ranges = [], []
        for curve in self._learners:
            exponent = _power_law(curve) if self._view.x_log and self._view.y_log else None
            if exponent is not None:
                laws.append(f"{self._name(curve)} as {self._view.picture.x}^{exponent:.2f}")
            elif (said := self._range(curve)) is not None:
                ranges.append(said)
        if laws:
            yield f"{_capital(self._view.y_label)} goes like a power of {self._view.x_label}: {_listed(laws)}"
        if ranges:
            left = len(ranges) - MOST
            yield "; ".join(ranges[:MOST]) + (f"; and {left} more" if left > 0 else "")

    def _range(self, curve: CurveView) -> str | None:
        """From where to where a curve goes, and its least or greatest value on the way."""
        there = curve.sound & np.isfinite(curve.y)
        x, y = curve.x[there], curve.y[there]
        if not len(x):
            return None
        name, first, last = self._name(curve), float(y[0]), float(y[-1])
        if len(x) == 1:
            return f"{name} is {_number(first)} at {self._at(float(x[0]))}"
        text = f"{name} goes from {_number(first)} at {self._at(float(x[0]))} to {_number(last)} at "
        text += _number(float(x[-1]))
        low, high = int(y.argmin()), int(y.argmax())
        room = 0.1 * float(np.ptp(y))
        if y[low] < min(first, last) - room:
            text += f", by way of {_number(float(y[low]))} at {_number(float(x[low]))}"
        elif y[high] > max(first, last) + room:
            text += f", by way of {_number(float(y[high]))} at {_number(float(x[high]))}"
        return text

    def _range_of_heat(self, heat: HeatView) -> str:
        """The least and the greatest value of a heat map, and where they are."""
        if not np.isfinite(heat.z).any():
            return f"{heat.learner} has no values yet"
        z = np.where(np.isfinite(heat.z), heat.z, np.nan)
        least, greatest = (self._cell(heat, one(z)) for one in (np.nanargmin, np.nanargmax))
        return f"{_capital(self._view.y_label)} of {heat.learner} goes from {least} to {greatest}"

    def _cell(self, heat: HeatView, number: np.intp) -> str:
        """The value of a cell of a heat map, and where it is."""
        row, column = np.unravel_index(number, heat.z.shape)
        across = f"{self._view.picture.x} = {_number(float(heat.x[column]))}"
        up = f"{self._view.picture.y} = {_number(float(heat.y[row]))}"
        return f"{_number(float(heat.z[row, column]))} ({across}, {up})"

    def _diverged(self) -> Iterator[str]:
        gone = [curve for curve in self._view.curves if curve.diverged and curve.chosen]
        if gone:
            said = []
            for curve in gone:
                those = f" in {curve.diverged} of {curve.replicas} replicas" if curve.replicas > 1 else ""
                at = "" if curve.diverged_at is None else f" at {self._at(curve.diverged_at)}"
                said.append(f"{self._name(curve)} diverged{those}{at}")
            yield _listed(said)

    def _conjectures(self) -> Iterator[str]:
        kinds = dict.fromkeys(line.kind for line in self._view.lines if line.direction == "conjecture")
        if kinds:
            yield f"{_listed(list(kinds))} {'is' if len(kinds) == 1 else 'are'} only conjectured"


def _power_law(curve: CurveView) -> float | None:
    """The exponent of y ∝ x^a by least squares in logarithms, where that is what a curve is."""
    there = curve.sound & np.isfinite(curve.y) & (curve.y > 0) & (curve.x > 0)
    x, y = np.log(curve.x[there]), np.log(curve.y[there])
    if len(x) < POINTS or np.ptp(x) < np.log(SPAN) or np.ptp(y) == 0:
        return None
    slope, height = np.polyfit(x, y, 1)
    left = float(np.var(y - slope * x - height))
    return float(slope) if left <= (1 - FITS) * float(np.var(y)) else None


def _claims(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How many claims hold, and the first that does not."""
    failed = [outcome for outcome in outcomes if not outcome.holds]
    count = len(outcomes)
    if failed:
        text = cut(failed[0].claim.text, LONGEST_CLAIM)
        yield f"{len(failed)} of {count} claims {'fails' if len(failed) == 1 else 'fail'}: “{text}”"
    elif count:
        yield "Its claim holds" if count == 1 else f"{'Both' if count == 2 else f'All {count}'} claims hold"


def _capital(label: str) -> str:
    return f"{label[0].upper()}{label[1:]}"


def _number(value: float) -> str:
    return f"{value:.12g}" if value == int(value) and abs(value) < 1e12 else f"{value:.3g}"


def _listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them: all, or of many the first and how many others."""
    if len(names) > MOST:
        return f"{', '.join(names[:MOST])} and {len(names) - MOST} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _plural(predicate: str, names: Sequence[str]) -> str:
    """A predicate for one subject or for several."""
    if len(names) == 1:
        return predicate
    verb, _, rest = predicate.partition(" ")
    return f"{ {'follows': 'follow', 'stays': 'stay', 'is': 'are'}.get(verb, verb) } {rest}"
