"""Phrases and sentences about a view, for results of claims, legends and axes.

They name curves, x positions, values and scaling laws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from engine.core.expressions import briefer, number, symbol, values_written, written
from engine.pictures.view import CurveView, Floats, LineView, View, along_records, index_at, negligible


def x_name(view: View) -> str:
    """Return the name of the quantity on the x-axis, as it is used in "k = 3"."""
    return written(view.picture.x, view.axes.words)


def y_name(view: View) -> str:
    """Return the name of the quantity on the y-axis of a heat map, or "" for other pictures."""
    return "" if view.picture.y is None else written(view.picture.y, view.axes.words)


def measure_name(view: View) -> str:
    """Return the name of a view's measure if the measure's label contains it, and otherwise the label."""
    measure = view.picture.measure
    return measure.name if measure.name in measure.label.split() else measure.label


def curve_name(view: View, curve: CurveView) -> str:
    """Return the name of a curve, with values of sweep axes written as in charts."""
    name, learner = curve.name, curve.learner
    if not curve.apart or not name.startswith(learner):
        return name
    return learner + values_written(name.removeprefix(learner), view.axes.words)


def short_name(view: View, curve: CurveView) -> str:
    """Return the name of a curve, without the learner if the view has only one learner."""
    name = curve_name(view, curve)
    return name.removeprefix(f"{curve.learner}, ") if _only_learner(view) == curve.learner else name


def line_name(view: View, line: LineView) -> str:
    """Return the name of a theory line in charts.

    If the view has several learners, the name includes the curve that the line belongs to.
    """
    owner = "" if line.curve in ("", _only_learner(view)) else f" of {line.curve}"
    return f"{line.called}{owner}{values_written(line.values, view.axes.words)}"


def line_in_brief(view: View, line: LineView) -> str:
    """Return the formula or the name of a theory line, whichever is shorter.

    The formula does not fully describe a line of one curve or of one value of a sweep axis. It also does not
    describe a function of the measure, such as a ratio. In these cases, return the name.
    """
    name = line_name(view, line)
    says_all = view.quantity.as_measured and not (line.curve or line.apart)
    return briefer(name, line.formula) if says_all else name


def _only_learner(view: View) -> str | None:
    """Return the learner's name if all curves and theory lines belong to the same learner, else None.

    References do not count. A theory line of one of several rates counts as the line of another learner.
    """
    learners = {curve.learner for curve in view.curves if not curve.training.is_reference}
    learners.update(line.curve for line in view.lines if line.curve)
    return learners.pop() if len(learners) == 1 else None


LONGEST = 160
"""Largest number of characters of a headline."""

LINES, LINE_WIDTH = 2, 78
"""Lines of a headline on the screen, and characters per line on a screen of 80 columns."""

MOST_NAMES = 3
"""Largest number of names in a list. A longer list ends with the number of the remaining names."""

UNITS = {"k": "example", "step": "step", "epoch": "epoch", "evaluations": "evaluation"}
"""Unit of each quantity on an x-axis that counts something, by name."""

PLURAL = re.compile(r"\b(pieces|cells|units)\b|^(examples|rows|steps|epochs|evaluations) for ")
"""Pattern of the names of quantities that take a plural verb, as in "the cells are"."""

Named = tuple[str, float]
"""Name of a curve, and a value of this curve."""


def listed(names: Sequence[str], limit: int = MOST_NAMES) -> str:
    """Join names to a text such as "a, b and c".

    More than `limit` + 1 names are cut, as in "a, b, c and 2 more".
    """
    if len(names) > limit + 1:
        names = [*names[:limit], f"{len(names) - limit} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def called(view: View, curve: CurveView) -> str:
    """Return the short name of a curve, in quotes if it contains a comma."""
    return quoted(short_name(view, curve))


def quoted(name: str) -> str:
    """Return a name, in quotes if it contains a comma."""
    return f"“{name}”" if "," in name else name


def line(view: View, lines: Sequence[LineView]) -> str:
    """Return one name for all of several theory lines of the same kind.

    If the lines have different names, the result contains neither curves nor values of sweep axes.
    """
    names = {line_in_brief(view, line) for line in lines}
    name = names.pop() if len(names) == 1 else lines[0].called
    return name if name == lines[0].formula else f"the {name}"


def agree(names: Sequence[object], verb: str) -> str:
    """Return a verb in the form that agrees with `names`: "stay" for several names, "stays" for one."""
    return verb if len(names) > 1 else f"{verb}s"


def shortened(first: str, *more: str) -> str:
    """Append clauses of `more` to `first`, as many as fit into a headline."""
    text = first
    for clause in more:
        text = f"{text}{clause}" if fits(f"{text}{clause}") else text
    return text


def fits(text: str) -> bool:
    """Return whether a text has at most LONGEST characters, and at most LINES lines on a narrow screen."""
    return len(text) <= LONGEST and len(wrap(text, LINE_WIDTH)) <= LINES


def place(view: View, x: float) -> str:
    """Return an x position as text, such as "after 64 examples" or "at d = 64"."""
    unit = UNITS.get(view.picture.x) if along_records(view) else None
    if unit is None:
        return f"at {x_name(view)} = {view.axes.names.get(x) or number(x)}"
    return f"after {number(x)} {unit}{'' if x == 1 else 's'}" if x else "at the start"


def span(view: View, x: Floats) -> str:
    """Return a phrase that begins a sentence with the range of x, such as "From d = 64 to 1024"."""
    ends = [view.axes.names.get(float(end)) or number(float(end)) for end in (x.min(), x.max())]
    return f"From {x_name(view)} = {ends[0]} to {ends[1]}"


def level(view: View, value: float) -> str:
    """Return a threshold in words, such as "a tenth" for a loss of 0.1."""
    return "a tenth" if value == 0.1 and view.picture.measure.name == "loss" else number(value)


def ends(numbers: Collection[float], written: Callable[[float], str] = number) -> str:
    """Return the range of numbers as text, such as "0.1 to 0.3".

    If the least and the greatest number have the same text, return this text alone.
    """
    return " to ".join(dict.fromkeys(written(float(end)) for end in (min(numbers), max(numbers))))


def value(view: View, y: float) -> str:
    """Return a value from a picture as text.

    A negligible value becomes "0". If the values are x positions at which a threshold is reached, infinity
    becomes "never".
    """
    reading = view.picture.reading
    if np.isposinf(y) and reading is not None and reading.is_place:
        return "never"
    return "0" if abs(y) <= negligible(view) else number(y)


def value_at(curve: CurveView, x: float) -> float | None:
    """Return the value of a curve at x, or None if the curve has no value at x."""
    at = index_at(curve, x)
    return None if at is None or np.isnan(curve.y[at]) else float(curve.y[at])


def arrival(curve: CurveView, level: float) -> float:
    """Return the first x position from which on a curve stays below a level.

    The result is infinite if the curve ends above the level, or has not been computed to its end.
    """
    beyond = np.flatnonzero(~(curve.y < level))
    first = int(beyond[-1]) + 1 if len(beyond) else 0
    return float(curve.x[first]) if curve.ends.complete and first < len(curve.x) else np.inf


def named_values(
    view: View, x: float, curve: CurveView, other_curves: Sequence[CurveView]
) -> tuple[Named, list[Named]]:
    """Return the pair (name, value at x) of a curve, and the pairs of other curves.

    Other curves without a value at x are left out.
    """
    values = [(called(view, named_curve), value_at(named_curve, x)) for named_curve in (curve, *other_curves)]
    first, *more = [(name, y) for name, y in values if y is not None]
    return first, more


def compared(view: View, x: float, first: Named, other_values: Sequence[Named]) -> str:
    """Return a sentence that compares the values of several curves at one x position."""
    where = place(view, x)
    values = enumerated(view, first, other_values)
    return shortened(f"{where[0].upper()}{where[1:]}, {predicate(view)} {values}")


def enumerated(view: View, first: Named, other_values: Sequence[Named]) -> str:
    """Return a text that lists the values of several curves. It begins with the curve `first`.

    If the view has a single curve, the text is only its value. If there are two or more other curves, the
    text gives only their least and greatest values. If all values have the same text, this text is given
    once, for all curves.
    """
    named = [(name, value(view, y)) for name, y in (first, *other_values)]
    if len(view.curves) == 1 and not other_values:
        return named[0][1]
    if len({text for _, text in named}) == 1:
        return f"{named[0][1]} for {listed([name for name, _ in named])}"
    if len(other_values) > 1:
        named[1:] = [("the others", ends([y for _, y in other_values], partial(value, view)))]
    return listed([f"{text} for {name}" for name, text in named])


def quantity(view: View) -> str:
    """Return a phrase that names the quantity on the y-axis. It can be the subject of a sentence."""
    picture, reading = view.picture, view.picture.reading
    is_plain = picture.relative is None and picture.times is None
    if reading is None or not (reading.is_threshold and is_plain):
        return view.axes.y_label
    is_below = reading.first_above is None
    threshold = reading.first_below if is_below else reading.first_above
    sign = "<" if is_below else ">"
    unit = UNITS.get(view.axes.clock) if reading.over == "record" else None
    counted = f"{unit}s" if unit else symbol(reading.over, view.axes.words)
    return f"{counted} for {measure_name(view)} {sign} {number(float(threshold or 0.0))}"


def predicate(view: View) -> str:
    """Return the quantity on the y-axis, followed by "is" or "are".

    If the quantity's name contains a comma, another comma separates it from the verb.
    """
    subject = quantity(view)
    return f"{subject}{',' if ', ' in subject else ''} {verb(view)}"


def verb(view: View) -> str:
    """Return "is" or "are", so that it agrees with the phrase for the quantity on the y-axis."""
    return "are" if PLURAL.search(quantity(view)) else "is"


LEAST_PLACES = 4
"""Least number of points to which a scaling law is fitted.

