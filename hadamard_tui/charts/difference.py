"""The curves of a run minus those of another run, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Plot, theory
from hadamard_tui.charts.view_plot import plot

if TYPE_CHECKING:
    from engine.pictures.view import CurveView
    from hadamard_tui.charts.look import Look


def is_difference(look: Look) -> bool:
    """Whether the look shows differences to a pinned run."""
    return bool(look.options.difference and look.pinned and look.view.curves)


def difference(look: Look) -> Plot:
    """Every curve less that of the same name in the last of the pinned runs; 0 where they are alike."""
    pinned, view = look.pinned[-1], look.view
    pinned_curves = {curve.name: curve for curve in pinned.view.curves}
    curves = [_less(curve, pinned_curves[curve.name]) for curve in view.curves if curve.name in pinned_curves]
    changed = replace(
        view,
        axes=replace(
            view.axes, y_label=f"{view.axes.y_label} minus that with {pinned.name}", y_log=False, marks=()
        ),
        quantity=replace(view.quantity, as_measured=False),
        curves=curves,
        lines=[],
    )
    options = replace(look.options, y_log=False)
    drawn = plot(replace(look, view=changed, options=options, pinned=(), ghost=None, stored=()))
    zero = Series(f"as with {pinned.name}", np.array(drawn.axes.x_limits), np.zeros(2), theory(), "dashed")
    return drawn._replace(series=[zero, *drawn.series])


def _less(curve: CurveView, other: CurveView) -> CurveView:
    """Return a curve minus another one, which is interpolated linearly and does not reach beyond its ends."""
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
