"""Terminal laboratory for learning theory: an app, a command line and a Python API.

Importing this package is fast, because the names of the API (docs/reference/api.md) are loaded from
`hadamard_tui.api` only when they are used. `__init__.pyi` declares the types of these names.
"""

from importlib import import_module

from engine import API

NAME = "hadamard-tui"
"""Name of the command, and of the folders for its files in the system."""


def __getattr__(name: str) -> object:
    if name in API:
        return getattr(import_module("hadamard_tui.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
