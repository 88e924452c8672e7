"""The panels below the chart: a file here that has a PANEL is one of them.

The app imports all of them to name them. What only results need, a panel imports where it shows them.
"""

from importlib import import_module
from pkgutil import iter_modules

from hadamard_tui.panels.panel import Panel


def _found() -> tuple[Panel, ...]:
    """Every panel, by its place and then by its name; experimental ones leave the others their digits."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    panels: list[Panel] = [module.PANEL for module in modules if hasattr(module, "PANEL")]
    return tuple(sorted(panels, key=lambda panel: (panel.experimental, panel.place, panel.name)))


PANELS = _found()

TABLE = "learners"
"""The tab of the table of learners, which is no panel: it leaves the chart as much room as there is."""

DIGITS = 10
"""So many tabs have a digit as their key."""

ABOUT = {
    TABLE: "the table of learners: loss, bound and ratio at the playhead",
    **{panel.name: panel.about for panel in PANELS},
}
"""The tabs below the chart: what each shows, by name."""

WORDS = {TABLE: TABLE, **{panel.name: panel.word or panel.name for panel in PANELS}}
"""The word on each tab."""

FORMER = {"table": TABLE, "theory": "why", "verdict": "invariance"}
"""Names that tabs once had."""
