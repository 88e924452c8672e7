"""A learner judged: what structure says of it, what measurement says, and whether its bounds hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.claims import Outcome, respects
from engine.experiment import Experiment, Learner
from engine.invariance import INVARIANT, certificate
from engine.parts import Verdict
from engine.trace import Trace


@dataclass(frozen=True)
class Judgement:
    """A learner under the verdict of structure, the certificate of measurement, and its bounds."""

    learner: str
    verdict: Verdict
    change: float
    bounds: list[tuple[str, Outcome]]

    @property
    def unchanged(self) -> bool:
        """Whether rotations left every prediction as it was."""
        return self.change < INVARIANT

    @property
    def agrees(self) -> bool:
        """Whether structure and measurement say the same."""
        return self.unchanged == (self.verdict.invariant is not False)

    @property
    def sound(self) -> bool:
        """Whether structure and measurement agree and every bound is respected."""
        return self.agrees and all(outcome.holds for _, outcome in self.bounds)


def judgement(
    experiment: Experiment, trace: Trace, learner: Learner, going: Callable[[], object] = lambda: None
) -> Judgement:
    """The judgement of a learner of a finished run; trains it four more times, for the certificate.

    `going` is called after every record of that; what it raises ends it.
    """
    return Judgement(
        learner.name,
        trace.curve(learner.name).verdict,
        certificate(experiment, learner, going),
        [
            (bound.kind, respects(experiment, trace, learner.name, bound.kind))
            for bound in trace.bounds
            if learner.name in bound.applies_to and bound.sense != "upper"
        ],
    )
