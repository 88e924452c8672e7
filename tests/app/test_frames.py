"""The frame rate that the status tells: true, and at rest while the screen is."""

import pytest

from hadamard_tui.frames import Frames


def test_the_rate_is_that_of_the_last_period():
    frames = Frames(20.0)
    for _ in range(30):
        frames.count(0.1)
    assert frames.rate == pytest.approx(10.0)


def test_a_rate_that_hardly_changes_is_told_as_before():
    frames = Frames(20.0)
    for _ in range(100):
        frames.count(1 / 19)
    assert frames.rate == 20.0
