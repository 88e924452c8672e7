"""The engine of the Hadamard laboratory: it runs an experiment and returns a trace.

It contains the learners, problems, bounds and measures. It needs no terminal. Importing the engine does not
import torch; only `engine.core.lazy` does. The names of the Python API are loaded when they are first used;
see docs/reference/api.md.
"""

from importlib import import_module

__version__ = "0.2.0"

API = (
    *("BadInput", "Experiment", "Judgement", "Preset", "Run", "Trace"),
    *("assert_invariant", "judge", "load", "load_parts", "run", "start", "sweep", "verify"),
)
"""Names of `engine.api` that this package exports. The file __init__.pyi has their types."""


def __getattr__(name: str) -> object:
    if name in API:
        return getattr(import_module("engine.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
