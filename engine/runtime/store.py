"""Store of finished curves on disk: one file per learner and point of the axes.

If no picture, claim or line reads a measure by replica, its mean, standard error and first replica are
stored.
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
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.learners.learner import Learner
from engine.planning.run_plan import LearnerPlan
from engine.results.trace import Curve
from engine.spec.experiment import Setup

Arrays = dict[str, NDArray[Any]]

MEASURES, BY_REPLICA, POINT = "measures", "by_replica", "point"
"""Names of arrays in a file besides its curves: names of measures, names of measures stored for every
replica, and the key.
"""

MB = 1 << 20

MOST_WEIGHT_BYTES = MB
"""Maximum bytes of the weights of a learner in its file; larger weights are omitted.

Only panels show weights, and weights of 2²⁰ features take 32 MB at every point.
"""

MOST = 1024 * MB
"""Total bytes of all files."""


class Store:
    """Finished curves, stored under a key of everything that determines them.

    The key contains the learner, problem, protocol and run, all resolved, the code of the engine and of
    parts from outside, and the content of data files. Titles, pictures, claims, measures, roles and other
    learners are not part of the key, nor are names that do not affect draws: renamed learners are found
    again. A file holds its key as JSON beside its arrays, so that an index of a folder can be made from the
    files alone. Pictures and claims decide which values of replicas a file has. A set-up that needs other
    values is computed anew.
    """

    def __init__(self, folder: Path, limit: float = MOST) -> None:
        """Use a folder, made on first use, for files of up to `limit` bytes together."""
        self._folder, self._limit = folder, limit
        self._bytes_used: int | None = None
        self._reported = False

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve]) -> bool:
        """Fill the empty curves of a learner, one per rate, from the store, and return whether it has them.

        A broken file counts as missing. So does a file without a measure or values of replicas that the
        experiment reads.
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
            os.utime(path)  # marks the use: the least recently used file is removed first
        return True

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve]) -> str | None:
        """Store the finished curves of a learner, one per rate.

        Return the reason of the first failure; None for later failures and for success. Remove the least
        recently used files if all files together exceed the limit.
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
            arrays |= {f"{number}/{array_name}": array for array_name, array in reduced.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        path, size = self._path(key), content.getbuffer().nbytes
        with files.faults(str(path), "cannot be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
        if size > self._limit:
            raise BadInput(str(path), f"it takes {size / MB:.3g} MB, and all may take {self._limit / MB:.3g}")
        if self._bytes_used is None:  # remove leftovers once, and only in a process that writes
            for folder in self._folder.glob("??"):
                files.remove_leftovers(folder)
        files.write(path, content.getvalue(), "")
        self._make_room(size)

    def _make_room(self, size: int) -> None:
        """Remove old files beyond the limit, after a file of this size was written."""
        if self._bytes_used is not None:
            self._bytes_used += size
        if self._bytes_used is None or self._bytes_used > self._limit:
            files = sorted(_files(self._folder), key=lambda file: file.used)
            self._bytes_used = sum(file.size for file in files)
            for file in files:
                if self._bytes_used <= self._limit:
                    break
                with suppress(OSError):
                    file.path.unlink()
                self._bytes_used -= file.size

    def _path(self, key: bytes) -> Path:
        """Return the path of the curves of a learner, named by a hash of their key."""
        digest = hashlib.sha256(key).hexdigest()
        return self._folder / digest[:2] / f"{digest[2:34]}.npz"


class _File(NamedTuple):
    """File of the store."""

    path: Path
    size: int
    used: float
    """Time of the last write or read."""


def _files(folder: Path) -> Iterator[_File]:
    """Yield the present files; other programs may add or remove files meanwhile."""
    for path in folder.glob("??/*.npz"):
        with suppress(OSError):
            status = path.stat()
            yield _File(path, status.st_size, status.st_mtime)


def _key(setup: Setup, learner: Learner) -> bytes:
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


def _names(planned: LearnerPlan) -> frozenset[str]:
    """Return the names of the recorded measures of a learner."""
    return frozenset(measure.name for measure in planned.measures)


def _reduced(curve: Curve, by_replica: Collection[str], with_weights: bool) -> Arrays:
    """Return the arrays of a curve, without replicas and weights that nothing reads."""
    arrays = curve.as_arrays()
    for measure in set(curve.measures) - set(by_replica):
        arrays[f"values/{measure}"] = arrays[f"values/{measure}"][:, :1]
    if not with_weights and curve.weights is not None:
        arrays["weight_bytes"] = np.array(arrays.pop("weights").nbytes)
    return arrays


def _of_curve(file: Any, number: int) -> Arrays:
    prefix = f"{number}/"
    return {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}


def _digest(path: Path) -> str:
    """Return a hash of the content of a file; its path if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)
