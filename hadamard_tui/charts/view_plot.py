"""From a view to a chart: its curves, lines and marks as series, and the axes that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from engine.pictures.picture import Marked
from engine.pictures.view import ContourView, CurveView, HeatView, LineView, View
from hadamard_tui.charts.bars import bars, ends_of_bars
from hadamard_tui.charts.contours import level_lines
from hadamard_tui.charts.curve_marks import FEW
from hadamard_tui.charts.ends import ends
from hadamard_tui.charts.heat_map import Contour, HeatMap
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.patterns import is_line
from hadamard_tui.charts.series import Axes, Limits, LineStyle, Series, are_whole, limits
from hadamard_tui.charts.series_builder import (
    SMALL_LETTERS,
    Pen,
    Plot,
    colour_of,
    others,
    pinned_style,
    smoothing,
    theory,
)
from hadamard_tui.charts.thinning import thinned
from hadamard_tui.charts.ticks import Tick, at_places, number
from hadamard_tui.charts.y_limits import log_limits, risk_limits, rounded_off, still_limits, y_limits

LINE_STYLES: dict[str, LineStyle] = {"conjecture": "dotted", "asymptotic": "sparse", "shape": "sparse"}
"""Those of lines that are less than proved; others are dashed."""


MARKED: LineStyle = "pairs"
"""The style of the marks of a picture."""

GHOST = "the run before"
GUESS, GUESSED = "?", 0.1
"""The mark of a guess, and the loss that it is about."""

PROVED = ("lower", "upper", "exact")
"""The directions of lines that are proved; others are fainter."""


def plot(look: Look) -> Plot:
    """The chart of a view, as a person looks at it."""
    series = view_series(look)
    axes, refused = view_axes(look, series)
    upright = [_upright(one, axes) for one in series]
    note = " · ".join(filter(None, (refused, ends(look.view), _place(look))))
    return Plot([*_region(look), *upright], axes, note, look.playhead, smoothing(look))


def view_series(look: Look) -> list[Series]:
    """What is faint, the lines and marks of the view, the curves of pinned runs and then its own, on top."""
    curves = [
        one
        for number, (name, other) in enumerate(look.pinned, start=1)
        for one in _pinned(name, other, Pen(look, number))
    ]
    curves += [] if look.ghost is None else _ghost(look.ghost)
    if look.view.picture.draw == "bars":
        curves += bars(look.view)
    else:
        curves += [one for curve in look.view.curves for one in Pen(look).draw(_level(curve, look.view))]
    lines = [_line(line, look) for line in _different(look.view.lines)]
    lines += _guessed(look)
    lines = [*_marks(look.view, [*curves, *lines]), *lines, *_points(look.view)]
    faint = [one for one in curves if one.faint]
    return [*faint, *lines, *(one for one in curves if not one.faint)]


def _level(curve: CurveView, view: View) -> CurveView:
    """A reference that stays at one place of a measured x from its first record on is a level of all x."""
    if not (curve.is_reference and curve.is_passed and len(curve.x) > 1 and len(np.unique(curve.x[1:])) == 1):
        return curve
    others = np.concatenate([one.x for one in view.curves if not one.is_reference] or [curve.x])
    y = np.full(len(curve.x), curve.y[-1])
    return replace(curve, x=np.linspace(others.max(), others.min(), len(curve.x)), y=y, stderr=None)


def _region(look: Look) -> list[Series]:
    """Where no learner of the picture comes that proved lower bounds bind, as far as these are right."""
    each = [_proved(look.view, curve) for curve in look.view.curves]
    each = [lines for lines in each if lines]
    if not each:
        return []
    x = np.unique(np.concatenate([line.x[_picked(line, look)] for lines in each for line in lines]))
    held = [reduce(np.fmax, [_along(line, x) for line in lines]) for lines in each]
    band = np.full_like(x, -np.inf), reduce(np.fmin, held)
    return [Series("", x, np.full_like(x, np.nan), theory(), band=band, faint=True, is_region=True)]


def _proved(view: View, curve: CurveView) -> list[LineView]:
    """The proved lower bounds that bind a curve."""
    about = [] if curve.is_reference else view.compared(curve)
    return [line for line in about if line.direction == "lower" and line.binds(curve) and len(line.x)]


def _along(line: LineView, x: np.ndarray) -> np.ndarray:
    """A line at x, NaN where it is not."""
    found: np.ndarray = np.interp(x, line.x, line.y, left=np.nan, right=np.nan)
    return found


def _picked(line: LineView, look: Look) -> np.ndarray:
    """The points of a line to draw."""
    picked = thinned(line.x, line.y, *(look.options.window or (-np.inf, np.inf)))
    there: np.ndarray = picked[~np.isnan(line.y[picked])]
    return there


def _pinned(name: str, view: View, pen: Pen) -> list[Series]:
    """The curves of a pinned run, with small letters, and its name for the legend."""
    nothing, first = np.empty(0), next(iter(view.curves), None)
    tint = others() if first is None else colour_of(first, pinned=True)
    title = Series(f"{name}{SMALL_LETTERS}", nothing, nothing, tint, style=pinned_style(pen.number))
    return [title, *(one for curve in view.curves for one in pen.draw(curve))]


def _ghost(view: View) -> list[Series]:
    """The curves of the run before, faint, and one name for all of them."""
    nothing = np.empty(0)
    curves = [one for one in view.curves if len(one.x)]
    faint = [Series("", one.x, one.y, colour_of(one), "sparse", faint=True) for one in curves]
    return [Series(GHOST, nothing, nothing, others(), "sparse"), *faint] if faint else []


def _guessed(look: Look) -> list[Series]:
    """Where learners were guessed to come below a tenth, and one name for all of it."""
    marked = [
        Series("", np.full(2, x), np.array([0.0, GUESSED]), colour_of(curve), "pairs", mark=GUESS)
        for curve in look.view.curves
        if curve.chosen and (x := look.guesses.get(curve.learner)) is not None
    ]
    nothing = np.empty(0)
    return (
        [Series("guessed to be below 0.1", nothing, nothing, others(), "pairs", mark=GUESS), *marked]
        if marked
        else []
    )


def _different(lines: Sequence[LineView]) -> list[LineView]:
    """The lines to draw: those that are the same whatever tells curves apart are one, named by its kind."""
    of_name: dict[str, list[LineView]] = {}
    for line in lines:
        of_name.setdefault(line.plain_name, []).append(line)
    found = []
    for name, (first, *more) in of_name.items():
        alike = more and all(_same(first.x, one.x) and _same(first.y, one.y) for one in more)
        found += [replace(first, name=name, apart=())] if alike else [first, *more]
    return found


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def _line(line: LineView, look: Look) -> Series:
    picked = _picked(line, look)
    formula = "" if line.curve or line.apart else line.formula
    if formula and not look.view.as_measured:
        formula = f"from {formula}"
    style = LINE_STYLES.get(line.direction, "dashed")
    tint = theory(line.direction in PROVED)
    return Series(look.view.line_name(line), line.x[picked], line.y[picked], tint, style, formula=formula)


def _points(view: View) -> list[Series]:
    """The examples that a picture shows beside its curves: a gap between neighbours, which no line joins."""
    if view.points is None:
        return []
    x, y = (np.asarray(one) for one in view.points)
    apart = np.column_stack((y, np.full_like(y, np.nan))).ravel()
    return [Series("training points", x.repeat(2), apart, others(), "points")]


def _marks(view: View, series: Sequence[Series]) -> list[Series]:
    """Marks, straight ones through all that the series show."""
    xs, ys = (np.concatenate([getattr(one, name) for one in series] or [np.empty(0)]) for name in "xy")
    ys = ys[np.isfinite(ys)]
    if not len(ys):
        return []
    found = []
    for mark in view.marks:
        x, y = mark.between(xs[[xs.argmin(), xs.argmax()]], ys[[ys.argmin(), ys.argmax()]])
        found.append(Series(mark.name, np.array(x), np.array(y), others(), MARKED))
    return found


def _falls(view: View) -> bool:
    """Whether x is measured, and falls as runs go on."""
    ends = [curve.x[[0, -1]] for curve in view.curves if curve.is_passed and len(curve.x) > 1]
    return bool(ends) and all(start > end for start, end in ends)


def _few(view: View) -> tuple[Tick, ...]:
    """Ticks at the places on x where there is something, if these are few."""
    places = view.places
    is_few = 1 < len(places) <= FEW and not any(curve.is_passed for curve in view.curves)
    return at_places(places.tolist()) if is_few else ()


def _place(look: Look) -> str:
    """What the line at a place of an axis is, if there is one."""
    if look.playhead is None or look.view.along_records:
        return ""
    name = look.view.name_at(look.playhead) or number(look.playhead)
    return f"┊ the table: {look.view.x_name} = {name}"


def _upright(one: Series, axes: Axes) -> Series:
    """A mark at one place on x, from the foot of the chart to its top; all else as it is."""
    is_upright = one.style == MARKED and is_line(one) and len(one.x) == 2 and one.x[0] == one.x[1]
    return replace(one, y=np.array(axes.y_limits)) if is_upright else one


def view_axes(look: Look, series: Sequence[Series]) -> tuple[Axes, str]:
    """Axes that hold what the series show in the window, and why y is linear although that was not asked for.

    Along the records of a run they stay still while it goes on. There, a risk has 0 at its foot, and curves
    that end beyond linear axes of twice its start are diverging.
    """
    view, options = look.view, look.resolved
    title = view.picture.title or f"{view.y_label} against {view.x_label}"
    x_axis, x_log = _x_axis(look)
    whole, names = are_whole(view.places), tuple(sorted(view.names.items())) or _few(view)
    axes = partial(
        Axes,
        title,
        view.x_label,
        view.y_label,
        x_axis,
        x_log=x_log,
        x_whole=whole,
        x_names=names,
        x_falls=_falls(view),
    )
    most, refused = twice_the_start(view), ""
    if options.y_log or options.window is not None or most == np.inf:
        ys = [_finite(one, x_axis) for one in series]
        rounding = rounded_off([y for one, y in zip(series, ys, strict=True) if one.mark], view.rounding)
        values = np.concatenate([*ys, np.empty(0)])
        y_axis, refused = y_limits(values[(values > rounding) | (values <= 0)], look.options, view.y_log)
        if y_axis is not None:
            return axes(y_limits=y_axis, y_log=True, y_rounding=rounding), ""
    if most < np.inf and options.window is None:
        return axes(y_limits=_of_risk(series)), refused
    held = values.clip(-most, most)
    return axes(y_limits=still_limits(held) if view.along_records else limits(held)), refused


def _finite(one: Series, x_axis: Limits) -> np.ndarray:
    """The finite values of a series in the window."""
    seen: np.ndarray = one.y[(one.x >= x_axis[0]) & (one.x <= x_axis[1]) & np.isfinite(one.y)]
    return seen


def twice_the_start(view: View) -> float:
    """Twice the highest value at the start of a risk along the records of runs; infinite for all others."""
    starts = [float(curve.y[0]) for curve in view.curves if len(curve.y)]
    known = view.is_risk and view.along_records and np.isfinite(starts).any()
    return 2 * float(np.nanmax(starts)) if known else np.inf


def _of_risk(series: Sequence[Series]) -> Limits:
    starts = [float(one.y[0]) for one in series if len(one.y) and (one.mark or one.name)]
    known = [y for one in series if len(y := one.y[~np.isnan(one.y)])]
    return risk_limits(starts or [1.0], known or [np.ones(1)])


def _x_axis(look: Look) -> tuple[Limits, bool]:
    """From the first place to the last, of pinned runs too, or the window; and whether it is logarithmic."""
    options = look.resolved
    views = [look.view, *(view for _, view in look.pinned), *([] if look.ghost is None else [look.ghost])]
    every = [view.places for view in views if len(view.places)]
    marks = [x for mark in look.view.marks if not mark.y for x in mark.x]
    if not every:
        return (0.0, 1.0), False
    if look.view.along_records or options.window is not None:
        longest = max(every, key=lambda places: float(places[-1]))
        log = bool(options.x_log) and longest[-1] > 0
        low, high = options.x_limits(longest)
        return (low, high), log and low > 0
    values = np.concatenate([*every, np.array(marks)])
    if look.view.picture.draw == "bars":
        log = bool(options.x_log) and bool((values > 0).all())
        return ends_of_bars(values, log), log
    if options.x_log and (values > 0).any():
        return log_limits(values, np.inf), True
    return limits(values), False


def heat_map(look: Look, heat: HeatView) -> HeatMap:
    """A learner's heat map."""
    view, options, picture = look.view, look.resolved, look.view.picture
    title = f"{view.y_label} of {heat.learner}"
    if picture.title:
        title = picture.title if len(view.heats) == 1 else f"{picture.title}: {heat.learner}"
    logarithmic = bool(options.x_log) and bool(heat.x[0] > 0), view.rows_log and bool(heat.y[0] > 0)
    levels = (_contour_of(contour, heat, *logarithmic) for contour in heat.contours)
    marks = (_contour(mark, heat) for mark in view.marks)
    return HeatMap(
        heat.x,
        heat.y,
        heat.z,
        heat.stderr,
        x_label=view.x_label,
        y_label=view.y_name,
        z_label=view.y_label,
        title=title,
        x_log=logarithmic[0],
        y_log=logarithmic[1],
        z_log=bool(options.y_log),
        contours=(*(one for one in levels if len(one.path)), *marks),
    )


def _contour_of(contour: ContourView, heat: HeatView, x_log: bool, y_log: bool) -> Contour:
    """Where a line of the theory has its level; an empty path if nowhere on the map."""
    path = level_lines(heat.x, heat.y, contour.values, contour.level, x_log, y_log)
    return Contour(contour.name, path, LINE_STYLES.get(contour.direction, "dashed"))


def _contour(mark: Marked, heat: HeatView) -> Contour:
    """A mark over a heat map, a straight one from end to end."""
    return Contour(mark.name, np.stack(mark.between(heat.x[[0, -1]], heat.y[[0, -1]]), 1))
