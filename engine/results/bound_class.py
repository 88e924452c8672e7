"""Whether proved lower bounds bind a learner, do not, or that is not decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from engine.core.parts import Verdict
from engine.results.trace import FROM_BELOW, TheoryLine

BoundClass = Literal["bound", "free", "undecided"]
"""Whether a proved lower bound binds a learner, no bound does, or that is not decided."""


def bound_class(
    holding: Collection[str], binding: Collection[str], verdict: Verdict | None
) -> BoundClass | None:
    """The class of a learner; None where no bound from below holds of the problem.

    It is not decided where a conjecture alone binds the learner, and where no bound does and the learner is
    known to be rotation invariant on this data only.

    Args:
        holding: the directions of the lines that hold of the problem.
        binding: the directions of those among them that bind the learner.
    """
    if not any(direction in holding for direction in FROM_BELOW):
        return None
    if "lower" in binding:
        return "bound"
    on_this_data = verdict is not None and verdict.invariant == "on this data"
    return "undecided" if "conjecture" in binding or on_this_data else "free"


def class_in_run(learner: str, verdict: Verdict | None, lines: Iterable[TheoryLine]) -> BoundClass | None:
    """The class of a learner in a run of which theory says these lines."""
    holding = [line for line in lines if line.on_problem.holds]
    binding = [line.direction for line in holding if learner in line.applies_to]
    return bound_class([line.direction for line in holding], binding, verdict)
