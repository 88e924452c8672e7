"""Without a command the app opens, where it can."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from engine.experiment import Experiment

from .conftest import Answer

Call = Callable[..., Answer]
Opened = list[tuple[Experiment, str | None, bool]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """What the app was opened with; there is no app."""
    calls: Opened = []
    app = ModuleType("hadamard_tui.app")
    app.open_app = lambda *arguments: calls.append(arguments)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hadamard_tui.app", app)
    return calls


@pytest.fixture
def on_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line as if stdin and stdout were a terminal, save for the streams in `but`."""

    def answer(*arguments: str, term: str | None = "xterm-256color", but: str = "") -> Answer:
        for name in ("stdin", "stdout"):
            monkeypatch.setattr(getattr(sys, name), "isatty", lambda name=name: name != but)
        if term is None:
            monkeypatch.delenv("TERM", raising=False)
        else:
            monkeypatch.setenv("TERM", term)
        return call(*arguments)

    return answer


def test_the_app_opens_on_the_hadamard_problem(opened: Opened, on_terminal: Call) -> None:
    assert on_terminal() == (0, "", "")
    [(experiment, preset, autorun)] = opened
    assert experiment.problem.matrix.kind == "hadamard"
    assert preset == "hadamard-128"
    assert autorun is False


def test_the_app_opens_on_a_changed_preset_and_runs(opened: Opened, small: Path, on_terminal: Call) -> None:
    changes = ("--set", "problem.matrix.d=16", "--device", "cpu")
    assert on_terminal("--preset", "small.toml", "--run", *changes) == (0, "", "")
    [(experiment, preset, autorun)] = opened
    assert experiment.problem.matrix.shape() == (16, 16)
    assert experiment.run.device == "cpu"
    assert preset == "small.toml"
    assert autorun is True


def test_bad_input_is_told_before_the_app_opens(opened: Opened, on_terminal: Call) -> None:
    code, _, err = on_terminal("--preset", "hadamard-128", "--set", "problem.matrix.d=102")
    assert code == 2
    assert "take 100 or 104" in err
    assert opened == []


@pytest.mark.parametrize("lack", [{"but": "stdin"}, {"but": "stdout"}, {"term": "dumb"}, {"term": None}])
def test_no_terminal_no_app(lack: dict[str, str | None], opened: Opened, on_terminal: Call) -> None:
    code, out, err = on_terminal("--preset", "gaussian-128", **lack)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "hadamard-tui run gaussian-128" in err
    assert opened == []
