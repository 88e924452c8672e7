"""The measurement: paired learning curves on repeated splits, before and after a rotation."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from engine.core.background import BackgroundWork
from engine.core.stopping import go_on, stopped_by
from engine.diagnosis.descents import Batch, trained_scores
from engine.diagnosis.labelled_table import (
    Floats,
    Indices,
    LabelledTable,
    balanced_order,
    held_out,
    standardised,
)
from engine.diagnosis.library_learners import Fit
from engine.diagnosis.pairs import DESCENTS, FITTINGS, PAIRS, Learner
from engine.diagnosis.plan import WORKERS, Plan
from engine.diagnosis.verdict import PairLosses, PairVerdict, judge_pair
from engine.problems.instances import haar

STEP_SPLITS = 4
"""Number of splits on which nets train side by side."""

Progress = Callable[[float], object]


@dataclass(frozen=True)
class Diagnosis:
    """Losses of all learners, and the verdicts of the judged pairs."""

    table: LabelledTable
    plan: Plan
    losses: dict[str, Floats]
    """Loss of every learner [2, sizes, J]: before and after the rotation.

    Mean squared error in units of the labels' variance, or share of wrong classes with half an error added.
    NaN where it did not learn. `constant` is the loss of the best constant of the training labels.
    """

    importances: dict[str, Floats]
    """Importance of every feature [d] at the deciding size, averaged over splits; of L1 and trees."""

    chosen: Floats
    """Share of the splits in which L1 gives a feature a weight, at the deciding size, [d]."""

    verdicts: dict[str, PairVerdict] = field(default_factory=dict)

    def mean(self, learner: str, rotated: bool = False) -> Floats:
        """Return the mean loss of a learner over splits, [sizes]."""
        return np.asarray(self.losses[learner][int(rotated)].mean(-1))

    def error(self, learner: str, rotated: bool = False) -> Floats:
        """Return the standard error of the mean over splits, [sizes], as if splits were independent."""
        losses = self.losses[learner][int(rotated)]
        return np.asarray(losses.std(-1, ddof=1) / np.sqrt(losses.shape[-1]))


def diagnose(table: LabelledTable, plan: Plan, progress: Progress = lambda share: None) -> Diagnosis:
    """Measure all learners of a plan, and judge its pairs.

    Args:
        progress: receives the finished share of the work, from several threads.

    Raises: Stopped after a cancellation.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    measured = _Measurement(table, plan, progress)
    # scikit-learn warns of single penalties that have not converged. It sets and restores the process's
    # filters from both threads, so that filters of a block here would be lost.
    warnings.filterwarnings("ignore", module=r"sklearn\.")
    with threadpool_limits(1), ThreadPoolExecutor(WORKERS, "diagnosis") as pool:
        jobs = [pool.submit(copy_context().run, work) for work in measured.works()]
        try:
            for job in jobs:
                while not job.done():
                    go_on()
                    wait([job], 0.05)
                job.result()
        finally:
            for job in jobs:
                job.cancel()
    return measured.diagnosis()