A law has two parameters, so fewer points would not test it.
"""

LEAST_EXPONENT = 1 / 3
"""Least exponent for which a power law is stated.

Over a few doublings of x, a smaller power hardly differs from a logarithm.
"""

ROUNDING = 1e-9
"""Largest range of y, relative to its largest value, with which y counts as constant."""

NEARLY_ONE = 0.03
"""If the exponent of a power law differs from 1 by less than this, the law is also stated as a multiple of x.
"""

WORST = 0.2
"""Largest root mean square of the relative residuals with which a fitted law is stated."""


class Law(NamedTuple):
    """Scaling law of a curve: y ∝ x^exponent, or y = c + slope · log₂ x.

    `slope` is None for a power law, and `exponent` is None for a logarithmic law. `error` is the root mean
    square of the relative residuals, and `share` is the mean of y/x.
    """

    exponent: float | None
    slope: float | None
    error: float
    share: float


def fitted_law(x: Floats, y: Floats) -> Law | None:
    """Return the power law or the logarithmic law for y(x) [N], whichever has the smaller error.

    The error is the root mean square of ŷ/y − 1. Both laws have two parameters, fitted by least squares: log
    y against log x for the power law, and y against log₂ x for the logarithmic law. A power law is returned
    only if its exponent has at least the size LEAST_EXPONENT. The result is None if y is constant, if the
    error exceeds WORST, or if there are too few points with positive x and y.
    """
    fits = np.isfinite(y) & (y > 0) & (x > 0)
    if fits.sum() < LEAST_PLACES:
        return None
    x, y = x[fits], y[fits]
    if is_constant(y):
        return None
    exponent, constant = np.polyfit(np.log(x), np.log(y), 1)
    share = float(np.mean(y / x))
    power = Law(float(exponent), None, _relative_error(np.exp(constant) * x**exponent, y), share)
    slope, constant = np.polyfit(np.log2(x), y, 1)
    logarithm = Law(None, float(slope), _relative_error(constant + slope * np.log2(x), y), share)
    law = power if abs(exponent) >= LEAST_EXPONENT and power.error < logarithm.error else logarithm
    return law if law.error <= WORST else None


def is_constant(y: Floats) -> bool:
    """Return whether all values of `y` [N] are equal up to rounding."""
    return float(np.ptp(y)) <= ROUNDING * float(np.abs(y).max())


def _relative_error(fitted: Floats, y: Floats) -> float:
    return float(np.sqrt(np.mean((fitted / y - 1) ** 2)))


def laws_in_words(view: View) -> str:
    """Return a text with the scaling laws of the curves of a picture whose x is a sweep axis.

    An example is "First below a tenth: GD ∝ d^1.00 (0.90 d); EGU ∝ log d: 2.4 more examples per doubling of
    d". Curves that pass the threshold nowhere are named last, as in "EGU± and spindly± never". The text is
    empty if no curve follows a law, or if y is not the position at which a measure passes a threshold. It is
    also empty for heat maps, and if x positions have names.
    """
    reading, axes = view.picture.reading, view.axes
    if reading is None or not reading.is_threshold or view.heats or axes.names:
        return ""
    curves = [curve for curve in view.curves if curve.chosen and not curve.training.is_reference]
    laws = [(curve, law) for curve in curves if (law := fitted_law(curve.x, curve.y)) is not None]
    if not laws:
        return ""
    powers = [(curve, law.exponent) for curve, law in laws if law.exponent is not None]
    logarithms = [(curve, law.slope) for curve, law in laws if law.slope is not None]
    clauses = []
    if powers:
        shares = [(curve, law.share) for curve, law in laws if law.exponent is not None]
        is_share = all(abs(exponent - 1) < NEARLY_ONE for _, exponent in powers)
        share = f" ({_smallest_and_largest(shares, '.2f')} {x_name(view)})" if is_share else ""
        clauses.append(
            f"{_curve_names(view, powers)} ∝ {x_name(view)}^{_smallest_and_largest(powers, '.2f')}{share}"
        )
    if logarithms:
        is_counted = reading.over == "record" and axes.clock in UNITS
        unit = f"{UNITS[axes.clock]}s" if is_counted else "more"
        more = f"{_smallest_and_largest(logarithms, '.2g')} more {unit}".replace("more more", "more")
        growth = f"∝ log {x_name(view)}: {more} per doubling of {x_name(view)}"
        clauses.append(f"{_curve_names(view, logarithms)} {growth}")
    if never := [called(view, curve) for curve in curves if len(curve.y) and np.isinf(curve.y).all()]:
        clauses.append(f"{listed(never)} never")
    if reading.first_below is not None:
        clauses[0] = f"First below {level(view, reading.first_below)}: {clauses[0]}"
    return shortened(clauses[0], *(f"; {clause}" for clause in clauses[1:]))


def _curve_names(view: View, numbered: Sequence[tuple[CurveView, float]]) -> str:
    return listed([called(view, curve) for curve, _ in numbered])


def _smallest_and_largest(numbered: Sequence[tuple[CurveView, float]], form: str) -> str:
    return ends([number for _, number in numbered], lambda number: format(number, form))
