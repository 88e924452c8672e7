"""The examples of CONTRIBUTING.md work unchanged."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from rich.text import Text

from engine.core.parts import Part
from engine.measures import Measure
from engine.theory import Line
from hadamard_tui.panels.panel import Panel

pytestmark = pytest.mark.slow

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
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


def test_every_example_defines_a_part_or_a_panel(module):
    parts = [
        member
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Part) and member.__module__ == module.__name__
    ]
    panel = getattr(module, "PANEL", None)
    assert len(parts) == 1 or isinstance(panel, Panel)
    for part in parts:
        assert part.__doc__
        instance = part() if issubclass(part, Measure | Line) else None
        assert instance is None or instance.kind


def test_the_example_panel_shows_words(module):
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


def test_the_examples_include_a_measure_and_a_panel():
    assert any("(Measure," in example for example in EXAMPLES)
    assert any("PANEL = Panel(" in example for example in EXAMPLES)


ROOMS = {
    "(Measure,": "engine/measures",
    "(Line,": "engine/theory",
    "(Comparing,": "engine/claims",
    "(Update,": "engine/updates",
    "PANEL = Panel(": "hadamard_tui/panels",
}
"""Folder of the file of an example, by a text in it."""

ASKING = (
    "engine/test_catalogue.py",
    "engine/test_bounds.py",
    "engine/test_generated.py",
    "engine/test_update_rules.py",
    "app/test_panels.py",
    "test_fuzz.py",
)
"""Tests of all members of families and of all panels."""


UNCHANGED = (
    "app/test_layout.py::test_the_tabs_say_how_many_more_there_are_and_the_key_that_comes_to_them",
    "app/test_panels.py::test_panels_that_do_not_apply_are_dimmed_and_enter_makes_one_apply_which_can_be_undone",
    "app/test_panels.py::test_the_gap_is_loss_minus_bound",
    "app/test_snapshots.py::test_a_run_that_has_ended",
    "engine/test_bounds.py::test_every_bound_has_a_case_of_each_sort",
    "engine/test_generated.py::test_an_experiment_made_from_the_catalogue_is_read_or_refused_in_one_line",
    "engine/test_linear_in_labels.py::test_predictions_are_affine_in_the_labels_where_that_is_declared",
    "reference/test_digests.py::test_a_preset_measures_what_it_measured_before[hadamard-128]",
    "test_reference.py::test_the_page_of_parts_is_that_of_the_catalogue",
)
"""Tests of stable parts, which experimental parts must not change."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy of the program with each example in its folder, and the names of the examples."""
    folder = tmp_path_factory.mktemp("copy")
    for package in ("engine", "hadamard_tui"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("presets", "tests"):
        (folder / name).symlink_to(ROOT / name)
    names = []
    for example in EXAMPLES:
        (room,) = (room for words, room in ROOMS.items() if words in example)
        names += re.findall(r'tag="([\w-]+)"|PANEL = Panel\("(\w+)"', example)
        (folder / room / "an_example.py").write_text(example, encoding="utf-8")
    return folder, ["".join(pair) for pair in names]


def passed(folder, files, *options, **more):
    """Output of pytest for test files in a folder; fails unless all pass."""
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-rA", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [*command, *(str(ROOT / "tests" / file) for file in files)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'tests'}", **more},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.lasts(25)
def test_the_copied_examples_pass_the_tests_of_all_parts(copy):
    """Only the cases about the examples run."""
    folder, named = copy
    assert len(named) == len({*named}) == len(ROOMS)
    report = passed(folder, ASKING, "-p", "cases_of_parts", "--whole", PARTS=",".join(named))
    for name in named:
        assert re.search(rf"^PASSED .*[\[-]{name}\b", report, re.MULTILINE), f"no case is about {name}"


@pytest.mark.lasts(20)
def test_experimental_examples_do_not_change_stable_parts(copy):
    folder, _ = copy
    report = passed(folder, UNCHANGED)
    assert all(test.rpartition("::")[2] in report for test in UNCHANGED)


def test_experimental_examples_add_no_words_to_the_page_of_messages(copy, monkeypatch):
    spec = importlib.util.spec_from_file_location("messages_of_the_copy", ROOT / "docs" / "messages.py")
    messages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(messages)
    page = messages.page()
    monkeypatch.setattr(messages, "ROOT", copy[0])
    assert messages.page() == page


def test_the_example_update_rule_moves_along_roots_of_the_gradient(tmp_path):
    (rule,) = (example for example in EXAMPLES if "(Update," in example)
    file = tmp_path / "root.py"
    file.write_text(rule, encoding="utf-8")
    root = runpy.run_path(str(file), run_name="root_of_the_page")["Root"]
    rule = root(lr=0.5)
    w, g = torch.tensor([[1.0, 2.0]]), torch.tensor([[-4.0, 0.25]])
    params, _ = rule.start({"w": w})
    params, _ = rule.step(params, {"w": g}, {"w": rule.lr}, {})
    torch.testing.assert_close(params["w"], torch.tensor([[2.0, 1.75]]))
