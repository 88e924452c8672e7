"""Any text typed as a name of a file or run gives at most one line below it, and the app goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.widgets import Input, Static

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.screens.export import Export
from hadamard_tui.screens.run_comparison import Renaming
from hadamard_tui.sharing.exporting import Shown
from hadamard_tui.sharing.file_writer import FileWriter

from .conftest import until

BAD = [
    "~nosuchuser/x.toml",
    "x" * 300 + ".toml",
    "a\0b.toml",
    "no/x.toml",
    ".toml",
    "",
    "loop.toml",
    "pipe.toml",
]


class Pages(App[None]):
    """Nothing but pages on an empty screen."""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    monkeypatch.chdir(tmp_path)
    Path("loop.toml").symlink_to("loop.toml")
    os.mkfifo("pipe.toml")
    experiment = presets.load("hadamard-128")
    return Export(lambda: Shown(experiment, experiment, None, (), None), "x.toml", FileWriter())


@pytest.mark.slow
async def test_an_invalid_path_is_explained_and_the_page_stays_open(page: Export, tmp_path: Path) -> None:
    app = Pages()
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query("#wrong"))
        wrong, field = page.query_one("#wrong", Static), page.query_one(Input)
        for typed in BAD:
            wrong.display = False
            field.value = typed
            await pilot.press("enter")
            await until(pilot, lambda: wrong.display)
            assert app.screen is page
            assert str(wrong.render()).isprintable()
        field.value = "good.toml"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.toml", "loop.toml", "pipe.toml"]


async def test_an_export_page_opens_in_a_deleted_folder(
    page: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    app = Pages()
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query("#wrong"))
        await pilot.press("enter")
        await until(pilot, lambda: page.query_one("#wrong", Static).display)
        assert "No such file or directory" in str(page.query_one("#wrong", Static).render())


async def test_a_pasted_name_loses_its_control_characters() -> None:
    app = Pages()
    names: list[str | None] = []
    async with app.run_test() as pilot:
        app.push_screen(Renaming("run 1"), names.append)
        await until(pilot, lambda: app.screen.query(Input))
        field = app.screen.query_one(Input)
        field.value = ""
        field.post_message(events.Paste("a\x1b[2J\u202e\x9bb"))
        await until(pilot, lambda: field.value)
        await pilot.press("enter")
        await until(pilot, lambda: names)
    assert names == ["a[2Jb"]


def test_a_preset_with_the_longest_file_name_gets_a_shorter_export_name(tmp_path: Path) -> None:
    editable = EditableExperiment(presets.load("hadamard-128"), str(tmp_path / ("é" * 124 + ".toml")))
    name = HadamardApp(editable)._unused_file_name(".parquet")
    assert name == "é" * 50 + ".parquet"
    (tmp_path / name).write_text("")
