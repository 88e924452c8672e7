"""A learner judged: what structure says of it, what measurement says, and whether its bounds hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from engine.core.groups import PERMUTATIONS, ROTATIONS, SIGN_FLIPS, UNCHANGED, Group
from engine.core.parts import Verdict
from engine.learners.learner import Learner
from engine.pictures.bounds import Respect, respect
from engine.pictures.view import QUIET
from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.spec.experiment import Experiment, of_run
from engine.symmetry.certificate import certificate, change_by_rounding, is_unstable
from engine.symmetry.verdict import verdict

MEASURED = (ROTATIONS, PERMUTATIONS, SIGN_FLIPS)
"""The groups under which predictions are compared."""

PROMISES = ("lower", "upper", "exact", "conjecture")
"""The directions of lines that a run can break: no limit, shape or reference says where a single run is."""

DIVERGED = 1e3
"""Predictions that change by so many times their size are those of a learner that diverges."""


Effect = Literal["unchanged", "changed", "unstable"]
"""What transformations do to predictions; unstable: the change may be rounding that the learner magnifies."""


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

    by_rounding: float | None = None
    """The change of predictions by perturbations of the size of rounding, if rotations change them."""

    @property
    def change(self) -> float | None:
        """The certificate under all rotations."""
        return self.changes[ROTATIONS]

    def effect(self, group: Group) -> Effect | None:
        """What a group of transformations does to predictions; None where it was not measured."""
        change = self.changes.get(group)
        if change is None:
            return None
        if change < UNCHANGED:
            return "unchanged"
        if self.by_rounding is not None and is_unstable(change, self.by_rounding):
            return "unstable"
        return "unstable" if self.diverges and group <= self.verdict.group else "changed"

    @property
    def answer(self) -> Literal["yes", "no", "undecided"]:
        """Whether the learner is rotation invariant here, by structure and measurement together.

        It is not decided where the two disagree and where rounding decides the measurement. Where structure
        does not decide, a measured change does, but no measurement proves that nothing changes.
        """
        if not self.agrees or self.effect(ROTATIONS) == "unstable":
            return "undecided"
        if self.verdict.undecided:
            return "no" if self.effect(ROTATIONS) == "changed" else "undecided"
        return "no" if self.verdict.invariant is False else "yes"

    @property
    def measurement(self) -> str:
        """The certificate in words."""
        if self.change is None:
            return "not measured: the matrix is too large to be rotated"
        sentences = [
            f"predictions are {self._effect_in_words(group)} by "
            f"{'rotations' if group == ROTATIONS else group.words}: max |Δŷ| / max |ŷ| {_size(change)}"
            for group, change in self.changes.items()
            if change is not None
        ]
        if self.by_rounding is not None and self.unstable:
            sentences.append(f"perturbations of the size of rounding change them by {self.by_rounding:.2g}")
        fits = " (it fits all rows here, and so does whoever fits them)" if self.fits else ""
        return f"{'; '.join(sentences)}{fits}"

    def _effect_in_words(self, group: Group) -> str:
        effect = self.effect(group)
        return "unstable, and changed" if effect == "unstable" else str(effect)

    @property
    def unstable(self) -> bool:
        """Whether a change that was measured may be rounding."""
        return any(self.effect(group) == "unstable" for group in self.changes)

    @property
    def broken(self) -> list[Group]:
        """The groups that structure says change nothing, and that did, rotations aside."""
        return [
            group
            for group in self.changes
            if group != ROTATIONS and group <= self.verdict.group and self.effect(group) == "changed"
        ]

    @property
    def agrees(self) -> bool:
        """Whether measurement contradicts nothing that structure says, where there is one that can decide."""
        if self.fits:
            return True
        measured = self.effect(ROTATIONS)
        if measured in (None, "unstable") or self.verdict.undecided:
            return not self.broken
        return (measured == "unchanged") == (self.verdict.invariant is not False) and not self.broken

    @property
    def conflict(self) -> str:
        """What a disagreement may mean, in words; nothing where there is none."""
        if self.agrees:
            return ""
        if self.broken:
            by = " and ".join(group.words for group in self.broken)
            promised = f"structure promises that {by} change nothing"
            return f"{promised}, yet predictions changed: a bug, or a discovery"
        if self.effect(ROTATIONS) == "unchanged":
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
    """The judgement of a learner of a finished run; trains it three more times for each certificate.

    Of several rates it judges the best. `going` is called again and again with the share that is done; what
    it raises ends the judgement.
    """
    seen = view(of_run(experiment), of_one(experiment, trace))
    curve = trace.curve(learner.name)
    names = ("", curve.name)
    about = [line for line in seen.lines if line.curve in names and learner.name in line.applies_to]
    binding = [line for line in about if line.direction in PROMISES]
    if curve.rate is not None and learner.update is not None:
        update = msgspec.structs.replace(learner.update, lr=curve.rate)
        learner = msgspec.structs.replace(learner, update=update)
    losses, kinds = seen.curve(curve.name), {line.kind for line in binding}
    reasons = (line.on_learners[learner.name].reason for line in trace.lines if line.kind in kinds)
    changes, by_rounding = certificates(experiment, learner, going)
    return Judgement(
        learner.name,
        curve.verdict,
        changes,
        [respect(losses, line, seen.quantity.rounding) for line in binding],
        list(dict.fromkeys(reasons)),
        fits=bool(len(losses.y)) and float(np.abs(losses.y).max()) <= QUIET,
        diverges=curve.diverged_at is not None,
        by_rounding=by_rounding,
    )


def certificates(
    experiment: Experiment, learner: Learner, going: Callable[[float], object] = lambda done: None
) -> tuple[dict[Group, float | None], float | None]:
    """The certificate under each group that is measured, and the change by rounding.

    If rotations change nothing they are all. Else it is measured under permutations and sign flips, which are
    rotations too, under those of the factors of an instance that its verdict names, and by rounding.
    """
    changes: dict[Group, float | None] = {}
    declared = verdict(learner, experiment).group
    groups = (*MEASURED, declared) if declared.factors else MEASURED

    def share(done: float) -> None:
        going((len(changes) + done) / (len(groups) + 1))

    for group in groups:
        changes[group] = change = certificate(experiment, learner, share, group)
        if change is None or changes[ROTATIONS] == change < UNCHANGED:
            return changes, None
    promised = [change for group, change in changes.items() if group <= declared and change is not None]
    broken = [change for change in promised if change >= UNCHANGED]
    return changes, change_by_rounding(experiment, learner, share, max(broken, default=0.0))


def _size(change: float) -> str:
    """How large a change is; of one that grows without end no number means anything."""
    if change > DIVERGED:
        return f"is more than {DIVERGED:.0f}, where it diverges"
    return f"= {change:.2g}"
