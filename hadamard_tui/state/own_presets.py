"""Paths of the presets that the person saved."""

from __future__ import annotations

from pathlib import Path

from engine.core import files, texts
from engine.core.parts import BadInput
from hadamard_tui import NAME
from hadamard_tui.serving import served

MOST = 50
"""Number of presets that are remembered, the newest."""

MOST_BYTES = 1 << 20


def file() -> Path:
    """Return the path of the list of presets."""
    from platformdirs import user_state_path

    return user_state_path(NAME) / "presets.txt"


def paths() -> list[str]:
    """Return the paths of the presets that still exist, newest first; none for a viewer in a browser."""
    if served():
        return []
    try:
        with files.faults(""):
            lines = files.read(file(), MOST_BYTES).decode(errors="replace").splitlines()
    except BadInput:
        return []
    return [line for line in reversed(lines) if not texts.fault(line) and _is_there(line)]


def add(path: Path) -> None:
    """Remember a preset. Raises: BadInput if the list cannot be written."""
    with files.faults("the list of presets", "cannot be written"):
        written, added = file(), str(path.absolute())
        written.parent.mkdir(parents=True, exist_ok=True)
    other_presets = [preset for preset in reversed(paths()) if preset != added]
    content = "".join(f"{preset}\n" for preset in [*other_presets, added][-MOST:])
    files.write(written, content.encode(), "the list of presets")


def _is_there(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
