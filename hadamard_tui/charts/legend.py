"""The legend: mark, line sample and name of every named series, wrapped to a width."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from hadamard_tui.charts.coincidence import are_equal
from hadamard_tui.charts.series import LineStyle, Series

SAMPLES: dict[LineStyle, str] = {
    "solid": "───",
    "dashed": "╌╌╌",
    "dotted": "┄┄┄",
    "dash-dot": "─·─",
    "sparse": "· ·",
    "long": "── ",
    "pairs": "·· ",
    "points": " • ",
}
SAME, NEARLY = "= ", "≈ "
"""What stands before a series that runs along the first of its group: equal to it, or only near."""

_GAP = 3


@dataclass(frozen=True)
class Piece:
    """A text at a column, belonging to a series (its position) or, with −1, to none."""

    column: int
    text: str
    index: int


class Part(NamedTuple):
    """What a legend says of one series, with its formula and without."""

    text: str
    formula: str
    at: int


class Entry(NamedTuple):
    """Series that run along each other, mostly one; `elsewhere`: the name stands in the picture, too."""

    parts: tuple[Part, ...]
    elsewhere: bool = False


Row = list[Piece]


def legend(
    series: Sequence[Series],
    width: int,
    lines: int,
    note: str = "",
    most: int | None = None,
    groups: Sequence[tuple[int, ...]] = (),
    named: Collection[int] = (),
    marks: Sequence[str | None] = (),
) -> tuple[tuple[Piece, ...], ...]:
    """What fits into `lines` lines, series with a mark first; the note ends the last line.

    Where not all fits, formulas go, then the names that stand in the picture, too; then there are more lines,
    `most` at most. What has no room even so is counted ("+3 more").

    Args:
        groups: positions of series that run along each other; they are one entry.
        named: positions of the series whose names stand in the picture.
        marks: what the series are marked with, if not with their own marks.
    """
    marks = marks or [one.mark for one in series]
    grouped = {index for group in groups for index in group}
    alone = [(at,) for at, one in enumerate(series) if one.name and at not in grouped]
    every = sorted([*groups, *alone], key=lambda group: (not series[group[0]].mark, group[0]))
    entries = tuple(
        Entry(
            tuple(_part(series, group[0], at, marks[at]) for at in group),
            len(group) == 1 and group[0] in named,
        )
        for group in every
    )
    if lines <= 0 or width <= 0 or not (entries or note):
        return ()
    return wrapped(entries, width, lines, max(lines, most or 0), note)


def _relation(series: Sequence[Series], lead: int, index: int) -> str:
    if lead == index:
        return ""
    return SAME if are_equal(series[lead], series[index]) else NEARLY


def _part(series: Sequence[Series], lead: int, index: int, mark: str | None) -> Part:
    """What is said of a series; the own line of the first of its group does not say again whose it is."""
    one, name = series[index], series[index].name
    if index != lead:
        name = name.removesuffix(f" of {series[lead].name}").removesuffix(f", {series[lead].name}")
    text = " ".join(filter(None, (mark, SAMPLES[one.style], name)))
    return Part(_relation(series, lead, index) + text, one.formula, index)


def hidden_note(points: int) -> str:
    """What a chart says about points that no limits could show."""
    return f"{points} point{'s' * (points > 1)} not drawn (≤ 0 or ∞)" if points else ""


@lru_cache(maxsize=64)
def wrapped(
    entries: tuple[Entry, ...], width: int, lines: int, most: int, note: str
) -> tuple[tuple[Piece, ...], ...]:
    """Entries on at most `lines` lines, or `most`, as `legend` has them."""
    note = elided(note, width)
    whole = [[(f"{text} {formula}".rstrip(), at) for text, formula, at in one.parts] for one in entries]
    names = [[(text, at) for text, _, at in one.parts] for one in entries]
    here = [texts for texts, one in zip(names, entries, strict=True) if not one.elsewhere]
    roomy = all(cell_len(text) <= width for texts in whole for text, _ in texts)
    for texts, count in ((whole, lines * roomy), (names, lines), (here, lines), (here, most)):
        rows = _rows(texts, width)
        if note and _end(rows[-1]) + _GAP * bool(rows[-1]) + cell_len(note) > width:
            rows.append([])
        if len(rows) <= count:
            break
    else:
        rows = _cut(rows, width, most, note)
    if note:
        rows[-1].append(Piece(width - cell_len(note), note, -1))
    return tuple(tuple(row) for row in rows)


def _rows(entries: Sequence[Sequence[tuple[str, int]]], width: int) -> list[Row]:
    """Entries one after the other, each on a line of its own if it has no room behind another; of one that
    is too long for a line the parts are."""
    rows: list[Row] = [[]]
    for texts in entries:
        length = sum(cell_len(text) + 1 for text, _ in texts) - 1
        for place, (text, index) in enumerate(texts):
            text = elided(text, width)
            gap = 0 if not rows[-1] else 1 if place else _GAP
            needed = min(length, width) if place == 0 else cell_len(text)
            if rows[-1] and _end(rows[-1]) + gap + needed > width:
                rows.append([])
                gap = 0
            rows[-1].append(Piece(_end(rows[-1]) + gap, text, index))
    return rows


def _cut(rows: list[Row], width: int, most: int, note: str) -> list[Row]:
    """The first lines with a count of what is left out, and room for a note at their end."""
    kept, left_out = rows[:most], sum(map(len, rows[most:]))
    while kept[-1] and _end(kept[-1]) + _needed(f"+{left_out} more" if left_out else "", note) > width:
        kept[-1].pop()
        left_out += 1
    if left_out:
        column = _end(kept[-1]) + _GAP * bool(kept[-1])
        if column + cell_len(f"+{left_out} more") + (cell_len(note) + _GAP if note else 0) <= width:
            kept[-1].append(Piece(column, f"+{left_out} more", -1))
    return kept


def _needed(*texts: str) -> int:
    """Cells that texts take behind others."""
    return sum(cell_len(text) + _GAP for text in texts if text)


def _end(row: Row) -> int:
    """Where a row ends."""
    return row[-1].column + cell_len(row[-1].text) if row else 0


def elided(text: str, width: int) -> str:
    """The text within `width` cells, its end replaced by an ellipsis where it is too long."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
