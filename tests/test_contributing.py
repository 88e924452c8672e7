"""What CONTRIBUTING.md shows is true: each of its examples is what it says, as it stands there."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from engine.core.parts import Part
from engine.measures import Measure
from engine.theory import Line
from hadamard_tui.panels.panel import Panel

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = re.findall(
    r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.fixture(params=range(len(EXAMPLES)))
def module(request, tmp_path, monkeypatch):
    name = f"example_{request.param}"
    file = tmp_path / f"{name}.py"
    file.write_text(EXAMPLES[request.param], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, made)
    spec.loader.exec_module(made)
    return made


def test_every_example_is_a_part_or_a_panel(module):
    parts = [
        member
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Part) and member.__module__ == module.__name__
    ]
    panel = getattr(module, "PANEL", None)
    assert len(parts) == 1 or isinstance(panel, Panel)
    for part in parts:
        assert part.__doc__
        made = part() if issubclass(part, Measure | Line) else None
        assert made is None or made.kind


def test_the_panel_shows_words(module):
    if hasattr(module, "PANEL"):

        class Curve:
            name, diverged = "GD", 2

        class Trace:
            curves = (Curve(),)

        class PanelContext:
            trace = Trace()

        shown = module.PANEL.show(PanelContext())
        assert isinstance(shown, Text)
        assert shown.plain == "GD: 2"


def test_there_are_examples_of_a_measure_and_of_a_panel():
    assert any("(Measure," in example for example in EXAMPLES)
    assert any("PANEL = Panel(" in example for example in EXAMPLES)


ROOMS = {
    "(Measure,": "engine/measures",
    "(Line,": "engine/theory",
    "(Comparing,": "engine/claims",
    "(Update,": "engine/updates",
    "PANEL = Panel(": "hadamard_tui/panels",
}
"""Where the file of an example belongs, by what is in it."""

ASKING = (
    "engine/test_catalogue.py",
    "engine/test_bounds.py",
    "engine/test_update_rules.py",
    "app/test_panels.py",
)
"""Tests of all members of families, and of all panels."""


def test_the_examples_pass_the_tests_of_all_parts_once_they_are_in_their_place(tmp_path):
    """Each is put where it belongs in a copy, and the cases about them are run there, each on its own."""
    for package in ("engine", "hadamard_tui"):
        shutil.copytree(ROOT / package, tmp_path / package)
    (tmp_path / "presets").symlink_to(ROOT / "presets")
    readme = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names = []
    for example in (*EXAMPLES, *readme):
        (room,) = (room for words, room in ROOMS.items() if words in example)
        names += re.findall(r'tag="([\w-]+)"|PANEL = Panel\("(\w+)"', example)
        (tmp_path / room / "an_example.py").write_text(example, encoding="utf-8")
    named = ["".join(pair) for pair in names]
    assert len(named) == len({*named}) == len(ROOMS)
    options = ["-n0", "-q", "-rA", "-p", "cases_of_parts", "-p", "no:cacheprovider", "--whole"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(ROOT / "tests" / file) for file in ASKING)],
        cwd=tmp_path,
        env={**os.environ, "PARTS": ",".join(named), "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    for name in named:
        assert re.search(rf"^PASSED .*[\[-]{name}\b", done.stdout, re.MULTILINE), f"no case is about {name}"
