"""Judgements of update rules as JSON and as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from engine.judging.rule_judgement import RATES, D

if TYPE_CHECKING:
    import pandas

    from engine.judging.rule_judgement import RuleJudgement


def as_json(judged: RuleJudgement) -> dict[str, Any]:
    """Return a judgement as `judge --json` and `--out` write it."""
    return {
        "schema": 1,
        "rule": judged.name,
        "structure": [
            {"answer": verdict.answer, "group": verdict.group.words, "reason": verdict.reason}
            for verdict in judged.declared
        ],
        "symmetries": [
            {
                "group": symmetry.group,
                "verdict": symmetry.word,
                "change": _finite(symmetry.change),
                "by_rounding": _finite(symmetry.by_rounding),
                "precisions": symmetry.precisions,
            }
            for symmetry in judged.symmetries
        ],
        "agree": not judged.contradictions,
        "d": D,
        "rates": RATES,
        "losses": {
            problem: [
                {
                    "k": point.k,
                    "loss": _finite(point.loss),
                    "stderr": _finite(point.stderr),
                    "rate": point.rate,
                    "bound": point.bound,
                    "place": point.word,
                }
                for point in points
            ]
            for problem, points in judged.losses.items()
        },
        "not_run": dict(judged.refused),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def as_frame(judged: RuleJudgement) -> pandas.DataFrame:
    """Return the losses of a judgement as a table, and the verdict on each group in `attrs`."""
    import pandas

    rows = [
        {"problem": problem, **point._asdict(), "place": point.word}
        for problem, points in judged.losses.items()
        for point in points
    ]
    frame = pandas.DataFrame(rows)
    frame.attrs |= {"rule": judged.name}
    frame.attrs |= {symmetry.group: symmetry.word for symmetry in judged.symmetries}
    return frame
