"""Names of summaries over replicas, and a check that a theory line applies to a summary."""

from __future__ import annotations

from typing import Literal

TYPICAL = ("median", "geometric")
"""Summaries that describe a typical replica, even if a few replicas dominate the mean."""

SPREADS = ("relative-variance", "log-variance")
"""Summaries that describe the spread of replicas. A common factor of all replicas does not change them."""

Summary = Literal["mean", "median", "geometric", "relative-variance", "log-variance", "first", "max", "min"]


def summaries_agree(line: str | None, curve: str) -> bool:
    """Return whether a theory line about one summary of replicas describes a curve of another summary.

    `line` and `curve` are the two summaries, such as "mean". A line about the geometric mean or about a
    spread describes only curves of the same summary. No other line describes a spread. A line about the mean
    describes the mean, "first", "max" and "min". A line about the median describes "first", "max", "min", and
    the summaries in TYPICAL. A line about every summary (None) describes every summary except a spread.
    """
    if line == "geometric" or line in SPREADS or curve in SPREADS:
        return line == curve
    if line is None or curve not in ("mean", *TYPICAL):
        return True
    return (line in TYPICAL) == (curve in TYPICAL)
