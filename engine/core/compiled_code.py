"""Compiled code on disk: whether it exists, and a separate process that compiles it.

Compiling a loop takes seconds, once per machine, and holds Python's global lock. So a separate process
compiles, while this process continues without the compiled code. numba stores compiled code beside the
sources, or in the user's cache folder if the sources' folder is not writable. For each kind of code, a small
JSON file, the note, lists the compiled files.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from engine.core import files
from engine.core.parts import BadInput

FOLDER = "hadamard-tui/compiled"
"""Name of a folder in the user's cache folder, for the JSON files that list compiled code."""


class CompiledCode(NamedTuple):
    """Code for learners of one kind, which numba compiles and stores on disk."""

    name: str
    """Name, without suffix, of the JSON file (the note) that lists the compiled files."""
    sources: tuple[Path, ...]
    """Source files of the code."""

    @property
    def is_there(self) -> bool:
        """Whether this process can use the compiled code without waiting for another process to compile it.

        Also true if this machine cannot store compiled code: each process must then compile it itself.
        """
        if (process := _started.get(self)) is not None and process.poll() is None:
            return False
        notes = [*self._note_files()]
        return not any(_is_writable(note.parent) for note in notes) or any(map(self._is_current, notes))

    def make(self, module: str, *words: str) -> None:
        """Start `python -m module words…`, which compiles the code and calls `note`.

        At most one compiling process starts. If the calling process ends first, the compiling process may
        continue for some seconds.
        """
        if self not in _started and not self.is_there:
            with suppress(OSError):
                _started[self] = subprocess.Popen(
                    [sys.executable, "-m", module, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    # The compiler gets a separate session, so that Ctrl-C in the terminal does not end it
                    # half-way.
                    start_new_session=True,
                )

    def wait(self) -> None:
        if self in _started:
            _started[self].wait()

    def note(self, *cached: Path) -> None:
        """Write the note: a JSON file that lists the compiled files `cached`.

        The note tells `is_there`, also in other processes, that the code is compiled. Write nothing if a file
        is missing, or if an up-to-date note exists.
        """
        if self in _noted:
            return
        _noted.add(self)
        if (
            not cached
            or not all(file.exists() for file in cached)
            or any(map(self._is_current, self._note_files()))
        ):
            return
        content = json.dumps({"of": self._conditions_digest(), "files": [*map(str, cached)]}).encode()
        for note in self._note_files():
            with suppress(OSError, BadInput):
                note.parent.mkdir(parents=True, exist_ok=True)
                files.write(note, content, "")
                return

    def _note_files(self) -> Iterator[Path]:
        from platformdirs import user_cache_path

        yield self.sources[0].parent / "__pycache__" / f"{self.name}.json"
        yield user_cache_path() / FOLDER / f"{self.name}.json"

    def _is_current(self, note: Path) -> bool:
        try:
            content = json.loads(note.read_bytes())
            return bool(content["of"] == self._conditions_digest()) and all(
                map(os.path.exists, content["files"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _conditions_digest(self) -> str:
        files = [(source.name, source.stat().st_mtime_ns, source.stat().st_size) for source in self.sources]
        settings = sorted(
            (variable, value) for variable, value in os.environ.items() if variable.startswith("NUMBA_")
        )
        return hashlib.sha256(repr((files, settings, _machine_description())).encode()).hexdigest()


_started: dict[CompiledCode, subprocess.Popen[bytes]] = {}
"""Compiling processes that this process has started, by the code that they compile."""

_noted: set[CompiledCode] = set()
"""Code for which this process has already called `CompiledCode.note`."""


def _is_writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


@cache
def _machine_description() -> tuple[str, ...]:
    features: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        features = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    return version("numba"), sys.version, platform.machine(), *features
