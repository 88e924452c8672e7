"""Store of runs: one file per run, which holds its finished curves, and an index of all files."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.core import files, journal
from engine.core.journal import SUFFIX
from engine.core.parts import BadInput
from engine.runtime.run_index import RunIndex, file_names, run_of
from engine.runtime.stored_run import StoredRun, id_of, read

MB = 1 << 20

MOST = 1024 * MB
"""Default limit on the total bytes of all files."""

MOST_FOUND = 8
"""Number of files tried for curves with the same key."""

OLD, VERY_OLD = 60.0, 86400.0
"""Seconds after which a file without a first frame counts as abandoned by its writer, and a run that was set
aside counts as abandoned by its app.
"""


class Place(NamedTuple):
    """Place where the curves of a learner are stored: a file, and the position in the file in bytes."""

    path: Path
    start: int


class Store:
    """Store of runs in a folder. Processes may share the folder; one process writes each run.

    The key of a learner's curves consists of everything that determines them. These are the learner, problem,
    protocol and run settings, with all expressions resolved. The key also includes the code of the engine,
    the code of the user's own parts, and the content of data files. The key contains no titles, pictures,
    claims, measures, roles or other learners. It contains the learner's name only if random draws depend on
    the name. So a renamed learner can usually reuse its curves. If a picture or claim needs the values of
    every replica for a measure, the file contains them. For other measures, they may be missing. If a set-up
    needs missing values, the curves are computed again.
    """

    def __init__(self, folder: Path, limit: float = MOST) -> None:
        """Open the store in a folder, which is created on first use.

        `limit` is the largest number of bytes that the files of the store may take.
        """
        self.folder, self.limit = folder, limit
        self._index = RunIndex(folder)

    def find(self, key: bytes) -> Iterator[Place]:
        """Yield the places where curves with this key are stored. The most recently used runs come first."""
        query = (
            "select file, start from points join runs on run = id where key = ? order by used desc limit ?"
        )
        digest = hashlib.sha256(key).digest()
        for file_name, start in self._index.rows(query, digest, MOST_FOUND):
            yield Place(self.folder / file_name, start)

    def runs(self, newest: int = -1, details: bool = False) -> list[StoredRun]:
        """Return the newest runs, the newest first: up to `newest` of them, or all runs if `newest` is −1.

        With `details`, the runs also have the fields in `run_index.DETAILS`. Lists of runs do not show these
        fields, and leaving them out is much faster.
        """
        self._index.catch_up()
        if self._index.is_resting:
            runs = sorted(self._runs_from_files(), key=lambda run: run.began, reverse=True)
            return runs[: newest if newest >= 0 else None]
        return self._runs_in_index("order by began desc limit ?", newest, details=details)

    def _runs_from_files(self) -> Iterator[StoredRun]:
        """Yield all runs, read from their files instead of the index.

        This is necessary if the index is locked or the disk is full.
        """
        for file_name in file_names(self.folder):
            with suppress(OSError, BadInput, msgspec.MsgspecError, ValueError, KeyError):
                yield read(self.folder / file_name)[0]

    def unannounced(self) -> list[StoredRun]:
        """Return the runs without a terminal whose end was not yet reported to the user, newest first."""
        self._index.catch_up()
        return self._runs_in_index("where detached order by began desc")

    def _runs_in_index(self, condition: str, *parameters: Any, details: bool = False) -> list[StoredRun]:
        columns = "file, size, row, details" if details else "file, size, row"
        rows = self._index.rows(f"select {columns} from runs {condition}", *parameters)
        return [run_of(self.folder, *row) for row in rows]

    def count(self) -> int:
        rows = self._index.rows("select count(*) from runs")
        return int(rows[0][0]) if rows else 0

    def run(self, name: str) -> StoredRun | None:
        rows = self._index.rows("select file, size, row, details from runs where id = ?", name)
        if self._index.is_resting:
            return next((run for run in self._runs_from_files() if run.id == name), None)
        return run_of(self.folder, *rows[0]) if rows else None

    def finished_as(self, digest: str, but: str) -> str | None:
        """Return the file name of the newest finished run with this digest, or None if there is no such run.

        The digest covers everything that a run depends on (`StoredRun.resolved`). The run in the file `but`
        does not count.
        """
        query = "select file, size, row from runs where resolved = ? and file != ? order by began desc"
        for row in self._index.rows(query, digest, but):
            run = run_of(self.folder, *row)
            if run.state == "finished" and Path(run.path).exists():
                return str(row[0])
        return None

    def mark(self, run: StoredRun, **marks: Any) -> None:
        """Change fields of a stored run, such as `pinned` or `tags`, to the values in `marks`.

        The new values are appended to the run's file, and replace the old ones whenever the file is read.

        Raises: BadInput.
        """
        self._index.expect_change(Path(run.path).name)
        with files.faults(run.path, "cannot be written"):
            journal.append(Path(run.path), "mark", marks)
        self.observe(Path(run.path))

    def remove(self, run: StoredRun) -> None:
        """Delete a run. Raises: BadInput for a run that is still being written."""
        _refuse_if_written(run)
        with files.faults(run.path, "cannot be deleted"):
            Path(run.path).unlink(missing_ok=True)
        self._index.forget(Path(run.path).name)

    def set_aside(self, run: StoredRun) -> None:
        """Hide a run from the store, until `bring_back` restores it or `discard` deletes it.

        Raises: BadInput for a run that is pinned or still written.
        """
        if run.pinned:
            raise BadInput(run.id, "this run is pinned; unpin the run by `runs pin --off`")
        _refuse_if_written(run)
        with files.faults(run.path, "cannot be deleted"):
            Path(run.path).rename(_path_aside(run))
        self._index.forget(Path(run.path).name)

    def bring_back(self, run: StoredRun) -> None:
        with files.faults(run.path, "cannot be restored"):
            _path_aside(run).rename(run.path)
        self.observe(Path(run.path))

    def discard(self, run: StoredRun) -> None:
        with suppress(OSError):
            _path_aside(run).unlink()

    def remove_remains(self) -> int:
        """Delete files that killed programs have left behind, and return the number of deleted files.

        These are files older than OLD without a complete beginning, and files of runs that an app set aside
        longer ago than VERY_OLD.
        """
        with suppress(OSError):
            aside = [
                path for path in self.folder.glob(f".*{SUFFIX}") if _age_of_file(path, "st_ctime") > VERY_OLD
            ]
            indexed = {file_name for (file_name,) in self._index.rows("select file from runs")}
            unread = (self.folder / name for name in set(file_names(self.folder)) - indexed)
            begun = [
                path for path in unread if _age_of_file(path, "st_mtime") > OLD and _has_no_beginning(path)
            ]
            for path in (*aside, *begun):
                path.unlink(missing_ok=True)
            return len(aside) + len(begun)
        return 0

    def make_room(self) -> list[StoredRun]:
        """Remove the least recently used runs until the store is within its limit; return the removed runs.

        Pinned runs and runs in progress are not removed.
        """
        self.remove_remains()
        totals = self._index.rows("select sum(size) from runs")
        total = totals[0][0] or 0 if totals else 0
        if total <= self.limit:
            return []
        self._index.catch_up()
        removed = []
        for run in self._runs_in_index("order by used", details=True):
            if total <= self.limit:
                break
            if not run.pinned and not run.is_written:
                with suppress(BadInput):
                    self.remove(run)
                    total -= run.bytes
                    removed.append(run)
        return removed

    def touch(self, file_name: str) -> None:
        self._index.rows("update runs set used = ? where file = ?", time.time(), file_name)

    def observe(self, path: Path, keys: Collection[tuple[bytes, int]] | None = None) -> None:
        """Update the index of the store after a file of the store has changed.

        Args:
            keys: for every curve that was appended, the digest of its key, and its position in the file. With
                None, the whole file is read.
        """
        if keys is None:
            self._index.scan(path)
            return

        def add(index: sqlite3.Connection) -> None:
            rows = [(digest, id_of(path), start) for digest, start in keys]
            index.executemany("insert into points values (?, ?, ?)", rows)

        self._index.ask(add, None)


def _refuse_if_written(run: StoredRun) -> None:
    if run.is_written:
        raise BadInput(run.id, "this run is still running; stop the run first")


def _path_aside(run: StoredRun) -> Path:
    path = Path(run.path)
    return path.with_name(f".{path.name}")


def _age_of_file(path: Path, clock: str) -> float:
    """Return how many seconds ago a file was changed (`st_mtime`) or renamed (`st_ctime`)."""
    return time.time() - float(getattr(path.stat(), clock))


def _has_no_beginning(path: Path) -> bool:
    """Return whether the writer of a file has ended before it wrote a complete first frame."""
    if journal.is_written(path):
        return False
    with path.open("rb") as file:
        line = file.read(len(journal.MAGIC))
    if line != journal.MAGIC:
        return journal.MAGIC.startswith(line)  # false for files of other programs and newer versions
    return next(journal.frames(path), None) is None
