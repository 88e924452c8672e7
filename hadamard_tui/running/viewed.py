"""The views of results that grow, made anew when there is more and kept until then.

What makes them is imported with the first results: the first paint does not need it.
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
    """Remembers the last view of every picture, and of how much it was made."""

    def __init__(self, letters: Mapping[str, int] = MappingProxyType({})) -> None:
        """`letters`: the numbers of the learners, by name, for the letters and colours of their curves."""
        self._letters = letters
        self._views: dict[str, tuple[object, View]] = {}

    def view(self, picture: Picture, results: Results) -> View:
        """A picture of what there is by now. Raises: BadInput for one that these results do not have."""
        from engine.results.views import view

        extent, name = _extent(results), repr(picture)
        cached = self._views.get(name)
        if cached is None or cached[0] != extent:
            newest = with_letters(view(picture, results.snapshot()), self._letters)
            cached = self._views[name] = extent, newest
        return cached[1]


def _extent(results: Results) -> object:
    """What differs once there is more of some results."""
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
    """A view whose curves have the numbers of their learners, by name, for letters and colours.

    Of a learner with several curves, one for each rate, the first has its number, and the others have some
    that no learner has. Where curves are split by axes, letters stand for these, too, in their order.
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
