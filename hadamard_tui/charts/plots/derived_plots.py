"""Charts derived from a picture: differences from a pinned run, a chart per learner, and stacked pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from engine.pictures.wording import short_name
from hadamard_tui.charts.plots.series_builder import Plot, letter_of, theory
from hadamard_tui.charts.plots.view_plot import different_lines, plot
from hadamard_tui.charts.series import Series

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.charts.series import Axes


def stacked(look: Look) -> list[Plot]:
    return [plot(look), *([] if look.beneath is None else [plot(look.beneath)])]


def is_difference(look: Look) -> bool:
    return bool(look.options.difference and look.pinned and look.view.curves)


def difference(look: Look) -> Plot:
    """Return a chart of the run on the screen minus the last pinned run.

    A pinned run is a run that the user keeps for comparison. Each curve is compared with the pinned run's
    curve of the same name. Other curves are left out.
    """
    pinned, view = look.pinned[-1], look.view
    pinned_curves = {curve.name: curve for curve in pinned.view.curves}
    curves = [
        _curve_minus(curve, pinned_curves[curve.name]) for curve in view.curves if curve.name in pinned_curves
    ]
    changed = replace(
        view,
        axes=replace(
            view.axes,
            y_label=f"{view.axes.y_label} minus its value in the run “{pinned.name}”",
            y_log=False,
            marks=(),
        ),
        quantity=replace(view.quantity, as_measured=False),
        curves=curves,
        lines=[],
    )
    options = replace(look.options, y_log=False)
    drawn = plot(replace(look, view=changed, options=options, pinned=(), ghost=None, stored=()))
    zero = Series(f"as in “{pinned.name}”", np.array(drawn.axes.x_limits), np.zeros(2), theory(), "dashed")
    return drawn._replace(series=[zero, *drawn.series])


def _curve_minus(curve: CurveView, other: CurveView) -> CurveView:
    """Return a curve minus another curve, which is interpolated linearly.

    The result is NaN for x before the start or after the end of the other curve.
    """
    defined = ~np.isnan(other.y)
    if not defined.any():
        return replace(curve, y=np.full_like(curve.y, np.nan), stderr=None)
    x, order = other.x[defined], np.argsort(other.x[defined], kind="stable")

    def at(values: np.ndarray) -> np.ndarray:
        heights: np.ndarray = np.interp(curve.x, x[order], values[defined][order], left=np.nan, right=np.nan)
        return heights

    both = curve.stderr is not None and other.stderr is not None
    stderr = np.hypot(curve.stderr, at(other.stderr)) if both else None  # type: ignore[arg-type]
    return replace(curve, y=curve.y - at(other.y), stderr=stderr)


def has_multiples(look: Look) -> bool:
    """Return whether a picture has several curves to draw in separate charts.

    Curves of reference learners, which are drawn like theory lines, do not count.
    """
    return len(_curves_by_chart(look)) > 1


def multiples(look: Look, most_charts: int, learner_name: str) -> tuple[list[Plot], int]:
    """Return charts of single learners, at most `most_charts`, and the number of charts that are left out.

    If the picture has only one learner, each of its curves has a chart. The learner `learner_name` always has
    a chart.
    """
    groups = _curves_by_chart(look)
    chosen = groups[:most_charts]
    of_learner = next((group for group in groups if group[0].learner == learner_name), None)
    if of_learner is not None and of_learner not in chosen:
        chosen[-1] = of_learner
    axes = plot(look).axes
    return [_plot_of_curves(look, curves, axes) for curves in chosen], len(groups) - len(chosen)


def _curves_by_chart(look: Look) -> list[list[CurveView]]:
    """Return the curves of each learner, or each curve by itself if all have the same learner."""
    curves = [curve for curve in look.view.curves if not curve.training.is_reference]
    by_learner: dict[str, list[CurveView]] = {}
    for curve in curves:
        by_learner.setdefault(curve.learner, []).append(curve)
    return [*by_learner.values()] if len(by_learner) > 1 else [[curve] for curve in curves]


def _plot_of_curves(look: Look, curves: Sequence[CurveView], axes: Axes) -> Plot:
    names = [curve.name for curve in curves]
    pinned = [run._replace(view=_view_of_curves(run.view, names)) for run in look.pinned]
    view = look.view
    references = [curve for curve in view.curves if curve.training.is_reference]
    lines = [line for line in view.lines if any(line.is_about(curve) for curve in curves)]
    if len(curves) > 1:  # a line for each value of a sweep axis would hide the curves and their names
        lines = [line for line in different_lines(lines) if not line.apart]
    alone = replace(view, curves=[*curves, *references], lines=lines)
    drawn = plot(replace(look, view=alone, pinned=pinned, stored=()))
    first, *further = curves
    title = first.learner if further else f"{letter_of(first)} {short_name(view, first)}".strip()
    return drawn._replace(axes=replace(axes, title=title))


def _view_of_curves(view: View, names: Sequence[str]) -> View:
    return replace(view, curves=[curve for curve in view.curves if curve.name in names], lines=[])
