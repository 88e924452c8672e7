"""The list of presets: filtered, by subject, with a preview, and moved in with arrows or the keys of vi."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from engine.spec import presets
from engine.spec.experiment import SUBJECTS
from engine.spec.preset_index import entry_of
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing import preview as thumbnails
from hadamard_tui.browsing.preset_list import NEW, OWN_TABLE, PATHS, YOURS, best, groups, matching, shown_name
from hadamard_tui.browsing.preview import NO_CHART, NO_CHART_OF_YOURS, Thumbnail, preview
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import MOTIONS
from hadamard_tui.screens.browser import Browser
from hadamard_tui.screens.help import Help
from hadamard_tui.state import state_file
from hadamard_tui.state.config import Config
from hadamard_tui.tours import ESSENTIALS, talks
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.controls import Choice, Lines, Words
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.scoreboard import Scoreboard

from .conftest import SMALL, WIDE, opened, until
from .test_haste import post
from .test_runs import screen_text

pytestmark = pytest.mark.set_up("empty")


def matching_names(typed: str) -> list[str]:
    return [shown_name(entry) for _, entries in matching(groups(), typed) for entry in entries]


@pytest.mark.slow
def test_the_list_shows_fifteen_presets_then_paths_then_subjects():
    (yours, (new, own_data)), (first, begin_here), (paths, seven), *other_groups = groups()
    assert (yours, new.name, own_data.name) == (YOURS, NEW, OWN_TABLE)
    assert (first, paths) == ("Fifteen presets to begin with", PATHS)
    assert [entry.name for entry in begin_here] == [stop.preset for stop in talks()[ESSENTIALS].stops]
    assert (len(begin_here), len(seven)) == (15, 7)
    headings = [heading for heading, _ in other_groups]
    assert headings == [subject for subject in SUBJECTS if subject in headings]
    names = [shown_name(entry) for _, entries in ((first, begin_here), *other_groups) for entry in entries]
    assert sorted(names) == presets.names()


@pytest.mark.slow
def test_the_search_finds_a_path_by_its_questions_and_previews_its_stops():
    assert "large-steps" in matching_names("does the net diverge")
    path = next(entry for heading, entries in groups() if heading == PATHS for entry in entries)
    text = preview(path).plain
    assert "8 presets. For each preset: predict, run, read the explanation." in text
    assert all(stop.preset in text for stop in talks()[path.name].stops)


@pytest.mark.slow
async def test_choosing_a_preset_leaves_the_chosen_path(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await app.choose_preset("gradient-descent")
        await until(pilot, lambda: "1 of 8 · predict" in screen_text(app))
        assert app.laboratory.session is None
        await app.choose_preset("rank-64")
        await until(pilot, lambda: not app.laboratory.query(Banner))
        await until(pilot, lambda: app.laboratory.editable.preset == "rank-64")


@pytest.mark.slow
async def test_a_path_closes_with_a_message_after_its_last_stop(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await app.choose_preset("gradient-descent")
        await until(pilot, lambda: "1 of 8 · predict" in screen_text(app))
        await app.action_stops_on(7)
        await app.action_stops_on(1)
        assert any("This was the last stop of the path." in note.message for note in app._notifications)
        await until(pilot, lambda: not app.laboratory.query(Banner))


@pytest.mark.parametrize(
    ("typed", "preset"),
    [
        ("hadam million", "hadamard-million"),
        ("spindly", "hadamard-128"),
        ("Large steps", "catapult"),
        ("theorem 5", "permuted-128"),
        ("NTK of", "kernels-128"),
        ("ReLU", "critical-line"),
        ("zebra", ""),
    ],
)
def test_the_search_matches_names_words_subjects_papers_learners_and_claims(typed, preset):
    assert preset in matching_names(typed) if preset else not matching_names(typed)


def test_the_search_for_neural_net_finds_presets_of_nets():
    assert {"deep-nets-64", "optimizers-hadamard-nets", "dense-128"} <= set(matching_names("neural net"))


def test_a_match_in_the_name_ranks_before_a_match_in_the_text():
    meant = best(matching(groups(), "kernel"), "kernel")
    assert meant is not None
    assert meant.name.startswith("kernel")
    assert best([], "kernel") is None


def test_the_users_presets_come_first_and_a_broken_preset_shows_its_error(tmp_path: Path):
    for name, text in (("mine", presets.path_of("rank-64").read_text()), ("broken", "learners = [")):
        (tmp_path / f"{name}.toml").write_text(text)
        state_file.add_own_preset(tmp_path / f"{name}.toml")
    heading, own_entries = groups(str(tmp_path / "mine.toml"))[0]
    broken, mine, new, _ = sorted(own_entries, key=shown_name)
    assert own_entries[0] is new
    assert heading == YOURS
    assert (shown_name(mine), mine.title) == ("mine", presets.load("rank-64").title)
    assert "broken.toml cannot be opened" in broken.title
    assert NO_CHART_OF_YOURS in preview(mine).plain
    assert matching_names("mine") == ["mine"]


def test_a_preview_shows_a_stored_chart_only_if_its_digest_matches(monkeypatch):
    entry = entry_of("rank-64")
    thumbnail = Thumbnail(entry.digest, 130.0, "A caption.", ("a chart",), (".......",))
    monkeypatch.setattr(thumbnails, "shipped", lambda: {"rank-64": thumbnail})
    text = preview(entry).plain
    for sentence in (entry.title, "a chart", "A caption.", "takes about 2 min", *entry.claims, entry.source):
        assert sentence in text
    assert " ".join(entry.story.split()) in text
    changed = preview(replace(entry, digest="another")).plain
    assert NO_CHART in changed
    assert "a chart" not in changed.replace(NO_CHART, "")


async def browse(app: HadamardApp, pilot: Pilot[None], *keys: str) -> OptionList:
    """Open the list of presets, wait for all of them, and press keys."""
    await pilot.press("p")
    await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.query(OptionList))
    options = app.screen.query_one(OptionList)
    await until(pilot, lambda: options.option_count > 70)
    await pilot.press(*keys)
    return options


def standing(options: OptionList) -> str | None:
    return None if options.highlighted is None else options.get_option_at_index(options.highlighted).id


@pytest.mark.slow
async def test_typing_filters_the_list_and_enter_opens_a_preset_without_a_run(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        options = await browse(app, pilot)
        assert standing(options) == "hadamard-128"
        await pilot.press(*"kern")
        await until(pilot, lambda: standing(options) == "kernels-128")
        assert options.option_count < 50
        await until(
            pilot, lambda: "No kernel falls below" in screen_text(app) and "kernels-128" in screen_text(app)
        )
        assert options.size.width > len("hadamard-4096-all-targets"), "names are whole"
        await pilot.press("down", "up", "enter")
        await until(pilot, lambda: app.laboratory.editable.preset == "kernels-128")
        assert app.laboratory.session is None


@pytest.mark.slow
async def test_a_cut_preview_names_the_scroll_key(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        for lines in (5, 100, 5):
            app.screen.query_one("#preview Static", Static).update("\n".join(map(str, range(lines))))
            await until(
                pilot, lambda lines=lines: app.screen.query_one("#preview Static").size.height == lines
            )
            await until(pilot, lambda lines=lines: ("reads on" in screen_text(app)) == (lines > 50))
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: "reads on" not in screen_text(app), subject="a page without a preview")


@pytest.mark.slow
async def test_the_browser_survives_removal_of_its_list_during_loading(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        browser = Browser()
        await app.push_screen(browser)
        await app.workers.wait_for_complete()
        await browser.query_one(OptionList).remove()
        browser._read_presets()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.failure is None


@pytest.mark.slow
async def test_vi_keys_and_configured_keys_move_in_the_list(
    editable: EditableExperiment,
):
    app = HadamardApp(editable, config=Config(keys={"move-up": "f2", "close": "f3"}))
    async with opened(app, (64, 20)) as pilot:
        options = await browse(app, pilot, "tab")
        assert not app.screen.query_one("#preview").display, "there is room for titles alone"
        assert "Gradient descent needs" in screen_text(app)
        await pilot.press("G")
        last = standing(options)
        await pilot.press("g", "j", "j", "j", "j", "f2")
        assert (standing(options), last) == ("hadamard-128-weights", options.get_option_at_index(-1).id)
        await pilot.press("k", "up", "escape", "slash")
        assert standing(options) == "hadamard-128-weights"
        assert app.focused is app.screen.query_one(Input)
        await pilot.press("f3")
        await until(pilot, lambda: not isinstance(app.screen, Browser))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help))
        assert "f3 closes" in screen_text(app)


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_typing_in_the_preset_field_opens_the_list_with_the_typed_text(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        app.laboratory.query_one("#preset", Choice).focus()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.query(Input))
        assert app.screen.query_one(Input).value == "x"
        await pilot.press("o", "r")
        await until(pilot, lambda: standing(app.screen.query_one(OptionList)) == "xor-products-128")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Browser))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.laboratory)
        post(app, "enter", *"xor-bit", "enter")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.query(Input))
        await until(pilot, lambda: app.screen.query_one(Input).value == "xor-bit")
        assert app.screen_stack == [app.laboratory, app.screen], "typed at once, it opens one page"


@pytest.mark.parametrize("widget", [Lines, Scoreboard, HeatMapView, Words])
def test_the_keys_of_vi_move_like_arrows_and_can_be_changed(widget):
    does = {key: binding.action for key, (binding, *_) in widget._merge_bindings().key_to_bindings.items()}
    ids = {key: binding.id for key, (binding, *_) in widget._merge_bindings().key_to_bindings.items()}
    sideways = [("left", "h"), ("right", "l")] if widget is HeatMapView else []
    for arrow, letter in [("down", "j"), ("up", "k"), *sideways]:
        assert does[arrow] == does[letter]
        assert ids[arrow] in {motion.id for motion in MOTIONS}


async def test_the_answer_to_a_key_does_not_cover_the_page_that_opens_next(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("up")
        assert ["These keys change a number" in note.message for note in app._notifications] == [True]
        app.notify("The run cannot be stored", severity="warning")
        await pilot.pause()
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["The run cannot be stored"]
