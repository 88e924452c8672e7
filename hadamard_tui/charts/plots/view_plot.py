"""Converts a view to a chart: curves, theory lines and marks become series, with axes and a note."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from engine.pictures.bounds import bounds_on
from engine.pictures.view import FROM_BELOW, along_records, known_places
from engine.pictures.wording import line_name, x_name, y_name
from hadamard_tui.charts.heat_map import ContourLine, HeatMap
from hadamard_tui.charts.plots.level_lines import level_lines
from hadamard_tui.charts.plots.series_builder import (
    SMALL_LETTERS,
    Pen,
    Plot,
    colour_of,
    letter_of,
    others,
    pinned_style,
    smoothing,
    theory,
    thinned,
)
from hadamard_tui.charts.plots.view_axes import bars, view_axes
from hadamard_tui.charts.scales import tick_label
from hadamard_tui.charts.series import Axes, LineStyle, Series, is_line

if TYPE_CHECKING:
    from engine.pictures.picture import Marked
    from engine.pictures.view import ContourView, CurveView, HeatView, LineView, View
    from hadamard_tui.charts.plots.look import Look, Pinned


ROUNDING = 1e-9
"""Largest difference between theory lines that count as equal, relative to the largest value."""


def different_lines(lines: Sequence[LineView]) -> list[LineView]:
    """Return the theory lines that a picture shows, without duplicates.

    If a theory line is equal for all values of the sweep axes, it is shown once, without these values in its
    name. If a theory line is equal for several curves, it is shown once, without the curves in its name.
    """
    shown: list[LineView] = []
    for plain_name, alike in _lines_by_key((line.plain_name, line) for line in lines).items():
        shown += [replace(alike[0], name=plain_name, values="", apart=())] if _are_same(alike, 0.0) else alike
    owned = _lines_by_key(((line.called, line.values), line) for line in shown if line.curve)
    for first, *repetitions in owned.values():
        if _are_same([first, *repetitions], ROUNDING):
            shown[shown.index(first)] = replace(first, curve="", formula="")
            shown = [line for line in shown if line not in repetitions]
    return shown


def _are_same(lines: Sequence[LineView], rounding: float) -> bool:
    """Return whether two or more theory lines have equal points; False for a single line.

    Values may differ by `rounding` times the largest value of the first line.
    """
    first, *more = lines
    least = rounding * float(np.nanmax(np.abs(first.y), initial=0.0))
    return bool(more) and all(
        np.array_equal(first.x, line.x, equal_nan=True)
        and np.allclose(first.y, line.y, rtol=0.0, atol=least, equal_nan=True)
        for line in more
    )


def _lines_by_key(pairs: Iterable[tuple[Hashable, LineView]]) -> dict[Hashable, list[LineView]]:
    groups: dict[Hashable, list[LineView]] = {}
    for key, line in pairs:
        groups.setdefault(key, []).append(line)
    return groups


def curve_ends(view: View) -> str:
    """Return a remark on finished curves that do not span the x-axis, such as "A: not run beyond d = 64"."""
    letters_by_reason: dict[str, dict[float, list[str]]] = {}
    if len(known_places(view)) and not along_records(view):
        for curve in view.curves:
            if curve.ends.ended and (letter := letter_of(curve)):
                for reason, x in _reasons_for_gaps(curve, view):
                    letters_by_reason.setdefault(reason, {}).setdefault(x, []).append(letter)
    axis_words = f"{x_name(view)} = " if sum(map(len, letters_by_reason.values())) == 1 else ""
    return " · ".join(
        f"{', '.join(letters)}: {reason.format(axis_words + where)}"
        for reason, places in letters_by_reason.items()
        for letters, where in _letters_and_places(
            {view.axes.names.get(x) or tick_label(x): place_letters for x, place_letters in places.items()}
        )
    )


def _letters_and_places(places: dict[str, list[str]]) -> list[tuple[list[str], str]]:
    """Return pairs of curve letters and the x value, as text, at which these curves begin or end.

    If there is only one curve at each x value, return a single pair: all letters, and all x values joined by
    commas.

    Args:
        places: letters of curves by x value.
    """
    if all(len(letters) == 1 for letters in places.values()):
        return [([letter for (letter,) in places.values()], ", ".join(places))] if places else []
    return [(letters, place) for place, letters in places.items()]


def _reasons_for_gaps(curve: CurveView, view: View) -> Iterator[tuple[str, float]]:
    """Yield why a curve does not span the x-axis, as pairs of a text and an x value.

    An example is "not run beyond {}", where {} stands for the x value.
    """
    if not len(curve.x) or len(curve.x) < curve.places.planned:
        return
    first, last = float(curve.x.min()), float(curve.x.max())
    if first == last and len(view.places) > 1:
        yield "run only at {}", first
    elif first > view.places[0]:
        yield "not run below {}", first
    if first < last < view.places[-1]:
        yield "not run beyond {}", last
    lost = np.isnan(curve.y) & (curve.ends.lost == curve.replicas)
    if lost.any():
        yield f"{curve.ends.fate} at {{}}", float(curve.x[lost][0])


LINE_STYLES: dict[str, LineStyle] = {"conjecture": "dotted", "asymptotic": "sparse", "shape": "dash-dot"}
"""Line styles of theory lines by direction. Theory lines of other directions are dashed."""

GUESS, GUESSED = "?", 0.1
"""Sign that marks a guess of the user, and the loss level that the guess is about."""

PROVED = ("lower", "upper", "exact")
"""Directions of theory lines that are proved. Lines of other directions are fainter."""

STYLE: LineStyle = "pairs"


def plot(look: Look) -> Plot:
    series = view_series(look)
    axes, refused = view_axes(look, series)
    stretched = [upright(curve, axes) for curve in series]
    screen_note = " · ".join(filter(None, (refused, _remark_on_x(look))))
    return Plot(
        [*_excluded_region(look), *stretched],
        axes,
        curve_ends(look.view),
        look.playhead,
        smoothing(look),
        screen_note=screen_note,
    )


def view_series(look: Look) -> list[Series]:
    """Return all series of a picture in the order in which they are drawn.

    Later series cover earlier ones. Faint curves come first. Marks, theory lines, guesses and training
    examples follow, and all other curves come last.
    """
    curves = [
        curve
        for number, run in enumerate(look.pinned, start=1)
        for curve in _pinned_series(run, Pen(look, number))
    ]
    curves += [*look.stored, *([] if look.ghost is None else _previous_run_series(look.ghost))]
    if look.view.picture.draw == "bars":
        curves += bars(look.view)
    else:
        curves += [
            series
            for curve in _curves_without_copies(look.view.curves)
            for series in Pen(look).draw(_curve_or_level(curve, look.view))
        ]
    lines = [_theory_line_series(line, look) for line in different_lines(look.view.lines)]
    lines += _guess_marks(look)
    through = marks(look.view, [*curves, *lines], bool(look.resolved.x_log))
    lines = [*through, *lines, *_training_point_series(look.view)]
    faint = [curve for curve in curves if curve.faint]
    return [*faint, *lines, *(curve for curve in curves if not curve.faint)]


def _curves_without_copies(curves: Sequence[CurveView]) -> list[CurveView]:
    """Return the curves to draw. Equal curves of a reference learner become one curve.

    A reference learner has a curve for each point of a sweep. If all its curves agree, up to the end of the
    shorter curves, only the longest is drawn, with the learner's name.
    """
    of_reference: dict[str, list[CurveView]] = {}
    for curve in curves:
        if curve.training.is_reference and curve.apart and len(curve.x):
            of_reference.setdefault(curve.learner, []).append(curve)
    drawn_curves = list(curves)
    for learner_name, copies in of_reference.items():
        longest = max(copies, key=lambda copy: len(copy.x))
        if len(copies) > 1 and all(_begins_as(longest, copy) for copy in copies):
            at = drawn_curves.index(copies[0])
            drawn_curves = [curve for curve in drawn_curves if curve not in copies]
            drawn_curves.insert(at, replace(longest, name=learner_name, apart=()))
    return drawn_curves


def _begins_as(curve: CurveView, other: CurveView) -> bool:
    """Return whether `other`, which is not longer than `curve`, equals the beginning of `curve`."""
    shared = slice(len(other.x))
    return _are_equal_arrays(curve.x[shared], other.x) and _are_equal_arrays(curve.y[shared], other.y)


def _curve_or_level(curve: CurveView, view: View) -> CurveView:
    """Replace a reference learner's curve by a horizontal line if all points of the curve have the same x.

    The line has the last y of the curve, and spans the x of all other curves. Any other curve is returned
    unchanged.
    """
    if not (
        curve.training.is_reference
        and curve.places.is_passed
        and len(curve.x) > 1
        and len(np.unique(curve.x[1:])) == 1
    ):
        return curve
    places = np.concatenate(
        [other_curve.x for other_curve in view.curves if not other_curve.training.is_reference] or [curve.x]
    )
    y = np.full(len(curve.x), curve.y[-1])
    return replace(curve, x=np.linspace(places.max(), places.min(), len(curve.x)), y=y, stderr=None)


def _excluded_region(look: Look) -> list[Series]:
    """Return the region that no curve of a learner with a proved lower bound can enter.

    If a learner has several bounds, only the highest counts. The region lies below the lowest of the bounds
    that count, over all learners with bounds in this run and in pinned runs. If a learner has bounds in one
    run but not in another, there is no region.
    """
    views = [look.view, *(run.view for run in look.pinned)]
    bounds = [(curve.learner, _proved_bounds(view, curve)) for view in views for curve in view.curves]
    bound_learners = {learner_name for learner_name, lines in bounds if lines}
    bounds_by_curve = [lines for learner_name, lines in bounds if learner_name in bound_learners]
    if not bounds_by_curve or not all(bounds_by_curve):
        return []
    x = np.unique(
        np.concatenate([line.x[_drawn_indices(line, look)] for lines in bounds_by_curve for line in lines])
    )
    held = [reduce(np.fmax, [_interpolated_line(line, x) for line in lines]) for lines in bounds_by_curve]
    band = np.full_like(x, -np.inf), reduce(np.fmin, held)
    return [Series("", x, np.full_like(x, np.nan), theory(), band=band, faint=True, is_region=True)]


def _proved_bounds(view: View, curve: CurveView) -> list[LineView]:
    about = [] if curve.training.is_reference else bounds_on(view, curve)
    return [line for line in about if line.direction == "lower" and line.binds(curve) and len(line.x)]


def _interpolated_line(line: LineView, x: np.ndarray) -> np.ndarray:
    heights: np.ndarray = np.interp(x, line.x, line.y, left=np.nan, right=np.nan)
    return heights


def _drawn_indices(line: LineView, look: Look) -> np.ndarray:
    picked = thinned(line.x, line.y, *(look.options.window or (-np.inf, np.inf)))
    defined: np.ndarray = picked[~np.isnan(line.y[picked])]
    return defined


def _pinned_series(run: Pinned, pen: Pen) -> list[Series]:
    """Return the series of a pinned run: its name, its lower bounds, and its curves.

    The first series has no points. It names the run in the legend. Lower bounds are drawn faint. Curves have
    lower-case letters, because curves of the current run have capitals.
    """
    nothing = np.empty(0)
    style = pinned_style(pen.number)
    title = Series(f"{run.name}{SMALL_LETTERS}", nothing, nothing, others(), style=style)
    bounds = [
        replace(_theory_line_series(line, pen.look), name="", formula="", style=style, faint=True)
        for line in different_lines(run.view.lines)
        if line.direction in FROM_BELOW and not _is_drawn(line, pen.look.view)
    ]
    return [title, *bounds, *(series for curve in run.view.curves for series in pen.draw(curve))]


def _is_drawn(line: LineView, view: View) -> bool:
    return any(
        _are_equal_arrays(line.x, other_line.x) and _are_equal_arrays(line.y, other_line.y)
        for other_line in view.lines
    )


def _previous_run_series(run: Pinned) -> list[Series]:
    """Return the curves of the previous run, drawn faint, with one legend entry for all."""
    nothing = np.empty(0)
    curves = [curve for curve in run.view.curves if len(curve.x)]
    faint = [Series("", curve.x, curve.y, colour_of(curve), "sparse", faint=True) for curve in curves]
    return [Series(run.name, nothing, nothing, others(), "sparse"), *faint] if faint else []


def _guess_marks(look: Look) -> list[Series]:
    """Return a mark for each guess of the user: the x from which the loss of a curve stays below 0.1.

    All marks share one legend entry.
    """
    marked = [
        Series("", np.full(2, x), np.array([0.0, GUESSED]), colour_of(curve), "pairs", mark=GUESS)
        for curve in look.view.curves
        if curve.chosen and (x := look.guesses.get(curve.learner)) is not None
    ]
    nothing = np.empty(0)
    return (
        [
            Series(
                "your guess: loss below 0.1 from this x on", nothing, nothing, others(), "pairs", mark=GUESS
            ),
            *marked,
        ]
        if marked
        else []
    )


def _are_equal_arrays(array: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(array, other, equal_nan=True))


def _theory_line_series(line: LineView, look: Look) -> Series:
    picked = _drawn_indices(line, look)
    formula = "" if line.curve or line.apart else line.formula
    if formula and not look.view.quantity.as_measured:
        formula = f"from {formula}"
    style = LINE_STYLES.get(line.direction, "dashed")
    tint = theory(line.direction in PROVED)
    return Series(line_name(look.view, line), line.x[picked], line.y[picked], tint, style, formula=formula)


def _training_point_series(view: View) -> list[Series]:
    """Return the training examples of the first replica as a series of separate points.

    A NaN after each point prevents a line to the next point.
    """
    if view.points is None:
        return []
    x, y = (np.asarray(coordinate) for coordinate in view.points)
    apart = np.column_stack((y, np.full_like(y, np.nan))).ravel()
    return [Series("training points", x.repeat(2), apart, others(), "points")]


def _remark_on_x(look: Look) -> str:
    """Return a remark that says at which x the table of learners reads its values, such as "… k = 64".

    The remark is empty if the x-axis is the clock of the run, or if no vertical line marks this x.
    """
    if look.playhead is None or along_records(look.view):
        return ""
    place_name = look.view.axes.names.get(look.playhead) or tick_label(look.playhead)
    return f"┊ learner table: values at {x_name(look.view)} = {place_name}"


def heat_map(look: Look, heat: HeatView) -> HeatMap:
    view, options, picture = look.view, look.resolved, look.view.picture
    title = f"{view.axes.y_label} of {heat.learner}"
    if picture.title:
        title = picture.title if len(view.heats) == 1 else f"{picture.title}: {heat.learner}"
    logarithmic = bool(options.x_log) and bool(heat.x[0] > 0), view.axes.rows_log and bool(heat.y[0] > 0)
    levels = (_level_contour(contour, heat, *logarithmic) for contour in heat.contours)
    marks = (_mark_contour(mark, heat) for mark in view.axes.marks)
    return HeatMap(
        heat.x,
        heat.y,
        heat.z,
        heat.stderr,
        x_label=view.axes.x_label,
        y_label=y_name(view),
        z_label=view.axes.y_label,
        title=title,
        x_log=logarithmic[0],
        y_log=logarithmic[1],
        z_log=bool(options.y_log),
        contours=(*(level for level in levels if len(level.path)), *marks),
    )


def _level_contour(contour: ContourView, heat: HeatView, x_log: bool, y_log: bool) -> ContourLine:
    path = level_lines(heat.x, heat.y, contour.values, contour.level, x_log, y_log)
    return ContourLine(contour.name, path, LINE_STYLES.get(contour.direction, "dashed"))


def _mark_contour(mark: Marked, heat: HeatView) -> ContourLine:
    return ContourLine(mark.name, np.stack(mark.between(heat.x[[0, -1]], heat.y[[0, -1]]), 1))


def marks(view: View, series: Sequence[Series], x_log: bool) -> list[Series]:
    """Return the marks of a picture as series: lines at an x, lines at a y, and lines through points.

    Lines at an x or y span the range of all `series`. On a logarithmic x-axis, they span only the part with x
    > 0.
    """
    xs, ys = (
        np.concatenate([getattr(curve, coordinate) for curve in series] or [np.empty(0)])
        for coordinate in "xy"
    )
    xs, ys = xs[xs > 0] if x_log else xs, ys[np.isfinite(ys)]
    if not (len(xs) and len(ys)):
        return []
    drawn_marks = []
    for mark in _marks_without_duplicates(view.axes.marks):
        x, y = mark.between(xs[[xs.argmin(), xs.argmax()]], ys[[ys.argmin(), ys.argmax()]])
        drawn_marks.append(Series(mark.name, np.array(x), np.array(y), others(), STYLE))
    return drawn_marks


def upright(series: Series, axes: Axes) -> Series:
    """Stretch the series of a vertical mark over the height of the chart; return others unchanged."""
    is_upright = (
        series.style == STYLE and is_line(series) and len(series.x) == 2 and series.x[0] == series.x[1]
    )
    return replace(series, y=np.array(axes.y_limits)) if is_upright else series


def _marks_without_duplicates(marks: Sequence[Marked]) -> list[Marked]:
    """Return the marks of a picture. Marks with equal coordinates become one mark.

    The name of a mark has parts, separated by commas. The name of the new mark consists of the leading parts
    that all names of the equal marks share. If the names share no leading part, all these marks are kept.
    """
    marks_by_place: dict[tuple[tuple[float, ...], tuple[float, ...]], list[Marked]] = {}
    for mark in marks:
        marks_by_place.setdefault((mark.x, mark.y), []).append(mark)
    shown_marks = []
    for same_marks in marks_by_place.values():
        parts = zip(*(mark.name.split(", ") for mark in same_marks), strict=False)
        shared = ", ".join(part[0] for part in takewhile(lambda part: len({*part}) == 1, parts))
        shown_marks += [same_marks[0]._replace(name=shared)] if len(same_marks) > 1 and shared else same_marks
    return shown_marks
