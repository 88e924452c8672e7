"""Nothing is cut off and nothing overlaps, at any size from 60 × 16 to 200 × 60, in any state."""

from __future__ import annotations

import re

import crossing
import pytest
from looping import looped
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Static

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import ACTIONS, AT_REST, FOOTER, IN_A_RUN, ON_A_PATH
from hadamard_tui.panels import WORDS
from hadamard_tui.running import stored
from hadamard_tui.screens.help import Help
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import WIDTHS, Heads, Scoreboard, columns
from hadamard_tui.widgets.screen_lines import Caption, Keys, fitting
from hadamard_tui.widgets.selection_bar import Progress
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import RunList, Story
from hadamard_tui.widgets.stage import PanelView, PanelWords, Stage
from hadamard_tui.widgets.tabs import Tabs, more_words
from hadamard_tui.widgets.tabs import fitting as fitting_tabs

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

SIZES = [(60, 16), (61, 17), (75, 20), (80, 24), (100, 31), (109, 32), (110, 31), (110, 32), (120, 40),
         (150, 45), (179, 24), (180, 24), (180, 50), (200, 60)]  # fmt: skip
PARTS = ("#loss", "#tabs", "#panel", "#scoreboard", "#setup", "#side", "#selection", "#caption", "#keys")


def in_sight(app: HadamardApp) -> dict[str, Region]:
    """Regions of the visible parts of the screen, without drawers."""
    regions = {}
    for part in PARTS:
        widget: Widget = app.laboratory.query_one(part)
        drawer = widget.styles.layer == "drawer"
        if (
            widget.display
            and not drawer
            and all(ancestor.display for ancestor in widget.ancestors if ancestor is not app)
        ):  # type: ignore[attr-defined]
            regions[part] = widget.region
    return regions


def lines_of(app: HadamardApp, widget: Widget) -> list[str]:
    start, top, width, height = widget.region
    return [line[start : start + width] for line in screen_text(app).split("\n")[top : top + height]]


def check(app: HadamardApp, size: tuple[int, int]) -> None:
    """Check that parts lie on the screen and do not overlap, and that no line of words is cut."""
    laboratory, screen_region = app.laboratory, Region(0, 0, *size)
    assert screen_text(app).strip(), f"nothing is drawn at {size}"
    regions = in_sight(app)
    for name, region in regions.items():
        assert region.area > 0, f"{name} has no room at {size}"
        assert screen_region.contains_region(region), f"{name} leaves the screen at {size}"
    names = list(regions)
    for number, name in enumerate(names):
        for other in names[:number]:
            assert not regions[name].overlaps(regions[other]), f"{name} overlaps {other} at {size}"
    assert regions["#loss"].height >= 5, f"the chart of losses has no room at {size}"

    progress = laboratory.query_one(Progress)
    assert cell_len(str(progress.render())) <= progress.size.width, f"the progress is cut at {size}"
    keys = laboratory.query_one(Keys)
    assert cell_len(keys.render().plain) <= keys.content_size.width, f"the keys are cut at {size}"
    assert "? Help" in keys.render().plain
    assert "q Quit" in keys.render().plain
    tabs = laboratory.query_one(Tabs)
    assert cell_len(tabs.render().plain) <= tabs.content_size.width, f"the tabs are cut at {size}"
    assert tabs.words[tabs.chosen] in tabs.render().plain
    board = laboratory.query_one(Scoreboard)
    if "#scoreboard" in regions:
        assert board.virtual_size.width <= board.size.width, f"the table is cut at {size}"
        assert {"loss", "bound", "ratio", "state"} <= set(board.heads)
        assert board.heads[1] in ("learner", "at k = 8"), f"the head of names is cut at {size}"
    for words in laboratory.query("#panel-words, #story"):
        assert words.virtual_size.width <= words.size.width or not words.size, f"words are cut at {size}"


def every_second_size(first: int) -> list[tuple[int, int]]:
    """Every second size."""
    return SIZES if crossing.all_combinations else SIZES[first::2]


@pytest.mark.slow
async def test_widgets_are_not_cut_and_do_not_overlap_at_any_size(app: HadamardApp):
    async with opened(app, SIZES[0]) as pilot:
        for size in every_second_size(0):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
            check(app, size)  # before a run
        await finished(app, pilot)
        await pilot.press("c", "home", "right", "right", "right")
        for number, size in enumerate(reversed(SIZES)):
            await pilot.resize_terminal(*size)
            await pilot.press("v")
            await pilot.pause(0.1)
            check(app, size)
            text = screen_text(app)
            words = ["finished", "3/16", *(["cpu"] if size[0] >= 150 else [])]
            for word in words:
                assert word in text.splitlines()[0], f"{word} is missing at {size}, step {number}"
        app.laboratory.editable.put("run.seed", 5)
        for size in every_second_size(1):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
            check(app, size)
            assert "not run yet: r" in screen_text(app) or "new: r" in screen_text(app)


