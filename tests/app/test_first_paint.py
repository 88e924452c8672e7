"""The first paint waits for few modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.screen import Screen

from hadamard_tui.app import HadamardApp
from hadamard_tui.screens.help import Help
from hadamard_tui.widgets.form import Row
from hadamard_tui.widgets.setup import LearnerForm, SetupPane

from .conftest import SMALL, WIDE, until

LATER = {
    "torch",
    "numba",
    "scipy",
    "sklearn",
    "pyarrow",
    "plotext",
    "matplotlib",
    "contourpy",
    "textual_serve",
    "aiohttp",
    "pydantic",
}

OPENED = f"""
import asyncio, sys
from msgspec import inspect
from hadamard_tui import app, cli

described = []
describe = inspect.type_info
inspect.type_info = lambda kind: described.append(kind.__name__) or describe(kind)

def open_app(start):
    async def opened():
        experiment = EditableExperiment(start.document, start.preset)
        async with app.HadamardApp(experiment).run_test(size={WIDE}):
            print("loaded", *(name for name in {sorted(LATER)} if name in sys.modules))

    from hadamard_tui.editing.editable_experiment import EditableExperiment
    print("described", *described)
    asyncio.run(opened())

app.open_app = open_app
cli.need_terminal = lambda preset: None
cli.main(["--preset", "hadamard-128", "--set", "run.device=cpu"])
"""


MOST_MODULES = 122
"""Most modules of the program that importing the app may load; at present it loads as many."""

FIRST_SCREEN = {
    *("laboratory", "modal", "predicting", "run_comparison", "run_control", "view_control"),
}
"""Modules of hadamard_tui/screens that the laboratory needs."""

FOR_RUNS = {
    *("engine.backends", "engine.claims", "engine.planning", "engine.protocols", "engine.runtime"),
    *("engine.spec.experiment", "engine.theory", "engine.training"),
    *("hadamard_tui.editing.editable_experiment", "hadamard_tui.running.session"),
    *("hadamard_tui.sharing.exporting", "typer"),
}
"""Modules that read a set-up, run it, or write files."""


@pytest.fixture(scope="module")
def imported() -> list[str]:
    """Modules that importing the app loads."""
    program = "import hadamard_tui.app, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_importing_the_app_loads_few_modules(imported: list[str]) -> None:
    modules = [name for name in imported if name.split(".")[0] in ("engine", "hadamard_tui")]
    assert "hadamard_tui.screens.laboratory" in modules
    assert len(modules) <= MOST_MODULES


def test_importing_the_app_loads_no_page_opened_by_a_key(imported: list[str]) -> None:
    room = "hadamard_tui.screens."
    assert {name.removeprefix(room) for name in imported if name.startswith(room)} == FIRST_SCREEN


def test_importing_the_app_loads_no_module_for_reading_or_running_experiments(imported: list[str]) -> None:
    assert FOR_RUNS.isdisjoint(imported)


def test_no_heavy_module_is_imported_before_the_first_paint() -> None:
    """Nor does msgspec describe types: the description of an experiment takes as long as importing numpy."""
    done = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["described", "loaded"]


@pytest.mark.set_up("empty")
async def test_the_styles_of_a_screen_are_computed_once(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    """Styles are computed when the widgets are mounted; a second computation takes longer than the rest."""
    again: list[DOMNode] = []
    update = Stylesheet.update_nodes

    def noted(sheet: Stylesheet, nodes: Iterable[DOMNode], **words: Any) -> None:
        styled = list(nodes)
        again.extend(node for node in styled if isinstance(node, Screen) and len(styled) > 1)
        update(sheet, styled, **words)

    monkeypatch.setattr(Stylesheet, "update_nodes", noted)
    async with app.run_test(size=SMALL) as pilot:
        assert app.laboratory.has_class("-narrow", "-short")
        app.push_screen(page := Help())
        await pilot.pause()
        assert app.screen is page
        assert again == []
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.laboratory in again)


@pytest.mark.slow
async def test_the_fields_of_the_set_up_are_filled_after_the_first_paint(app: HadamardApp):
    async with app.run_test(size=WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: setup.filled)
        assert len(setup.query(Row)) > 10


@pytest.mark.slow
async def test_an_opened_drawer_focuses_its_first_field(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await pilot.press("s")
        await until(pilot, lambda: setup.filled)
        await until(pilot, lambda: app.focused is setup.query("Choice, Input").first())


@pytest.mark.slow
async def test_keys_work_before_the_set_up_is_filled(app: HadamardApp):
    app.call_later(lambda: app.simulate_key("right_square_bracket"))
    async with app.run_test(size=WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: setup.filled and setup.learner == 1)
        await until(pilot, lambda: setup.query_one(LearnerForm).number == 1)
