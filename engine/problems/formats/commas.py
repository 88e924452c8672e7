"""Numbers as text, separated by commas: .csv."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.problems.formats import PIECE, Format, Found, NotATable

BLOCK = 1 << 18
"""Bytes that are looked at at once while cells are counted."""

LONG = 1 << 20
"""Where no line has more bytes, the shape of the table is found beforehand."""

PER_CELL = 16
"""Bytes for every number: it is read into an array that grows, and is copied when it does."""

PER_LETTER = 16
"""Bytes for every letter of a line that is cut into cells."""

SHOWN = 40
"""Letters of a cell that a message quotes, at most."""


def found(file: Path) -> Found:
    """What a .csv file holds; it is looked through once, and never held. Raises: NotATable."""
    cells, longest, lines = _counted(file)
    needed = PER_CELL * cells + PER_LETTER * longest
    shape = _shape(file, lines) if longest <= LONG else None
    return Found(needed, lambda: _read(file), lambda: _pieces(file), shape)


CSV = Format(found)


def _counted(file: Path) -> tuple[int, int, int]:
    """How many cells there are, at most, how many bytes the longest line has, and how many lines hold any."""
    commas, longest, lines, length, filled = 0, 0, 0, 0, False
    with file.open("rb") as stream:
        if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            stream.seek(0)
        while block := stream.read(BLOCK):
            if b"\0" in block:
                raise NotATable("it is not text in UTF-8")
            commas += block.count(b",")
            first, *others = block.replace(b"\r", b"\n").split(b"\n")
            length, filled = length + len(first), filled or bool(first.strip())
            longest = max(longest, length, *map(len, others), 0)
            if others:
                lines += filled + sum(map(bool, map(bytes.strip, others[:-1])))
                length, filled = len(others[-1]), bool(others[-1].strip())
    return commas + lines + filled, longest, lines + filled


def _shape(file: Path, lines: int) -> tuple[int, int]:
    """The shape of a table of so many lines that hold anything, whose rows are as long as the first."""
    first, row = next(_filled(file), None), next(_rows(file), None)
    if row is None:
        return 0, 0
    return lines - (first != row), row[1].count(",") + 1


def _read(file: Path) -> NDArray[Any]:
    """The numbers. The first line is a header if no cell of it is a number: a row with a gap is an error."""
    lines = _rows(file)
    first = next(lines, None)
    return np.empty((0, 0)) if first is None else _numbers(file, _chained(first, lines))


def _pieces(file: Path) -> Iterator[NDArray[Any]]:
    """The numbers of a few rows at a time."""
    lines = _rows(file)
    if (first := next(lines, None)) is None:
        return
    texts, rows = _chained(first, lines), max(1, PIECE // (first[1].count(",") + 1))
    while some := list(islice(texts, rows)):
        yield _numbers(file, some)


def _numbers(file: Path, lines: Iterable[str]) -> NDArray[Any]:
    """What stands in lines of a file. Raises: NotATable, with the line of the file at fault."""
    try:
        return np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
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
    lines = _filled(file)
    first = next(lines, None)
    if first is not None and not _is_header(first[1]):
        yield first
    yield from lines


def _filled(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, each with its number counted from 1."""
    with file.open(encoding="utf-8-sig") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise NotATable("it is not text in UTF-8") from error


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
