"""The tables and the update rule of the README are correct."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import msgspec
import torch

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of code in a language."""
    match = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert match is not None
    return match.group(1)


def module_of(name: str, path: Path):
    """A module from a file outside the packages."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_parts_are_those_of_the_catalogue():
    assert module_of("parts_of_the_readme", ROOT / "docs" / "parts.py").updated(README) == README


def test_the_update_rule_is_one(tmp_path):
    file = tmp_path / "root.py"
    file.write_text(block("python"), encoding="utf-8")
    rule = msgspec.convert({"kind": "root", "lr": 0.5}, module_of("root_of_the_readme", file).Root)
    w, g = torch.tensor([[1.0, 2.0]]), torch.tensor([[-4.0, 0.25]])
    params, _ = rule.start({"w": w})
    params, _ = rule.step(params, {"w": g}, {"w": rule.lr}, {})
    torch.testing.assert_close(params["w"], torch.tensor([[2.0, 1.75]]))
