"""Whether proved lower bounds bind a learner, do not, or that is not decided."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from engine.core.parts import Verdict

FROM_BELOW = ("lower", "conjecture")
"""The directions of lines that are bounds from below, proved or not."""

BoundClass = Literal["bound", "free", "undecided"]
"""Whether a proved lower bound binds a learner, no bound does, or that is not decided."""


def bound_class(
    holding: Collection[str], binding: Collection[str], verdict: Verdict | None
) -> BoundClass | None:
    """The class of a learner; None where no bound from below holds of the problem.

    It is not decided where a conjecture alone binds the learner. Where no bound does, it is not decided if
    the learner is rotation invariant on this data only, or its structure does not decide that.

    Args:
        holding: the directions of the lines that hold of the problem.
        binding: the directions of those among them that bind the learner.
    """
    if not any(direction in holding for direction in FROM_BELOW):
        return None
    if "lower" in binding:
        return "bound"
    if "conjecture" in binding:
        return "undecided"
    unknown = verdict is not None and (verdict.undecided or verdict.invariant == "on this data")
    return "undecided" if unknown else "free"
