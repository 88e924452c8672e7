"""An experiment as a preset file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomli_w

from engine.spec.words import as_document

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw

EMPTY: tuple[Any, ...] = (None, "", {})
"""What need not be said: it is the default wherever it is allowed."""


def as_toml(described: Experiment | Raw) -> str:
    """An experiment as TOML that `run` takes, its defaults said, too, lest another version has others.

    A document keeps its expressions.

    Data files have absolute paths, so that the preset may lie anywhere.
    """
    return tomli_w.dumps(_said(as_document(described)))


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if item not in EMPTY}
    return [_said(item) for item in value] if isinstance(value, list | tuple) else value
