"""Numbers as text, separated by commas: .csv."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.problems.formats import Found, NotATable

PIECE = 1 << 20
"""Bytes that are looked at at once while cells are counted."""

PER_CELL = 16
"""Bytes for every number: it is read into an array that grows, and is copied when it does."""

PER_LETTER = 16
"""Bytes for every letter of a line that is cut into cells."""

SHOWN = 40
"""Letters of a cell that a message quotes, at most."""


def found(file: Path) -> Found:
    """What a .csv file holds; it is looked through once, and never held. Raises: NotATable."""
    cells, longest = _counted(file)
    return Found(PER_CELL * cells + PER_LETTER * longest, lambda: _read(file))


def _counted(file: Path) -> tuple[int, int]:
    """How many cells there are, at most, and how many bytes the longest line has."""
    commas, ends, returns, longest, line = 0, 0, 0, 0, 0
    with file.open("rb") as stream:
        while piece := stream.read(PIECE):
            if b"\0" in piece:
                raise NotATable("it is no text in UTF-8")
            commas += piece.count(b",")
            ends += piece.count(b"\n")
            returns += piece.count(b"\r")
            first, *others = map(len, piece.replace(b"\r", b"\n").split(b"\n"))
            longest = max(longest, line + first, *others, 0)
            line = others[-1] if others else line + first
    return commas + max(ends, returns) + 1, longest


def _read(file: Path) -> NDArray[Any]:
    """The numbers. The first line is a header if no cell of it is a number: a row with a gap is an error."""
    lines = _rows(file)
    first = next(lines, None)
    if first is None:
        return np.empty((0, 0))
    try:
        return np.loadtxt(_chained(first, lines), delimiter=",", comments=None, ndmin=2)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise NotATable(_fault(file) or str(error)) from error


def _chained(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    """The text of rows; a column of its own has no lines without a number between others."""
    single = "," not in first[1]
    yield first[1]
    before = first[0]
    for number, line in lines:
        if single and number != before + 1:
            raise NotATable(f"line {before + 1} is empty, and a single column has a number in every line")
        yield line
        before = number


def _rows(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, without the header, each with its number counted from 1."""
    begun = False
    with file.open(encoding="utf-8-sig") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    if begun or not _is_header(line):
                        yield number, line
                    begun = True
        except UnicodeDecodeError as error:
            raise NotATable("it is no text in UTF-8") from error


def _is_header(line: str) -> bool:
    """Whether no cell of a line is a number, nor would be without a # before it."""
    return not any(_is_number(cell.lstrip(" #")) for cell in line.split(","))


def _is_number(cell: str) -> bool:
    """Whether a cell is a number to numpy, which is stricter than Python."""
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def _fault(file: Path) -> str:
    """Which line is the first that is no row of numbers, and why; empty if there is none."""
    width = 0
    for number, line in _rows(file):
        cells = line.split(",")
        width = width or len(cells)
        separated = "; cells are separated by commas" if {";", "\t"} & set(line) else ""
        for cell in cells:
            if not cell.strip():
                return f"line {number} has an empty cell, and every cell must be a number"
            if not _is_number(cell):
                shown = cell.strip()[:SHOWN]
                return f"line {number} holds {shown!r}, and every cell must be a number{separated}"
        if len(cells) != width:
            return f"line {number} has {len(cells)} cells, and the first row has {width}"
    return ""
