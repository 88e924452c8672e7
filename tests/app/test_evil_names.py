"""Names that are markup, long, wide, combining, from right to left, or emoji are shown as they are."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input, OptionList
from textual.widgets._toast import Toast

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import ABOUT
from hadamard_tui.sharing import exporting
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.controls import Choice

from .conftest import until
from .test_runs import screen_text, session_of

NAMES = (
    *("[/x]", "[b]", "[@click=app.quit]q[/]", "[red]$text", "\\["),
    *("w" * 40, "\u754c" * 40, "e\u0301" * 20, "\u05e9\u05dc\u05d5\u05dd", "\U0001f9ea\U0001f9d1\U0001f3fd"),
)

pytestmark = [pytest.mark.slow, pytest.mark.drawn]
SIZE = (200, 60)


def evil() -> EditableExperiment:
    """A small preset whose learners, title, story and source are evil."""
    experiment = presets.load(
        "hadamard-128",
        ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "run.device=cpu", "claims=[]"],
    )
    [learner] = [candidate for candidate in experiment.learners if candidate.name == "GD"]
    learners = tuple(msgspec.structs.replace(learner, name=name) for name in NAMES)
    words = {"title": "[/title]", "story": "[/story] " * 30, "source": "[/source]"}
    return EditableExperiment(
        msgspec.structs.replace(experiment, learners=learners, **words), "[/preset].toml"
    )


async def test_evil_names_are_shown_unchanged_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    app = HadamardApp(evil(), view=KeptView(setup_hidden=True))
    async with app.run_test(size=SIZE, notifications=True, tooltips=True) as pilot:
        laboratory = app.laboratory
        assert "[/title]" in screen_text(app)
        laboratory.action_run()
        laboratory.action_unlimited()
        await until(pilot, lambda: session_of(app).state == "finished")
        for number in range(1, len(ABOUT) + 1):
            laboratory.action_panel(number)
            laboratory.action_next_learner()
            await pilot.pause()
        await pilot.press("c", "l", "N")
        await until(pilot, lambda: isinstance(app.screen.focused, Input))
        for text in ("[/run]\x1b]0;evil\x07", "\n", "", "\x0b"):
            app.screen.query_one(Input).post_message(events.Paste(text))
        await pilot.press("home", "enter")
        await until(pilot, lambda: app.screen is laboratory)
        assert laboratory.runs.pinned[0].name.isprintable()
        assert "[/run]" in laboratory.runs.pinned[0].name
        await pilot.press("N")
        await until(pilot, lambda: isinstance(app.screen.focused, Input))
        assert "[/run]" in screen_text(app)
        await pilot.press("escape", "D")
        for name in NAMES[:5]:
            laboratory.notify(f"{name} diverged", title="", severity="warning", timeout=60)
        await until(pilot, lambda: len(app.screen.query(Toast)) >= 5)
        await until(pilot, lambda: "[/x] diverged" in screen_text(app))
        assert all(f"{name} diverged" in screen_text(app) for name in NAMES[:5])
        [message, *_] = [note.message for note in app._notifications if "deleted" in note.message]
        assert message.startswith("[/run]")
        await pilot.press("P")
        [picture] = tmp_path.glob("*.svg")
        ElementTree.parse(picture)
        shown = app._shown_state()
        for suffix in exporting.KINDS:
            if suffix in (".csv", ".json", ".toml", ".svg"):
                exporting.export(tmp_path / f"file{suffix}", shown, "")
        rows = list(csv.reader((tmp_path / "file.csv").read_text().splitlines()))
        assert set(NAMES) <= {cell for row in rows for cell in row}
        assert presets.load(str(tmp_path / "file.toml")).learners[0].name == NAMES[0]


class Choosing(App[None]):
    def compose(self) -> ComposeResult:
        yield Choice([(name, name) for name in NAMES], value=NAMES[0])


async def test_evil_names_can_be_offered_as_choices():
    app = Choosing()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.query_one(Choice).action_show_list()
        await pilot.pause()
        assert app.query_one(OptionList).option_count == len(NAMES)
        app.query_one(Choice).offer([("([/y].toml, changed)", "y"), ("other", "z")], "y")
        await pilot.pause()
        shown = "".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "([/y].toml, changed)" in shown
