"""Views of growing results, computed again only when there are more results.

The view code is imported with the first results, because the first paint does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from engine.pictures.picture import Picture
    from engine.pictures.view import View
    from engine.results.results import Results


class Viewed:
    """Remembers the last view of each picture, and the results that it was made of."""

    def __init__(self, letters: Mapping[str, int] = MappingProxyType({})) -> None:
        """`letters`: numbers of the learners, by name, for the letters and colours of their curves."""
        self._letters = letters
        self._views: dict[str, tuple[object, View]] = {}

    def view(self, picture: Picture, results: Results) -> View:
        """Return a picture of the present results. Raises: BadInput if these results do not have it."""
        from engine.results.views import view

        extent, name = _extent(results), repr(picture)
        cached = self._views.get(name)
        if cached is None or cached[0] != extent:
            newest = with_letters(view(picture, results.snapshot()), self._letters)
            cached = self._views[name] = extent, newest
        return cached[1]


def _extent(results: Results) -> object:
    """Return a value that changes whenever the results grow."""
    return len(results.skipped), [
        (
            number,
            trace,
            [(curve.length, curve.diverged, curve.ended) for curve in trace.curves],
            [curve.length for curve in trace.others],
            list(trace.lines),
        )
        for number, trace in sorted(results.traces.items())
    ]


def with_letters(view: View, learners: Mapping[str, int]) -> View:
    """Return a view whose curves have their learners' numbers, by name, for letters and colours.

    Of a learner with several curves, one per rate, the first has its number, and the others get numbers that
    no learner has. If curves are split by axes, letters count the curves instead.
    """
    if not learners or any(curve.apart for curve in view.curves):
        return view
    unused, further_numbers = dict(learners), count(max(learners.values()) + 1)
    numbers = [
        unused.pop(curve.learner) if curve.learner in unused else next(further_numbers)
        for curve in view.curves
    ]
    pairs = zip(view.curves, numbers, strict=True)
    return replace(view, curves=[replace(curve, number=number) for curve, number in pairs])
