"""Dashes of line styles, in dots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hadamard_tui.charts.series import LineStyle, Series

# Which dot columns a line style leaves on, by column modulo the length: fixed to the screen, so that
# dashes stand still while data grow.
PATTERNS: dict[LineStyle, tuple[bool, ...]] = {
    "dashed": (True, True, True, True, False, False),
    "dotted": (True, False, False, False),
    "dash-dot": (True,) * 6 + (False, False, True, False, False),
    "sparse": (True, True, False, False, False, False, False, False),
    "long": (True,) * 12 + (False,) * 4,
    "pairs": (True, False, True, False, False, False, False, False),
}


def is_line(series: Series) -> bool:
    """Whether a series is a line beside the curves, such as a theory line."""
    return not (series.mark or series.faint or series.is_region) and series.style in PATTERNS
