"""The app accepts former words of presets and shows their new names."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadamard_tui import app as app_module
from hadamard_tui import cli
from hadamard_tui.app import HadamardApp
from hadamard_tui.state.launch import Launch
from hadamard_tui.widgets.setup import SetupPane

from .conftest import WIDE, opened, until

FORMER = """
problem = { matrix = { kind = "hadamard", d = 8 }, target = "feature" }
protocol = "one-pass"
learners = [{ name = "GD", architecture = "linear", update = "gd" }]
claims = [{ text = "It ends", learner = "GD", k = 8, below = 0.1 }]
"""
ANSWER = "mine.toml: learner is now called curve, k is now called at"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A preset file of the first edition in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(FORMER, encoding="utf-8")
    return "mine.toml"


@pytest.mark.slow
async def test_choosing_a_preset_with_former_words_notifies_and_translates_its_claims(
    app: HadamardApp, mine: str
) -> None:
    async with opened(app, WIDE) as pilot:
        await app.laboratory.query_one(SetupPane).choose(mine)
        await until(pilot, lambda: app._notifications)
        assert [note.message for note in app._notifications] == [ANSWER]
        (claim,) = app.laboratory.query_one(SetupPane).editable.document["claims"]
        assert (claim["curve"], claim["at"]) == ("GD", 8)


def test_the_app_starts_with_a_note_on_former_words_of_its_preset(mine: str, monkeypatch: pytest.MonkeyPatch):
    starts: list[Launch] = []
    monkeypatch.setattr(cli, "need_terminal", lambda preset: None)
    monkeypatch.setattr(app_module, "open_app", lambda start: starts.append(start) or 0)
    assert cli.main(["--preset", mine]) == 0
    (start,) = starts
    assert list(start.notes) == [ANSWER]
