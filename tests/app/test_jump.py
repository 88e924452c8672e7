"""Jump mode: every visible place has its own key, which jumps there; any other key stays."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import crossing
import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from engine.spec import theory_pages
from hadamard_tui.app import HadamardApp
from hadamard_tui.colours.contrast import contrast
from hadamard_tui.colours.themes import COLOUR_THEMES
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import ABOUT
from hadamard_tui.screens.browser import Browser, NewExperiment
from hadamard_tui.screens.diagnosis import DiagnosisPage
from hadamard_tui.screens.jump import Jump, Place, Spot, spots
from hadamard_tui.screens.own_table import OwnTable
from hadamard_tui.screens.theory_page import page_of
from hadamard_tui.state.config import Config
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import Side, Story
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import Tabs

from .conftest import SMALL, WIDE, opened, settled, until
from .test_actions import RUN, prepare
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

HUGE = (200, 60)
STATES = {
    "80x24": (SMALL, ()),
    "80x24, words": (SMALL, (RUN, "3")),
    "80x24, set-up": (SMALL, ("s",)),
    "80x24, runs": (SMALL, (RUN, "c", "l")),
    "80x24, both": (SMALL, (RUN, "c", "s", "escape", "l")),
    "120x40": (WIDE, ()),
    "120x40, words": (WIDE, (RUN, "3")),
    "120x40, without set-up": (WIDE, ("s",)),
    "200x60": (HUGE, (RUN, "3", "c")),
}
"""Sizes of the screen, with the keys that open panels there."""

FILLED = ("80x24, set-up", "120x40", "200x60")


QUICK = ("80x24", "120x40", "120x40, words")
"""States of the quick tests; the others need a run on a small or a large screen."""


def marks(state: str) -> list[pytest.MarkDecorator]:
    """Marks of a state. States in FILLED, one per shape of the screen, have the fields of the set-up."""
    filled = [pytest.mark.set_up("filled")] if state in FILLED else []
    return filled if state in QUICK else [*filled, pytest.mark.slow]


states = pytest.mark.parametrize(
    ("size", "first"),
    [pytest.param(*words, id=state, marks=marks(state)) for state, words in STATES.items()],
)


async def jump(pilot: Pilot[None], app: HadamardApp) -> Jump:
    """Start jump mode by the key that also works in fields."""
    await pilot.press("ctrl+g")
    await until(pilot, lambda: isinstance(app.screen, Jump))
    assert isinstance(app.screen, Jump)
    return app.screen


async def bring(pilot: Pilot[None], app: HadamardApp, first: tuple[str, ...]) -> None:
    await prepare(pilot, app, first)
    setup = app.laboratory.query_one(SetupPane)
    await until(pilot, lambda: settled(setup))
    await pilot.pause(0.1)


def seen(app: HadamardApp, columns: int, rows: int) -> set[Place]:
    """Visible places that take keys, found cell by cell: widgets, and panels by their number."""
    laboratory, tabs = app.laboratory, app.laboratory.query_one(Tabs)
    edges = [edge for both in laboratory._compositor.visible_widgets.values() for edge in both]
    across = {x for edge in edges for x in (edge.x, edge.right) if 0 <= x < columns}
    down = {y for edge in edges for y in (edge.y, edge.bottom) if 0 <= y < rows}  # between edges all is alike
    places: set[Place] = set()
    for top in {laboratory.get_widget_at(x, y)[0] for x, y in itertools.product(across, down)}:
        places |= {
            ancestor
            for ancestor in top.ancestors_with_self
            if isinstance(ancestor, ChartView) and ancestor.id == "loss"
        }
        places |= {
            ancestor
            for ancestor in top.ancestors_with_self
            if isinstance(ancestor, Widget) and ancestor.focusable
        }
    text = tabs.render().plain
    for number, name in enumerate(tabs.names, start=1):
        place = re.search(rf"(?<!\S){re.escape(tabs.words[name])}(?!\S)", text)
        if place and laboratory.get_widget_at(tabs.region.x + place.start(), tabs.region.y)[0] is tabs:
            places.add(number)
    return places


@states
@pytest.mark.slow
async def test_jump_mode_labels_exactly_the_visible_places(
    app: HadamardApp, size: tuple[int, int], first: tuple[str, ...]
):
    async with opened(app, size) as pilot:
        await bring(pilot, app, first)
        places = seen(app, *size)
        screen = await jump(pilot, app)
        assert {spot.place for spot in screen.spots.values()} == places
        assert len(places) == len(screen.spots)
        await until(pilot, lambda: "esc to stay" in screen_text(app))
        lines = screen_text(app).split("\n")
        for key, (place, cells) in screen.spots.items():
            written = lines[cells.y][cells.x : cells.right]
            assert written == (key if isinstance(place, int) else f"[{key}]")
            below = app.laboratory.query_one(Tabs) if isinstance(place, int) else place
            for x in range(*cells.column_span):
                assert below in app.laboratory.get_widget_at(x, cells.y)[0].ancestors_with_self
        tabs = app.laboratory.query_one(Tabs)
        for key, (place, cells) in screen.spots.items():
            if isinstance(place, int):
                cell = tabs.render().plain[cells.x - tabs.region.x]
                assert cell == (key if key.isdigit() else " "), "a label covers no word of a tab"
        for first_spot, other in itertools.combinations(screen.spots.values(), 2):
            assert not first_spot.label.overlaps(other.label)


def tried(spots: dict[str, Spot]) -> dict[str, Spot]:
    """One place of every kind, and the last place; all places with `--whole`."""
    kinds = {type(spot.place): key for key, spot in reversed(spots.items())}
    few = {*kinds.values(), list(spots)[-1]}
    return spots if crossing.all_combinations else {key: spot for key, spot in spots.items() if key in few}


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        pytest.param(state, marks=marks(state))
        for state in (
            STATES if crossing.all_combinations else ("80x24, set-up", "80x24, runs", "120x40, words")
        )
    ],
)
async def test_every_jump_label_leads_to_its_place(app: HadamardApp, state: str):
    size, first = STATES[state]
    async with opened(app, size) as pilot:
        await bring(pilot, app, first)
        laboratory, stage = app.laboratory, app.laboratory.query_one(Stage)
        classes, chosen = laboratory.classes, stage.chosen
        screen = await jump(pilot, app)
        for key, (place, _) in tried(screen.spots).items():
            await pilot.press(key)
            await until(pilot, lambda: app.screen is laboratory)
            if isinstance(place, int):
                assert stage.chosen == list(ABOUT)[place - 1]
            elif isinstance(place, ChartView):
                assert laboratory.focused is None
            else:
                assert laboratory.focused is place
            within = place.ancestors_with_self if isinstance(place, Widget) else ()
            for drawer in laboratory.query("SetupPane, Side"):
                assert not drawer.display or drawer in within or drawer.styles.layer != "drawer"
            if laboratory.classes != classes or stage.chosen != chosen:
                laboratory.set_classes(classes)
                stage.choose(chosen)
            laboratory.set_focus(None)
            laboratory.query_one(SetupPane).scroll_home(animate=False)  # a field shows its help, and scrolls
            again = await jump(pilot, app)
            await until(pilot, lambda again=again: again.spots == screen.spots)


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, WIDE, HUGE] if crossing.all_combinations else [WIDE])
async def test_any_other_key_closes_jump_mode_without_an_effect(app: HadamardApp, size: tuple[int, int]):
    async with opened(app, size) as pilot:
        laboratory, stage = app.laboratory, app.laboratory.query_one(Stage)
        for keys in ((), ("tab", "tab")):
            await pilot.press(*keys)
            before = laboratory.focused, laboratory.classes, stage.chosen
            for key in ("escape", "exclamation_mark", "f5", "ctrl+g", "enter", "pagedown"):
                await jump(pilot, app)
                await pilot.press(key)
                await until(pilot, lambda: app.screen is laboratory)
                assert (laboratory.focused, laboratory.classes, stage.chosen) == before
                assert laboratory.session is None


@pytest.mark.slow
async def test_jump_labels_accept_clicks_and_a_click_beside_them_closes_jump_mode(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        screen = await jump(pilot, app)
        table = app.laboratory.query_one(Scoreboard)
        label = next(spot.label for spot in screen.spots.values() if spot.place is table)
        await pilot.click(offset=label.offset)
        await until(pilot, lambda: app.focused is table)
        await jump(pilot, app)
        await pilot.click(offset=(60, 12))
        await until(pilot, lambda: app.screen is app.laboratory)
        assert app.focused is table


@pytest.mark.slow
async def test_a_run_continues_in_jump_mode_and_labels_follow_the_visible_places(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        for _ in range(3):
            await pilot.press("minus")  # slowly, so that it is still under way when it is looked for
        await pilot.press("3", "r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        screen = await jump(pilot, app)
        words = app.laboratory.query_one("#panel-words")
        assert words in [spot.place for spot in screen.spots.values()]
        shown = session_of(app).playback.shown
        app.laboratory.query_one(Stage).choose("gap")
        await until(pilot, lambda: words not in [spot.place for spot in screen.spots.values()])
        await until(pilot, lambda: session_of(app).playback.shown > shown)
        assert app.screen is screen
        await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: {spot.place for spot in screen.spots.values()} == seen(app, *SMALL))
        await pilot.press("a")
        await until(pilot, lambda: app.screen is app.laboratory)
        assert session_of(app).state == "running"


async def test_a_screen_without_room_opens_no_jump_mode(app: HadamardApp):
    async with opened(app, (59, 15)) as pilot:
        await pilot.press("j")
        await pilot.pause(0.1)
        assert app.screen is app.laboratory


@pytest.mark.slow
async def test_arrow_keys_scroll_the_text_reached_by_jump_mode(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await bring(pilot, app, (RUN, "3", "j", "f"))
        words = app.laboratory.query_one("#panel-words")
        assert app.focused is words
        await pilot.press("down", "down")
        await until(pilot, lambda: words.scroll_y == 2)
        place = session_of(app).playback.place
        await pilot.press("left")  # what they do not scroll goes on to the playhead
        await until(pilot, lambda: session_of(app).playback.place < place)


async def test_labels_are_legible_in_every_theme_and_in_ascii(editable: EditableExperiment):
    for look in COLOUR_THEMES.values():
        assert contrast(str(look.theme.accent), str(look.theme.background)) >= 4.5  # WCAG 1.4.3, text
    app = HadamardApp(editable, config=Config(ascii=True))
    async with opened(app, SMALL) as pilot:
        await jump(pilot, app)
        await until(pilot, lambda: "[a]" in screen_text(app))


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_jump_mode_reaches_the_story_and_runs_beside_the_stage(app: HadamardApp):
    async with opened(app, HUGE) as pilot:
        await bring(pilot, app, (RUN, "c"))
        await pilot.press("j", "g")
        await until(pilot, lambda: isinstance(app.focused, Story))
        await pilot.press("j", "h")
        await until(pilot, lambda: app.laboratory.query_one(Side).query_one("#runs-list").has_focus)


PAGES: dict[str, Callable[[], Screen[Any]]] = {
    "your data": OwnTable,
    "diagnosis": lambda: DiagnosisPage("/nowhere/x.csv", "y"),
    "new experiment": NewExperiment,
    "presets": Browser,
    "theory": lambda: page_of([theory_pages.find("symmetry#modern-optimizers")]),
}
"""Pages over the main screen, by name."""


@pytest.mark.slow
@pytest.mark.parametrize("page_title", PAGES)
async def test_jump_mode_reaches_the_controls_of_other_pages(app: HadamardApp, page_title: str):
    async with opened(app, WIDE) as pilot:
        await app.push_screen(page := PAGES[page_title]())
        await until(pilot, lambda: app.screen is page and spots(page))  # lists are empty at first
        await pilot.pause(0.2)
        visible = {widget for widget in page.focus_chain if page.find_widget(widget).visible_region}
        screen = await jump(pilot, app)
        assert {spot.place for spot in screen.spots.values()} == visible
        key, spot = list(screen.spots.items())[-1]
        await pilot.press(key)
        await until(pilot, lambda: app.screen is page and page.focused is spot.place)
