"""Stored run: the fields of a run that lists show, and how they are read from the run's file."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import msgspec

from engine.core import journal
from engine.core.journal import SUFFIX
from engine.core.parts import BadInput


class StoredRun(msgspec.Struct, omit_defaults=True):
    """Fields of a stored run, for lists of runs.

    Args:
        id: eight letters and digits that name the run.
        began, ended: seconds since 1970; `ended` is None for a run that has no end in its file.
        state: "finished", "stopped", "failed", or "running" for a run that has no end in its file.
        document: the experiment as a preset document; empty in lists.
        resolved: digest of everything the run depends on; empty in lists.
        code: hash of the engine's source files; empty in lists.
        claims: claims and outcomes, as in JSON; empty in lists.
        headline: the headline of its first picture.
        chart: heights of its first curve, for a small chart.
        name: name that a person gave the run; empty if there is none.
        detached: whether it runs in a separate process without a terminal.
    """

    id: str
    began: float
    title: str
    version: str
    document: dict[str, Any] = {}
    preset: str | None = None
    resolved: str = ""
    code: str = ""
    host: str = ""
    process: int = 0
    detached: bool = False
    state: str = "running"
    ended: float | None = None
    claims: list[dict[str, Any]] = []
    headline: str = ""
    chart: list[float | None] = []
    pinned: bool = False
    announced: bool = False
    tags: list[str] = []
    name: str = ""
    points: int = 1
    finished: int = 0
    path: str = ""
    bytes: int = 0

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_written(self) -> bool:
        """Whether a process of this machine is writing the run's file.

        On a file system without locks, the property is true if the process that began the run still exists.
        """
        if self.ended is not None:
            return False
        try:
            is_locked = journal.is_written(Path(self.path))
        except OSError:
            return False
        return self.is_here and _process_exists(self.process) if is_locked is None else is_locked

    @property
    def fate(self) -> str:
        """State of the run in a word or two, such as "finished".

        The state is "cut off" if the run was begun on this machine, its file has no end, and no process
        writes the file.
        """
        return "cut off" if self.state == "running" and self.is_here and not self.is_written else self.state

    def receive(self, frame: journal.JournalFrame) -> None:
        if frame.kind == "mark":
            content = frame.content
            for name in ("pinned", "announced", "tags", "name", "headline", "chart", "claims"):
                setattr(self, name, content.get(name, getattr(self, name)))
        elif frame.kind == "done":
            self.finished += 1
        elif frame.kind == "end ":
            self.state, self.ended = frame.content["state"], frame.content["time"]


def read(path: Path) -> tuple[StoredRun, list[tuple[bytes, int]]]:
    """Read a run from its file, and return it with the place of each of its curves.

    The place of a curve is the digest of its key, and its position in the file.

    Raises: OSError. BadInput for a file of another kind, of a newer version or without a beginning.
    """
    run: StoredRun | None = None
    keys = []
    for frame in journal.frames(path):
        if frame.kind == "head":
            run = msgspec.convert(frame.content, StoredRun)
        elif run is None:
            break
        elif frame.kind == "key ":
            keys.append((frame.content["key"], frame.content["start"]))
        else:
            run.receive(frame)
    if run is None:
        raise BadInput(str(path), "the file is damaged: it does not begin with the experiment of a run")
    run.path, run.bytes = str(path), path.stat().st_size
    return run, keys


def _process_exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:  # a process of another user
        return True
    except OSError:
        return False
    return True


def id_of(path: Path) -> str:
    """Return the name of the run in a file."""
    return path.name.removesuffix(SUFFIX).rpartition("-")[2]
