"""A learner judged: what structure says of it, what measurement says, and whether its bounds hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from engine.core.groups import PERMUTATIONS, ROTATIONS, SIGN_FLIPS, Group
from engine.core.parts import Verdict
from engine.learners.learner import Learner
from engine.pictures.view import ROUNDING, ZERO
from engine.results.invariance import INVARIANT, certificate
from engine.results.trace import Curve, TheoryLine, Trace
from engine.spec.experiment import Experiment

ENOUGH = 10
"""From so many replicas on, a mean that is below a bound on the expectation says something."""

MEASURED = (ROTATIONS, PERMUTATIONS, SIGN_FLIPS)
"""The groups under which predictions are compared."""

UNLIKELY = 3.2e-5
"""How unlikely a mean must be to break a bound: as unlikely as four standard errors of a normal law."""


class Respect(NamedTuple):
    """Whether a curve respects a bound: None where the run is too small to tell."""

    bound: str
    holds: bool | None
    detail: str

    @property
    def word(self) -> str:
        """Whether it does, in words."""
        return "? not decided" if self.holds is None else "✓ respected" if self.holds else "✗ broken"


@dataclass(frozen=True)
class Judgement:
    """A learner under the verdict of structure, the certificate of measurement, and its bounds."""

    learner: str
    verdict: Verdict
    changes: Mapping[Group, float | None]
    """The certificate under every group that was measured, all rotations first; None: too large."""

    bounds: list[Respect]

    @property
    def change(self) -> float | None:
        """The certificate under all rotations."""
        return self.changes[ROTATIONS]

    @property
    def unchanged(self) -> bool:
        """Whether rotations left every prediction as it was."""
        return _unchanged(self.change)

    @property
    def measurement(self) -> str:
        """The certificate in words."""
        if self.change is None:
            return "not measured: the matrix is too large to be rotated"
        by = ((f"by {group.words}", change) for group, change in self.changes.items() if group != ROTATIONS)
        said = [
            f"predictions are {_word(change)} {words}: max |Δŷ| / max |ŷ| = {change:.2g}"
            for words, change in (("by rotations", self.change), *by)
            if change is not None
        ]
        return "; ".join(said)

    @property
    def broken(self) -> list[Group]:
        """The groups that structure says change nothing, and that did, rotations aside."""
        groups = (group for group in self.changes if group != ROTATIONS)
        measured = ((group, self.changes[group]) for group in groups if group <= self.verdict.group)
        return [group for group, change in measured if change is not None and not _unchanged(change)]

    @property
    def agrees(self) -> bool:
        """Whether structure and measurement say the same, if there is a measurement."""
        of_rotations = self.change is None or self.unchanged == (self.verdict.invariant is not False)
        return of_rotations and not self.broken

    @property
    def conflict(self) -> str:
        """What a disagreement may mean, in words; nothing where there is none."""
        if self.agrees:
            return ""
        if self.broken:
            by = " and ".join(group.words for group in self.broken)
            promised = f"structure promises that {by} change nothing"
            return f"{promised}, yet predictions changed: a bug, or a discovery"
        if self.unchanged:
            return "structure promises nothing, yet nothing changed: a special case, or a discovery"
        return "structure promises invariance, yet predictions changed: a bug, or a discovery"

    @property
    def sound(self) -> bool:
        """Whether structure and measurement agree and no bound is broken."""
        return self.agrees and all(respect.holds is not False for respect in self.bounds)


def judgement(
    experiment: Experiment,
    trace: Trace,
    learner: Learner,
    going: Callable[[float], object] = lambda done: None,
) -> Judgement:
    """The judgement of a learner of a finished run; trains it four more times for each certificate.

    Of several rates it judges the best. `going` is called again and again with the share that is done; what
    it raises ends the judgement.
    """
    curve = trace.curve(learner.name)
    if curve.rate is not None and learner.update is not None:
        update = msgspec.structs.replace(learner.update, lr=curve.rate)
        learner = msgspec.structs.replace(learner, update=update)
    return Judgement(
        learner.name,
        curve.verdict,
        certificates(experiment, learner, going),
        [respect(experiment, bound, curve) for bound in trace.bounds if learner.name in bound.applies_to],
    )


def certificates(
    experiment: Experiment, learner: Learner, going: Callable[[float], object] = lambda done: None
) -> dict[Group, float | None]:
    """The certificate under rotations, and where these change something under permutations and sign flips:
    both are rotations too."""
    found: dict[Group, float | None] = {}
    for number, group in enumerate(MEASURED):

        def share(done: float, number: int = number) -> None:
            going((number + done) / len(MEASURED))

        found[group] = certificate(experiment, learner, share, group)
        if found[ROTATIONS] is None or _unchanged(found[ROTATIONS]):
            break
    return found


def _unchanged(change: float | None) -> bool:
    return change is not None and change < INVARIANT


def _word(change: float) -> str:
    return "unchanged" if _unchanged(change) else "changed"


def respect(experiment: Experiment, bound: TheoryLine, curve: Curve) -> Respect:
    """Whether a curve respects a bound that binds its learner, as long as no replica has diverged.

    A bound on every run is broken by what is beyond it by more than rounding. One on the expectation is
    broken by a mean of at least ENOUGH replicas that is beyond it by so many standard errors that Student's
    law calls it UNLIKELY.
    """
    sound = curve.sound
    x, loss = curve.x[:sound], curve.loss[:sound]
    if not sound:
        return Respect(bound.kind, None, "the curve has no evaluation points")
    sign = -1 if bound.direction == "upper" else 1
    gap = sign * (loss - np.interp(x, bound.x, bound.values))
    beyond = gap < -ROUNDING[experiment.dtype] * loss[0]
    until = "" if curve.diverged_at is None else f", until it diverged at {curve.diverged_at:g}"
    if not beyond.any():
        return Respect(bound.kind, True, f"{_closest(bound, curve, gap)}{until}")
    if not bound.in_expectation:
        return Respect(bound.kind, False, f"{standing(bound, curve, int(gap.argmin()))}{until}")
    replicas = experiment.run.replicas
    if curve.stderr is None or replicas < ENOUGH:
        few = f"the bound is on the expectation, which {replicas} of the {ENOUGH} replicas needed do not show"
        return Respect(bound.kind, None, f"{standing(bound, curve, int(gap.argmin()))}; {few}{until}")
    rounding = ROUNDING[experiment.dtype] * loss[0]
    errors = np.where(beyond, gap / np.maximum(curve.stderr[:sound], rounding), np.inf)
    worst, allowed = int(errors.argmin()), allowed_errors(replicas)
    holds = bool(errors[worst] >= -allowed)
    detail = f"{standing(bound, curve, worst)}, where {allowed:.1f} are allowed{until}"
    return Respect(bound.kind, holds, detail)


def allowed_errors(replicas: int) -> float:
    """How many standard errors Student's law exceeds with probability UNLIKELY."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(replicas - 1, 1 - UNLIKELY))


def _closest(bound: TheoryLine, curve: Curve, gap: np.ndarray) -> str:
    """How close a curve comes to a bound after the first example, where that is not 0."""
    x = curve.x[: len(gap)]
    matters = (x > 0) & (np.interp(x, bound.x, bound.values) > ZERO)
    at = int(np.where(matters, gap, np.inf).argmin()) if matters.any() else int(gap.argmin())
    return f"closest: {standing(bound, curve, at)}"


def standing(bound: TheoryLine, curve: Curve, record: int) -> str:
    """How a curve stands to a bound at a record."""
    gap = float(curve.loss[record]) - bound.at(float(curve.x[record]))
    text = f"loss − {bound.kind} = {gap:+.2g} at {curve.x[record]:g}"
    if curve.stderr is not None and curve.stderr[record] > 0:
        text += f", {gap / float(curve.stderr[record]):+.1f} standard errors"
    return text
