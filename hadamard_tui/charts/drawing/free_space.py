"""Places for short sentences in the parts of a chart that no curve covers."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np

LEAST_TEXT_WIDTH = 24
"""Minimum width of a sentence in cells. Narrower blocks are hard to read."""

MOST_TEXT_WIDTH = 60
"""Maximum width of a sentence in cells, so that the eye finds the next line."""

MARGIN = 1
"""Free cells around a sentence, to its left and right."""


class PlacedText(NamedTuple):
    """Lines of a sentence, and the row and the column of its first cell in the plot area."""

    row: int
    column: int
    lines: tuple[str, ...]


def place_sentences(sentences: Sequence[str], is_free: np.ndarray) -> tuple[PlacedText, ...]:
    """Return places for sentences in free cells, in their order from top to bottom.

    Sentence i of s is placed as close as possible to the height (i + ½) / s of the plot area. There, it is
    wrapped into as few lines as possible. If one sentence does not fit, the result is empty, because the
    sentences belong together.

    Args:
        is_free: for each cell of the plot area, whether nothing is drawn there, [rows, columns].
    """
    is_free = is_free.copy()
    placed: list[PlacedText] = []
    for number, sentence in enumerate(sentences):
        height = (number + 0.5) / len(sentences) * len(is_free)
        place = _placed_text(sentence, is_free, height)
        if place is None:
            return ()
        placed.append(place)
        is_free[place.row : place.row + len(place.lines)] = False
    return tuple(placed)


def _placed_text(sentence: str, is_free: np.ndarray, height: float) -> PlacedText | None:
    rows, columns = is_free.shape
    best: tuple[tuple[float, int, int], PlacedText] | None = None
    tried: set[tuple[str, ...]] = set()
    for width in range(min(MOST_TEXT_WIDTH, columns - 2 * MARGIN), LEAST_TEXT_WIDTH - 1, -1):
        lines = tuple(wrap(sentence, width))
        if lines in tried or len(lines) > rows:
            continue
        tried.add(lines)
        needed = max(map(len, lines)) + 2 * MARGIN
        blocks = np.lib.stride_tricks.sliding_window_view(is_free, (len(lines), needed)).all((2, 3))
        for row, column in np.argwhere(blocks).tolist():
            distance = abs(row + len(lines) / 2 - height)
            order = distance, len(lines), column
            if best is None or order < best[0]:
                best = order, PlacedText(row, column + MARGIN, lines)
    return None if best is None else best[1]
