"""Index of the files of runs: an SQLite database in the same folder, rebuilt if it is lost or broken.

The index finds the files that contain curves with a given key. It also stores the fields that lists of runs
show.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.core.journal import SUFFIX
from engine.core.parts import BadInput
from engine.runtime.stored_run import StoredRun, id_of, read

Answer = TypeVar("Answer")

PATIENCE = 5.0
"""Seconds that an access to the index waits for other processes."""

VERSION = 3
"""Version of the tables; an index with another version is rebuilt."""

TABLES = """
create table runs(
    id text primary key, file text, size int, changed int, ended int, used real, began real,
    resolved text, detached int, row blob, details blob
);
create index by_file on runs(file);
create index by_time on runs(began);
create index by_state on runs(ended);
create index by_digest on runs(resolved);
create table points(key blob, run text, start int);
create index by_key on points(key);
create index by_run on points(run);
"""

DETAILS = "document", "resolved", "code", "claims"
"""Fields of a run that no list shows, and that take most of the run's bytes."""


class RunIndex:
    """Index of the runs in a folder, as an SQLite database.

    The threads of a process share a connection to the database, and several processes share its file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._resting_until = 0.0
        """Time until which the index is not used after a failure.

        On a full disk, each attempt to use it would read all files.
        """

        self._lock = threading.RLock()
        """Held during an access, because threads share the connection."""

    def __del__(self) -> None:
        # A connection refers to itself, and would stay open until the next garbage collection.
        self._close_connection()

    @property
    def is_resting(self) -> bool:
        return time.monotonic() < self._resting_until

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        """Return the rows that an SQL query finds, or no rows if the index cannot be used."""
        nothing: list[Any] = []
        return self.ask(lambda index: index.execute(query, parameters).fetchall(), nothing)

    def ask(self, question: Callable[[sqlite3.Connection], Answer], without: Answer) -> Answer:
        """Call `question` with the connection to the index, in one transaction, and return its result.

        If the index cannot be used, return `without` instead. A broken index is rebuilt once. If the index is
        locked or the disk is full, searches find nothing, but runs continue.
        """
        with self._lock:
            if self.is_resting:
                return without
            for _ in range(2):
                try:
                    if self._connection is None:
                        self._connection = self._connect_to_file()
                    with _transaction(self._connection):
                        return question(self._connection)
                except sqlite3.OperationalError as error:
                    self._close_connection()
                    if not _is_broken(error):
                        self._resting_until = time.monotonic() + PATIENCE
                        return without
                    self._delete_files()
                except sqlite3.DatabaseError:
                    self._close_connection()
                    self._delete_files()
                except OSError:
                    return without
            return without

    def scan(self, path: Path) -> None:
        self.ask(lambda index: _scan_file(index, path), None)

    def expect_change(self, file_name: str) -> None:
        """Record that a file is about to change. If this process is killed, `catch_up` reads the file."""
        self.rows("update runs set ended = 0, changed = 0 where file = ?", file_name)

    def forget(self, file_name: str) -> None:
        self.ask(lambda index: _delete_rows(index, file_name), None)

    def catch_up(self) -> None:
        """Make the index agree with the files in the folder.

        New files, and changed files of unfinished runs, are read. Missing files are removed from the index.
        The file of a finished run changes only in `Store.mark`, which calls `expect_change` first.
        """
        present = set(file_names(self._folder))

        def compare(index: sqlite3.Connection) -> None:
            indexed = {file_name for (file_name,) in index.execute("select file from runs")}
            for file_name in indexed - present:
                _delete_rows(index, file_name)
            for file_name in present - indexed:
                _scan_file(index, self._folder / file_name)
            self._scan_unfinished_runs(index)

        self.ask(compare, None)

    def _scan_unfinished_runs(self, index: sqlite3.Connection) -> None:
        """Read the files of unfinished runs again if they have changed.

        Their writers may have been killed before they could update the index.
        """
        query = "select file, size, changed from runs where ended = 0"
        for file_name, size, changed in index.execute(query).fetchall():
            path = self._folder / file_name
            with suppress(OSError):
                status = path.stat()
                if (status.st_size, status.st_mtime_ns) == (size, changed):
                    continue
            _scan_file(index, path)

    def _connect_to_file(self) -> sqlite3.Connection:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "index.sqlite"
        index = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        index.execute("pragma journal_mode = wal")
        # after a power failure, the index can be rebuilt from the files
        index.execute("pragma synchronous = off")
        with _transaction(index):
            (version,) = index.execute("pragma user_version").fetchone()
            if version != VERSION:
                index.execute("drop table if exists runs")
                index.execute("drop table if exists points")
                for statement in filter(str.strip, TABLES.split(";")):
                    index.execute(statement)
                index.execute(f"pragma user_version = {VERSION}")
                for file_name in file_names(self._folder):
                    _scan_file(index, self._folder / file_name)
            else:
                self._scan_unfinished_runs(index)
        return index

    def _close_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _delete_files(self) -> None:
        # SQLite would roll a journal that stays behind back into the new index.
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                (self._folder / f"index.sqlite{suffix}").unlink()


def file_names(folder: Path) -> Iterator[str]:
    """Yield the names of all run files in the folder, except those of runs that are set aside."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(SUFFIX) and not name.startswith("."):
                yield name


