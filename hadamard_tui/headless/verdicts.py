"""`verdict`: what structure says of each learner, what measurement says, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from engine.judgement import Judgement

WORDS = {True: "rotation invariant", False: "not rotation invariant"}


def shown(all_judged: Sequence[Judgement]) -> ConsoleRenderable:
    """The judgements, for the terminal."""
    parts: list[ConsoleRenderable] = []
    for judged in all_judged:
        word = WORDS.get(judged.verdict.invariant, "rotation invariant on this data")  # type: ignore[arg-type]
        grid = Table.grid(padding=(0, 2, 0, 2))
        grid.add_row("structure", f"{word}: {judged.verdict.reason}")
        word = "unchanged by rotations" if judged.unchanged else "changed by rotations"
        grid.add_row("measured", f"predictions are {word}: max |Δŷ| / max |ŷ| = {judged.change:.2g}")
        if not judged.agrees:
            grid.add_row(
                Text("disagree", "bold red"),
                Text("structure and measurement contradict each other: a discovery, or a bug", "bold red"),
            )
        for kind, outcome in judged.bounds:
            sign = Text("✓ respected", "green") if outcome.holds else Text("✗ broken", "bold red")
            grid.add_row(kind, Text.assemble(sign, f"  {outcome.detail}"))
        if not judged.bounds:
            grid.add_row("bounds", "none binds this learner here")
        parts += [Text(judged.learner, "bold"), grid]
    return Group(*parts)


def as_json(all_judged: Sequence[Judgement]) -> list[dict[str, Any]]:
    """The judgements, as `verdict --json` prints them."""
    return [
        {
            "learner": judged.learner,
            "verdict": judged.verdict._asdict(),
            "certificate": judged.change if judged.change < float("inf") else None,
            "agree": judged.agrees,
            "bounds": [
                {"id": kind, "respected": outcome.holds, "detail": outcome.detail}
                for kind, outcome in judged.bounds
            ],
        }
        for judged in all_judged
    ]
