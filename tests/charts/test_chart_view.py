import math

import numpy as np
import pytest
from textual.app import App
from textual.geometry import Region
from textual.widgets import ContentSwitcher

from hadamard_tui.colours.contrast import faded
from hadamard_tui.widgets.chart_view import ChartView

from .pictures import axes, curve

ON = axes((0, 100), (0, 1), title="Square loss")
CURVES = [
    curve(np.linspace(1, 0, 101), name="GD", mark="A", colour="#e69f00"),
    curve(np.linspace(0.5, 0.2, 101), name="bound", style="dashed", colour="bright_blue"),
]


class Recorder(ChartView):
    """Chart view that counts its refreshes and compositions."""

    def __init__(self, **rest):
        super().__init__(**rest)
        self.asked = []
        self.composed = 0

    def refresh(self, *regions, **rest):
        if regions:
            self.asked.append(regions)
        return super().refresh(*regions, **rest)

    def _changed_regions(self):
        self.composed += 1
        return super()._changed_regions()


class Chart(App):
    def __init__(self):
        super().__init__()
        self.view = Recorder()

    def compose(self):
        yield self.view


def shown(view) -> list[str]:
    return [view.render_line(y).text for y in range(view.size.height)]


async def test_a_chart_shows_title_frame_curves_and_legend():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show(CURVES, ON, note="paused")
        await pilot.pause()
        lines = shown(app.view)
        assert "Square loss" in lines[0]
        assert "┌─ " in lines[0]
        assert any("⠀" < letter <= "⣿" for letter in "".join(lines))
        assert "A ─── GD   ╌╌╌ bound" in lines[-1]
        assert lines[-1].rstrip().endswith("paused")
        assert {len(line) for line in lines} == {80}


async def test_a_chart_uses_the_colours_of_its_series():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show(CURVES, ON)
        await pilot.pause()
        segments = [segment for y in range(24) for segment in app.view.render_line(y)]
        curve_colours = {s.style.color.name for s in segments if any("⠀" < c <= "⣿" for c in s.text)}
        assert curve_colours == {"#e69f00", "bright_blue"}


async def test_a_chart_has_the_background_of_its_widget():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.styles.background = "#102030"
        app.view.show([*CURVES, curve([1, 0], faint=True)], ON, note="paused", playhead=50)
        await pilot.pause()
        grounds = {s.style.bgcolor.name for y in range(24) for s in app.view.render_line(y)}
        assert grounds == {"#102030"}


async def test_a_static_chart_refreshes_nothing():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show(CURVES, ON)
        await pilot.pause()
        app.view.asked.clear()
        app.view.show(list(CURVES), ON)
        assert app.view.asked == []


async def test_only_changed_cells_are_refreshed():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show([curve(CURVES[0].y[:50]), CURVES[1]], ON)
        await pilot.pause()
        before = shown(app.view)
        app.view.asked.clear()
        app.view.show([curve(CURVES[0].y[:54]), CURVES[1]], ON)
        after = shown(app.view)
        (regions,) = app.view.asked
        changed = {(x, y) for y in range(24) for x in range(80) if before[y][x] != after[y][x]}
        assert changed
        assert all(any(region.contains(x, y) for region in regions) for x, y in changed)
        assert sum(region.area for region in regions) < 40


async def test_changed_cells_reach_the_screen():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show([curve(CURVES[0].y[:50])], ON)
        await pilot.pause()
        app.view.show([curve(CURVES[0].y)], ON)
        await pilot.pause()
        region = Region(0, 0, 80, 24)
        on_screen = ["".join(s.text for s in strip) for strip in app.view.render_lines(region)]
        fresh = Chart()
        async with fresh.run_test(size=(80, 24)):
            fresh.view.show([curve(CURVES[0].y)], ON)
            assert on_screen == shown(fresh.view)


async def test_the_note_counts_points_that_are_not_drawn():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show([curve([0.5, math.inf, 0.5])], ON, note="paused")
        await pilot.pause()
        assert shown(app.view)[-1].rstrip().endswith("paused · 1 point not drawn (≤ 0 or ∞)")


async def test_a_remark_on_a_hidden_point_takes_another_legend_line():
    app = Chart()
    async with app.run_test(size=(30, 16)) as pilot:
        app.view.show([curve([0.5, math.inf, 0.5], name="a name of twenty l.")], ON)
        await pilot.pause()
        lines = shown(app.view)
        assert "a name of" in lines[-2]
        assert lines[-1].strip() == "1 point not drawn (≤ 0 or ∞)"


