"""Summaries over replicas: their names, and the summaries that a theory line applies to."""

from __future__ import annotations

from typing import Literal

TYPICAL = ("median", "geometric")
"""Summaries that describe a typical replica. A mean does not, if a few replicas dominate it."""

SPREADS = ("relative-variance", "log-variance")
"""Summaries that describe the spread of replicas. A factor common to all replicas does not change them."""

Summary = Literal["mean", "median", "geometric", "relative-variance", "log-variance", "first", "max", "min"]


def summaries_agree(line: str | None, curve: str) -> bool:
    """Return whether a theory line about the summary `line` applies to a curve with the summary `curve`.

    A line about the geometric mean or about a spread applies to this summary only, and no other line applies
    to a spread. All other lines apply to the summaries "first", "max" and "min". In addition, a line about
    the mean applies to the mean, a line about the median to TYPICAL summaries, and a line about every summary
    (None) to all of these.
    """
    if line == "geometric" or line in SPREADS or curve in SPREADS:
        return line == curve
    if line is None or curve not in ("mean", *TYPICAL):
        return True
    return (line in TYPICAL) == (curve in TYPICAL)
