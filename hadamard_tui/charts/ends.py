"""Find curves along an axis that begin later or end earlier than others, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.pictures.view import along_records
from engine.pictures.wording import x_name
from hadamard_tui.charts.series_builder import letter_of
from hadamard_tui.charts.ticks import number

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View


def ends(view: View) -> str:
    """Return a remark about finished curves that do not span the chart.

    The remark names the axis of the places if there is one place only.
    """
    letters_by_reason: dict[str, dict[float, list[str]]] = {}
    if len(view.known_places) and not along_records(view):
        for curve in view.curves:
            if curve.ends.ended and (letter := letter_of(curve)):
                for reason, x in _reasons(curve, view):
                    letters_by_reason.setdefault(reason, {}).setdefault(x, []).append(letter)
    name = f"{x_name(view)} = " if sum(map(len, letters_by_reason.values())) == 1 else ""
    return " · ".join(
        f"{', '.join(letters)}: {reason.format(name + where)}"
        for reason, places in letters_by_reason.items()
        for letters, where in _together(
            {view.axes.names.get(x) or number(x): place_letters for x, place_letters in places.items()}
        )
    )


def _together(places: dict[str, list[str]]) -> list[tuple[list[str], str]]:
    """Letters and where these curves end: those with a place each in one list."""
    if all(len(letters) == 1 for letters in places.values()):
        return [([letter for (letter,) in places.values()], ", ".join(places))] if places else []
    return [(letters, place) for place, letters in places.items()]


def _reasons(curve: CurveView, view: View) -> Iterator[tuple[str, float]]:
    """Why, with room for a place, and the place."""
    if not len(curve.x) or len(curve.x) < curve.places.planned:
        return
    first, last = float(curve.x.min()), float(curve.x.max())
    if first == last and len(view.places) > 1:
        yield "run at {} alone", first
    elif first > view.places[0]:
        yield "not run below {}", first
    if first < last < view.places[-1]:
        yield "not run beyond {}", last
    lost = np.isnan(curve.y) & (curve.ends.lost == curve.replicas)
    if lost.any():
        yield f"{curve.ends.fate} at {{}}", float(curve.x[lost][0])
