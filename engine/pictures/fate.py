"""What became of replicas that ended before the others, in words."""

from __future__ import annotations

DIVERGED, LOST_ACCURACY = "diverged", "lost accuracy"

WHY_INACCURATE = (
    "from there on the weights change by more than 0.2 % when the tolerances change, so the curve ends: "
    "take a smaller rtol, another method or an earlier end"
)
"""What it means that a learner has lost accuracy, and what helps."""


def fate(lost: int, inaccurate: int) -> str:
    """What happened to so many replicas that ended early, as a verb, if so many of them lost accuracy."""
    if not inaccurate:
        return DIVERGED
    return LOST_ACCURACY if inaccurate == lost else f"{DIVERGED} or {LOST_ACCURACY}"