@pytest.mark.slow
async def test_each_screen_size_has_its_layout(app: HadamardApp):
    async with opened(app, SIZES[0]) as pilot:
        for size in SIZES:
            width, _ = size
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            setup, chart = app.laboratory.query_one(SetupPane), app.laboratory.query_one("#loss", ChartView)
            assert setup.display == (width >= 140)
            for widget in (RunList, Story):
                assert bool(app.laboratory.query_one(widget).region) == (width >= 180)
            lower = [bool(app.laboratory.query_one(kind).region) for kind in (PanelView, Scoreboard)]
            assert lower == [False, True], size
            if not setup.display:
                before = chart.region
                await pilot.press("s")
                await until(pilot, lambda setup=setup: setup.display)
                assert chart.region == before  # the drawer lies over it
                assert screen_text(app).strip()
                assert setup.region.overlaps(before)
                await pilot.press("escape")
                await until(pilot, lambda setup=setup: not setup.display)


@pytest.mark.slow
@pytest.mark.drawn
async def test_a_screen_that_is_too_small_shows_a_message_while_the_run_continues(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        for _ in range(3):
            await pilot.press("minus")  # slowly, so that it is still under way when it is looked for
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        for size in ((59, 40), (120, 15), (20, 5), (5, 2), (1, 1)):
            await pilot.resize_terminal(*size)
            shown = session_of(app).playback.shown
            await until(pilot, lambda shown=shown: session_of(app).playback.shown > shown)
            if size[0] >= 20:
                text = " ".join(screen_text(app).split())
                assert "60×16" in text
                assert "Runs continue" in text
        await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: "running" in screen_text(app))
        check(app, SMALL)


