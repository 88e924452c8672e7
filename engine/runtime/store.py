"""What was computed at the points of axes, kept on disk: a file per learner and point.

Of a measure that no picture, claim or line reads by replica a file has the mean, its standard error and the
first replica.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

import engine
from engine.core import files
from engine.core.parts import BadInput
from engine.learners.learner import Learner
from engine.planning.run_plan import LearnerPlan
from engine.results.trace import Curve
from engine.spec.experiment import Setup

Arrays = dict[str, NDArray[Any]]

MEASURES, BY_REPLICA, POINT = "measures", "by_replica", "point"
"""The arrays of a file that are no curve's: the names of measures, those of which it has the values in every
replica, and what it is of, as JSON."""

MB = 1 << 20

MOST_WEIGHT_BYTES = MB
"""Weights of a learner along a run are left out of its file where they take more: only panels show them, and
those of 2²⁰ features take 32 MB at every point."""

MOST = 1024 * MB
"""Bytes that all files together may take."""


class Store:
    """Finished curves by what they were computed from: the same learner on the same problem is found again.

    The key is the learner with its problem, protocol and run, all resolved, and the code of the engine; of a
    data file its content counts. Titles, pictures, claims, measures and other learners are no part of it, nor
    are roles, and names where nothing is drawn by them: what is renamed is found again. A file holds its key
    as JSON beside its arrays, so that an index of a folder can be made from the files alone. Pictures and
    claims decide which values of replicas a file has; a set-up that reads others is computed.
    """

    def __init__(self, folder: Path, limit: float = MOST) -> None:
        """In a folder, which is made when something is kept, in files of `limit` bytes together."""
        self._folder, self._most = folder, limit
        self._taken: int | None = None
        self._reported = False

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve]) -> bool:
        """Fill the empty curves of a learner, one per rate, with what is kept; whether it was.

        A broken file counts as not there, and so does one without a measure, or without values of replicas,
        that the experiment reads.
        """
        path = self._path(_key(planned.experiment, planned.learner))
        recorded, by_replica = _names(planned), planned.by_replica
        try:
            with np.load(path, allow_pickle=False) as file:
                if recorded - set(file[MEASURES].tolist()) or by_replica - set(file[BY_REPLICA].tolist()):
                    return False
                stored = [_of_curve(file, number) for number in range(len(curves))]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return False
        for curve, arrays in zip(curves, stored, strict=True):
            curve.restore(arrays)
        with suppress(OSError):
            os.utime(path)  # what is used stays longest
        return True

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve]) -> str | None:
        """Keep the finished curves of a learner, one per rate.

        Returns why that cannot be done, the first time; None afterwards, and where it was done. Files that
        were used the longest ago are removed where all together are larger than they may be.
        """
        try:
            self._keep(planned, curves)
        except (BadInput, MemoryError) as error:
            reported, self._reported = self._reported, True
            return None if reported else str(error) or "there is not enough memory"
        return None

    def _keep(self, planned: LearnerPlan, curves: Sequence[Curve]) -> None:
        key = _key(planned.experiment, planned.learner)
        recorded, by_replica = _names(planned), planned.by_replica
        arrays: Arrays = {
            POINT: np.array(key.decode()),
            MEASURES: np.array(sorted(recorded), str),
            BY_REPLICA: np.array(sorted(by_replica), str),
        }
        weight_bytes = sum(curve.weights.nbytes for curve in curves if curve.weights is not None)
        for number, curve in enumerate(curves):
            reduced = _reduced(curve, by_replica, with_weights=weight_bytes <= MOST_WEIGHT_BYTES)
            arrays |= {f"{number}/{name}": array for name, array in reduced.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        path, size = self._path(key), content.getbuffer().nbytes
        with files.faults(str(path), "cannot be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
        if size > self._most:
            raise BadInput(str(path), f"it takes {size / MB:.3g} MB, and all may take {self._most / MB:.3g}")
        if self._taken is None:  # once: a folder that nothing is written to is not looked at by its writers
            for folder in self._folder.glob("??"):
                files.remove_leftovers(folder)
        files.write(path, content.getvalue(), "")
        self._make_room(size)

    def _make_room(self, size: int) -> None:
        """See that all files are small enough together, after one of this size was written."""
        if self._taken is not None:
            self._taken += size
        if self._taken is None or self._taken > self._most:
            files = sorted(_files(self._folder), key=lambda file: file.used)
            self._taken = sum(file.size for file in files)
            for file in files:
                if self._taken <= self._most:
                    break
                with suppress(OSError):
                    file.path.unlink()
                self._taken -= file.size

    def _path(self, key: bytes) -> Path:
        """Where the curves of a learner are: a name made of all that they depend on."""
        name = hashlib.sha256(key).hexdigest()
        return self._folder / name[:2] / f"{name[2:34]}.npz"


class _File(NamedTuple):
    """A file of the store."""

    path: Path
    size: int
    used: float
    """When it was written or read last."""


def _files(folder: Path) -> Iterator[_File]:
    """The files that there are now; others may be writing and removing some."""
    for path in folder.glob("??/*.npz"):
        with suppress(OSError):
            status = path.stat()
            yield _File(path, status.st_size, status.st_mtime)


def _key(setup: Setup, learner: Learner) -> bytes:
    """All that the curves of a learner depend on, as JSON."""
    words = {
        "code": code(),
        "problem": msgspec.to_builtins(setup.problem),
        "protocol": msgspec.to_builtins(setup.protocol),
        "run": msgspec.to_builtins(setup.run),
        "learner": msgspec.to_builtins(learner),
    }
    for name in ("matrix", "target"):
        part = words["problem"][name]
        for field in getattr(setup.problem, name).file_fields:
            if part.get(field) is not None:
                part[field] = _digest(Path(part[field]))
    words["run"].pop("measures")
    for name in ("role", "where") if setup.protocol.schedule().draws_by_name else ("name", "role", "where"):
        words["learner"].pop(name, None)
    return msgspec.json.encode(words, order="sorted")


@cache
def code() -> str:
    """The engine's own files in a few letters: what other code computed is not found."""
    folder = Path(engine.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _names(planned: LearnerPlan) -> frozenset[str]:
    """Names of the measures that are recorded of a learner."""
    return frozenset(measure.name for measure in planned.measures)


def _reduced(curve: Curve, by_replica: Collection[str], with_weights: bool) -> Arrays:
    """The arrays of a curve, without replicas and weights that nothing reads."""
    arrays = curve.as_arrays()
    for name in set(curve.measures) - set(by_replica):
        arrays[f"values/{name}"] = arrays[f"values/{name}"][:, :1]
    if not with_weights and curve.weights is not None:
        arrays["weight_bytes"] = np.array(arrays.pop("weights").nbytes)
    return arrays


def _of_curve(file: Any, number: int) -> Arrays:
    prefix = f"{number}/"
    return {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}


def _digest(path: Path) -> str:
    """The content of a file in a few letters; its name where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)
