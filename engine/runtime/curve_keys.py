"""Keys of curves in the store, and the arrays of a curve that are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import engine
from engine.core.outside import outside

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.planning.run_plan import LearnerPlan
    from engine.results.trace import Curve
    from engine.spec.experiment import Setup

Arrays = dict[str, NDArray[Any]]

MOST_WEIGHT_BYTES = 1 << 20
"""Maximum bytes of a learner's weights in a file; larger weights are omitted.

Only panels show weights, and weights of 2²⁰ features take 32 MB at every sweep point.
"""

MOST_BYTES_BY_REPLICA = 4 << 20
"""Maximum bytes of a learner's curves for which a run without sweep axes stores every replica's values."""


def key_of(setup: Setup, learner: Learner) -> bytes:
    """Return a JSON text with everything that determines the curves of a learner."""
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
                part[field] = _digest_of_file(Path(part[field]))
    words["run"].pop("measures")
    for key in ("role", "where") if setup.protocol.schedule().draws_by_name else ("name", "role", "where"):
        words["learner"].pop(key, None)
    return msgspec.json.encode(words, order="sorted")


@cache
def code() -> str:
    """Return a hash of the engine's source files. It prevents the reuse of results of other versions."""
    folder = Path(engine.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def names_of(planned: LearnerPlan) -> frozenset[str]:
    """Return the names of the measures that are recorded for a learner."""
    return frozenset(measure.name for measure in planned.measures)


def reduced(curve: Curve, by_replica: Collection[str], with_weights: bool) -> Arrays:
    """Return the arrays of a curve that are to be stored.

    Values of all replicas are returned only for the measures in `by_replica`, and weights only if
    `with_weights` is set.
    """
    arrays = curve.as_arrays()
    for measure in set(curve.measures) - set(by_replica):
        arrays[f"values/{measure}"] = arrays[f"values/{measure}"][:, :1]
    if not with_weights and curve.weights is not None:
        arrays["weight_bytes"] = np.array(arrays.pop("weights").nbytes)
    return arrays


def _digest_of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)
