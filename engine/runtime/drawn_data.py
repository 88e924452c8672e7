"""The data of runs: drawn once for all runs that have the same, and no further once these are stopped."""

from __future__ import annotations

import msgspec

from engine.problems.data import Data, draw
from engine.runtime import memory_estimate
from engine.spec.experiment import Experiment

MOST = 256 << 20
"""Bytes of data that are held for later runs, of all together; what is larger is drawn by every run."""


class DrawnData:
    """Draws data for runs, such as those of a sweep, and holds those used last, which later ones may need.

    Data depend on the problem, the seeds, the dtype and the device alone: what else differs between points of
    axes leaves them as they are.
    """

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[Data, int]] = {}

    def of(self, experiment: Experiment, device: str) -> Data:
        """The data of a run.

        Raises: BadInput for a file that cannot be used; Stopped.
        """
        key = self._key(experiment, device)
        if key in self._held:
            self._held[key] = self._held.pop(key)
            return self._held[key][0]
        data = draw(experiment.problem, experiment.run.random_streams(), experiment.dtype, device)
        if (size := memory_estimate.drawn_bytes(experiment)) <= MOST:
            self._held[key] = data, size
            while sum(size for _, size in self._held.values()) > MOST:
                self._held.pop(next(iter(self._held)))
        return data

    def give_back(self) -> bool:
        """Hold nothing for later runs; whether there was anything."""
        held, self._held = bool(self._held), {}
        return held

    @staticmethod
    def _key(experiment: Experiment, device: str) -> bytes:
        run = experiment.run
        return msgspec.json.encode(
            (experiment.problem, run.seed, run.streams, run.replicas, experiment.dtype, device)
        )
