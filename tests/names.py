"""How many locals and parameters of each room have names that do not say what they hold.

`python tests/names.py` lowers the limits to the present counts. It raises none.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
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


def counts() -> dict[str, dict[str, int]]:
    """By room: the number of names that never say what they hold, and of those that rarely do."""
    rooms: dict[str, Counter[str]] = {}
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            room = "/".join(path.relative_to(ROOT).parent.parts[:2])
            rooms.setdefault(room, Counter()).update(_names(ast.parse(path.read_text("utf-8"))))
    return {
        room: {"never": sum(names[name] for name in NEVER), "rarely": sum(names[name] for name in RARELY)}
        for room, names in sorted(rooms.items())
    }


def limits() -> dict[str, dict[str, int]]:
    limits: dict[str, dict[str, int]] = tomllib.loads(LIMITS.read_text("utf-8"))
    return limits


def _names(tree: ast.Module) -> Iterator[str]:
    """Every assignment of a name, and every parameter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def lower() -> None:
    """Write the present counts where they are lower, or where a room is new."""
    before = limits() if LIMITS.exists() else {}
    lowered = {
        room: {kind: min(count, before.get(room, {}).get(kind, count)) for kind, count in kinds.items()}
        for room, kinds in counts().items()
    }
    LIMITS.write_text(tomli_w.dumps(lowered), "utf-8")


if __name__ == "__main__":
    lower()
