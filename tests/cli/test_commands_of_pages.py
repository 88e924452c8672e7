"""Every command in the code blocks of the README and of docs/ works unchanged."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import pytest
from app.terminal import Terminal
from code_blocks import ROOT, blocks

from engine.judging import rule_judgement
from engine.spec import presets
from hadamard_tui.headless import part_files

from .conftest import Answer
from .test_serve import free_port

Call = Callable[..., Answer]


class Command(NamedTuple):
    """Line of a code block and the first place where it stands."""

    place: str
    words: list[str]


def commands() -> list[Command]:
    """Different commands of all `sh` blocks, without comments."""
    places: dict[tuple[str, ...], str] = {}
    for block in blocks("sh"):
        for number, line in joined_lines(block.text):
            if words := shlex.split(line, comments=True):
                places.setdefault(tuple(words), f"{block.page}:{block.line + number}")
    return [Command(place, list(words)) for words, place in places.items()]


def joined_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1; one that ends in a backslash continues on the next."""
    for line in re.finditer(r"(?:[^\\\n]|\\\n|\\.)+", text):
        yield text.count("\n", 0, line.start()) + 1, line[0].replace("\\\n", "")


def test_a_command_can_continue_on_a_second_line():
    assert [*joined_lines("a\n\nb \\\n  c\nd\n")] == [(1, "a"), (3, "b   c"), (5, "d")]


PROGRAM = "hadamard-tui"
OWN_PART, OWN_OPTIMIZER = "my_rule.py", "my_file.py"

OPTIMIZER = """import torch


class MyOptimizer(torch.optim.SGD):
    pass
"""

SLOW = ("bench", "demo", "diagnose", "report", "serve", "share", "judge")
"""Subcommands that take seconds; `run` does along axes, and so does the app."""

ELSEWHERE = ("curl", "git", "pip", "pipx", "ssh", "uv", "uvx")
"""Programs that need the network: their lines are parsed and not run."""


def is_of_the_app(words: list[str]) -> bool:
    is_tour = words[1] == "demo" and len(words) > 2 and "--sheet" not in words  # else it lists, or writes
    return words[1].startswith("-") or words[1] == "watch" or is_tour


def runs_own_code(words: list[str]) -> bool:
    """Whether a command names the user's part or the file of the user's optimizer."""
    return any(word.startswith((OWN_PART, OWN_OPTIMIZER)) for word in words)


def is_slow(words: list[str]) -> bool:
    along_axes = words[2:] and words[2] in presets.names() and "axes" in presets.document(words[2])
    return bool(
        words[1] in SLOW
        or {"@last", "--detach"} & {*words}
        or runs_own_code(words)
        or is_of_the_app(words)
        or (words[1] == "run" and along_axes)
    )


def of_program(is_wanted: Callable[[list[str]], bool]) -> list[object]:
    """Cases for the matching commands of the program, without its name."""
    return [
        pytest.param(words[1:], id=place, marks=[pytest.mark.slow] if is_slow(words) else [])
        for place, words in commands()
        if words[0] == PROGRAM and is_wanted(words)
    ]


def of_others(*programs: str) -> list[object]:
    return [pytest.param(words, id=place) for place, words in commands() if words[0] in programs]


@pytest.fixture(scope="module")
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of stored runs for all commands, since some repeat the runs of others."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def folder(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory with the files that commands name: a preset, a table, and a part from a template."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(data_home))
    # Commands in a process of their own judge optimizers at all rates, which takes long.
    monkeypatch.setattr(rule_judgement, "RATES", (0.01, 0.1))
    first, *_ = (block for block in blocks("toml") if block.page == "docs/how-to/presets.md")
    rows = [(*signs, signs[0]) for signs in product((-1, 1), repeat=6)]
    (tmp_path / "my.csv").write_text("\n".join(["a,b,c,d,e,f,y", *(",".join(map(str, row)) for row in rows)]))
    (tmp_path / "my.toml").write_text(first.text, encoding="utf-8")
    part_files.write_new("update", tmp_path / OWN_PART)
    (tmp_path / OWN_OPTIMIZER).write_text(OPTIMIZER, encoding="utf-8")
    return tmp_path


def store_two_runs(call: Call) -> None:
    for seed in (1, 2):
        small = ("--set", "problem.matrix.d=16", "--set", "claims=[]", "--set", f"run.seed={seed}")
        assert call("run", "hadamard-128", *small)[0] == 0


def test_every_documented_command_starts_a_known_program():
    assert {words[0] for _, words in commands()} <= {PROGRAM, "make", "python", *ELSEWHERE}


@pytest.mark.parametrize("words", of_program(lambda words: words[1] != "serve" and not is_of_the_app(words)))
def test_a_documented_command_succeeds(words: list[str], folder: Path, call: Call):
    if "@last" in words:
        store_two_runs(call)
    if "new" in words:
        (folder / OWN_PART).unlink()
    if runs_own_code(words):  # in a process of its own, because parts are loaded once per process
        command = [sys.executable, "-m", "hadamard_tui", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        code, out, err = call(*words)
    assert (code, "error" in err) == (0, False), err
    assert out
    for option, file in pairwise(words):
        if option in ("--out", "--export", "--report"):
            assert (folder / file).stat().st_size


@pytest.mark.parametrize("words", of_program(is_of_the_app))
def test_a_documented_command_opens_the_app(words: list[str], folder: Path, call: Call):
    if words[0] == "watch":
        store_two_runs(call)
    terminal = Terminal(*words, columns=120, lines=40)
    terminal.shows("Quit")
    terminal.press(b"q")
    assert terminal.end() == 0


@pytest.mark.parametrize("words", of_program(lambda words: words[1] == "serve"))
def test_a_documented_command_serves_the_app(words: list[str], folder: Path):
    """Use a free port, since another program may have the default one."""
    command = [sys.executable, "-m", "hadamard_tui", *words, "--port", str(free_port())]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert re.search(r"http://localhost:\d+/[\w-]+", server.stdout.readline())
    server.send_signal(signal.SIGINT)
    assert server.wait(20) in (0, 130)
    server.stdout.close()


@pytest.mark.parametrize("words", of_others("make"))
def test_a_documented_make_target_exists(words: list[str]):
    targets = re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {word for word in words[1:] if "=" not in word} <= {*targets}


@pytest.mark.parametrize("words", of_others("python"))
@pytest.mark.slow
def test_a_documented_script_accepts_its_arguments(words: list[str]):
    """Add `--help`, so that a script parses its arguments but does not run, which may take an hour."""
    command = [sys.executable, *words[1:], "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage:" in done.stdout


@pytest.mark.parametrize("words", of_others(*ELSEWHERE))
def test_a_documented_foreign_command_has_arguments(words: list[str]):
    assert len(words) > 1
