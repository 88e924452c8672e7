"""Checks that a file of the program is complete: its end is there, and it can be read."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from engine.core import journal
from engine.runtime import stored_run
from engine.spec import reading
from hadamard_tui.state import state_file


def _csv(content: bytes) -> bool:
    rows = list(csv.reader(content.decode().splitlines()))
    return content.endswith(b"\n") and len(rows) > 2 and {len(row) for row in rows} == {len(rows[0])}


def _json(content: bytes) -> bool:
    """Whether a result has points, and pictures with curves."""
    result = json.loads(content)
    return all(picture["curves"] for picture in result["pictures"]) and bool(result["points"])


def _run(content: bytes) -> bool:
    """Whether a run names its experiment, and all of its curves can be read.

    A run that was killed before its first frame has nothing to lose; lists leave it out.
    """
    if content in (b"", journal.MAGIC):
        return True
    with tempfile.NamedTemporaryFile(suffix=".run") as file:
        file.write(content)
        file.flush()
        path = Path(file.name)
        run, _ = stored_run.read(path)
        curves = [frame.content["curves"] for frame in journal.frames(path) if frame.kind == "curv"]
    return bool(run.document) and all(curves)


def _is_sound_index(path: Path) -> bool:
    """Return whether an index of runs is intact once SQLite has mended it from the files beside it.

    A killed writer leaves its log, or, in an index without tables yet, its rollback journal.
    """
    with tempfile.TemporaryDirectory() as folder:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copy(part, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as index:
            return [row[0] for row in index.execute("pragma integrity_check")] == ["ok"]


def _parquet(content: bytes) -> bool:
    import pyarrow
    from pyarrow import parquet

    return bool(parquet.read_table(pyarrow.BufferReader(content)).num_rows)


def _toml(content: bytes) -> bool:
    return bool(reading.parse(tomllib.loads(content.decode())))


def _state(content: bytes) -> bool:
    return state_file.parse(content).set_up() is not None


WHOLE: dict[str, Callable[[bytes], bool]] = {
    ".csv": _csv,
    ".json": _json,
    ".run": _run,
    # SQLite reads these with the index
    **dict.fromkeys((".sqlite-wal", ".sqlite-shm", ".sqlite-journal"), lambda content: True),
    ".parquet": _parquet,
    ".toml": _toml,
    ".svg": lambda content: content.rstrip().endswith(b"</svg>"),
    ".pdf": lambda content: content.rstrip().endswith(b"%%EOF"),
    ".png": lambda content: content.endswith(b"IEND\xaeB`\x82"),
}


def torn(path: Path) -> str:
    """Reason why an existing file is incomplete, or an empty text."""
    content = path.read_bytes()
    try:
        if path.suffix == ".sqlite":
            sound = _is_sound_index(path)
        elif path.name == "last.json":
            sound = _state(content)
        else:
            sound = WHOLE[path.suffix](content)
    except Exception as error:
        return f"{path.name} of {len(content)} bytes: {type(error).__name__}: {error}"
    return "" if sound else f"{path.name} of {len(content)} bytes ends in {content[-40:]!r}"
