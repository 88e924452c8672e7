"""The legend: mark, line sample and name of every named series, wrapped to a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from hadamard_tui.charts.series import LineStyle, Series

SAMPLES: dict[LineStyle, str] = {
    "solid": "───",
    "dashed": "╌╌╌",
    "dotted": "┄┄┄",
    "dash-dot": "─·─",
    "sparse": "· ·",
    "long": "── ",
    "pairs": "·· ",
}
_GAP = 3
_Entry = tuple[str, int]


@dataclass(frozen=True)
class Piece:
    """A text at a column, belonging to a series (its position) or, with −1, to none."""

    column: int
    text: str
    index: int


def legend(series: Sequence[Series], width: int, lines: int, note: str = "") -> tuple[tuple[Piece, ...], ...]:
    """At most `lines` lines, series with a mark first; what does not fit is counted ("+3 more"); the note
    ends the last line."""
    named = sorted(
        (index for index, one in enumerate(series) if one.name), key=lambda index: not series[index].mark
    )
    entries = tuple(
        (
            " ".join(filter(None, (series[index].mark, SAMPLES[series[index].style], series[index].name))),
            index,
        )
        for index in named
    )
    return wrapped(entries, width, lines, note) if lines > 0 and width > 0 and (entries or note) else ()


def hidden_note(points: int) -> str:
    """What a chart says about points that no limits could show."""
    return f"{points} point{'s' * (points > 1)} hidden" if points else ""


@lru_cache(maxsize=64)
def wrapped(entries: tuple[_Entry, ...], width: int, lines: int, note: str) -> tuple[tuple[Piece, ...], ...]:
    """(text, position) entries on at most `lines` lines, as `legend` has them."""
    rows: list[list[_Entry]] = [[]]
    left_out = 0
    for place, (text, index) in enumerate(entries):
        entry = elided(text, width), index
        if _length(rows[-1]) + cell_len(entry[0]) > width:
            if len(rows) == lines:
                left_out = len(entries) - place
                break
            rows.append([])
        rows[-1].append(entry)

    note = elided(note, width)
    if note and not left_out and len(rows) < lines and _length(rows[-1]) + cell_len(note) > width:
        rows.append([])
    while rows[-1] and _length(rows[-1]) + _length(_tail(left_out, note)) - _GAP > width:
        rows[-1].pop()
        left_out += 1

    placed = [_pieces(row) for row in rows]
    if left_out and _length([*rows[-1], *_tail(left_out, note)]) - _GAP <= width:
        placed[-1] = _pieces([*rows[-1], (f"+{left_out} more", -1)])
    if note:
        placed[-1].append(Piece(width - cell_len(note), note, -1))
    return tuple(tuple(row) for row in placed)


def _tail(left_out: int, note: str) -> list[_Entry]:
    """What the last line has to hold after its entries."""
    return [(text, -1) for text in (f"+{left_out} more" if left_out else "", note) if text]


def _length(row: Sequence[_Entry]) -> int:
    """Cells taken by a row, with a gap after each entry."""
    return sum(cell_len(text) + _GAP for text, _ in row)


def _pieces(row: Sequence[_Entry]) -> list[Piece]:
    return [Piece(_length(row[:place]), text, index) for place, (text, index) in enumerate(row)]


def elided(text: str, width: int) -> str:
    """The text within `width` cells, its end replaced by an ellipsis where it is too long."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
