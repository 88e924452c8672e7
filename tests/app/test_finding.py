"""The palette finds presets, parts and theorems beside actions."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest
from textual import events
from textual.widgets import Input, OptionList

from engine.core import catalogue
from engine.spec import presets
from engine.spec.preset_index import index, naming
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing.preset_list import has_phrase, has_words
from hadamard_tui.panels import PANELS, WORDS
from hadamard_tui.panels.panel import Panel
from hadamard_tui.screens.commands import BY_WORDS, ActionProvider, Commands, PartProvider
from hadamard_tui.screens.help import PartPage, about
from hadamard_tui.widgets.stage import Stage

from .conftest import WIDE, opened, until
from .test_haste import post, settled
from .test_runs import screen_text

pytestmark = pytest.mark.set_up("empty")


def test_the_index_holds_each_preset_with_its_title_source_learners_and_kinds():
    assert [entry.name for entry in index()] == presets.names()
    entry = next(entry for entry in index() if entry.name == "hadamard-128")
    described = presets.load("hadamard-128")
    assert (entry.title, entry.source) == (described.title, described.source)
    assert entry.learners == tuple(learner.name for learner in described.learners)
    assert {"hadamard", "one-pass", "egu", "spindly", "lls", "ri-signed"} <= entry.kinds
    assert "rank-64" in [entry.name for entry in naming("rank-doubling")]
    assert naming("no-such-part") == []


@pytest.mark.parametrize(
    ("query", "is_match"),
    [
        ("Theorem 5", True),
        ("thm 5", True),
        ("wka21 thm", True),
        ("theorem 7", False),
        ("theorem 1", False),
        ("kernel", True),
        ("Gauss kern", True),
        ("12", True),
        ("1", False),
        ("theorem kernels", False),
        ("", False),
    ],
)
def test_the_search_matches_prefixes_of_words_whole_numbers_and_theorems_in_sources(query, is_match):
    assert has_words(query, "Kernels on Gaussian rows, see 12 and 7", "WKA21 Thms 5 and 11") is is_match


@pytest.mark.parametrize(
    ("query", "is_match"),
    [
        ("Theorem 2", True),
        ("thm 3", True),
        ("wka21 theorem 2", True),
        ("thm 8", False),
        ("3", False),
        ("thm", False),
    ],
)
def test_adjacent_words_of_a_source_match_as_a_phrase(query, is_match):
    assert has_phrase(query, "WKA21 Thms 2 and 3; HN20 §8") is is_match


async def test_lines_of_a_theorem_rank_before_parts_with_the_same_number(app: HadamardApp):
    screen = SimpleNamespace(app=app)
    hits = [hit async for hit in PartProvider(screen).search("Theorem 3")]
    first = sorted(hits, key=lambda hit: -hit.score)[:2]
    assert {str(hit.text) for hit in first} == {"Theory: ri-drawn", "Theory: ri-signed"}


@pytest.mark.parametrize("word", ["svg", "picture", "save", "image", "file", "export"])
async def test_the_search_for_a_file_format_finds_the_export(app: HadamardApp, word: str):
    provider = ActionProvider(SimpleNamespace(app=app))  # type: ignore[arg-type]
    assert "Export" in [str(hit.text) async for hit in provider.search(word)]


async def test_a_term_finds_its_explanation_before_presets(app: HadamardApp):
    screen, term = SimpleNamespace(app=app), "rotation invariant"
    hits = [hit for provider in (ActionProvider, PartProvider) async for hit in provider(screen).search(term)]
    hits_by_name = {str(hit.text): hit for hit in hits}
    assert hits_by_name["Tab: invariance"].score > BY_WORDS
    assert "predicts the same if all instances are rotated" in (hits_by_name["Tab: invariance"].help or "")
    assert hits_by_name["Theory: ri-signed"].score > BY_WORDS


async def test_typing_during_the_load_of_the_index_does_not_end_the_search(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    may_read = Event()

    def read_late():
        may_read.wait()
        return index()

    monkeypatch.setattr("hadamard_tui.screens.commands.index", read_late)
    async with opened(app, WIDE) as pilot:
        try:
            await pilot.press("colon")
            for character in "adaptive":
                await pilot.press(character)
                await pilot.pause(0.01)
        finally:
            may_read.set()
        await until(pilot, lambda: "Preset: adaptive-128" in screen_text(app))


async def test_the_palette_keeps_characters_typed_before_its_input_exists(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        app.action_command_palette()
        assert app.focused is None
        for character in "adaptive":
            app.post_message(events.Key(character, character))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "adaptive")
        await until(pilot, lambda: "Preset: adaptive-128" in screen_text(app))


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
@pytest.mark.slow
async def test_the_palette_finds_and_chooses_every_panel_by_name(app: HadamardApp, panel: Panel):
    async with opened(app, WIDE):
        provider = ActionProvider(SimpleNamespace(app=app))  # type: ignore[arg-type]
        hits_by_name = {str(hit.text): hit async for hit in provider.search(panel.name)}
        await hits_by_name[f"Tab: {WORDS[panel.name]}"].command()
        assert app.laboratory.query_one(Stage).chosen == panel.name


@pytest.mark.parametrize("family", catalogue.FOLDERS)
def test_every_part_has_a_page_with_a_description(family):
    for kind in catalogue.members(family):
        page = about(family, kind).plain
        assert len(page.split()) > 5
        assert "\n" not in page.replace("\n\n", "")


@pytest.mark.slow
async def test_the_palette_leads_from_a_theorem_to_its_line_and_a_preset(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(app.screen, Commands) and app.screen.query(Input))
        assert "theorem or paper" in app.screen.query_one(Input).placeholder
        app.screen.query_one(Input).value = "theorem 5"

        def hits() -> list[str]:
            options_list = app.screen.query_one(OptionList)
            return [option.hit.text or "" for option in options_list.options if hasattr(option, "hit")]

        await until(pilot, lambda: "Theory: ri-permuted" in hits())
        assert "Preset: hadamard-128" in hits()
        commands = app.screen.query_one(OptionList)
        commands.highlighted = hits().index("Theory: ri-permuted")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PartPage))
        await until(pilot, lambda: "WKA21 Thm 5" in screen_text(app) and "permuted-128" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.laboratory.editable.preset == "permuted-128")
        assert app.laboratory.session is None, "nothing runs before it is asked for"


@pytest.mark.slow
async def test_a_paste_into_the_palette_loses_its_control_characters(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(app.screen, Commands) and app.screen.query(Input))
        field = app.screen.query_one(Input)
        field.post_message(events.Paste("a\x1b[5;5HZ\x1b]0;title\x07\x9bb"))
        await until(pilot, lambda: field.value)
        assert field.value == "a[5;5HZ]0;titleb"


@pytest.mark.parametrize(
    ("typed", "keys", "field_text"),
    [
        ("ab", ["backspace", "t"], "at"),
        ("abxy", ["backspace", "backspace", "z"], "abz"),
        ("leave", [*["backspace"] * 5, *"tour"], "tour"),
        ("ab", ["home", "t"], "tab"),
    ],
)
async def test_keys_of_the_palette_take_effect_in_order(
    app: HadamardApp, typed: str, keys: list[str], field_text: str
):
    async with opened(app, WIDE) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(app.screen, Commands) and app.screen.has_class("-ready"))
        field = app.screen.query_one(Input)
        await pilot.press(*typed)
        assert field.value == typed
        post(app, *keys)
        await settled(app, pilot)
        assert field.value == field_text


async def test_keys_typed_before_the_palette_is_ready_are_edited_in_order(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await app.push_screen(palette := Commands())
        palette.set_focus(None)
        field = palette.query_one(Input)
        post(app, "backspace", "a", "b", "backspace", "c")
        await settled(app, pilot)
        field.focus()
        await settled(app, pilot)
        post(app, "d", "backspace", "e")
        await settled(app, pilot)
        assert field.value == "ace"
