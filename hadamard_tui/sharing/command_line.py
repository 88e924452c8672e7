"""Command lines that open the app with an experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.core import files
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui import NAME
from hadamard_tui.editing.typed_text import inline_toml
from hadamard_tui.state.state_file import KeptView

if TYPE_CHECKING:
    from engine.spec.reading import Raw

BASE = "hadamard-128"
"""Preset that the command names if the experiment was not made from a preset."""


class _Whole(Exception):
    """Raised if two documents differ in a way that new values of fields cannot express.

    For example, one document has more learners. The command must then set the complete list of learners.
    """


def command_line(document: Raw, preset: str | None, *options: str) -> str:
    """Return a shell command that opens the app with an experiment.

    It names the preset, all values that differ from the preset, and the files with the user's parts.

    Args:
        document: the complete experiment as a preset document, with its expressions.
        preset: preset that the experiment was made from. If it is None or does not exist, the command starts
            from the preset BASE instead.
        options: further options of the command.
    """
    base = preset if preset is not None and _is_valid_preset(preset) else BASE
    changes = [part for override in overrides(base, document) for part in ("--set", override)]
    parts = [part for file in outside.requested for part in ("--parts", str(file))]
    return shlex.join([NAME, "--preset", base, *changes, *parts, *options])


def views(view: KeptView) -> list[str]:
    """Return the values of --view options that turn the default view into `view`, except for its theme."""
    old, new = msgspec.to_builtins(KeptView()), msgspec.to_builtins(view)
    return [
        change for part in new if part != "theme" for change in _field_changes(part, old[part], new[part])
    ]


def keep(command: str) -> Path:
    """Save a copied command line in a file, and return its path. Raises: BadInput."""
    from platformdirs import user_state_path

    with files.faults("the command line", "cannot be written"):
        file = user_state_path(NAME) / "command.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
    files.write(file, f"{command}\n".encode(), "the command line")
    return file


def _is_valid_preset(preset: str) -> bool:
    try:
        presets.load(preset)
    except BadInput:
        return False
    return True


def overrides(preset: str, document: Raw) -> list[str]:
    """Return the values of --set options that turn a preset into the experiment `document`.

    Each value sets as small a part of the experiment as possible.
    """
    old, new = presets.document(preset), document
    changes = []
    for part in new:
        try:
            changes += list(_field_changes(part, old[part], new[part]))
        except _Whole:
            changes.append(f"{part}={inline_toml(new[part])}")
    return changes


def _field_changes(place: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        if old.get("kind") != new.get("kind") or any(
            new.get(key) is None for key in old if old[key] is not None
        ):
            yield _table_assignment(place, new)
            return
        for key in new:
            yield from _field_changes(f"{place}.{key}", old.get(key), new[key])
    elif (
        isinstance(old, list | tuple)
        and isinstance(new, list | tuple)
        and _are_tables(old)
        and _are_tables(new)
    ):
        if len(old) != len(new):
            raise _Whole
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from _field_changes(f"{place}[{number}]", *pair)
    else:
        yield _table_assignment(place, new)


def _table_assignment(place: str, value: Any) -> str:
    if value is None:
        raise _Whole  # TOML has no null, so replace the table around it
    return f"{place}={inline_toml(value)}"


def _are_tables(items: Any) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)
