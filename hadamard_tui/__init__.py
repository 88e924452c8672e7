"""Terminal laboratory: an app, a command line and a Python API over the engine.

The names of the API, docs/api.md, are loaded when they are used: `import hadamard_tui as ht` is fast.
"""

from importlib import import_module

NAME = "hadamard-tui"
"""Name of the command, and of its folders in the system."""

API = (
    *("BadInput", "Experiment", "Preset", "Run", "Trace"),
    *("assert_invariant", "load", "run", "start", "sweep", "verify"),
)
"""Names of `hadamard_tui.api` that the package offers; __init__.pyi has their types."""


def __getattr__(name: str) -> object:
    if name in API:
        return getattr(import_module("hadamard_tui.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
