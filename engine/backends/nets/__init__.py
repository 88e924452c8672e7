"""Training of nets by a loop that numba compiles, for the backend `preactivations`."""

from __future__ import annotations

from pathlib import Path

from engine.core.compiled_code import CompiledCode

SOURCES = (Path(__file__).with_name("trained_group.py"),)


def code_of(dtype: str) -> CompiledCode:
    """Return the compiled code that trains nets whose numbers have the type `dtype`."""
    return CompiledCode(f"nets-{dtype}", SOURCES)
