"""`python -OO` drops docstrings, and the program shows the same texts: it reads them from the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SHOWN = """
import contextlib, io, json, sys
from hadamard_tui.cli import all_commands, main
from engine.core import catalogue
from hadamard_tui.screens.help import about

def printed(*arguments):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        main(arguments)
        out.flush()
    return out.buffer.getvalue().decode()

texts = {"schema": printed("schema"), "list": printed("parts", "list"), "help": printed("--help")}
texts |= {f"list {family}": printed("parts", "list", family) for family in catalogue.FOLDERS}
groups = (group.typer_instance for group in all_commands.registered_groups)
commands = (command for group in groups for command in group.registered_commands)
texts |= {f"{command.name} --help": printed(command.name, "--help") for command in commands}
for family in catalogue.FOLDERS:
    texts |= {f"page of {kind}": about(family, kind).plain for kind in catalogue.members(family)}
json.dump(texts, sys.stdout)
"""


def shown(*options: str) -> dict[str, str]:
    """All texts from docstrings that the program shows, with these options of Python."""
    done = subprocess.run([sys.executable, *options, "-c", SHOWN], capture_output=True, text=True, check=True)
    texts: dict[str, str] = json.loads(done.stdout)
    return texts


@pytest.fixture(scope="module")
def as_usual() -> dict[str, str]:
    return shown()


@pytest.mark.slow
def test_python_without_docstrings_shows_the_same_texts(as_usual: dict[str, str]) -> None:
    without = shown("-OO")
    assert without.keys() == as_usual.keys()
    assert [name for name, text in without.items() if text != as_usual[name]] == []


def test_only_one_module_reads_docstrings() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = (file for package in ("engine", "hadamard_tui") for file in (root / package).rglob("*.py"))
    readers = {
        file.name
        for file in sources
        if any(word in file.read_text(encoding="utf-8") for word in ("getdoc", "__doc__"))
    }
    assert readers == {"parts.py"}


@pytest.mark.slow
def test_help_texts_come_from_the_docstrings(as_usual: dict[str, str]) -> None:
    assert "Adafactor: u_ij = g_ij / √(R_i C_j / mean R)" in as_usual["list updates"]
    assert "An experiment: problem, protocol and learners" in as_usual["schema"]
    assert "Run a preset without the app" in as_usual["run --help"]
    assert "Source: " in as_usual["page of adafactor"]
    assert "    " not in json.loads(as_usual["schema"])["$defs"]["Clusters"]["description"]
