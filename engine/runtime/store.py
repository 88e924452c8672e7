"""Store of runs: one file per run, which holds its finished curves, and an index of all files.

The index tells which file has the curves of a learner at a point, and what a list of runs shows. It is made
again from the files whenever it is lost, broken or behind them.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

import engine
from engine.core import files, journal
from engine.core.journal import SUFFIX
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.learners.learner import Learner
from engine.results.trace import Curve
from engine.spec.experiment import Setup

if TYPE_CHECKING:
    from engine.planning.run_plan import LearnerPlan

Arrays = dict[str, NDArray[Any]]

Answer = TypeVar("Answer")

MB = 1 << 20

MOST_WEIGHT_BYTES = MB
"""Maximum bytes of the weights of a learner in its file; larger weights are omitted.

Only panels show weights, and weights of 2²⁰ features take 32 MB at every point.
"""

MOST_BYTES_BY_REPLICA = 4 * MB
"""Maximum bytes of the curves of a single run's learner for which the values of every replica are stored."""

MOST = 1024 * MB
"""Total bytes of all files."""

MOST_FOUND = 8
"""Number of files tried for curves with the same key."""

PATIENCE = 5.0
"""Seconds that an access to the index waits for other processes."""

VERSION = 2
"""Version of the tables; an index with other tables is made again."""

TABLES = """
create table runs(id text primary key, file text, size int, changed int, used real, row blob, document blob);
create index by_file on runs(file);
create table points(key blob, run text, start int);
create index by_key on points(key);
create index by_run on points(run);
"""


class StoredRun(msgspec.Struct, omit_defaults=True):
    """What a list of runs shows of a run.

    Args:
        id: eight letters that name the run.
        began, ended: seconds since 1970; `ended` is None for a run that has no end in its file.
        state: "finished", "stopped", "failed", or "running" for a run that has no end in its file.
        document: the experiment as a preset document.
        resolved: digest of everything the run depends on.
        claims: claims and outcomes, as in JSON.
        headline: the finding of its first picture.
        chart: heights of its first curve, for a small chart.
        detached: whether it runs in a process of its own, without a terminal.
    """

    id: str
    began: float
    title: str
    version: str
    document: dict[str, Any]
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
    points: int = 1
    finished: int = 0
    path: str = ""
    bytes: int = 0

    @property
    def is_here(self) -> bool:
        """Whether the run was begun on this machine."""
        return self.host == socket.gethostname()

    @property
    def is_written(self) -> bool:
        """Whether a process of this machine is writing its file."""
        try:
            return self.ended is None and journal.is_written(Path(self.path))
        except OSError:
            return False

    @property
    def fate(self) -> str:
        """State in a word or two; a run without an end and without a writer was cut off."""
        return "cut off" if self.state == "running" and self.is_here and not self.is_written else self.state

    def receive(self, frame: journal.Frame) -> None:
        """Take over what a frame of its file says about the run."""
        if frame.kind == "mark":
            content = frame.content
            for name in ("pinned", "announced", "tags", "headline", "chart", "claims"):
                setattr(self, name, content.get(name, getattr(self, name)))
        elif frame.kind == "done":
            self.finished += 1
        elif frame.kind == "end ":
            self.state, self.ended = frame.content["state"], frame.content["time"]


_ROWS = msgspec.msgpack.Decoder(StoredRun)


class Place(NamedTuple):
    """Place of the curves of a learner: a file, and where its frame begins."""

    path: Path
    start: int


