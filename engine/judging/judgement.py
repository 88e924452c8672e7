"""Judgement of a learner: its invariance by structure and by measurement, and whether its bounds hold."""

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
"""Groups of transformations under which predictions are compared."""

PROMISES = ("lower", "upper", "exact", "conjecture")
"""Directions of theory lines that a run can violate. Limits, shapes and references constrain no run."""

DIVERGED = 1e3
"""Relative change of predictions above which the learner counts as diverging."""


Effect = Literal["unchanged", "changed", "unstable"]
"""Effect of transformations on predictions.

The effect is unstable if rounding errors, amplified by the learner, may explain it.
"""


@dataclass(frozen=True)
class LearnerJudgement:
    """Judgement of a learner: whether it is rotation invariant, and whether its bounds hold.

    `verdict` follows from the learner's structure, and `changes` are measured.
    """

    learner: str
    verdict: Verdict
    changes: Mapping[Group, float | None]
    """Change of predictions under every measured group, all rotations first; None if the matrix is too large.

    These changes are the certificate of the learner, an empirical invariance test.
    """

    bounds: list[Respect]
    reasons: Sequence[str] = ()
    """Reasons why bounds apply to the learner, without repetitions."""

    fits: bool = False
    """Whether the learner fits all rows at every record.

    Its predictions then equal those of any other learner that fits the rows.
    """

    diverges: bool = False
    """Whether a replica of the learner diverges, so that rounding errors are not bounded."""

    by_rounding: float | None = None
    """Change of predictions by perturbations as small as rounding errors; None if it was not measured."""

    @property
    def change(self) -> float | None:
        """Change of predictions under all rotations, or None if it was not measured."""
        return self.changes[ROTATIONS]

    def effect(self, group: Group) -> Effect | None:
        """Return the effect of a group of transformations on predictions, or None if it was not measured."""
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

        The answer is "undecided" if the two disagree, or if rounding may explain the measurement. Without a
        verdict by structure, a measured change means "no". No measurement can prove invariance.
        """
        if not self.agrees or self.effect(ROTATIONS) == "unstable":
            return "undecided"
        if self.verdict.undecided:
            return "no" if self.effect(ROTATIONS) == "changed" else "undecided"
        return "no" if self.verdict.invariant is False else "yes"

    @property
    def measurement(self) -> str:
        if self.change is None:
            return "not measured: the matrix is too large to be rotated"
        sentences = [
            f"predictions are {self._effect_in_words(group)} by "
            f"{'rotations' if group == ROTATIONS else group.words}: max |Δŷ| / max |ŷ| {_size_text(change)}"
            for group, change in self.changes.items()
            if change is not None
        ]
        if self.by_rounding is not None and self.unstable:
            sentences.append(
                f"perturbations as small as rounding change predictions by {self.by_rounding:.2g}"
            )
        fits = (
            " (not informative: the learner fits all rows, so every prediction equals its label)"
            if self.fits
            else ""
        )
        return f"{'; '.join(sentences)}{fits}"

    def _effect_in_words(self, group: Group) -> str:
        effect = self.effect(group)
        return "changed, perhaps only by amplified rounding errors," if effect == "unstable" else str(effect)

    @property
    def unstable(self) -> bool:
        """Whether rounding errors may explain a measured change, because training amplifies them strongly."""
        return any(self.effect(group) == "unstable" for group in self.changes)

    @property
    def broken(self) -> list[Group]:
        """Groups that changed predictions, although the learner is invariant under them by structure.

        The group of rotations is left out.
        """
        return [
            group
            for group in self.changes
            if group != ROTATIONS and group <= self.verdict.group and self.effect(group) == "changed"
        ]

    @property
    def agrees(self) -> bool:
        """Whether the measurements agree with the verdict that follows from the structure.

        Measurements that rounding errors may explain agree with every verdict. So do measurements of a
        learner that fits all rows.
        """
        if self.fits:
            return True
        measured = self.effect(ROTATIONS)
        if measured in (None, "unstable") or self.verdict.undecided:
            return not self.broken
        return (measured == "unchanged") == (self.verdict.invariant is not False) and not self.broken

    @property
    def conflict(self) -> str:
        """Text about a contradiction between measurement and structure; empty if they agree."""
        if self.agrees:
            return ""
        if self.broken:
            by = " and ".join(group.words for group in self.broken)
            promised = f"by its declared structure, the learner is invariant under {by}"
            return f"{promised}, yet predictions changed: a bug, or a discovery"
        if self.effect(ROTATIONS) == "unchanged":
            return (
                "by its declared structure, the learner is not rotation invariant, yet rotations did not "
                "change predictions: a special case, or a discovery"
            )
        return (
            "by its declared structure, the learner is rotation invariant, yet rotations changed "
            "predictions: a bug, or a discovery"
        )

    @property
    def sound(self) -> bool:
        return self.agrees and all(bound.holds is not False for bound in self.bounds)


def judgement(
    experiment: Experiment,
    trace: Trace,
    learner: Learner,
    going: Callable[[float], object] = lambda done: None,
) -> LearnerJudgement:
    """Judge a learner after a run: whether it is rotation invariant, and whether its bounds hold.

    To measure the invariance, the learner is trained again on transformed instances, at its best rate. Each
    group of transformations requires three training runs.

    Args:
        going: function that is called repeatedly with the finished share; its exceptions end the judgement.
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
    return LearnerJudgement(
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
    """Measure how far predictions change under groups of transformations of the instances.

    Return the change of predictions under each measured group, and the change by rounding errors alone.

    If rotations do not change predictions, only rotations are measured, because the other groups are
    subgroups of the rotations. If the matrix is too large, the change under rotations is None. In both cases,
    the change by rounding errors is None.

    Otherwise, permutations and sign flips are measured, too. If the verdict by structure names rotations of
    the factors of x = x₁ ⊗ x₂ ⊗ …, these are also measured.
    """
    changes: dict[Group, float | None] = {}
    declared = verdict(learner, experiment).group
    groups = (*MEASURED, declared) if declared.factors else MEASURED

    def share(done: float) -> None:
        going((len(changes) + done) / (len(groups) + 1))

    for group in groups:
        changes[group] = change = certificate(experiment, learner, share, group)
        # Every other measured group is a subgroup of the rotations: predictions that no rotation changes need
        # no more training runs.
        if change is None or changes[ROTATIONS] == change < UNCHANGED:
            return changes, None
    promised = [change for group, change in changes.items() if group <= declared and change is not None]
    broken = [change for change in promised if change >= UNCHANGED]
    return changes, change_by_rounding(experiment, learner, share, max(broken, default=0.0))


def _size_text(change: float) -> str:
    """Return the size of a change of predictions as text, or that the learner diverges."""
    if change > DIVERGED:
        return f"is more than {DIVERGED:.0f}, because the learner diverges"
    return f"= {change:.2g}"
