"""Learners, problems and bounds of the Hadamard laboratory: an experiment goes in, a trace comes out.

The engine needs no terminal, and importing it loads no torch. Only `engine.core.lazy` imports torch. The
names of the Python API, docs/reference/api.md, are loaded when they are used.
"""

from importlib import import_module

__version__ = "0.2.0"

API = (
    *("BadInput", "Experiment", "Judgement", "Preset", "Run", "Trace"),
    *("assert_invariant", "judge", "load", "load_parts", "run", "start", "sweep", "verify"),
)
"""Names of `engine.api` that the package offers; __init__.pyi has their types."""


def __getattr__(name: str) -> object:
    if name in API:
        return getattr(import_module("engine.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
