"""Talks: files of stops, with the speaker's lines, a blank screen, and a way back from every detour."""

from __future__ import annotations

from pathlib import Path

import crossing
import pytest
from textual.widgets import Label

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui import tours
from hadamard_tui.app import HadamardApp
from hadamard_tui.screens.modal import Blank
from hadamard_tui.tours import Tour
from hadamard_tui.widgets.banner import Banner, fitting
from hadamard_tui.widgets.chart_view import ChartView

from .conftest import SMALL, WIDE, until
from .test_runs import screen_text
from .test_tour import at, banner

pytestmark = pytest.mark.set_up("empty")

TEXT = """
title = "Two stops"
[[stops]]
preset = "hadamard-128"
line = "Half of the examples, half of the loss."
set = ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "claims=[]"]
[[stops]]
preset = "zero-one-128"
panel = "weights"
break.set = ["problem.matrix.rotate=true"]
break.claim = { kind = "value", curve = "EGU", at = 64, above = 0.1, text = "It is lost." }
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize("talk_name", tours.shipped_talks())
@pytest.mark.parametrize("width", [55, 90])
def test_texts_of_shipped_talks_fit_unshortened(talk_name: str, width: int):
    for stop in tours.talks()[talk_name].stops:
        broken = "" if stop.break_ is None else stop.break_.text
        for words in (stop.line, stop.predict, broken):
            assert fitting("20 of 20 · predict  59 min", words, width) == words


def test_a_talk_file_defines_presets_lines_panels_and_changes(written: Path):
    first, second = tours.stops_of(str(written)) or []
    assert first.line == "Half of the examples, half of the loss."
    assert (second.preset, second.panel) == ("zero-one-128", "weights")
    assert second.breaks is not None
    assert second.breaks.text == "It is lost."
    assert Tour([first]).editable.experiment.problem.matrix.shape() == (16, 16)
    assert tours.stops_of("hadamard-128") is None
    assert tours.stops_of(str(presets.path_of("hadamard-128"))) is None


def test_a_preset_of_a_talk_may_be_a_file_beside_it(written: Path):
    (written.parent / "own.toml").write_bytes(presets.path_of("hadamard-128").read_bytes())
    written.write_text('title = "T"\nstops = [{preset = "own.toml"}]')
    (stop,) = tours.stops_of(str(written)) or []
    assert Tour([stop]).editable.experiment == presets.load("hadamard-128")


@pytest.mark.parametrize(
    ("old", "new", "where", "reason"),
    [
        ('"hadamard-128"', '"hadamad-128"', "stops[0]: hadamad-128", "did you mean hadamard-128"),
        ('"weights"', '"weight"', "stops[1].panel", "there is no panel 'weight'"),
        ("line =", "lines =", "", "unknown field `lines`"),
        ("d=16", "d=x", "stops[0]: hadamard-128: problem.matrix.d", "'x'"),
        ("Two stops", "Two \\u001b stops", "title", "control"),
        ("[[stops]]", "[[stops", "line 3", "malformed"),
        ("rotate=true", "rotat=true", "stops[1].break: zero-one-128: problem.matrix", "rotat"),
        ('"EGU"', '"EUG"', "stops[1].break: claim.", "EUG"),
        ("break.set", "break.sets", "", "unknown field `sets`"),
        ("above = 0.1", "above = 0.1, below = 1", "stops[1].break: claim.", "exactly one"),
    ],
)
def test_an_invalid_talk_is_reported_on_one_line(written: Path, old: str, new: str, where: str, reason: str):
    written.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        tours.stops_of(str(written))
    assert where in caught.value.where
    assert reason in caught.value.fault
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [SMALL, WIDE] if crossing.all_combinations else [SMALL])
@pytest.mark.slow
async def test_a_talk_shows_line_and_time_and_returns_from_a_changed_set_up(
    written: Path, size: tuple[int, int]
):
    tour = Tour(tours.stops_of(str(written)) or [])
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.laboratory.session is not None)
        await until(pilot, lambda: "1 of 2  0 min" in banner(app) and "half of the loss." in banner(app))
        await pilot.press("d")
        await until(pilot, lambda: "Changed: with GD 2" in banner(app))
        await pilot.press("backspace")
        await until(pilot, lambda: "Changed" not in banner(app) and "half of the loss." in banner(app))
        assert len(app.laboratory.editable.learners) == 5
        await pilot.press("full_stop")
        await until(pilot, lambda: isinstance(app.screen, Blank))
        await until(pilot, lambda: not screen_text(app).strip())
        await pilot.press("x")
        await until(pilot, lambda: app.screen is app.laboratory)
        await pilot.press("pagedown")
        await until(pilot, lambda: at(app, "zero-one-128"))


@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_every_stop_shows_its_full_text_above_a_large_chart(size: tuple[int, int]):
    stops = tours.stops_of("alt2021")
    assert stops is not None
    tour = Tour(stops)
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.laboratory.query(Banner) and stops[0].predict in banner(app))
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None)
        await pilot.press("f")
        await until(pilot, lambda: "64" in banner(app) and "0.023" in banner(app))
        words = [str(label.content) for label in app.laboratory.query("#seen Label").results(Label)]
        assert words == ["at k = 64" if size == SMALL else "at k = 64 of 128"], "not that 64 were shown"
        await pilot.pause()
        width = app.laboratory.query_one("#words").size.width
        for stop in stops:
            assert fitting("20 of 20  59:59", stop.line, width) == stop.line
        chart = app.laboratory.query_one("#loss", ChartView)
        assert chart.size.height > size[1] / 3
