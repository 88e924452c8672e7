"""Only two files use private names of libraries. They give reasons and have tests that notice changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from textual.screen import Screen
from textual.widget import Widget

from benchmarks.private_names import private_uses, uses_in

ROOT = Path(__file__).parents[1]

TESTS = {
    "engine.backends.loops.__init__": "tests/engine/test_loops.py",
    "hadamard_tui.terminal.textual_internals": "tests/app/test_textual_internals.py",
}
"""The modules that use private names, with their tests, which their docstrings name."""


@pytest.mark.slow
def test_only_two_files_use_private_names_of_textual_and_numba():
    texts = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text(encoding="utf-8")
        for room in ("engine", "hadamard_tui")
        for file in sorted((ROOT / room).rglob("*.py"))
    }
    assert len(texts) > 400
    assert {use.module for use in private_uses(texts)} == TESTS.keys()
    for module, file in TESTS.items():
        assert file in texts[module]
        assert (ROOT / file).is_file()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import textual._xterm_parser", "textual._xterm_parser"),
        ("from textual.widgets._toast import Toast", "textual.widgets._toast.Toast"),
        ("from numba.core import _internal", "numba.core._internal"),
        ("print(app._driver)", "_driver"),
        ("print(app.screen._compositor)", "_compositor"),
        ("loop._cache = None", "_cache"),
        ("print(getattr(app, '_driver', None))", "_driver"),
    ],
)
def test_a_private_name_of_an_object_of_a_library_is_found(line: str, name: str):
    assert [*uses_in(ast.parse(line), {})] == [(1, name)]


@pytest.mark.parametrize(
    "line",
    [
        "import os\nos._exit(0)",
        "from engine.core.lazy import torch\nprint(torch._C, hasattr(torch.ops.mkldnn, '_linear'))",
        "print(pair._replace(x=1), pair._asdict())",
        "class Own:\n  def __init__(self):\n    self._x = 1\n  def equals(self, twin):\n    twin._x",
        "print(value.__class__)",
    ],
)
def test_private_names_of_modules_named_tuples_and_own_classes_are_allowed(line: str):
    assert not [*uses_in(ast.parse(line), {})]


@pytest.mark.parametrize(
    ("body", "base", "names"),
    [
        ("def _on_key(self, event): ...", Widget, ["_on_key"]),
        ("def render(self): return self._size", Widget, ["_size"]),
        ("def _on_message(self, message):\n  super()._on_message(message)", Screen, ["_on_message"] * 2),
        ("def wake(self): self._repaint_required = True", Screen, ["_repaint_required"]),
        ("def wake(self): self._awake_again = True", Screen, []),
        ("_clicked_twice = False", Widget, []),
        ("_parent = None", Widget, ["_parent"]),
    ],
)
def test_private_names_read_set_or_overridden_by_a_widget_are_found(body: str, base: type, names: list[str]):
    tree = ast.parse(f"class Own(Base):\n {body}")
    widget_class = type("Own", (base,), {})
    assert [name for _, name in uses_in(tree, {"Own": widget_class})] == names
