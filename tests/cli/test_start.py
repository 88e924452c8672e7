"""Without a command the app opens if there is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from typer.core import TyperGroup

from engine.spec import presets, reading
from hadamard_tui import cli
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.state import config, state_file
from hadamard_tui.state.launch import Launch
from hadamard_tui.state.state_file import KeptView, Memory

from .conftest import Answer

Call = Callable[..., Answer]
Opened = list[Launch]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Arguments with which the app was opened; no app runs."""
    calls: Opened = []
    app = ModuleType("hadamard_tui.app")
    app.open_app = calls.append  # type: ignore[attr-defined]
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
    [start] = opened
    assert reading.parse(start.document) == presets.load("hadamard-128")
    assert start.preset == "hadamard-128"
    assert start.autorun is False
    assert start.first is True


def test_opening_the_app_loads_no_commands(
    opened: Opened, on_terminal: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[TyperGroup] = []
    make_command_line = cli._command_line
    monkeypatch.setattr(cli, "_command_line", lambda: groups.append(make_command_line()) or groups[-1])
    assert on_terminal().code == 0
    [group] = groups
    assert (len(opened), group.commands) == (1, {})
    assert group.list_commands(None)[0] == "run"  # type: ignore[arg-type]


def test_a_requested_run_skips_the_welcome(opened: Opened, on_terminal: Call) -> None:
    assert on_terminal("--run") == (0, "", "")
    assert (opened[0].autorun, opened[0].first) == (True, False)


def test_the_app_opens_on_a_changed_preset_and_runs(opened: Opened, small: Path, on_terminal: Call) -> None:
    changes = ("--set", "problem.matrix.d=16", "--device", "cpu")
    assert on_terminal("--preset", "small.toml", "--run", *changes) == (0, "", "")
    [start] = opened
    assert start.document["problem"]["matrix"]["d"] == 16
    assert start.document["run"]["device"] == "cpu"
    assert start.preset == "small.toml"
    assert start.autorun is True
    assert start.first is False


def test_bad_input_is_reported_before_the_app_opens(opened: Opened, on_terminal: Call) -> None:
    code, _, err = on_terminal("--preset", "hadamard-128", "--set", "problem.matrix.d=102")
    assert code == 2
    assert "take 100 or 104" in err
    assert opened == []


def test_a_browser_viewer_sees_the_welcome_despite_a_saved_state(opened: Opened, on_terminal: Call) -> None:
    left_behind()
    assert on_terminal("--reset", "--no-parts") == (0, "", "")  # as `serve` starts the app
    assert opened[0].first is True


@pytest.mark.parametrize("lack", [{"but": "stdin"}, {"but": "stdout"}, {"term": "dumb"}, {"term": None}])
def test_without_a_terminal_no_app_opens(
    lack: dict[str, str | None], opened: Opened, on_terminal: Call
) -> None:
    code, out, err = on_terminal("--preset", "gaussian-128", **lack)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "hadamard-tui run gaussian-128" in err
    assert opened == []


def left_behind(view: KeptView | None = None) -> None:
    experiment = presets.load("gaussian-128", ["run.seed=7", "claims=[]"])
    written = state_file.write(Memory(view or KeptView(), msgspec.to_builtins(experiment), "gaussian-128"))
    assert written == ""


def test_the_last_state_is_restored(opened: Opened, on_terminal: Call) -> None:
    left_behind(KeptView(theme="light", panel="claims", pace=4.0))
    assert on_terminal() == (0, "", "")
    [start] = opened
    assert reading.parse(start.document) == presets.load("gaussian-128", ["run.seed=7", "claims=[]"])
    assert start.preset == "gaussian-128"
    assert start.autorun is False
    assert start.first is False
    assert start.view == KeptView(theme="light", panel="claims", pace=4.0)


def test_a_set_up_with_a_file_is_restored_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Opened, on_terminal: Call
) -> None:
    (tmp_path / "X.csv").write_text("1,0,2,5\n0,1,2,3\n")
    monkeypatch.chdir(tmp_path)
    matrix = 'problem.matrix={kind="file", path="X.csv"}'
    experiment = presets.load("gaussian-128", [matrix, "claims=[]"])
    assert state_file.write(Memory(KeptView(), msgspec.to_builtins(experiment), "gaussian-128")) == ""
    monkeypatch.chdir("/")
    assert on_terminal() == (0, "", "")
    [start] = opened
    assert (reading.parse(start.document), start.notes) == (experiment, [])


def test_reset_and_a_named_preset_ignore_the_saved_set_up(opened: Opened, on_terminal: Call) -> None:
    left_behind(KeptView(theme="light"))
    assert on_terminal("--reset").code == 0
    assert on_terminal("--preset", "rademacher-128").code == 0
    reset, preset = opened
    assert reset.preset == "hadamard-128"
    assert reset.view == KeptView()
    assert preset.preset == "rademacher-128"
    assert preset.view.theme == "light"


