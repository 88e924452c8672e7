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

TABLE = "table"
"""In the place of a panel: none, so that the table of learners and the chart have the room."""

DIGITS = 9
"""So many panels have a digit as their key; 0 is that of the table."""

ABOUT = {
    **{panel.name: panel.about for panel in PANELS[:DIGITS]},
    TABLE: "no panel, only the table of learners",
    **{panel.name: panel.about for panel in PANELS[DIGITS:]},
}
"""What can be chosen below the chart, by name."""
