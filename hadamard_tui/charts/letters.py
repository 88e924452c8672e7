"""Which letter and colour the curves of a run have: those of their learners in the set-up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from weakref import WeakKeyDictionary

from engine.results.trace import Trace


class Letters:
    """The numbers of the curves of runs, from which their letters and colours follow."""

    def __init__(self) -> None:
        self._learners: WeakKeyDictionary[Trace, Mapping[str, int]] = WeakKeyDictionary()

    def give(self, trace: Trace, learners: Mapping[str, int]) -> None:
        """Let the learners of a run have these numbers, by their names."""
        self._learners[trace] = learners

    def of(self, trace: Trace) -> list[int]:
        """The number of every curve: their order, where the learners were given none.

        Of a learner with several curves, one for each rate, the first has its number, and the others have
        some that no learner has.
        """
        learners = self._learners.get(trace)
        if learners is None:
            return list(range(len(trace.curves)))
        left, others = dict(learners), count(max(learners.values(), default=-1) + 1)
        return [left.pop(curve.learner) if curve.learner in left else next(others) for curve in trace.curves]


IN_ORDER = Letters()
"""Where there is no set-up."""