class _Measurement:
    """Losses that grow while splits are fitted."""

    def __init__(self, table: LabelledTable, plan: Plan, progress: Progress) -> None:
        self._table, self._plan, self._progress = table, plan, progress
        shape = 2, len(plan.sizes), plan.splits
        names = [*(learner.name for learner in plan.learners), "constant"]
        self._losses = {name: np.full(shape, np.nan) for name in names}
        self._importances = {name: np.zeros((plan.splits, plan.features)) for name in ("l1", "trees")}
        self._variance = table.labels.var()
        self._lock, self._done = threading.Lock(), 0.0
        self._total = plan.splits * sum(
            _work(learner, size, plan) for learner in plan.learners for size in plan.sizes_of(learner)
        )

    def works(self) -> Iterator[Callable[[], None]]:
        """Yield the pieces of work."""
        for learner in self._plan.learners:
            if learner.name in DESCENTS:
                for size in self._plan.sizes_of(learner):
                    for first in range(0, self._plan.splits, STEP_SPLITS):
                        splits = range(first, min(first + STEP_SPLITS, self._plan.splits))
                        yield partial(self._descend, learner, size, splits)
        for split in range(self._plan.splits):
            yield partial(self._fit_split, split)

    def diagnosis(self) -> Diagnosis:
        """Return the finished diagnosis."""
        plan, place = self._plan, self._plan.sizes.index(self._plan.decided_at)
        verdicts = {}
        for pair in PAIRS:
            if pair.judged:
                axes, invariant = (self._losses[name][:, place] for name in pair.names)
                constant = self._losses["constant"][0, place]
                losses = PairLosses(axes[0], axes[1], invariant[0], invariant[1], constant)
                verdicts[pair.name] = judge_pair(losses, plan.tested, plan.remaining)
        return Diagnosis(
            self._table,
            plan,
            self._losses,
            {name: shares.mean(0) for name, shares in self._importances.items()},
            (self._importances["l1"] > 0).mean(0),
            verdicts,
        )

    def _drawn(self, split: int) -> tuple[np.random.Generator, Indices, Indices]:
        """Return a generator for the rotation, and the order of rows, of a split."""
        generator = np.random.default_rng([self._plan.seed, split])
        order = balanced_order(self._table, generator)
        return generator, order, order[self._plan.rows - self._plan.tested :]

    def _fit_split(self, split: int) -> None:
        """Fit the learners of scikit-learn at every size of one split."""
        plan, table = self._plan, self._table
        generator, order, tested = self._drawn(split)
        rotation = haar(generator.standard_normal((plan.features, plan.features)))
        for place, size in enumerate(plan.sizes):
            train = order[:size]
            labels, answers = table.labels[train], table.labels[tested]
            rows, tested_rows = standardised(table.features[train], [table.features[tested]])
            sides = (rows, tested_rows), (rows @ rotation.T, tested_rows @ rotation.T)
            constant = Fit(np.full(len(answers), _constant(labels, table.is_classified)))
            self._losses["constant"][:, place, split] = self._loss(constant.predictions, answers)
            for learner in plan.learners:
                if learner.name in DESCENTS or size not in plan.sizes_of(learner):
                    continue
                fit = FITTINGS[learner.name]
                for side, (known_rows, new_rows) in enumerate(sides):
                    if side and not plan.rotated_at(learner, size):
                        continue
                    go_on()
                    fitted = fit(known_rows, labels, new_rows, table.is_classified, plan.seed + split)
                    loss = self._loss(fitted.predictions, answers)
                    self._losses[learner.name][side, place, split] = loss
                    is_deciding = size == plan.decided_at and side == 0
                    if is_deciding and learner.name in self._importances and fitted.importances is not None:
                        self._importances[learner.name][split] = fitted.importances
                self._advance(_work(learner, size, plan))

    def _descend(self, learner: Learner, size: int, splits: Sequence[int]) -> None:
        """Train a learner of descents on several splits, before and after the rotation."""
        plan, table = self._plan, self._table
        for side in range(1 + plan.rotated_at(learner, size)):
            parts: list[list[Floats]] = [[] for _ in range(5)]
            answers, units = [], []
            for split in splits:
                generator, order, tested = self._drawn(split)
                train = order[:size]
                rows, tested_rows = standardised(table.features[train], [table.features[tested]])
                if side:
                    rotation = haar(generator.standard_normal((plan.features, plan.features)))
                    rows, tested_rows = rows @ rotation.T, tested_rows @ rotation.T
                labels, mean, deviation = self._scores(table.labels[train])
                fitted, aside = held_out(table.labels[train], table.is_classified, plan.seed + split)
                pieces = rows[fitted], labels[fitted], rows[aside], labels[aside], tested_rows
                for part, piece in zip(parts, pieces, strict=True):
                    part.append(piece)
                answers.append(table.labels[tested])
                units.append((mean, deviation))
            fitted_rows, fitted_labels, held_rows, held_labels, asked_rows = (
                np.stack(part).astype(np.float32) for part in parts
            )
            batch = Batch(fitted_rows, fitted_labels, held_rows, held_labels, asked_rows, table.is_classified)
            scores = trained_scores(DESCENTS[learner.name], batch).astype(np.float64)
            place = plan.sizes.index(size)
            for number, split in enumerate(splits):
                mean, deviation = units[number]
                predictions = (
                    scores[number].argmax(-1).astype(np.float64)
                    if table.is_classified
                    else mean + deviation * scores[number, :, 0]
                )
                self._losses[learner.name][side, place, split] = self._loss(predictions, answers[number])
        self._advance(len(splits) * _work(learner, size, plan))

    def _scores(self, labels: Floats) -> tuple[Floats, float, float]:
        """Return one-hot classes, or labels of mean 0 and deviation 1, with mean and deviation."""
        if self._table.is_classified:
            return (labels[:, None] == np.arange(self._plan.scores)).astype(np.float64), 0.0, 1.0
        mean, deviation = float(labels.mean()), float(labels.std()) or 1.0
        return ((labels - mean) / deviation)[:, None], mean, deviation

    def _loss(self, predictions: Floats, answers: Floats) -> float:
        if self._table.is_classified:
            return float(((predictions != answers).sum() + 0.5) / len(answers))
        return float(((predictions - answers) ** 2).mean() / self._variance)

    def _advance(self, work: float) -> None:
        with self._lock:
            self._done += work
            self._progress(min(1.0, self._done / self._total))


def _constant(labels: Floats, are_classes: bool) -> float:
    """Return the mean, or the most frequent class."""
    return float(np.bincount(labels.astype(np.int64)).argmax() if are_classes else labels.mean())


def _work(learner: Learner, size: int, plan: Plan) -> float:
    """Return the time of all fits of a learner on one split, in some unit."""
    return learner.work * (1 + plan.rotated_at(learner, size)) * (500 + size * plan.features)


class DiagnosisJob(BackgroundWork[Diagnosis]):
    """A diagnosis in a thread of its own; stopped, it raises Stopped."""

    def __init__(self, table: LabelledTable, plan: Plan) -> None:
        self._table, self._plan = table, plan
        self.share = 0.0
        """Finished share of the work."""
        super().__init__("diagnosis")

    def _advance(self, share: float) -> None:
        self.share = share

    def _compute(self) -> Diagnosis:
        with stopped_by(self._stopped.is_set):
            return diagnose(self._table, self._plan, self._advance)