async def test_faint_curves_are_mixed_with_the_background_but_their_names_are_not():
    app = Chart()
    async with app.run_test(size=(60, 16)) as pilot:
        grey = curve(CURVES[0].y, name="127 other weights", colour="#8f99a3", faint=True)
        app.view.show([grey], ON)
        await pilot.pause()
        segments = [segment for y in range(16) for segment in app.view.render_line(y) if segment.text.strip()]
        assert not any(segment.style.dim for segment in segments), "half of a colour, whatever that is"
        colours = {
            "other" in segment.text: segment.style.color.name for segment in segments if segment.style.color
        }
        braille = {s.style.color.name for s in segments if any("\u2800" < c <= "\u28ff" for c in s.text)}
        assert colours[True] == "#8f99a3"
        assert braille == {faded("#8f99a3")} != {"#8f99a3"}


@pytest.mark.parametrize("count", [1, 2, 5])
async def test_the_legend_grows_with_its_names_up_to_two_lines(count):
    app = Chart()
    async with app.run_test(size=(30, 30)) as pilot:
        many = [
            curve(np.linspace(1, n / 9, 101), name=f"a learner called {n}", mark="ABCDE"[n])
            for n in range(count)
        ]
        app.view.show(many, ON)
        await pilot.pause()
        lines, height = shown(app.view), min(count, 2)
        legend = " ".join(lines[-height:])
        assert all(letter in legend for letter in "ABCDE"[:count])
        assert "└" not in legend
        assert "0.0" in "".join(lines[-height - 3 :]), "the frame stands on the legend"
        app.view.show([CURVES[1]], ON)
        await pilot.pause()
        assert "╌╌╌ bound" in shown(app.view)[-1]
        assert "┘" in "".join(shown(app.view)[-4:-1]), "and becomes shorter again"


async def test_an_empty_chart_shows_its_hint_in_the_middle():
    app = Chart()
    async with app.run_test(size=(41, 9)) as pilot:
        app.view.hint = "Press r to run"
        await pilot.pause()
        lines = shown(app.view)
        assert lines[4].strip() == "Press r to run"
        assert lines[4].index("P") == 13
        app.view.show([curve([])], ON)
        await pilot.pause()
        assert "Press r to run" in "".join(shown(app.view))


async def test_any_size_can_be_shown():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show(CURVES, ON, note="数学", playhead=30)
        for size in ((1, 1), (5, 2), (12, 4), (20, 5), (20, 8), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            app.view.show(CURVES, ON, note="数学", playhead=30)
            strips = [app.view.render_line(y) for y in range(app.view.size.height)]
            assert len(strips) == size[1]
            assert {sum(s.cell_length for s in strip) for strip in strips} == {size[0]}


async def test_an_invisible_chart_is_not_composed():
    class Tabs(App):
        def compose(self):
            with ContentSwitcher(initial="other"):
                yield Recorder(id="chart")
                yield ChartView(id="other")

    app = Tabs()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one("#chart", Recorder)
        for _ in range(3):
            view.show(CURVES, ON)
            await pilot.pause()
        assert view.composed == 0
        app.query_one(ContentSwitcher).current = "chart"
        await pilot.pause()
        assert view.composed == 1
        assert "Square loss" in shown(view)[0]


async def test_a_chart_accepts_data_before_it_is_mounted():
    app = Chart()
    app.view.show(CURVES, ON)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Square loss" in shown(app.view)[0]


async def test_a_change_of_theme_recolours_the_frame():
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show(CURVES, ON)
        await pilot.pause()
        before = app.view.render_line(1)
        app.theme = "textual-light"
        await pilot.pause()
        assert app.view.render_line(1) != before


@pytest.mark.parametrize("playhead", [0.0, 50.0, 100.0])
async def test_the_playhead_is_drawn_within_the_frame(playhead):
    app = Chart()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.show([curve([0])], ON, playhead=playhead)
        await pilot.pause()
        assert sum("┊" in line for line in shown(app.view)) > 10


@pytest.mark.parametrize(("height", "rows"), [(11, 5), (15, 6), (24, 8)])
async def test_a_legend_of_many_curves_keeps_the_rows_of_the_chart(height, rows):
    many = [
        curve(np.linspace(1, n / 11, 101), name=f"natural gradient from 10⁻{n}", mark="ABCDEFGHIJK"[n])
        for n in range(11)
    ]
    app = Chart()
    async with app.run_test(size=(80, height)) as pilot:
        app.view.show(many, ON)
        await pilot.pause()
        inside = [line for line in shown(app.view) if line.rstrip().endswith("│")]
        assert len(inside) >= rows
