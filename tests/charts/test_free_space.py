"""Sentences in a chart stand only where nothing else is drawn."""

import numpy as np
import pytest

from hadamard_tui.charts.drawing.free_space import LEAST_TEXT_WIDTH, place_sentences

SENTENCES = "The first sentence is about the upper curve", "The second one is about the lower curve"


@pytest.mark.parametrize("seed", range(20))
def test_sentences_cover_free_cells_only_and_keep_their_order(seed: int):
    rng = np.random.default_rng(seed)
    is_free = np.ones((12, 90), dtype=bool)
    is_free[rng.integers(0, 12, 20), rng.integers(0, 90, 20)] = False
    placed = place_sentences(SENTENCES, is_free)
    assert [" ".join(block.lines) for block in placed] == list(SENTENCES)
    written = np.zeros_like(is_free, dtype=int)
    for block in placed:
        for row, line in enumerate(block.lines, start=block.row):
            written[row, block.column - 1 : block.column + len(line) + 1] += 1
    assert written.max() == 1
    assert not written[~is_free].any()
    upper, lower = placed
    assert upper.row + len(upper.lines) <= lower.row


def test_sentences_are_placed_only_if_all_fit():
    is_free = np.zeros((6, 80), dtype=bool)
    is_free[2, 10:70] = True
    assert place_sentences(SENTENCES[:1], is_free)
    assert place_sentences(SENTENCES, is_free) == ()
    assert place_sentences(SENTENCES, np.ones((6, LEAST_TEXT_WIDTH), dtype=bool)) == ()