BROKEN = [
    b"{",
    b'{"view": {"learner": -9}}',
    b'{"view": {"chart": {"window": [3, 3]}}}',
    b"\xff",
    b'{"experiment": {"problem": 3}}',
    b"[]",
    b'{"view": {"pace": "fast"}}',
    b'{"off": {"1": {"name": "a\\u001b[2J"}}}',
    b'{"preset": "a\\u202eb"}',
    b'{"off": {"1": {"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}}}",
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_state_file_is_reported_and_renamed(
    content: bytes, opened: Opened, on_terminal: Call
) -> None:
    state_file.path().parent.mkdir(parents=True)
    state_file.path().write_bytes(content)
    assert on_terminal().code == 0
    [start] = opened
    [note] = start.notes
    assert "last.json.broken" in note
    assert "\n" not in note
    assert start.preset == "hadamard-128"
    assert not state_file.path().exists()
    assert state_file.path().with_name("last.json.broken").read_bytes() == content


def test_a_pipe_as_state_file_is_refused_without_waiting(opened: Opened, on_terminal: Call) -> None:
    state_file.path().parent.mkdir(parents=True)
    os.mkfifo(state_file.path())
    assert on_terminal().code == 0
    [start] = opened
    [note] = start.notes
    assert "a pipe or a device, not a regular file" in note


BAD_CONFIGS = [
    ("theme = 'pink'", "pink"),
    ("theme = ", "line 1, the end: malformed TOML"),
    ("colour = 'red'", "colour"),
    ("[keys]\nfly = 'f'", "there is no such action"),
    ("[keys]\nrun = 'q'", "q belongs to"),
    ("[keys]\nreset = 'r'", "keys.reset: r belongs to run"),
    ("[keys]\nquit = 'f5,r'", "keys.quit: r belongs to run"),
    ("[keys]\nrun = 'R'", "keys.run: R belongs to reset"),
    ("[keys]\nrun = ''", "no key is named"),
    ("fps = 1000", "60"),
]


@pytest.mark.parametrize(("text", "why"), BAD_CONFIGS)
def test_a_broken_configuration_is_reported_and_left_unchanged(
    text: str, why: str, opened: Opened, on_terminal: Call
) -> None:
    config.path().parent.mkdir(parents=True)
    config.path().write_text(text)
    assert on_terminal().code == 0
    [start] = opened
    [note] = start.notes
    assert why in note
    assert str(config.path()) in note
    assert "\n" not in note
    assert start.config == config.Config()
    assert [file.read_text() for file in config.path().parent.iterdir()] == [text]


def test_the_configuration_and_the_options_take_effect(opened: Opened, on_terminal: Call) -> None:
    config.path().parent.mkdir(parents=True)
    config.path().write_text("theme = 'light'\nfps = 10\n[keys]\nrun = 'f5'\n")
    assert on_terminal("--ascii", "--theme", "contrast").code == 0
    [start] = opened
    assert start.config == config.Config(theme="light", ascii=True, fps=10.0, keys={"run": "f5"})
    assert start.view.theme == "contrast"


def test_an_unknown_theme_is_refused(opened: Opened, on_terminal: Call) -> None:
    code, _, err = on_terminal("--theme", "pink")
    assert code == 2
    assert "use dark, light or contrast" in err
    assert opened == []


def test_the_view_option_sets_panel_and_chart_options(opened: Opened, on_terminal: Call) -> None:
    changes = (
        "--view",
        "panel=svd",
        "--view",
        "chart.y_log=true",
        "--view",
        "chart.window=[2, 9.5]",
    )
    assert on_terminal(*changes) == (0, "", "")
    [start] = opened
    assert (start.view.panel, start.view.chart) == (
        "svd",
        ChartOptions(y_log=True, window=(2.0, 9.5)),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("panel", "needs the form PLACE=VALUE"),
        ("panle=svd", "the view has no panle; it has theme, panel,"),
        ("chart.zoom=3", "the view has no zoom"),
        ("learner.x=3", "the view has no x"),
        ("chart.y_log=7", "Expected `bool | null`, got `int`"),
        ("learner=-9", "Expected `int` >= 0"),
        ("pace=inf", "Expected `float` <= 1024"),
        ("chart.window=[3, 3]", "[3.0, 3.0] is not a window: give two numbers, the smaller first"),
        ("chart.window=[nan, 3]", "two numbers"),
        ("chart.window=[5, 5.000000000000002]", "two numbers"),
        ("chart.window=[0, inf]", "two numbers"),
        ("panel=weight", "there is no panel weight; there are learners, weights,"),
    ],
)
def test_an_invalid_view_option_is_refused(change: str, told: str, opened: Opened, on_terminal: Call) -> None:
    code, out, err = on_terminal("--view", change)
    assert (code, out, opened) == (2, "", [])
    assert f"--view {change.partition('=')[0]}" in err
    assert told in " ".join(err.split())
