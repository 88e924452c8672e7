"""Themes, palettes, and terminals without colour or with ASCII alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from looping import looped
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from view_fields import curve_view

from engine.pictures.view import BoundClass, CurveView
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.contrast import faded
from hadamard_tui.charts.series_builder import colour_of, style_of
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.looks import palette
from hadamard_tui.looks.themes import LOOKS, after
from hadamard_tui.state.config import Config
from hadamard_tui.terminal.ascii_text import AsciiFilter, to_ascii
from hadamard_tui.widgets.learner_list import LearnerList
from hadamard_tui.widgets.scoreboard import Scoreboard

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

# Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Ottosson 2020; distances in it are nearly those that are seen, 0.02 being a just noticeable one."""
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(cones @ np.clip(rgb, 0, 1))


def contrast(one: str, other: str) -> float:
    """WCAG 2."""
    low, high = sorted(float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def distances(colours: Sequence[str], context: str, others: Sequence[str] = ()) -> np.ndarray:
    """How far any two colours are from one another, or each from some others, with such eyes."""
    one, two = (
        np.array([oklab(SIGHTS[context] @ linear(colour)) for colour in some])
        for some in (colours, others or colours)
    )
    found: np.ndarray = np.linalg.norm(one[:, None] - two[None], axis=-1)
    return found if len(others) else found[np.triu_indices(len(colours), 1)]


def lines_of(look: palette.Palette) -> list[str]:
    """The colours of lines of the theory."""
    return [look.theory, look.unproved]


@looped("name", LOOKS)
@looped("context", SIGHTS)
def test_curves_and_bounds_differ_in_colour_for_every_sight(name: str, context: str) -> None:
    look = LOOKS[name].palette
    assert distances([*look.learners.every, *lines_of(look)], context).min() > 0.055  # 0.02 can be noticed


@looped("name", LOOKS)
@looped("context", SIGHTS)
def test_curves_of_pinned_runs_differ_from_one_another_and_from_all_others(name: str, context: str) -> None:
    look = LOOKS[name].palette
    assert distances(look.pinned.every, context).min() > 0.03
    assert distances(look.pinned.every, context, [*look.learners.every, *lines_of(look)]).min() > 0.03


@looped("name", LOOKS)
@looped("context", SIGHTS)
def test_learners_that_are_bound_are_colder_than_those_that_are_free_for_every_sight(
    name: str, context: str
) -> None:
    tints = LOOKS[name].palette.learners
    cold, warm = (
        np.array([oklab(SIGHTS[context] @ linear(colour)) for colour in some])[:, 2]
        for some in (tints.cold, tints.warm)
    )
    assert cold.max() < warm.min() - 0.03, "bluer"


def test_learners_with_the_same_colour_have_another_line_style() -> None:
    for bound_class, least in (("bound", 18), ("free", 18), ("undecided", 9), (None, 36)):
        curves = [drawn(number, bound_class) for number in range(least)]
        looks = {(colour_of(curve), style_of(curve)) for curve in curves}
        assert len(looks) == least
        assert [style_of(curve) for curve in curves[:3]] == ["solid"] * 3


def drawn(number: int, bound_class: BoundClass | None) -> CurveView:
    """A curve of a learner of such a class."""
    nothing = np.empty(0)
    return curve_view(
        name="a curve",
        number=number,
        learner="a learner",
        bound_class=bound_class,
        x=nothing,
        y=nothing,
        stderr=None,
        replicas=1,
        over=lambda replicas: nothing,
        diverged=0,
        diverged_at=None,
        complete=True,
    )


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_written_in_colour_is_legible_and_faint_lines_are_seen(name: str) -> None:
    look = LOOKS[name]
    palette_of = look.palette
    assert look.theme.background == palette_of.ground
    assert look.theme.surface is not None
    every = [*palette_of.learners.every, *palette_of.pinned.every, *lines_of(palette_of), palette_of.others]
    before = palette.current()
    palette.use(palette_of)
    try:
        for colour in every:
            assert contrast(colour, palette_of.ground) >= 4.5, colour  # WCAG 1.4.3, text
            assert contrast(colour, look.theme.surface) >= 4.5 or colour in lines_of(palette_of), colour
            faint = faded(colour)
            assert contrast(faint, palette_of.ground) >= 3, colour  # WCAG 1.4.11, graphical objects
            assert contrast(faint, palette_of.ground) < contrast(colour, palette_of.ground)
    finally:
        palette.use(before)


def test_the_next_of_the_looks_leads_through_all_of_them() -> None:
    names = list(LOOKS)
    assert [after(name) for name in names] == [*names[1:], names[0]]


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_the_theme_key_recolours_the_table_and_is_remembered(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        first = LOOKS["dark"].palette.learners.cold[0]
        assert first in str(app.laboratory.query_one(Scoreboard).get_row_at(0)[1].style)
        await pilot.press("t")
        assert app.theme == "light"
        assert "GD" in screen_text(app)
        first = LOOKS["light"].palette.learners.cold[0]
        assert first in str(app.laboratory.query_one(Scoreboard).get_row_at(0)[1].style)
        assert first in str(app.laboratory.query_one(LearnerList).get_option_at_index(0).prompt.spans)
        await pilot.press("q")
    assert app.left.view.theme == "light"


def test_ascii_keeps_the_width() -> None:
    for text in ("⣿⠁ ╭─╮", "1 − k/d · η = 0.1 …", "ŷ = Σ_i x_i u_i^L", "▼▲█ ✓✗ 界"):
        plain = to_ascii(text)
        assert plain.isascii()
        assert len(plain) == sum(2 if letter == "界" else 1 for letter in text)


@pytest.mark.set_up("filled")
@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_ascii_leaves_nothing_else_on_the_screen(editable: EditableExperiment, size: tuple[int, int]):
    app = HadamardApp(editable, config=Config(ascii=True))
    async with opened(app, size) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.2)
        written: list[str] = []
        for line in app.screen._compositor.render_strips():
            for widget_filter in app.get_line_filters():
                line = line.apply_filter(widget_filter, app.screen.styles.background)
            written.append(line.text)
        assert "".join(written).isascii()
        assert "least squares" in "".join(written)


async def test_without_colour_every_curve_is_named_along_its_way(
    editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.2)
        chart = [line[40:] for line in screen_text(app).splitlines()[:16]]
        for letter in "ABCDE"[: len(editable.learners)]:
            assert sum(line.count(letter) for line in chart if "│" in line or "┤" in line) >= 2
        for line in app.screen._compositor.render_strips():
            for widget_filter in app.get_line_filters():
                line = line.apply_filter(widget_filter, app.screen.styles.background)
            for segment in line:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    if colour is not None:
                        assert len(set(colour.get_truecolor())) == 1, "a grey"


def test_plus_or_minus_takes_the_space_after_it_in_ascii():
    assert to_ascii("D EGU±  1.0 ± 0.1") == "D EGU+- 1.0 +-0.1"
    split = [Segment("EGU±", Style(bold=True)), Segment("   yes")]
    assert "".join(segment.text for segment in AsciiFilter().apply(split, Color(0, 0, 0))) == "EGU+-  yes"


def test_whatever_is_in_parentheses_has_no_sign_of_a_cut_in_ascii():
    assert to_ascii("(…) does not bind it") == "( ) does not bind it"
    assert to_ascii("What is left of the resi…") == "What is left of the resi~"
