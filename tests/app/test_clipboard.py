"""Copied text reaches a terminal that can copy, and no other terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.state.config import Config
from hadamard_tui.terminal import clipboard

from .conftest import SMALL, opened, until

PLAIN = "\x1b]52;c;aGk=\a"
THROUGH_TMUX = "\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\"


@pytest.fixture(autouse=True)
def _as_by_default(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("STY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    yield
    clipboard.use("auto")


@pytest.mark.parametrize(
    ("terminal", "more", "copied"),
    [
        ("xterm-256color", {}, PLAIN),
        ("linux", {}, ""),
        ("dumb", {}, ""),
        ("screen", {"STY": "1.pts"}, ""),
        ("xterm-256color", {"STY": "1.pts"}, ""),
        ("tmux-256color", {}, ""),
    ],
)
def test_a_terminal_without_clipboard_support_receives_no_copy_sequence(
    terminal: str, more: dict[str, str], copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": terminal, **more}.items():
        monkeypatch.setenv(name, value)
    assert clipboard.sequence("hi") == copied
    clipboard.use("yes")
    assert clipboard.sequence("hi") == PLAIN
    clipboard.use("no")
    assert clipboard.sequence("hi") == ""


@pytest.mark.parametrize(
    ("options", "copied"),
    [
        ({"set-clipboard": "on"}, PLAIN),
        ({"set-clipboard": "external", "allow-passthrough": "on"}, THROUGH_TMUX),
        ({"set-clipboard": "external", "allow-passthrough": "off"}, ""),
        ({}, ""),
    ],
)
def test_the_copy_sequence_depends_on_the_options_of_tmux(
    options: dict[str, str], copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "tmux-256color")
    monkeypatch.setenv("TMUX", "/tmp/tmux,1,0")
    monkeypatch.setattr(clipboard, "_tmux_option", lambda _, option: options.get(option, ""))
    assert clipboard.sequence("hi") == copied


@pytest.mark.set_up("empty")
@pytest.mark.parametrize("setting", ["no", "yes"])
async def test_the_message_says_whether_the_command_was_copied(
    setting: clipboard.Clipboard, editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda _, text: written.append(text))
    app = HadamardApp(editable, config=Config(clipboard=setting))
    async with opened(app, SMALL) as pilot:
        await pilot.press("w")
        await until(pilot, lambda: app._notifications)
        [note] = app._notifications
    assert note.message.startswith("hadamard-tui --preset hadamard-128")
    assert ("Copied through the terminal" in note.message) == (setting == "yes")
    assert ("Copy it by hand" in note.message) == (setting == "no")
    assert any("]52;" in text for text in written) == (setting == "yes")
