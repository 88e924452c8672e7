"""Which letters and colours the curves of a view have: those of their learners in the set-up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from engine.pictures.view import View


def with_letters(view: View, learners: Mapping[str, int]) -> View:
    """A view whose curves have the numbers of their learners, by name, for letters and colours.

    Of a learner with several curves, one for each rate, the first has its number, and the others have some
    that no learner has. Where curves are split by axes, letters stand for these, too, in their order.
    """
    if not learners or any(curve.apart for curve in view.curves):
        return view
    left, others = dict(learners), count(max(learners.values()) + 1)
    numbers = [left.pop(curve.learner) if curve.learner in left else next(others) for curve in view.curves]
    pairs = zip(view.curves, numbers, strict=True)
    return replace(view, curves=[replace(curve, number=number) for curve, number in pairs])
