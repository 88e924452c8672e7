"""Locals and parameters whose names do not say what they hold.

`python tests/names.py` lowers the limits of names.toml to the present counts. It raises none.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from pathlib import Path

import tomli_w

ROOT = Path(__file__).parents[1]
LIMITS = Path(__file__).with_suffix(".toml")

TOPS = ("engine", "hadamard_tui", "tests", "docs", "benchmarks")

NEVER = frozenset(
    [
        "one",
        "found",
        "what",
        "some",
        "there",
        "known",
        "said",
        "made",
        "those",
        "others",
        "every",
        "each",
        "here",
        "own",
        "whole",
        "left",
        "taken",
        "given",
        "kept",
        "most",
        "whose",
    ]
)
RARELY = frozenset(
    ["item", "thing", "value", "values", "result", "results", "entry", "data", "obj", "tmp", "res", "ret"]
)


def names_by_room() -> dict[str, Counter[str]]:
    """How often each room of the code assigns each name; parameters count, too."""
    rooms: dict[str, Counter[str]] = {}
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            room = "/".join(path.relative_to(ROOT).parent.parts[:2])
            names = _Names()
            names.visit(ast.parse(path.read_text("utf-8")))
            rooms.setdefault(room, Counter()).update(names.counts)
    return rooms


def vague(names: Counter[str]) -> int:
    """Number of assignments to names that only rarely say what they hold."""
    return sum(names[name] for name in RARELY)


def limits() -> dict[str, int]:
    """The most vague names that each room may have."""
    limits: dict[str, int] = tomllib.loads(LIMITS.read_text("utf-8"))
    return limits


class _Names(ast.NodeVisitor):
    """Counts every parameter and every assignment to a name, but for constants and fields of classes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            if not isinstance(statement, ast.Assign | ast.AnnAssign):
                self.visit(statement)

    def visit_arg(self, node: ast.arg) -> None:
        if node.arg not in ("self", "cls"):
            self.counts[node.arg] += 1

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store) and not node.id.isupper():
            self.counts[node.id] += 1

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.counts[node.name] += 1
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.counts[node.name] += 1
        self.generic_visit(node)


def lower() -> None:
    """Write the present counts where they are lower, or where a room is new."""
    before = limits() if LIMITS.exists() else {}
    counts = {room: vague(names) for room, names in sorted(names_by_room().items())}
    lowered = {room: min(count, before.get(room, count)) for room, count in counts.items()}
    LIMITS.write_text(tomli_w.dumps(lowered), "utf-8")


if __name__ == "__main__":
    lower()
