"""A learner judged: what structure says of it, what measurement says, and whether its bounds hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from engine.core.groups import PERMUTATIONS, ROTATIONS, SIGN_FLIPS, UNCHANGED, Group
from engine.core.parts import Verdict
from engine.learners.learner import Learner
from engine.pictures.respect import Respect, respect
from engine.pictures.view import QUIET
from engine.results.invariance import certificate, verdict
from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run

MEASURED = (ROTATIONS, PERMUTATIONS, SIGN_FLIPS)
"""The groups under which predictions are compared."""

PROMISES = ("lower", "upper", "exact", "conjecture")
"""The directions of lines that a run can break: no limit, shape or reference says where a single run is."""

DIVERGED = 1e3
"""Predictions that change by so many times their size are those of a learner that diverges."""


@dataclass(frozen=True)
class Judgement:
    """A learner under the verdict of structure, the certificate of measurement, and its bounds."""

    learner: str
    verdict: Verdict
    changes: Mapping[Group, float | None]
    """The certificate under every group that was measured, all rotations first; None: too large."""

    bounds: list[Respect]
    reasons: Sequence[str] = ()
    """Why bounds bind it, without those that say it a second time."""

    fits: bool = False
    """Whether it fits all rows at every record, so that all who fit them predict the same there."""

    diverges: bool = False
    """Whether a replica of it diverges, which leaves nothing of rounding's size."""

    @property
    def change(self) -> float | None:
        """The certificate under all rotations."""
        return self.changes[ROTATIONS]

    @property
    def unchanged(self) -> bool:
        """Whether rotations left every prediction as it was."""
        return _unchanged(self.change)

    def _word(self, change: float) -> str:
        if _unchanged(change):
            return "unchanged"
        promised = self.verdict.invariant is not False
        magnified = self.verdict.magnifies or (self.diverges and promised)
        return "changed, as by rounding that steps may magnify," if magnified else "changed"

    @property
    def measurement(self) -> str:
        """The certificate in words."""
        if self.change is None:
            return "not measured: the matrix is too large to be rotated"
        by = ((f"by {group.words}", change) for group, change in self.changes.items() if group != ROTATIONS)
        said = [
            f"predictions are {self._word(change)} {words}: max |Δŷ| / max |ŷ| {_size(change)}"
            for words, change in (("by rotations", self.change), *by)
            if change is not None
        ]
        fits = " (it fits all rows here, and so does whoever fits them)" if self.fits else ""
        return f"{'; '.join(said)}{fits}"

    @property
    def broken(self) -> list[Group]:
        """The groups that structure says change nothing, and that did, rotations aside."""
        groups = (group for group in self.changes if group != ROTATIONS)
        measured = ((group, self.changes[group]) for group in groups if group <= self.verdict.group)
        return [group for group, change in measured if change is not None and not _unchanged(change)]

    @property
    def agrees(self) -> bool:
        """Whether structure and measurement say the same, if there is a measurement that can decide."""
        if self.verdict.magnifies or self.fits or self.diverges:
            return True
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
    seen = view(of_run(experiment), of_one(experiment, trace))
    curve = trace.curve(learner.name)
    own = ("", curve.name)
    about = [line for line in seen.lines if line.curve in own and learner.name in line.applies_to]
    binding = [line for line in about if line.direction in PROMISES]
    if curve.rate is not None and learner.update is not None:
        update = msgspec.structs.replace(learner.update, lr=curve.rate)
        learner = msgspec.structs.replace(learner, update=update)
    losses, kinds = seen.curve(curve.name), {line.kind for line in binding}
    reasons = (line.on_learners[learner.name].reason for line in trace.lines if line.kind in kinds)
    return Judgement(
        learner.name,
        curve.verdict,
        certificates(experiment, learner, going),
        [respect(losses, line, seen.rounding) for line in binding],
        list(dict.fromkeys(reasons)),
        fits=bool(len(losses.y)) and float(np.abs(losses.y).max()) <= QUIET,
        diverges=curve.diverged_at is not None,
    )


def certificates(
    experiment: Experiment, learner: Learner, going: Callable[[float], object] = lambda done: None
) -> dict[Group, float | None]:
    """The certificate under rotations, and where these change something under permutations and sign flips,
    which are rotations too, and under those of the factors of an instance that its verdict names."""
    found: dict[Group, float | None] = {}
    own = verdict(learner, experiment).group
    groups = (*MEASURED, own) if own.factors else MEASURED
    for number, group in enumerate(groups):

        def share(done: float, number: int = number) -> None:
            going((number + done) / len(groups))

        found[group] = certificate(experiment, learner, share, group)
        if found[ROTATIONS] is None or _unchanged(found[ROTATIONS]):
            break
    return found


def _size(change: float) -> str:
    """How large a change is; of one that grows without end no number means anything."""
    if change > DIVERGED:
        return f"is more than {DIVERGED:.0f}, where it diverges"
    return f"= {change:.2g}"


def _unchanged(change: float | None) -> bool:
    return change is not None and change < UNCHANGED