@pytest.mark.drawn
@pytest.mark.slow
async def test_resizing_during_a_run_is_safe(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        for size in SIZES[::2]:
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
            check(app, size)
        app.laboratory._pace.unlimited = True
        await until(pilot, lambda: session_of(app).state == "finished")


async def words_at(app: HadamardApp, pilot: Pilot[None], panel: str) -> str:
    app.laboratory.query_one(Stage).choose(panel)
    await pilot.pause(0.1)
    return screen_text(app)


@pytest.mark.slow
async def test_keys_scroll_texts_longer_than_their_panel(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        await words_at(app, pilot, "why")
        panel = app.laboratory.query_one("#panel-words")
        await pilot.press("pagedown")
        await until(pilot, lambda: panel.scroll_y > 0)
        assert panel.scroll_y == panel.size.height, "a small panel turns whole pages"
        assert "pgdn reads on · F shows it alone" in screen_text(app)
        await pilot.press("pageup")
        await until(pilot, lambda: panel.scroll_y == 0)
        await pilot.press("pagedown", "right_square_bracket")
        await until(pilot, lambda: "least squares is rotation invariant" in screen_text(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: panel.scroll_y > 0)
        await words_at(app, pilot, "story")
        await until(pilot, lambda: panel.scroll_y == 0, subject="the top of another panel")


@pytest.mark.slow
async def test_a_panel_names_the_scroll_key_only_if_its_text_is_cut():
    class OfWords(App[None]):
        CSS = """#words { height: 1fr; } #words.-cut { border-bottom: blank; } Static { height: auto; }"""

        def compose(self) -> ComposeResult:
            yield PanelWords(id="words")

    async with OfWords().run_test(size=(40, 10)) as pilot:
        words = pilot.app.query_one(PanelWords)
        for lines in (10, 11, 10, 30, 9, 10):
            words.query_one(Static).update("\n".join(map(str, range(lines))))
            await until(pilot, lambda lines=lines: words.query_one(Static).size.height == lines)
            await pilot.pause()
            assert ("reads on" in screen_text(pilot.app)) == (lines > 10), lines


@pytest.mark.slow
async def test_a_run_hides_the_set_up_only_if_it_covers_the_chart(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await pilot.press("s")
        await until(pilot, lambda: setup.display)
        app.laboratory.action_run()
        await until(pilot, lambda: not setup.display, subject="the chart alone")
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: setup.display)
        app.laboratory.action_run()
        await pilot.pause(0.1)
        assert setup.display


@pytest.mark.slow
async def test_keys_and_tabs_can_be_clicked(app: HadamardApp):
    async with opened(app, (200, 60)) as pilot:
        tabs, keys = app.laboratory.query_one(Tabs), app.laboratory.query_one(Keys)
        for word in ("why", "learners", "gap"):
            await pilot.click(tabs, offset=(tabs.render().plain.index(word), 0))
            await until(pilot, lambda word=word: tabs.chosen == word)
        await pilot.click(keys, offset=(keys.render().plain.index("Set-up") + 1, 0))
        await until(pilot, lambda: not app.laboratory.query_one(SetupPane).display)
        await pilot.click(keys, offset=(keys.render().plain.index("Help") + 1, 0))
        await until(pilot, lambda: isinstance(app.screen, Help))
    for _, _, action in keys.entries.values():
        owner, _, name = action.partition(".")
        assert hasattr({"app": app, "screen": app.laboratory}[owner], f"action_{name}")


@looped("width", range(58, 210, 7))
def test_the_columns_fill_exactly_the_width(width: int):
    for shown_heads in (frozenset[str](), frozenset({"rate", "invariant", "which"})):
        shape = columns(width, ["a name of some length", "b"], Heads(optional=shown_heads))
        assert sum(shape.values()) + 2 * len(shape) <= width
        assert all(wide >= WIDTHS[name] for name, wide in shape.items())
    assert ("rate" in columns(width, ["GD"], Heads(optional=frozenset({"rate"})))) == (width >= 77)
    assert "rate" not in columns(width, ["GD"], Heads())
    measured = columns(width, ["GD"], Heads("weights-dot-gradient"))["value"]
    assert measured == 20 or (width < 120 and measured >= 14)


def test_distinct_names_have_priority_over_optional_columns():
    names = ["natural gradient η = 0.02", "natural gradient η = 0.01"]
    for width in (75, 100):
        shape = columns(width, names, Heads(optional=frozenset({"rate"})))
        assert shape["learner"] == 25
        assert ("rate" in shape) == (width == 100)


@looped("width", range(30, 140, 7))
def test_the_tabs_fit_the_width_and_include_the_open_tab(width: int):
    lengths = [len(word) for word in WORDS.values()]
    for chosen in range(len(lengths)):
        for dimmed in ((), (6, 7, 12)):
            shown = fitting_tabs(lengths, chosen, width, dimmed)
            assert chosen in shown
            assert shown == sorted(shown)
            more = len(lengths) - len(shown)
            told = len(more_words(more)) if more else 0
            assert sum(lengths[number] + 2 for number in shown) - 2 + told <= width


def test_inapplicable_tabs_give_way_to_applicable_tabs():
    assert fitting_tabs([8, 8, 8], 0, 28) == [0, 1, 2]
    assert fitting_tabs([8, 8, 8, 8], 0, 37) == [0, 1]
    assert fitting_tabs([8, 8, 8, 8], 0, 37, {1}) == [0, 2]
    assert fitting_tabs([8, 8, 8, 8], 1, 37, {1}) == [0, 1]
    assert fitting_tabs([8, 8, 8], 2, 20, {1}) == [2]


async def test_the_tabs_say_how_many_more_there_are_and_the_key_that_comes_to_them(app: HadamardApp):
    async with opened(app, SMALL):
        assert re.search(r"  v \d+ more$", app.laboratory.query_one(Tabs).render().plain)


def test_the_footer_shows_the_most_important_keys_that_fit():
    entries = {
        "help": ("?", "Help", "help"),
        "quit": ("q", "Quit", "quit"),
        "pause": ("space", "Pause", "pause"),
        "run": ("r", "Run", "run"),
    }
    ranked = ("help", "quit", "run", "pause")
    assert [key for key, *_ in fitting(entries, ranked, 100)] == ["r", "space", "?", "q"]
    assert [key for key, *_ in fitting(entries, ranked, 22)] == ["r", "?", "q"]
    assert fitting(entries, ranked, 3) == []


async def test_the_panel_key_skips_inapplicable_panels_but_their_digits_open_them(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        stage = app.laboratory.query_one(Stage)
        await until(pilot, lambda: "svd" in stage.query_one(Tabs).dimmed)
        opened_panels = set()
        for _ in WORDS:
            await pilot.press("v")
            opened_panels.add(stage.chosen)
        assert "svd" not in opened_panels, "it needs several targets"
        assert "train" in opened_panels, "it needs only a measure"
        await pilot.press("7")
        assert stage.chosen == "svd"


async def test_the_footer_offers_a_pause_during_a_run_and_a_replay_after_it(app: HadamardApp):
    async with opened(app, (200, 60)) as pilot:
        keys = app.laboratory.query_one(Keys)
        await until(pilot, lambda: "Run" in keys.render().plain and "space" not in keys.render().plain)
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        await until(pilot, lambda: "space Replay" in keys.render().plain)
        keys.in_a_run, keys.labels = True, {}
        assert "space Pause" in keys.render().plain


@pytest.mark.parametrize("keys", [IN_A_RUN, AT_REST, ON_A_PATH])
def test_every_ranked_key_is_a_footer_action(keys: tuple[str, ...]):
    assert len(set(keys)) == len(keys)
    assert set(keys) <= set(FOOTER) <= {action.id for action in ACTIONS}


CHART_ROWS = {(80, 24): 9, (120, 40): 20, (200, 60): 34}
"""Minimum number of rows inside the frame of the chart, by size of the screen."""


def check_chart(app: HadamardApp, rows: int) -> None:
    assert app.laboratory.query_one(Stage).chosen == "learners"
    lines = lines_of(app, app.laboratory.query_one("#loss"))
    top = next(number for number, line in enumerate(lines) if "┌─" in line)
    bottom = next(number for number, line in enumerate(lines) if "└" in line)
    assert bottom - top - 1 >= rows
    assert sum("┤" in line for line in lines) >= 3
    assert len(lines) - bottom - 2 <= 2, "a legend of at most two rows"


@pytest.mark.parametrize("size", CHART_ROWS)
async def test_the_chart_keeps_its_rows_with_the_learners_open_after_a_run(
    app: HadamardApp, size: tuple[int, int]
):
    async with opened(app, size) as pilot:
        await finished(app, pilot)
        check_chart(app, CHART_ROWS[size])


@pytest.mark.slow
async def test_charts_of_sampled_presets_keep_their_rows(app: HadamardApp):
    with_curves = [preset for preset in presets.names()[::20] if stored.read(preset).first is not None]
    async with opened(app, SMALL) as pilot:
        for preset in with_curves:
            await app.choose_preset(preset)
            await pilot.press("1")
            chart = app.laboratory.query_one("#loss", ChartView)
            await until(pilot, lambda chart=chart: any(len(series.x) for series in chart.shown[0]))
            for size, rows in CHART_ROWS.items():
                await pilot.resize_terminal(*size)
                await pilot.pause(0.1)
                check_chart(app, rows)


async def test_a_chart_or_panel_can_fill_the_screen_until_escape(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        chart, panel = app.laboratory.query_one("#loss"), app.laboratory.query_one("#panel")
        await pilot.press("F")
        await until(pilot, lambda: chart.region.height == 22)
        await pilot.press("2")
        await until(pilot, lambda: panel.region.height == 22, subject="the weights alone")
        await pilot.press("escape")
        await until(pilot, lambda: 0 < panel.region.height < 14 and chart.region.height > 9)


def test_no_two_actions_have_the_same_key():
    keys = [key for action in ACTIONS for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))
    eaten = {"ctrl+z", "ctrl+b", "ctrl+a", "ctrl+o", "ctrl+s", "ctrl+w", "ctrl+t", "f1", "f11"}
    assert not eaten & set(keys) - {"ctrl+s"}


@pytest.mark.slow
async def test_resizing_neither_opens_the_drawer_nor_hides_the_docked_set_up(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await pilot.press("s")
        await until(pilot, lambda: setup.display)
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.laboratory.has_class("-wide"))
        assert setup.display
        await pilot.press("escape", "s")
        await until(pilot, lambda: not setup.display)
        await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: app.laboratory.has_class("-narrow"))
        assert setup.display, "the drawer is as it was left"
        await pilot.press("s")
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.laboratory.has_class("-wide"))
        assert not setup.display
        assert app.laboratory.view().setup_hidden


@pytest.mark.slow
async def test_cut_names_in_the_table_stay_distinct(editable: EditableExperiment):
    names = [f"gradient descent, {kind}" for kind in ("linear net", "rectified net", "random features")]
    for number, name in enumerate(names):
        editable.put(f"learners[{number}].name", name)
    app = HadamardApp(editable)
    async with opened(app, SMALL):
        board = app.laboratory.query_one(Scoreboard)
        shown = [str(board.get_row_at(number)[1]) for number in range(3)]
        assert len(set(shown)) == 3
        assert all(cell_len(name) <= board.shape["learner"] for name in shown)


async def test_a_cut_headline_ends_in_an_ellipsis(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        caption = app.laboratory.query_one(Caption)
        for count, is_cut in ((25, False), (40, True)):
            caption.say(" ".join(["words"] * count))
            await until(pilot, lambda: caption.size.height == 2)
            second = lines_of(app, caption)[1].rstrip()
            assert second.endswith("words" if not is_cut else "…")


@pytest.mark.slow
async def test_the_chart_keeps_its_rows_beside_a_long_table_and_headline(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        app.laboratory.query_one(Caption).say("word " * 30)
        app.laboratory.query_one(Scoreboard).styles.min_height = 3
        await until(pilot, lambda: app.laboratory.query_one(Caption).size.height == 2)
        assert app.laboratory.query_one("#picture").size.height >= 14
