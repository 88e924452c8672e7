import math

import numpy as np
import pytest
from rich.console import Console
from textual.app import App

from hadamard_tui.colours import palette
from hadamard_tui.colours.themes import COLOUR_THEMES
from hadamard_tui.terminal.ascii_text import AsciiFilter
from hadamard_tui.widgets.heat_map_view import HeatMapView

from .heat_maps import criticality, heat

BLOCKS = set("▀▄")


class Recorder(HeatMapView):
    """Heat map view that records its refreshes."""

    def __init__(self, **rest):
        super().__init__(**rest)
        self.asked = []

    def refresh(self, *regions, **rest):
        if regions:
            self.asked.append(regions)
        return super().refresh(*regions, **rest)


class Chart(App):
    """App with one heat map."""

    def __init__(self, heat_map=None, **rest):
        super().__init__()
        self.view = Recorder(**rest)
        self.readings = []
        if heat_map is not None:
            self.view.show(heat_map)

    def compose(self):
        yield self.view

    def on_mount(self):
        self.view.focus()

    def on_heat_map_view_pointed(self, event):
        self.readings.append(event.reading)


@pytest.fixture(autouse=True)
def colours(monkeypatch):
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")


def shown(view) -> list[str]:
    return [view.render_line(y).text for y in range(view.size.height)]


def cells(view):
    """Character, foreground and background of every cell, row by row."""
    return [
        [(letter, s.style.color, s.style.bgcolor) for s in view.render_line(y) for letter in s.text]
        for y in range(view.size.height)
    ]


async def test_a_heat_map_shows_colours_frame_scale_and_legend():
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        lines = shown(app.view)
        assert "Variance of the layers" in lines[0]
        assert "colour: layer variance" in "".join(lines)
        assert BLOCKS & set("".join(lines))
        assert "─── critical: C_w = 2" in "".join(lines)
        assert "··· not computed yet" in "".join(lines)
        assert "arrow keys or mouse" in lines[-1]
        assert {len(line) for line in lines} == {80}


async def test_only_half_blocks_points_and_lines_have_a_coloured_background():
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.styles.background = "#102030"
        await pilot.pause()
        coloured = {
            letter for row in cells(app.view) for letter, _, ground in row if ground.name != "#102030"
        }
        assert "▀" in coloured
        assert all(letter in "▀●" or "⠀" < letter <= "⣿" for letter in coloured)


@pytest.mark.parametrize("look", COLOUR_THEMES)
async def test_low_values_resemble_the_background_and_high_values_contrast_with_it(look):
    before = palette.current()
    palette.use(COLOUR_THEMES[look].palette)
    try:
        app = Chart(heat([[0.0, 1.0]]))
        app.register_theme(COLOUR_THEMES[look].theme)
        app.theme = COLOUR_THEMES[look].theme.name
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            row = cells(app.view)[10]
            low_cell, right, ground = (
                sum(colour.get_truecolor()) for colour in (row[10][1], row[60][1], row[60 + 17][2])
            )
            assert abs(low_cell - ground) < abs(right - ground)
    finally:
        palette.use(before)


async def test_arrow_keys_move_the_cursor_over_cells_and_stop_at_the_ends():
    app = Chart(heat(x_label="depth", y_label="width"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right")
        assert shown(app.view)[-1].strip() == "depth 2, width 2: 4"
        await pilot.press("left", "down")
        assert shown(app.view)[-1].strip() == "depth 1, width 1: 0"
        await pilot.press("left", "down")
        assert app.view.reading.text == "depth 1, width 1: 0"
        await pilot.press("right", "right", "right", "up", "up")
        assert app.view.reading.text == "depth 3, width 2: 5"
        await pilot.pause()
        assert [reading.z for reading in app.readings] == [4, 3, 0, 1, 2, 5]
        assert sum("╋" in line for line in shown(app.view)) == 1


async def test_hovering_reads_the_cell_under_the_mouse():
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.hover(app.view, offset=(2, 18))
        assert app.view.reading.text.startswith("depth 1, C_w 0.5: 0.25 ")
        await pilot.hover(app.view, offset=(60, 2))
        assert app.view.reading.text.endswith("not computed yet")
        before = app.view.reading.text
        await pilot.hover(app.view, offset=(78, 3))
        assert app.view.reading.text == before


async def test_the_cursor_stays_at_new_values_and_inside_the_map():
    app = Chart(heat(np.full((4, 4), math.nan)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("up", "right")
        assert shown(app.view)[-1].strip() == "x 4, y 3: not computed yet"
        app.view.show(heat(np.full((4, 4), 0.25)))
        assert shown(app.view)[-1].strip() == "x 4, y 3: 0.25"
        app.view.show(heat())
        assert shown(app.view)[-1].strip() == "x 3, y 2: 5"


async def test_a_cursor_move_refreshes_few_cells_and_unchanged_data_refresh_none():
    app = Chart(criticality())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("right")
        await pilot.pause()
        app.view.asked.clear()
        app.view.show(criticality())
        assert app.view.asked == []
        await pilot.press("right")
        (regions,) = app.view.asked
        assert sum(region.area for region in regions) < 120


async def test_a_heat_map_without_colour_shows_digits(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        text = "".join(shown(app.view))
        assert not BLOCKS & set(text)
        assert "digits 0 to 9: layer variance from" in text


async def test_a_terminal_of_sixteen_colours_gets_digits(monkeypatch):
    monkeypatch.setattr(Console, "color_system", "standard")
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "digits 0 to 9" in "".join(shown(app.view))


async def test_ascii_mode_draws_only_ascii():
    app = Chart(criticality(), ascii_only=True)
    app._filters.append(AsciiFilter())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right")
        text = "".join(
            strip.apply_filter(app._filters[-1], app.view.background_colors[1]).text
            for strip in map(app.view.render_line, range(24))
        )
        assert text.isascii()
        assert "?" not in text
        assert "digits 0 to 9" in text


async def test_a_change_of_theme_reverses_the_colours():
    before = palette.current()
    try:
        palette.use(palette.DARK)
        app = Chart(heat([[0.0, 1.0]]))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            dark = cells(app.view)[10]
            palette.use(palette.LIGHT)
            app.theme = "textual-light"
            await pilot.pause()
            light = cells(app.view)[10]
            assert (light[10][1], light[60][1]) == (dark[60][1], dark[10][1])
    finally:
        palette.use(before)


async def test_an_empty_view_shows_its_hint_and_has_no_cursor():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.hint = "Press r to run"
        await pilot.press("right")
        await pilot.hover(app.view, offset=(20, 10))
        assert "Press r to run" in "".join(shown(app.view))
        assert app.view.reading is None
        app.view.show(criticality())
        await pilot.press("right")
        app.view.clear()
        await pilot.pause()
        assert "Press r to run" in "".join(shown(app.view))
        assert app.view.reading is None


@pytest.mark.slow
async def test_any_size_can_be_shown():
    app = Chart(criticality())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right")
        for size in ((1, 1), (5, 2), (12, 4), (20, 8), (36, 16), (120, 40), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            strips = [app.view.render_line(y) for y in range(app.view.size.height)]
            assert len(strips) == size[1]
            assert {sum(s.cell_length for s in strip) for strip in strips} == {size[0]}
