"""Loops over weight vectors that numba compiles, for the backend `compiled`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.core.compiled_code import CompiledCode

if TYPE_CHECKING:
    from engine.learners.learner import Learner


SOURCES = (Path(__file__).with_name("kernels.py"),)


def code_of(learner: Learner, dtype: str) -> CompiledCode:
    """Return the compiled loops for the kinds of the learner's rule and architecture, in the type `dtype`."""
    architecture, update = learner.trained
    return CompiledCode(f"passes-{update.kind}-{architecture.kind}-{dtype}", SOURCES)
