"""Curves, places and values of a view in words, as findings say them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np

from engine.core.expressions import number, symbol
from engine.pictures.view import CurveView, Floats, LineView, View, along_records, negligible
from engine.pictures.view_names import line_in_brief, measure_name, short_name, x_name

LONGEST = 160
"""Characters of a finding at most."""

MOST_NAMES = 3
"""Names in a list at most; of more names the first ones and the number of the others."""

UNITS = {"k": "example", "step": "step", "epoch": "epoch", "evaluations": "evaluation"}
"""What the clocks count."""

PLURAL = re.compile(r"\b(pieces|cells|units)\b|^(examples|rows|steps|epochs|evaluations) for ")
"""Quantities that take a plural verb."""

Named = tuple[str, float]
"""A curve by name, and its value."""


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names as a sentence lists them: all, or of more than `most` and one the first and how many others."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def called(view: View, curve: CurveView) -> str:
    """The name of a curve, quoted where it has a comma."""
    name = short_name(view, curve)
    return f"“{name}”" if "," in name else name


def line(view: View, lines: Sequence[LineView]) -> str:
    """The line of some curves in a sentence, without owner and values where they have different ones."""
    names = {line_in_brief(view, line) for line in lines}
    name = names.pop() if len(names) == 1 else lines[0].called
    return name if name == lines[0].formula else f"the {name}"


def agree(names: Sequence[object], verb: str) -> str:
    """The verb for so many subjects: "stay" for several, "stays" for one."""
    return verb if len(names) > 1 else f"{verb}s"


def shortened(first: str, *more: str) -> str:
    """A sentence of `first` and of as many of the clauses after it as fit in LONGEST characters."""
    text = first
    for clause in more:
        text = f"{text}{clause}" if len(text) + len(clause) <= LONGEST else text
    return text


def place(view: View, x: float) -> str:
    """A place on x in words: "after 64 examples", "at d = 64"."""
    unit = UNITS.get(view.picture.x) if along_records(view) else None
    if unit is None:
        return f"at {x_name(view)} = {view.axes.names.get(x) or number(x)}"
    return f"after {number(x)} {unit}{'' if x == 1 else 's'}" if x else "at the start"


def span(view: View, x: Floats) -> str:
    """The places from the least to the greatest, at the beginning of a sentence."""
    ends = [view.axes.names.get(float(end)) or number(float(end)) for end in (x.min(), x.max())]
    return f"From {x_name(view)} = {ends[0]} to {ends[1]}"


def level(view: View, value: float) -> str:
    """A threshold in words."""
    return "a tenth" if value == 0.1 and view.picture.measure.name == "loss" else number(value)


def ends(numbers: Collection[float], written: Callable[[float], str] = number) -> str:
    """The least and the greatest number: "0.1 to 0.3", or one of them where both are written alike."""
    return " to ".join(dict.fromkeys(written(float(end)) for end in (min(numbers), max(numbers))))


def value(view: View, y: float) -> str:
    """A value on y in words; 0 for what counts as that in the picture."""
    reading = view.picture.reading
    if np.isposinf(y) and reading is not None and reading.is_place:
        return "never"
    return "0" if abs(y) <= negligible(view) else number(y)


def value_at(curve: CurveView, x: float) -> float | None:
    """The value of a curve at a place; None if there is none."""
    at = curve.place(x)
    return None if at is None or np.isnan(curve.y[at]) else float(curve.y[at])


def arrival(curve: CurveView, level: float) -> float:
    """The first place from which a curve stays below a level to its end; infinite if it does not."""
    beyond = np.flatnonzero(~(curve.y < level))
    first = int(beyond[-1]) + 1 if len(beyond) else 0
    return float(curve.x[first]) if curve.ends.complete and first < len(curve.x) else np.inf


def named_values(
    view: View, x: float, curve: CurveView, others: Sequence[CurveView]
) -> tuple[Named, list[Named]]:
    """The value of a curve at a place with its name, and those of others that have one there."""
    values = [(called(view, one), value_at(one, x)) for one in (curve, *others)]
    first, *more = [(name, y) for name, y in values if y is not None]
    return first, more


def compared(view: View, x: float, first: Named, others: Sequence[Named]) -> str:
    """The values of curves at a place, as a sentence."""
    where = place(view, x)
    values = enumerated(view, first, others)
    return shortened(f"{where[0].upper()}{where[1:]}, {predicate(view)} {values}")


def enumerated(view: View, first: Named, others: Sequence[Named]) -> str:
    """The values of a curve and of another; of more others the least and the greatest.

    Curves with the same value share it.
    """
    named = [(name, value(view, y)) for name, y in (first, *others)]
    if len(view.curves) == 1 and not others:
        return named[0][1]
    if len({text for _, text in named}) == 1:
        return f"{named[0][1]} for {listed([name for name, _ in named])}"
    if len(others) > 1:
        named[1:] = [("the others", ends([y for _, y in others], partial(value, view)))]
    return listed([f"{text} for {name}" for name, text in named])


def quantity(view: View) -> str:
    """The quantity on y as the subject of a sentence."""
    picture, reading = view.picture, view.picture.reading
    is_plain = picture.relative is None and picture.times is None
    if reading is None or not (reading.is_threshold and is_plain):
        return view.axes.y_label
    is_below = reading.first_above is None
    threshold = reading.first_below if is_below else reading.first_above
    sign = "<" if is_below else ">"
    unit = UNITS.get(view.axes.clock) if reading.over == "record" else None
    counted = f"{unit}s" if unit else symbol(reading.over, view.axes.words)
    return f"{counted} for {measure_name(view)} {sign} {number(float(threshold or 0.0))}"


def predicate(view: View) -> str:
    """The quantity on y and its verb; a comma ends a quantity that has one."""
    subject = quantity(view)
    return f"{subject}{',' if ', ' in subject else ''} {verb(view)}"


def verb(view: View) -> str:
    """The verb after the quantity on y."""
    return "are" if PLURAL.search(quantity(view)) else "is"
