"""Summaries over replicas: their names, and which of them a theory line is about."""

from __future__ import annotations

from typing import Literal

TYPICAL = ("median", "geometric")
"""Summaries that describe a typical replica; a mean does not, if a few replicas dominate it."""

SPREADS = ("relative-variance", "log-variance")
"""Summaries that compare replicas with one another, so that a common factor does not change them."""

Summary = Literal["mean", "median", "geometric", "relative-variance", "log-variance", "first", "max", "min"]


def summaries_agree(line: str | None, curve: str) -> bool:
    """Return whether a line about one summary of replicas, or None for all, applies to another summary.

    A line about the median applies to all TYPICAL summaries, and a line about the geometric mean to no other.
    """
    if line == "geometric" or line in SPREADS or curve in SPREADS:
        return line == curve
    if line is None or curve not in ("mean", *TYPICAL):
        return True
    return (line in TYPICAL) == (curve in TYPICAL)
