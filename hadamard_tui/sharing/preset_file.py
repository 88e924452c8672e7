"""An experiment as a preset file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from engine.experiment import Experiment

EMPTY: tuple[Any, ...] = (None, "", {}, [], ())
"""What need not be said: it is the default wherever it is allowed."""


def as_toml(experiment: Experiment) -> str:
    """The experiment as TOML that `run` takes, its defaults said, too, lest another version has others.

    Data files are named by their absolute paths, so that the preset may lie anywhere.
    """
    table = _said(msgspec.to_builtins(experiment))
    for part in ("matrix", "target"):
        values = table["problem"][part]
        if values.get("kind") == "file":
            values["path"] = str(Path(values["path"]).absolute())
    return tomli_w.dumps(table)


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if item not in EMPTY}
    return [_said(item) for item in value] if isinstance(value, list | tuple) else value
