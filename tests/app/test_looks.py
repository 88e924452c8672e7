"""Themes, palettes, and terminals without colour or with ASCII alone."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from engine.pictures.view import KindPlace
from hadamard_tui.app import HadamardApp
from hadamard_tui.colours.contrast import legible
from hadamard_tui.colours.themes import COLOUR_THEMES, after
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.state.config import Config
from hadamard_tui.terminal.ascii_text import AsciiFilter, to_ascii
from hadamard_tui.widgets.item_lists import LearnerList
from hadamard_tui.widgets.scoreboard import Scoreboard

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")


def test_the_next_theme_cycles_through_all_themes() -> None:
    names = list(COLOUR_THEMES)
    assert [after(name) for name in names] == [*names[1:], names[0]]


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_the_theme_key_recolours_the_table_and_is_remembered(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        first = legible(COLOUR_THEMES["dark"].palette.of(KindPlace("gradient")))
        assert first in str(app.laboratory.query_one(Scoreboard).get_row_at(0)[1].style)
        await pilot.press("t")
        assert app.theme == "light"
        assert "GD" in screen_text(app)
        first = legible(COLOUR_THEMES["light"].palette.of(KindPlace("gradient")))
        assert first in str(app.laboratory.query_one(Scoreboard).get_row_at(0)[1].style)
        assert first in str(app.laboratory.query_one(LearnerList).get_option_at_index(0).prompt.spans)
        await pilot.press("q")
    assert app.memory.view.theme == "light"


def test_ascii_keeps_the_width() -> None:
    for text in ("⣿⠁ ╭─╮", "1 − k/d · η = 0.1 …", "ŷ = Σ_i x_i u_i^L", "▼▲█ ✓✗ 界"):
        plain = to_ascii(text)
        assert plain.isascii()
        assert len(plain) == sum(2 if letter == "界" else 1 for letter in text)


@pytest.mark.set_up("filled")
@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_ascii_mode_draws_only_ascii(editable: EditableExperiment, size: tuple[int, int]):
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


@pytest.mark.slow
async def test_without_colour_every_curve_has_letters_along_it_and_colours_are_grey(
    editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.2)
        chart = [line[40:] for line in screen_text(app).splitlines()[:30]]
        for letter in "ABCDE"[: len(editable.learners)]:
            assert sum(line.count(letter) for line in chart if "│" in line or "┤" in line) >= 2
        for line in app.screen._compositor.render_strips():
            for widget_filter in app.get_line_filters():
                line = line.apply_filter(widget_filter, app.screen.styles.background)
            for segment in line:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    if colour is not None:
                        assert len(set(colour.get_truecolor())) == 1, "a grey"


@pytest.mark.parametrize(
    ("text", "in_ascii"),
    [
        ("EGU, EGU± and spindly stay  ", "EGU, EGU+- and spindly stay "),
        ("(≤ 0 or ∞)   |", "(<=0 or inf) |"),
        ("¼(1 − k/d)    1.0", "1/4(1 - k/d)  1.0"),
        ("u² − v²   |", "u^2 - v^2 |"),
        ("below 10⁻⁶ of 2·10⁵", "below 1e-6 of 2*1e5"),
        ("EGU± and ⣿   ", "EGU~ and |   "),
    ],
)
def test_a_sign_with_a_longer_ascii_form_takes_cells_of_the_next_gap(text: str, in_ascii: str) -> None:
    assert to_ascii(text) == in_ascii
    assert len(in_ascii) == cell_len(text)


def test_segments_keep_their_text_when_a_sign_widens_into_a_later_gap() -> None:
    line = [Segment("EGU±", Style(bold=True)), Segment(" and GD"), Segment("  |")]
    after = AsciiFilter().apply(line, Color(0, 0, 0))
    assert [segment.text for segment in after] == ["EGU+-", " and GD", " |"]


def test_plus_or_minus_takes_the_space_after_it_in_ascii():
    assert to_ascii("D EGU±  1.0 ± 0.1") == "D EGU+- 1.0 +-0.1"
    split = [Segment("EGU±", Style(bold=True)), Segment("   yes")]
    assert "".join(segment.text for segment in AsciiFilter().apply(split, Color(0, 0, 0))) == "EGU+-  yes"


def test_relations_and_rates_take_adjacent_spaces_in_ascii():
    assert to_ascii("steps ≤ 0 not shown, x ≥ 3") == "steps <=0 not shown, x >=3"
    assert to_ascii("A α = 1, η = 0.003") == "A a = 1, eta=0.003"
    split = [Segment("ν", Style(bold=True)), Segment(" = 10")]
    assert "".join(segment.text for segment in AsciiFilter().apply(split, Color(0, 0, 0))) == "nu= 10"


def test_an_ellipsis_in_parentheses_becomes_a_space_in_ascii():
    assert to_ascii("(…) not binding") == "( ) not binding"
    assert to_ascii("What is left of the resi…") == "What is left of the resi~"
