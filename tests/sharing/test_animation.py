"""Growing charts, as an animated picture and as a terminal recording."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.sharing import animation
from hadamard_tui.sharing.animation import asciicast, gif, growing
from hadamard_tui.sharing.exporting import Shown, content
from hadamard_tui.sharing.svg import Chart

X = np.arange(1.0, 17)
AXES = Axes("Loss", "examples k", "loss", (0.0, 16.0), (0.0, 1.0))
CURVE = Series("GD", X, 1 - X / 16, "#0072b2", mark="A", band=(X * 0, X * 0 + 1))
LINE = Series("ri-signed", X, 1 - X / 16, "#000000", "dashed")
FAINT = Series("", X, X, "#0072b2", faint=True)
CHART = [FAINT, LINE, CURVE]


@pytest.fixture(autouse=True)
def few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "FRAMES", 3)


def test_curves_grow_along_x_while_lines_of_theory_stay() -> None:
    frames = list(growing(CHART, AXES, 5))
    assert [[series.name for series in frame] for frame in frames] == [["ri-signed", "GD"]] * 5
    assert [len(frame[1].x) for frame in frames] == [0, 4, 8, 12, 16]
    assert {len(frame[0].x) for frame in frames} == {16}


def test_curves_on_a_log_axis_grow_by_factors() -> None:
    axes = replace(AXES, x_limits=(1.0, 16.0), x_log=True)
    assert [float(frame[1].x[-1]) for frame in growing(CHART, axes, 5)] == pytest.approx([1, 2, 4, 8, 16])


@pytest.mark.slow
def test_a_gif_has_a_picture_per_step_and_holds_the_last_picture() -> None:
    file = gif([Chart(CHART, AXES)], "A (GD) follows the line.")
    with Image.open(io.BytesIO(file)) as moving:
        assert (moving.format, moving.info["loop"]) == ("GIF", 0)
        pictures = []
        for number in range(moving.n_frames):
            moving.seek(number)
            pictures.append(np.asarray(moving.convert("L"), float))
        ground, region = (moving.convert("RGB").getpixel(place) for place in ((2, 2), (300, 300)))
    assert (ground, region) == ((255, 255, 255), (205, 226, 237)), "those of the SVG file"
    assert len(pictures) >= 3
    blue = [int((picture < 150).sum()) for picture in pictures]
    assert blue == sorted(blue)
    assert blue[0] < blue[1] < blue[2]


def test_a_recording_is_asciicast_2_with_increasing_times() -> None:
    header, *events = (
        json.loads(line) for line in asciicast([Chart(CHART, AXES)], "A (GD) follows it.").splitlines()
    )
    assert header["version"] == 2
    assert (header["width"], header["height"]) == (100, 31)
    assert [kind for _, kind, _ in events] == ["o"] * 4
    times = [time for time, _, _ in events]
    assert times == sorted(times)
    texts = [text for _, _, text in events]
    assert texts[0].startswith("\x1b[?25l\x1b[2J\x1b[H")
    assert texts[-1] == "\x1b[?25h"
    assert all(text.count("\r\n") == 30 for text in texts[:-1]), "every picture has all lines of the terminal"
    assert all(
        line.endswith("\x1b[K") for text in texts[:-1] for line in text.removesuffix("\x1b[0m").split("\r\n")
    )
    assert ["A (GD) follows it." in text for text in texts[:-1]] == [False, False, True]
    assert times[-1] - times[-2] == pytest.approx(animation.HELD)
    colour = "\x1b[38;2;0;114;178m"  # of the curve
    braille = [re.findall(rf"{re.escape(colour)}([⠁-⣿A]+)", text) for text in texts[:-1]]
    shown = [sum(map(len, runs)) for runs in braille]
    assert shown[0] < shown[1] < shown[2], "the chart is that of the app"


@pytest.mark.parametrize("suffix", [".gif", ".cast"])
def test_an_animation_of_a_heat_map_is_refused(suffix: str) -> None:
    experiment = presets.load("hadamard-128")
    heat = HeatMap(np.arange(2), np.arange(2), np.zeros((2, 2)))
    pictures = type("Pictures", (), {"heat": heat})()
    shown = Shown(experiment, experiment, None, pictures=pictures)
    with pytest.raises(BadInput, match="a heat map has no curves that grow"):
        content(Path(f"chart{suffix}"), shown, "")
