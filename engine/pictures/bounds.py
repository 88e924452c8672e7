"""The bounds that a curve of a view is compared with."""

from __future__ import annotations

import numpy as np

from engine.pictures.view import FROM_BELOW, ZERO, CurveView, Floats, LineView, View

EXACTNESS = ("exact", "asymptotic", "upper", "reference")
"""The directions of lines that are no bounds from below, those that say most first."""


def bounds_on(view: View, curve: CurveView) -> list[LineView]:
    """Return the bounds from below that bind a curve, else those that it may beat."""
    about = [line for line in view.lines if line.direction in FROM_BELOW and line.says(curve)]
    return [line for line in about if line.binds(curve)] or about


def strongest_bound(view: View, curve: CurveView, x: float) -> LineView | None:
    """Return the highest at x of `bounds_on` a curve; of equals the one with the higher mean."""
    heights = [(height, line) for line in bounds_on(view, curve) if not np.isnan(height := line.at(x))]
    most = max((height for height, _ in heights), default=np.nan)
    highest = [line for height, line in heights if height == most]
    return max(highest, key=lambda line: line.mean) if len(highest) > 1 else next(iter(highest), None)


def line_for(view: View, curve: CurveView, x: float) -> LineView | None:
    """Return the strongest bound at x, else the line of the curve that says most, by EXACTNESS.

    The two edges of a band are no line.
    """
    if (bound := strongest_bound(view, curve, x)) is not None:
        return bound
    others = [line for line in view.lines if line.direction in EXACTNESS and line.says(curve)]
    known = [line for line in others if line.binds(curve) and not np.isnan(line.at(x))]
    single = [line for line in known if sum(line.kind == other.kind for other in known) == 1]
    return min(single, key=lambda line: (not line.curve, EXACTNESS.index(line.direction)), default=None)


def bound_heights(view: View, curve: CurveView, x: Floats) -> Floats:
    """Return the height of the strongest bound at every x; 0 where it is 0 up to rounding or missing."""
    heights = np.zeros_like(x)
    for line in bounds_on(view, curve):
        np.fmax(heights, np.interp(x, line.x, line.y), out=heights)
    return np.where(heights > ZERO, heights, 0.0)