def _is_broken(error: sqlite3.OperationalError) -> bool:
    """Return whether an error means that the index is damaged.

    Other errors mean that the index is locked or the disk is full.
    """
    reasons = "malformed", "no such table"
    is_short = error.sqlite_errorname == "SQLITE_IOERR_SHORT_READ"
    return is_short or any(reason in str(error) for reason in reasons)


@contextmanager
def _transaction(index: sqlite3.Connection) -> Iterator[None]:
    index.execute("begin immediate")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            index.execute("rollback")
        raise
    index.execute("commit")


def _scan_file(index: sqlite3.Connection, path: Path) -> None:
    try:
        status = path.stat()
        run, keys = read(path)
    except FileNotFoundError:
        _delete_rows(index, path.name)
        return
    except (OSError, BadInput, msgspec.MsgspecError, ValueError, KeyError):
        return  # a file that a newer version wrote stays as it is
    row = index.execute("select used from runs where file = ?", (path.name,)).fetchone()
    used = row[0] if row else run.ended or run.began
    _delete_rows(index, path.name)
    ended, resolved = run.ended is not None, run.resolved
    details = {name: getattr(run, name) for name in DETAILS}
    for name in DETAILS:
        setattr(run, name, type(details[name])())
    index.execute(
        "insert or replace into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id_of(path),
            path.name,
            status.st_size,
            status.st_mtime_ns,
            ended,
            used,
            run.began,
            resolved,
            run.detached and not run.announced,
            msgspec.msgpack.encode(run),
            msgspec.msgpack.encode(details),
        ),
    )
    index.executemany(
        "insert into points values (?, ?, ?)", [(digest, id_of(path), start) for digest, start in keys]
    )


def _delete_rows(index: sqlite3.Connection, file_name: str) -> None:
    index.execute("delete from points where run = ?", (id_of(Path(file_name)),))
    index.execute("delete from runs where file = ?", (file_name,))


_ROWS = msgspec.msgpack.Decoder(StoredRun)


def run_of(folder: Path, file_name: str, size: int, row: bytes, details: bytes | None = None) -> StoredRun:
    """Return the run that a row of the index describes.

    If `details` is given, the run has the fields DETAILS as well.
    """
    run = _ROWS.decode(row)
    run.path, run.bytes = os.path.join(folder, file_name), size
    if details is not None:
        for name, content in msgspec.msgpack.decode(details).items():
            setattr(run, name, content)
    return run