class Store:
    """Runs in a folder. Processes may share it; each run is written by one.

    Curves have a key of everything that determines them: the learner, problem, protocol and run, all
    resolved, the code of the engine and of parts from outside, and the content of data files. Titles,
    pictures, claims, measures, roles and other learners are not part of the key, nor are names that do not
    affect draws: renamed learners are found again. Pictures and claims decide which values of replicas a file
    has. A set-up that needs other values is computed anew.
    """

    def __init__(self, folder: Path, limit: float = MOST) -> None:
        """Use a folder, made on first use, for files of up to `limit` bytes together."""
        self.folder, self.limit = folder, limit
        self._index: sqlite3.Connection | None = None
        self._resting_until = 0.0
        """Time before which the index is not asked: on a full disk, each attempt reads all files."""

        self._lock = threading.RLock()
        """Held during an access to the index, because threads share its connection."""

    def find(self, key: bytes) -> Iterator[Place]:
        """Yield the places of the curves with a key, newest first."""
        query = (
            "select file, start from points join runs on run = id where key = ? order by used desc limit ?"
        )
        digest = hashlib.sha256(key).digest()
        for file_name, start in self._rows(query, digest, MOST_FOUND):
            yield Place(self.folder / file_name, start)

    def runs(self, documents: bool = True) -> list[StoredRun]:
        """Return all runs, the newest first; without `documents`, which a list does not show, faster."""
        self._catch_up()
        query = f"select file, size, row{', document' if documents else ''} from runs"
        rows = self._ask(lambda index: index.execute(query).fetchall(), None)
        runs = self._from_files() if rows is None else (self._of_row(*row) for row in rows)
        return sorted(runs, key=lambda run: run.began, reverse=True)

    def _from_files(self) -> Iterator[StoredRun]:
        """Yield the runs without the index, which may be locked, or not fit the disk."""
        for file_name, _ in _files(self.folder):
            with suppress(OSError, BadInput, msgspec.MsgspecError, ValueError, KeyError):
                yield read(self.folder / file_name)[0]

    def run(self, name: str) -> StoredRun | None:
        """Return the run with this name; None without one."""
        query = "select file, size, row, document from runs where id = ?"
        rows = self._ask(lambda index: index.execute(query, [name]).fetchall(), None)
        if rows is None:
            return next((run for run in self._from_files() if run.id == name), None)
        return self._of_row(*rows[0]) if rows else None

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        """Return the rows of the index that answer a query; none without an index."""
        nothing: list[Any] = []
        return self._ask(lambda index: index.execute(query, parameters).fetchall(), nothing)

    def _of_row(self, file_name: str, size: int, row: bytes, document: bytes | None = None) -> StoredRun:
        run = _ROWS.decode(row)
        run.path, run.bytes = os.path.join(self.folder, file_name), size
        if document is not None:
            run.document = msgspec.msgpack.decode(document)
        return run

    def mark(self, run: StoredRun, **marks: Any) -> None:
        """Write `pinned`, `announced`, `tags`, `claims`, `headline` or `chart` of a run into its file.

        Raises: BadInput.
        """
        with files.faults(run.path, "cannot be written"):
            journal.append(Path(run.path), "mark", marks)
        self.observe(Path(run.path))

    def remove(self, run: StoredRun) -> None:
        """Delete a run. Raises: BadInput for a run that is still written."""
        if run.is_written:
            raise BadInput(run.id, "it is still running; stop it first")
        with files.faults(run.path, "cannot be deleted"):
            Path(run.path).unlink(missing_ok=True)
        self._ask(lambda index: _forget(index, Path(run.path).name), None)

    def make_room(self) -> list[StoredRun]:
        """Remove the least recently used runs beyond the limit that are neither pinned nor running.

        Returns: the removed runs.
        """
        total = sum(size for (size,) in self._rows("select size from runs"))
        if total <= self.limit:
            return []
        used = dict(self._rows("select id, used from runs"))
        removed = []
        for run in sorted(self.runs(), key=lambda run: used.get(run.id, run.began)):
            if total <= self.limit:
                break
            if not run.pinned and not run.is_written:
                with suppress(BadInput):
                    self.remove(run)
                    total -= run.bytes
                    removed.append(run)
        return removed

    def touch(self, file_name: str) -> None:
        """Count a run as used now."""
        self._rows("update runs set used = ? where file = ?", time.time(), file_name)

    def observe(self, path: Path, keys: Collection[tuple[bytes, int]] | None = None) -> None:
        """Bring what the index knows of a file up to date.

        Args:
            keys: digests of the keys, and places, of curves that were appended; None reads the whole file.
        """
        if keys is None:
            self._ask(lambda index: _scan(index, path), None)
            return

        def add(index: sqlite3.Connection) -> None:
            rows = [(digest, id_of(path), start) for digest, start in keys]
            index.executemany("insert into points values (?, ?, ?)", rows)

        self._ask(add, None)

    def _catch_up(self) -> None:
        """Read the files that the index does not know as they are, and forget files that are gone."""
        present = {name: (status.st_size, status.st_mtime_ns) for name, status in _files(self.folder)}

        def compare(index: sqlite3.Connection) -> None:
            indexed = {
                file_name: (size, changed)
                for file_name, size, changed in index.execute("select file, size, changed from runs")
            }
            for file_name in indexed.keys() - present.keys():
                _forget(index, file_name)
            for file_name in present:
                if indexed.get(file_name) != present[file_name]:
                    _scan(index, self.folder / file_name)

        self._ask(compare, None)

    def _ask(self, question: Callable[[sqlite3.Connection], Answer], without: Answer) -> Answer:
        """Return the answer of the index, within one transaction; `without` if there is none.

        A broken index is made again once. A locked index or a full disk costs a search, and never a run.
        """
        with self._lock:
            if time.monotonic() < self._resting_until:
                return without
            for _ in range(2):
                try:
                    if self._index is None:
                        self._index = self._connect()
                    with _transaction(self._index):
                        return question(self._index)
                except sqlite3.OperationalError as error:
                    self._close()
                    if not _is_broken(error):
                        self._resting_until = time.monotonic() + PATIENCE
                        return without
                    self._drop()
                except sqlite3.DatabaseError:
                    self._close()
                    self._drop()
                except OSError:
                    return without
            return without

    def _connect(self) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "index.sqlite"
        index = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        index.execute("pragma journal_mode = wal")
        index.execute("pragma synchronous = off")  # the files remain after a power failure
        with _transaction(index):
            (version,) = index.execute("pragma user_version").fetchone()
            if version != VERSION:
                index.execute("drop table if exists runs")
                index.execute("drop table if exists points")
                for statement in filter(str.strip, TABLES.split(";")):
                    index.execute(statement)
                index.execute(f"pragma user_version = {VERSION}")
                for file_name, _ in _files(self.folder):
                    _scan(index, self.folder / file_name)
        # Runs without an end may have grown since: a writer may have been killed before it told the index.
        for (file_name,) in index.execute("select file from runs where changed is null").fetchall():
            with _transaction(index):
                _scan(index, self.folder / file_name)
        return index

    def _close(self) -> None:
        if self._index is not None:
            with suppress(sqlite3.Error):
                self._index.close()
            self._index = None

    def _drop(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                (self.folder / f"index.sqlite{suffix}").unlink()


def _is_broken(error: sqlite3.OperationalError) -> bool:
    """Return whether the index lacks a part, and must be made again; others are locked, or do not fit."""
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


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names of the runs' files, and their status; other programs may add or remove files."""
    with suppress(OSError), os.scandir(folder) as entries:
        for file in entries:
            if file.name.endswith(SUFFIX) and not file.name.startswith("."):
                with suppress(OSError):
                    yield file.name, file.stat()


def read(path: Path) -> tuple[StoredRun, list[tuple[bytes, int]]]:
    """Return what a file says about its run, and the digests and places of its curves.

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
        raise BadInput(str(path), "the file of the run has no beginning")
    run.path, run.bytes = str(path), path.stat().st_size
    return run, keys


def _scan(index: sqlite3.Connection, path: Path) -> None:
    """Enter a file into the index as it is now; a file that cannot be read is not entered."""
    try:
        status = path.stat()
        run, keys = read(path)
    except FileNotFoundError:
        _forget(index, path.name)
        return
    except (OSError, BadInput, msgspec.MsgspecError, ValueError, KeyError):
        return  # a file of a newer version stays as it is, for the newer version
    row = index.execute("select used from runs where file = ?", (path.name,)).fetchone()
    used = row[0] if row else run.ended or run.began
    _forget(index, path.name)
    changed = status.st_mtime_ns if run.ended else None
    document, run.document = msgspec.msgpack.encode(run.document), {}
    index.execute(
        "insert or replace into runs values (?, ?, ?, ?, ?, ?, ?)",
        (
            id_of(path),
            path.name,
            status.st_size,
            changed,
            used,
            msgspec.msgpack.encode(run),
            document,
        ),
    )
    index.executemany(
        "insert into points values (?, ?, ?)", [(digest, id_of(path), start) for digest, start in keys]
    )


def _forget(index: sqlite3.Connection, file_name: str) -> None:
    index.execute("delete from points where run = ?", (id_of(Path(file_name)),))
    index.execute("delete from runs where file = ?", (file_name,))


def id_of(path: Path) -> str:
    """Return the name of the run in a file."""
    return path.name.removesuffix(SUFFIX).rpartition("-")[2]


def key_of(setup: Setup, learner: Learner) -> bytes:
    """Return everything that the curves of a learner depend on, as JSON."""
    words = {
        "code": code(),
        "parts": outside.digest(),
        "problem": msgspec.to_builtins(setup.problem),
        "protocol": msgspec.to_builtins(setup.protocol),
        "run": msgspec.to_builtins(setup.run),
        "learner": msgspec.to_builtins(learner),
    }
    for key in ("matrix", "target"):
        part = words["problem"][key]
        for field in getattr(setup.problem, key).file_fields:
            if part.get(field) is not None:
                part[field] = _digest(Path(part[field]))
    words["run"].pop("measures")
    for key in ("role", "where") if setup.protocol.schedule().draws_by_name else ("name", "role", "where"):
        words["learner"].pop(key, None)
    return msgspec.json.encode(words, order="sorted")


@cache
def code() -> str:
    """Return a hash of the engine's source files, so that results of other code are not found."""
    folder = Path(engine.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def names_of(planned: LearnerPlan) -> frozenset[str]:
    """Return the names of the recorded measures of a learner."""
    return frozenset(measure.name for measure in planned.measures)


def reduced(curve: Curve, by_replica: Collection[str], with_weights: bool) -> Arrays:
    """Return the arrays of a curve, without replicas and weights that nothing reads."""
    arrays = curve.as_arrays()
    for measure in set(curve.measures) - set(by_replica):
        arrays[f"values/{measure}"] = arrays[f"values/{measure}"][:, :1]
    if not with_weights and curve.weights is not None:
        arrays["weight_bytes"] = np.array(arrays.pop("weights").nbytes)
    return arrays


def _digest(path: Path) -> str:
    """Return a hash of the content of a file; its path if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)
