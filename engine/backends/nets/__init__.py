"""Training of nets compiled by numba: what the backend `preactivations` is made of."""

from __future__ import annotations

from pathlib import Path

from engine.core.compiled_code import CompiledCode

SOURCES = (Path(__file__).with_name("trained_group.py"),)


def code_of(dtype: str) -> CompiledCode:
    """The training of nets with numbers of a dtype."""
    return CompiledCode(f"nets-{dtype}", SOURCES)
