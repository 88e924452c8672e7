"""The app exports the command line, presets, curves and the chart."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.charts.plots.series_builder import pinned_style
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels.panel import headline
from hadamard_tui.screens.export import Export
from hadamard_tui.screens.laboratory import Laboratory
from hadamard_tui.sharing import exporting
from hadamard_tui.sharing.svg_page import DASHES
from hadamard_tui.state import state_file
from hadamard_tui.state.state_file import KeptView, looked_at
from hadamard_tui.widgets.controls import Choice

from .conftest import SMALL, WIDE, opened, until
from .test_runs import session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
async def test_the_command_line_is_copied_and_written_to_a_named_file(app: HadamardApp, own_folders: Path):
    async with opened(app, WIDE) as pilot:
        await pilot.press("w")
        await until(pilot, lambda: app._notifications)
        [note] = app._notifications
        file = own_folders / "xdg_state_home" / "hadamard-tui" / "command.txt"
        assert str(file) in note.message
        assert file.read_text().strip() == app.clipboard
        _, _, preset, *rest = shlex.split(app.clipboard)
        assert presets.load(preset, rest[1::2]) == app.laboratory.editable.experiment
        await pilot.press("t", "r", "w")
        assert app.clipboard.endswith(" --theme light --run")


@pytest.mark.slow
async def test_the_command_line_includes_the_options_of_the_view(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("9", "y", "m", "z", "w")
        words = shlex.split(app.clipboard)
        changes = [words[place + 1] for place, word in enumerate(words) if word == "--view"]
        seen = looked_at(KeptView(), changes)
        assert seen.panel == "gap"
        assert seen.chart == app.laboratory.chart_options != ChartOptions()


@pytest.mark.slow
async def test_the_export_page_writes_the_file(app: HadamardApp, tmp_path: Path):
    async with opened(app, SMALL) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")
        for size, file_name in ((SMALL, "curves.csv"), (SMALL, "result.json"), (WIDE, "chart.svg")):
            if app.size != size:
                await pilot.resize_terminal(*size)
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, Export))
            field = app.screen.query_one(Input)
            assert field.value == "hadamard-128.svg"
            field.value = file_name
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Laboratory))
            assert (tmp_path / file_name).stat().st_size > 100
            told = str(tmp_path / file_name)
            await until(pilot, lambda told=told: any(told in note.message for note in app._notifications))


@pytest.mark.slow
async def test_an_export_with_missing_letters_is_written_and_names_them(
    app: HadamardApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(exporting, "boxes", lambda text: f"lacks {'GD' * ('GD' in text)}")
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, Export))
        app.screen.query_one(Input).value = "chart.png"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Laboratory))
        assert (tmp_path / "chart.png").stat().st_size > 100
        await until(pilot, lambda: app._notifications)
        [note] = app._notifications
        assert note.message == f"Wrote {tmp_path / 'chart.png'}\nchart.png lacks GD"


async def test_exported_results_do_not_grow_with_the_run(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await pilot.press("n", "n")
        await until(pilot, lambda: (trace := session_of(app).trace) and trace.frontier > 0)
        shown = app._shown_state()
        assert shown.trace is not None
        before = shown.trace.frontier
        await pilot.press("n", "n")
        await until(pilot, lambda: (trace := session_of(app).trace) and trace.frontier > before)
        assert shown.trace.frontier == before


@pytest.mark.slow
async def test_a_file_is_replaced_only_if_the_user_names_it(app: HadamardApp, tmp_path: Path):
    async with opened(app, WIDE) as pilot:
        for file_name in ("hadamard-128.toml", "hadamard-128-2.toml", "hadamard-128-3.toml"):
            assert not (tmp_path / file_name).exists()
            await pilot.press("S", "enter")
            await until(pilot, lambda name=file_name: (tmp_path / name).exists())
        await pilot.press("S", *"mine.toml", "enter")
        await until(pilot, lambda: (tmp_path / "mine.toml").exists())
        await pilot.press("S", *"mine.toml", "enter")
        await until(pilot, lambda: any("Replaced" in note.message for note in app._notifications))


@pytest.mark.slow
async def test_an_unwritable_file_is_explained_below_its_name(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await pilot.press("e", "enter")
        wrong = app.screen.query_one("#wrong", Static)
        await until(pilot, lambda: wrong.display)
        assert "run the set-up first" in str(wrong.render())
        await pilot.press("escape")
        assert isinstance(app.screen, Laboratory)


async def test_saving_a_preset_saves_the_current_set_up(app: HadamardApp, tmp_path: Path):
    async with opened(app, WIDE) as pilot:
        await pilot.press("S", "enter")
        await until(pilot, lambda: (tmp_path / "hadamard-128.toml").exists())
        assert presets.load("hadamard-128.toml") == app.laboratory.editable.experiment


@pytest.mark.slow
async def test_saving_uses_the_current_set_up_but_the_curves_of_the_run(app: HadamardApp, tmp_path: Path):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        before = app.laboratory.editable.experiment
        app.laboratory.editable.put("run.seed", 7)
        for file_name in ("set-up.toml", "curves.json"):
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, Export))
            app.screen.query_one(Input).value = file_name
            await pilot.press("enter")
            await until(pilot, lambda name=file_name: (tmp_path / name).exists())
        assert presets.load("set-up.toml").run.seed == 7
        ran = json.loads((tmp_path / "curves.json").read_text())["experiment"]
        assert ran["resolved"]["run"]["seed"] == ran["given"]["run"]["seed"] == before.run.seed


async def test_an_invalid_set_up_is_neither_saved_nor_copied(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        app.laboratory.editable.put("problem.matrix.d", 7)
        for key in ("S", "w"):
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, Laboratory)
            *_, note = app._notifications
            assert note.title == "This set-up cannot run"
        assert not app.clipboard


@pytest.mark.slow
async def test_an_exported_chart_includes_the_pinned_run_with_line_style_and_name(
    app: HadamardApp, tmp_path: Path
):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("c", "A")
        await until(pilot, lambda: session_of(app).state == "finished")
        context, look = app.laboratory.context, app.laboratory.look
        assert context is not None
        assert look is not None
        assert app._shown_state().caption == headline(context, look) != context.experiment.title
        exporting.export(tmp_path / "chart.svg", app._shown_state(), "")
        text = (tmp_path / "chart.svg").read_text()
        assert ">seed = 0, small letters<" in text
        dashes = f'stroke-dasharray="{" ".join(map("{:g}".format, DASHES[pinned_style(1)]))}"'
        assert text.count(dashes) >= 5, "every learner of the pinned run has its dashes"


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_a_saved_preset_is_listed_now_and_at_the_next_start(app: HadamardApp, tmp_path: Path):
    file = tmp_path / "mine.v2.toml"
    async with opened(app, WIDE) as pilot:
        app.laboratory.editable.put("run.seed", 3)
        await pilot.press("S", *"mine.v2", "enter")
        await until(pilot, lambda: file.exists())
        select = app.laboratory.query_one("#preset", Choice)
        await until(pilot, lambda: select.value == str(file))
        assert select.offers(str(file))
        assert not app.laboratory.editable.changed
        select.value = "rank-64"
        await until(pilot, lambda: app.laboratory.editable.preset == "rank-64")
        select = app.laboratory.query_one("#preset", Choice)
        assert ("mine.v2", str(file)) in select.choices
        select.value = str(file)
        await until(pilot, lambda: app.laboratory.editable.preset == str(file))
        assert app.laboratory.editable.experiment.run.seed == 3
        await pilot.press("escape", "q")
    memory = app.memory
    assert memory is not None
    again = EditableExperiment(memory.experiment or {}, memory.preset)
    assert not again.changed
    again.put("run.seed", 4)
    assert again.changed
    assert state_file.own_presets() == [str(file)]
    file.unlink()
    assert state_file.own_presets() == []


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_a_broken_preset_of_the_user_is_refused_and_the_set_up_stays(app: HadamardApp, tmp_path: Path):
    state_file.add_own_preset(file := tmp_path / "broken.toml")
    file.write_text("learners = 3")
    async with opened(app, WIDE) as pilot:
        before, select = app.laboratory.editable, app.laboratory.query_one("#preset", Choice)
        shown, select.value = select.value, str(file)
        await until(pilot, lambda: any("broken.toml" in note.message for note in app._notifications))
        await until(pilot, lambda: select.value == shown)
        assert app.laboratory.editable is before
