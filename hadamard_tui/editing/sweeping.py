"""A set-up that sweeps one of its numbers: five values around it, and the pictures of the sweep."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from engine.core.parts import BadInput
from engine.spec import reading
from hadamard_tui.editing.editable_experiment import EditableExperiment

AXIS, POINTS, MOST_TRIED = "sweep", 5, 12
"""Name of the axis, its number of values, and the number of candidates on each side."""

THRESHOLD = 0.1
"""Loss that the second picture waits for."""


def swept(editable: EditableExperiment, place: str, is_whole: bool, symbol: str) -> EditableExperiment:
    """Return a set-up with an axis over the number at `place`, and two pictures of it.

    The values are the number times powers of two, as far as the set-up can run with them; small whole
    numbers change by ones. An expression is multiplied by factors. Claims of the set-up are left out: they
    are about one value.

    Raises: BadInput if there is no number, an axis already, or no other value that fits.
    """
    raw, value = editable.raw, editable.value(place)
    if raw["axes"]:
        raise BadInput(place, "The set-up has an axis already: change its values, or remove it first.")
    if isinstance(value, bool) or not isinstance(value, int | float | str) or value == "":
        raise BadInput(place, "There is no number to sweep here.")
    document = copy.deepcopy(raw)
    axis: dict[str, Any] = {"name": AXIS, "symbol": symbol, "log": True}
    if isinstance(value, str):
        axis |= {"values": [2.0**power for power in range(-2, 3)], "symbol": f"factor of {symbol}"}
        reading.put(document, place, f"{AXIS}*({value})")
    else:
        values = sorted({value, *islice(_fitting(editable, place, value, is_whole), POINTS - 1)})
        if len(values) < 2:
            raise BadInput(place, f"No other value of {symbol} fits the set-up.")
        axis |= {"values": values, "set": place, "log": values[0] > 0}
    title = f"Sweep of {axis['symbol']} from {axis['values'][0]} to {axis['values'][-1]}"
    pictures = _pictures(editable, axis["symbol"])
    document |= {"title": title, "axes": [axis], "pictures": pictures, "claims": []}
    sweep = EditableExperiment(document, editable.preset, editable.off)
    sweep.letters, sweep.next_letter = list(editable.letters), editable.next_letter
    return sweep


def _fitting(editable: EditableExperiment, place: str, value: float, is_whole: bool) -> Iterator[float]:
    """Yield the values around a number with which the set-up can run, nearest first."""
    for candidate in islice(_around(value, is_whole), 2 * MOST_TRIED):
        trial = editable.copied()
        trial.put(place, candidate)
        if trial.error is None:
            yield candidate


def _around(value: float, is_whole: bool) -> Iterator[float]:
    """Yield numbers on both sides, nearest first: by factors of two, or by ones if the number is small."""
    by_ones = value == 0 or (is_whole and abs(value) < 4)
    for distance in count(1):
        for sign in (1, -1):
            if by_ones:
                number = value + sign * (distance if is_whole else distance / 4)
            else:
                number = value * 2.0 ** (sign * distance)
            if not is_whole:
                yield number
            elif number == int(number):
                yield int(number)


def _pictures(editable: EditableExperiment, symbol: str) -> list[dict[str, Any]]:
    """Return a picture against the axis and, if runs have a clock, one of all curves along it.

    The picture against the axis shows where the loss is first below THRESHOLD, or else the last value.
    """
    experiment = editable.experiment
    clock = experiment.protocol.clock
    measures = [picture["measure"] for picture in editable.raw["pictures"]] or [{"kind": "loss"}]
    measure = copy.deepcopy(measures[0])
    curves = {"name": "curves", "title": f"Every {symbol}", "x": clock, "measure": measure, "curves": [AXIS]}
    law: dict[str, Any] = {"name": "law", "x": AXIS, "measure": measure}
    if editable.last and measure in ("loss", {"kind": "loss"}):
        law |= {"title": f"Until the loss is first below a tenth, against {symbol}", "y_log": True}
        law["read"] = {"first_below": THRESHOLD}
    else:
        law["title"] = f"At the end, against {symbol}"
    return [law, curves] if editable.last else [law]
