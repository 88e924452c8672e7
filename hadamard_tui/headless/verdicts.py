"""`verdict`: what structure says of each learner, what measurement says, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from engine.judgement import Judgement
from engine.report import SCHEMA
from hadamard_tui.drawing import RESPECT_STYLES


def shown(all_judged: Sequence[Judgement]) -> ConsoleRenderable:
    """The judgements, for the terminal."""
    parts: list[ConsoleRenderable] = []
    for judged in all_judged:
        grid = Table.grid(padding=(0, 2, 0, 2))
        grid.add_row("structure", f"{judged.verdict.word}: {judged.verdict.reason}")
        word = "unchanged by rotations" if judged.unchanged else "changed by rotations"
        grid.add_row("measured", f"predictions are {word}: max |Δŷ| / max |ŷ| = {judged.change:.2g}")
        if judged.conflict:
            grid.add_row(Text("disagree", "bold red"), Text(judged.conflict, "bold red"))
        for respect in judged.bounds:
            grid.add_row(
                respect.bound,
                Text.assemble((respect.word, RESPECT_STYLES[respect.holds]), f"  {respect.detail}"),
            )
        if not judged.bounds:
            grid.add_row("bounds", "none binds this learner here")
        parts += [Text(judged.learner, "bold"), grid]
    return Group(*parts)


def as_json(all_judged: Sequence[Judgement]) -> dict[str, Any]:
    """The judgements, as `verdict --json` prints them."""
    learners = [
        {
            "learner": judged.learner,
            "verdict": judged.verdict._asdict(),
            "certificate": judged.change if judged.change < float("inf") else None,
            "agree": judged.agrees,
            "bounds": [
                {"id": respect.bound, "respected": respect.holds, "detail": respect.detail}
                for respect in judged.bounds
            ],
        }
        for judged in all_judged
    ]
    return {"schema": SCHEMA, "learners": learners}
