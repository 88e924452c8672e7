"""Path of the configuration file, and the files of parts that it names.

Keys of actions depend on panels, and so on parts; this file is read before them.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from engine.core import files
from engine.core.parts import BadInput
from engine.spec import raw_values
from hadamard_tui import NAME

MOST_BYTES = 1 << 16
"""Limit of the configuration file in bytes: ten times the longest meaningful one."""


def path() -> Path:
    """Return the path of the configuration file, which need not exist."""
    from platformdirs import user_config_path

    return user_config_path(NAME) / "config.toml"


def files_of_parts() -> list[Path]:
    """Return the files of parts; relative paths are relative to the folder of the configuration file.

    A file that cannot be read names none; the app says why. Raises: BadInput for a malformed list.
    """
    try:
        with files.faults(""):
            file = path()
            content = files.read(file, MOST_BYTES)
        parts = raw_values.document(content).get("parts", [])
    except BadInput:
        return []
    try:
        names = msgspec.convert(parts, list[str])
    except msgspec.ValidationError as error:
        fault = "this is not a list of files; write parts = ['~/my_rule.py']"
        raise BadInput(f"{file}: parts", fault) from error
    return [file.parent / os.path.expanduser(name) for name in names]
