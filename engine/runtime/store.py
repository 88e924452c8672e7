"""What was computed at the points of axes, kept on disk: a file per learner and point."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import engine
from engine.core import atomic_write, files
from engine.measures import Measure
from engine.results.trace import Curve
from engine.spec.learner import Learner
from engine.spec.setup import Setup

Arrays = dict[str, NDArray[Any]]

MEASURES = "measures"


class Store:
    """Finished curves by what they were computed from: the same learner on the same problem is found again.

    The key is the learner with its problem, protocol and run, all resolved, and the code of the engine; of a
    data file its content counts. Titles, pictures, claims and other learners are no part of it.
    """

    def __init__(self, folder: Path) -> None:
        """In a folder, which is made when something is kept."""
        self._folder = folder

    def restore(
        self, setup: Setup, learner: Learner, measures: Sequence[Measure], curves: Sequence[Curve]
    ) -> bool:
        """Fill the empty curves of a learner, one per rate, with what is kept; whether it was.

        What is broken, or without one of the measures, counts as not there.
        """
        wanted = {measure.name for measure in measures}
        try:
            with np.load(self._path(setup, learner), allow_pickle=False) as file:
                if wanted - set(file[MEASURES].tolist()):
                    return False
                kept = [_of_curve(file, number) for number in range(len(curves))]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return False
        for curve, arrays in zip(curves, kept, strict=True):
            curve.restore(arrays)
        return True

    def keep(
        self, setup: Setup, learner: Learner, measures: Sequence[Measure], curves: Sequence[Curve]
    ) -> None:
        """Keep the finished curves of a learner, one per rate. Raises: BadInput if that cannot be done."""
        arrays: Arrays = {MEASURES: np.array([measure.name for measure in measures], str)}
        for number, curve in enumerate(curves):
            arrays |= {f"{number}/{name}": array for name, array in curve.as_arrays().items()}
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        path = self._path(setup, learner)
        with files.faults(str(path), "cannot be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write(path, content.getvalue(), "")

    def _path(self, setup: Setup, learner: Learner) -> Path:
        """Where the curves of a learner are: a name made of all that they depend on."""
        words = msgspec.to_builtins((code(), setup.problem, setup.protocol, setup.run, learner))
        for part in (words[1]["matrix"], words[1]["target"]):
            if part["kind"] == "file":
                part["path"] = _digest(Path(part["path"]))
        words[4].pop("where", None)
        key = hashlib.sha256(msgspec.json.encode(words, order="sorted")).hexdigest()
        return self._folder / key[:2] / f"{key[2:34]}.npz"


@cache
def code() -> str:
    """The engine's own files in a few letters: what other code computed is not found."""
    folder = Path(engine.__file__).parent
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()


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
