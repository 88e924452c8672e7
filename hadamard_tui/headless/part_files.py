"""New files with parts from templates, and the outcomes of checks as text."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import nearest

if TYPE_CHECKING:
    from hadamard_tui.headless.part_checks import CheckedPart

TEMPLATES = Path(__file__).parent / "templates"

SINGULAR = {
    "updates": "update",
    "architectures": "architecture",
    "solvers": "solver",
    "losses": "loss",
    "matrices": "matrix",
    "targets": "target",
    "measures": "measure",
    "theory": "line",
    "protocols": "protocol",
    "panels": "panel",
}
"""Word for one part of each family that has a template. Panels are parts of the app."""

MARKS = {True: Text("holds", "green"), False: Text("fails", "bold red"), None: Text("—", "dim")}


def write_new(family: str, file: Path) -> str:
    families = {word: name for name, singular in SINGULAR.items() for word in (name, singular)}
    if family not in families:
        raise BadInput(
            family, f"no family with a template has this name; {nearest(family, [*SINGULAR.values()])}"
        )
    stem = file.stem
    if file.suffix != ".py" or not stem.isascii() or not stem.isidentifier() or keyword.iskeyword(stem):
        raise BadInput(str(file), "its name must be that of a Python module, as in my_rule.py")
    if file.exists():
        raise BadInput(str(file), "this file exists; take another name")
    words = [word for word in stem.lower().split("_") if word] or ["part"]
    text = (TEMPLATES / f"{families[family]}.py").read_text(encoding="utf-8")
    text = text.replace("FILE.py", file.name).replace("MyPart", "".join(map(str.capitalize, words)))
    text = text.replace("my-part", kind := "-".join(words)).replace("my_part", "_".join(words))
    files.write(file, text.encode(), str(file))
    return kind


def report(parts: Iterable[CheckedPart]) -> Group:
    shown: list[Text | Table] = []
    for part in parts:
        grid = Table.grid(padding=(0, 2, 0, 0))
        for check in part.checks:
            grid.add_row(f"  {check.subject}", MARKS[check.holds], check.words)
        shown += [Text(f"{part.kind} ({part.family})", "bold"), grid]
    return Group(*shown)
