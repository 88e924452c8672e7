"""Data of runs, drawn once for all runs with equal data; drawing stops when a run is stopped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import msgspec

from engine.planning.run_plan import BYTES
from engine.problems.data import Data, draw
from engine.problems.examples import Examples, examples
from engine.spec.experiment import Experiment

T = TypeVar("T", Data, Examples)

MOST = 256 << 20
"""Maximum total bytes of data kept for later runs.

Larger data are not kept, so every run draws them again.
"""


class DrawnData:
    """Source of data for runs. Recently used data are stored for later runs, such as runs of a sweep.

    Data depend only on the problem, the seeds, the dtype and the device. Runs that differ in other settings
    share their data.
    """

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[Data | Examples, int]] = {}

    def of(self, experiment: Experiment, device: str, as_matrix: bool = True) -> Data:
        """Return the data of a run as tensors.

        Args:
            as_matrix: whether a learner may need the instances as a matrix, even if an operator could
                represent them.

        Raises: BadInput for a file that cannot be used; Stopped.
        """
        return self._held_or_drawn(experiment, partial(draw, device=device), device, as_matrix)

    def examples(self, experiment: Experiment, as_matrix: bool = True) -> Examples:
        return self._held_or_drawn(experiment, examples, "numpy", as_matrix)

    def _held_or_drawn(
        self, experiment: Experiment, drawn: Callable[..., T], where: str, as_matrix: bool
    ) -> T:
        """Return the data of a run: stored data of an earlier run if they are equal, or new data.

        Args:
            drawn: function that draws the data.
            where: name of the device on which the data lie, or "numpy". Each device has separate data.
        """
        key = self._key_of_data(experiment, where)
        if key in self._held:
            # Move the entry to the end of the dict, so that the first entry is the least recently used.
            self._held[key] = self._held.pop(key)
            return cast("T", self._held[key][0])
        data = drawn(experiment.problem, experiment.run.random_streams(), experiment.dtype)
        itemsize = BYTES[experiment.dtype]
        if (size := experiment.problem.bytes_drawn(experiment.run.replicas, itemsize, as_matrix)) <= MOST:
            self._held[key] = data, size
            while sum(size for _, size in self._held.values()) > MOST:
                self._held.pop(next(iter(self._held)))
        return data

    def give_back(self) -> bool:
        """Release the data that are stored for later runs, and return whether any data were stored."""
        held, self._held = bool(self._held), {}
        return held

    @staticmethod
    def _key_of_data(experiment: Experiment, where: str) -> bytes:
        run = experiment.run
        return msgspec.json.encode(
            (experiment.problem, run.seed, run.streams, run.replicas, experiment.dtype, where)
        )
