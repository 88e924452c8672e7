"""Panels below the chart, one for each file of this package with a PANEL.

The app imports all panels for their names. So a panel imports code that only results need inside its
functions.
"""

from importlib import import_module
from pkgutil import iter_modules

from hadamard_tui.panels.panel import Panel


def _all_panels() -> tuple[Panel, ...]:
    """Return all panels by place and name.

    Experimental ones are last, so that the others keep their digits.
    """
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    panels: list[Panel] = [module.PANEL for module in modules if hasattr(module, "PANEL")]
    return tuple(sorted(panels, key=lambda panel: (panel.experimental, panel.place, panel.name)))


PANELS = _all_panels()

TABLE = "learners"
"""Tab of the table of learners. It is not a panel, and leaves the chart as much room as possible."""

DIGITS = 10
"""Number of tabs with a digit as their key."""

ABOUT = {
    TABLE: "the table of learners: loss, bound and ratio at the playhead",
    **{panel.name: panel.about for panel in PANELS},
}
"""Description of each tab below the chart, by name."""

WORDS = {TABLE: TABLE, **{panel.name: panel.word or panel.name for panel in PANELS}}
"""Word on each tab, by name."""

FORMER = {"table": TABLE, "theory": "why", "verdict": "invariance"}
"""Present names of tabs by their former names."""
