"""What CONTRIBUTING.md shows is true: each of its examples is what it says, as it stands there."""

from __future__ import annotations

import importlib.util
import re
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
