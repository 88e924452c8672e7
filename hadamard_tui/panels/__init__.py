"""Panels below the chart: a PANEL of each file of this package, and of modules from outside.

The app imports all panels for their names. So a panel imports code that only results need inside its
functions.
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
"""All panels by place and name. Those from outside are last, so that the others keep their digits."""

ABOUT: dict[str, str]
"""Description of each tab below the chart, by name."""

WORDS: dict[str, str]
"""Word on each tab, by name."""


def _all_panels() -> tuple[Panel, ...]:
    """Return all panels. Raises: BadInput if two have the same name."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    panels = _panels_of(modules)
    for module in outside.modules():
        for panel in _panels_of([module]):
            if panel.name in {TABLE, *(other.name for other in panels)}:
                raise BadInput(
                    str(module.__file__), f"there is a panel {panel.name!r} already; name yours differently"
                )
            panels.append(panel)
    return tuple(panels)


def _panels_of(modules: Iterable[ModuleType]) -> list[Panel]:
    """Return the panels of modules by place and name; experimental ones are last."""
    panels: list[Panel] = [module.PANEL for module in modules if hasattr(module, "PANEL")]
    return sorted(panels, key=lambda panel: (panel.experimental, panel.place, panel.name))


TABLE = "learners"
"""Tab of the table of learners. It is not a panel, and leaves the chart as much room as possible."""

DIGITS = 10
"""Number of tabs with a digit as their key."""

FORMER = {"table": TABLE, "theory": "why", "verdict": "invariance"}
"""Present names of tabs by their former names."""


def _about() -> dict[str, str]:
    about = {panel.name: panel.about for panel in _constant("PANELS")}
    return {TABLE: "the table of learners: loss, bound and ratio at the playhead", **about}


def _words() -> dict[str, str]:
    return {TABLE: TABLE, **{panel.name: panel.word or panel.name for panel in _constant("PANELS")}}


_CONSTANTS: dict[str, Callable[[], Any]] = {"PANELS": _all_panels, "ABOUT": _about, "WORDS": _words}


@cache
def _constant(name: str) -> Any:
    return _CONSTANTS[name]()


def __getattr__(name: str) -> object:
    # At first use: a module from outside imports this package before its own panel is there.
    if name in _CONSTANTS:
        return _constant(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
