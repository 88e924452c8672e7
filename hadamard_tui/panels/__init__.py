"""All panels below the chart: those in this package, and those in the user's own modules.

Every file in this package except `panel.py` defines a panel, PANEL. The app imports all panels at its start,
because it needs their names. Functions of a panel import the code that only serves to show results.
"""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from engine.core.outside import outside
from engine.core.parts import BadInput
from hadamard_tui.panels.panel import Panel

PANELS: tuple[Panel, ...]
"""All panels, ordered by their field `place`, then by name. Experimental panels follow the other panels.

Panels from the user's own modules come last, so that the built-in panels keep their digits as keys.
"""

ABOUT: dict[str, str]
"""Description of each tab below the chart, by the name of the tab."""

WORDS: dict[str, str]
"""Word on each tab, by the name of the tab."""


def _all_panels() -> tuple[Panel, ...]:
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    panels = _panels_of(modules)
    for module in outside.modules():
        for panel in _panels_of([module]):
            if panel.name in {TABLE, *(other_panel.name for other_panel in panels)}:
                raise BadInput(
                    str(module.__file__), f"a panel {panel.name!r} already exists; give yours another name"
                )
            panels.append(panel)
    return tuple(panels)


def _panels_of(modules: Iterable[ModuleType]) -> list[Panel]:
    panels: list[Panel] = [module.PANEL for module in modules if hasattr(module, "PANEL")]
    return sorted(panels, key=lambda panel: (panel.experimental, panel.place, panel.name))


TABLE = "learners"
"""Name of the tab with the table of learners.

This tab is not a panel. It leaves as much space as possible for the chart.
"""

DIGITS = 10
"""Number of tabs that have a digit as their key."""

FORMER = {"table": TABLE, "theory": "why", "verdict": "invariance"}
"""Current names of tabs that were renamed, by their former names."""


def _about_by_name() -> dict[str, str]:
    about = {panel.name: panel.about for panel in _constant("PANELS")}
    return {TABLE: "the table of learners: loss, bound and ratio at the playhead", **about}


def _words_by_name() -> dict[str, str]:
    return {TABLE: TABLE, **{panel.name: panel.word or panel.name for panel in _constant("PANELS")}}


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "PANELS": _all_panels,
    "ABOUT": _about_by_name,
    "WORDS": _words_by_name,
}


@cache
def _constant(name: str) -> Any:
    return _CONSTANTS[name]()


def __getattr__(name: str) -> object:
    # These are computed at first use. A user's module imports this package before it defines its panel.
    if name in _CONSTANTS:
        return _constant(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
