"""Diagnosis of a table: learning curves of pairs of learners on many splits, with and without a rotation."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.core.background import BackgroundWork
from engine.core.stopping import go_on, stopped_by
from engine.diagnosis.descents import Batch, trained_scores
from engine.diagnosis.expected_time import total_work, work
from engine.diagnosis.labelled_table import (
    Floats,
    Indices,
    LabelledTable,
    balanced_order,
    held_out,
    standardised,
)
from engine.diagnosis.library_learners import FittedLearner
from engine.diagnosis.pair_verdict import PairLosses, PairVerdict, judge_pair
from engine.diagnosis.pairs import DESCENTS, FITTINGS, PAIRS, DiagnosisLearner
from engine.diagnosis.plan import STEP_SPLITS, WORKERS, Plan, is_descent
from engine.problems.instances import haar

Progress = Callable[[float], object]


@dataclass(frozen=True)
class Diagnosis:
    """Losses of all learners on a table, and the verdicts on pairs of learners."""

    table: LabelledTable
    plan: Plan
    losses: dict[str, Floats]
    """Losses on test rows by learner: [2 (before and after the rotation), sizes, J].

    The loss is the mean squared error in units of the labels' variance. For classes, it is (e + ½)/t, for e
    wrong predictions on t test rows. It is NaN if the learner was not trained. The learner `constant`
    predicts the best constant of the training labels.
    """

    importances: dict[str, Floats]
    """Importance of every feature [d] for L1 and extra trees, averaged over splits.

    The importance is measured at the training size at which pairs are judged.
    """

    chosen: Floats
    """Share of the splits in which L1 gives a feature a nonzero weight, [d].

    The weights are those at the training size at which pairs are judged.
    """

    verdicts: dict[str, PairVerdict] = field(default_factory=dict)

    def mean(self, learner: str, rotated: bool = False) -> Floats:
        """Return a learner's mean loss over splits, for each training size, [sizes]."""
        return np.asarray(self.losses[learner][int(rotated)].mean(-1))

    def error(self, learner: str, rotated: bool = False) -> Floats:
        """Return the standard error of the mean loss, [sizes], as if splits were independent."""
        losses = self.losses[learner][int(rotated)]
        return np.asarray(losses.std(-1, ddof=1) / np.sqrt(losses.shape[-1]))


def diagnose(table: LabelledTable, plan: Plan, progress: Progress = lambda share: None) -> Diagnosis:
    """Train and test all learners of a plan, and judge the pairs of learners that get a verdict.

    Args:
        progress: receives the finished share of the work, from several threads.

    Raises: Stopped after a cancellation.
    """
    import sklearn.ensemble  # type: ignore[import-untyped]  # noqa: F401
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    measured = _Measurement(table, plan, progress)
    # Limits apply only to libraries that are already loaded. The limit of OpenMP applies only to the thread
    # that sets it, so each worker sets it. Otherwise boosted trees would start a thread for every core in
    # each worker, and these threads would use the cores while they wait.
    one_thread_each = partial(threadpool_limits, 1, user_api="openmp")
    with (
        _without_warnings_of_libraries(),
        threadpool_limits(1),
        ThreadPoolExecutor(WORKERS, "diagnosis", one_thread_each) as pool,
    ):
        jobs = [pool.submit(copy_context().run, job) for job in measured.works()]
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


@contextmanager
def _without_warnings_of_libraries() -> Iterator[None]:
    """Drop the warnings of installed libraries inside the block, in all threads.

    When scikit-learn tries several penalties, it warns about each fit that does not converge. A warning
    filter would not last: in each thread that fits learners, scikit-learn resets the filters of the whole
    process. Therefore, this context replaces the function that shows warnings.
    """
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_ours(message: Any, category: Any, filename: str, *further: Any, **named: Any) -> None:
            if "site-packages" not in filename:
                show(message, category, filename, *further, **named)

        warnings.showwarning = show_ours
        yield


class Split(NamedTuple):
    """Division of a table's rows into training and test rows, and a random rotation of the features."""

    number: int
    order: Indices
    """Indices of all rows. The first m rows are the training rows for the training size m."""

    tested: Indices
    rotation: Floats


Sides = tuple[tuple[Floats, Floats], tuple[Floats, Floats]]
"""Pairs of training rows and test rows, before and after the rotation."""


class _Measurement:
    """Losses and feature importances of a diagnosis. They are filled in while learners are fitted."""

    def __init__(self, table: LabelledTable, plan: Plan, progress: Progress) -> None:
        self._table, self._plan, self._progress = table, plan, progress
        shape = 2, len(plan.sizes), plan.splits
        names = [*(learner.name for learner in plan.learners), "constant"]
        self._losses = {name: np.full(shape, np.nan) for name in names}
        self._importances = {name: np.zeros((plan.splits, plan.features)) for name in ("l1", "trees")}
        self._variance = table.labels.var()
        self._lock, self._done = threading.Lock(), 0.0
        self._total = total_work(plan)

    def works(self) -> Iterator[Callable[[], None]]:
        """Yield functions without arguments. Each function computes a part of the diagnosis."""
        if any(is_descent(learner) for learner in self._plan.learners):
            for first in range(0, self._plan.splits, STEP_SPLITS):
                yield partial(self._train_descents, range(first, min(first + STEP_SPLITS, self._plan.splits)))
        for split in range(self._plan.splits):
            yield partial(self._fit_split, split)

    def diagnosis(self) -> Diagnosis:
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

    def _draw_split(self, split: int) -> Split:
        generator = np.random.default_rng([self._plan.seed, split])
        order = balanced_order(self._table, generator)
        rotation = haar(generator.standard_normal((self._plan.features, self._plan.features)))
        return Split(split, order, order[self._plan.rows - self._plan.tested :], rotation)

    def _original_and_rotated(self, split: Split, size: int) -> Sides:
        """Return the training and test rows of a split, before and after the rotation.

        The rows are standardised before the rotation, by the means and deviations of the training rows.
        """
        train, asked = self._table.rows_of(split.order[:size], split.tested)
        rows, tested = standardised(train, [asked])
        return (rows, tested), (rows @ split.rotation.T, tested @ split.rotation.T)

    def _fit_split(self, split: int) -> None:
        """Fit scikit-learn's learners to one split: every training size, before and after the rotation."""
        plan, table = self._plan, self._table
        drawn = self._draw_split(split)
        for place, size in enumerate(plan.sizes):
            labels, answers = table.labels[drawn.order[:size]], table.labels[drawn.tested]
            sides = self._original_and_rotated(drawn, size)
            constant = FittedLearner(np.full(len(answers), _best_constant(labels, table.is_classified)))
            self._losses["constant"][:, place, split] = self._loss_of(constant.predictions, answers)
            for learner in plan.learners:
                if is_descent(learner) or size not in plan.sizes_of(learner):
                    continue
                fit = FITTINGS[learner.name]
                for side, (known_rows, new_rows) in enumerate(sides):
                    if side and not plan.rotated_at(learner, size):
                        continue
                    go_on()
                    fitted = fit(known_rows, labels, new_rows, table.is_classified, plan.seed + split)
                    loss = self._loss_of(fitted.predictions, answers)
                    self._losses[learner.name][side, place, split] = loss
                    is_deciding = size == plan.decided_at and side == 0
                    if is_deciding and learner.name in self._importances and fitted.importances is not None:
                        self._importances[learner.name][split] = fitted.importances
                self._report_progress(work(learner, size, plan))

    def _train_descents(self, splits: range) -> None:
        """Train the gradient-trained learners on several splits, at every training size."""
        drawn = [self._draw_split(split) for split in splits]
        for size in self._plan.shown_sizes:
            batches = self._batches_of_sides(drawn, size)
            for learner in self._plan.learners:
                if is_descent(learner):
                    for side in range(1 + self._plan.rotated_at(learner, size)):
                        self._train_learner(learner, batches[side], drawn, size, side)
                    self._report_progress(len(splits) * work(learner, size, self._plan))

    def _batches_of_sides(self, drawn: Sequence[Split], size: int) -> list[Batch]:
        """Return the rows of several splits in float32: a batch of original and a batch of rotated rows."""
        plan, table = self._plan, self._table
        parts: list[list[tuple[Floats, ...]]] = [[], []]
        for split in drawn:
            learned = table.labels[split.order[:size]]
            labels, *_ = self._labels_as_scores(learned)
            fitted, aside = held_out(learned, table.is_classified, plan.seed + split.number)
            for side, (rows, tested) in enumerate(self._original_and_rotated(split, size)):
                pieces = rows[fitted], labels[fitted], rows[aside], labels[aside], tested
                parts[side].append(tuple(piece.astype(np.float32) for piece in pieces))
        batches = []
        for side_parts in parts:
            fitted_rows, fitted_labels, rows, labels, tested = map(np.stack, zip(*side_parts, strict=True))
            batches.append(
                Batch(fitted_rows, fitted_labels, rows, labels, tested, are_classes=table.is_classified)
            )
        return batches

    def _train_learner(
        self, learner: DiagnosisLearner, batch: Batch, drawn: Sequence[Split], size: int, side: int
    ) -> None:
        """Train a learner on the original features (`side` 0) or the rotated ones (1). Store its losses."""
        table, place = self._table, self._plan.sizes.index(size)
        scores = trained_scores(DESCENTS[learner.name], batch).astype(np.float64)
        for split, of_split in zip(drawn, scores, strict=True):
            _, mean, deviation = self._labels_as_scores(table.labels[split.order[:size]])
            predictions = (
                of_split.argmax(-1).astype(np.float64)
                if table.is_classified
                else mean + deviation * of_split[:, 0]
            )
            loss = self._loss_of(predictions, table.labels[split.tested])
            self._losses[learner.name][side, place, split.number] = loss

    def _labels_as_scores(self, labels: Floats) -> tuple[Floats, float, float]:
        """Return labels as scores for gradient descent, and the two numbers that convert scores back.

        Numeric labels are standardised, and the two numbers are their mean and standard deviation. Classes
        become one-hot vectors, and the two numbers are 0 and 1.
        """
        if self._table.is_classified:
            return (labels[:, None] == np.arange(self._plan.scores)).astype(np.float64), 0.0, 1.0
        mean, deviation = float(labels.mean()), float(labels.std()) or 1.0
        return ((labels - mean) / deviation)[:, None], mean, deviation

    def _loss_of(self, predictions: Floats, answers: Floats) -> float:
        if self._table.is_classified:
            return float(((predictions != answers).sum() + 0.5) / len(answers))
        return float(((predictions - answers) ** 2).mean() / self._variance)

    def _report_progress(self, finished: float) -> None:
        with self._lock:
            self._done += finished
            self._progress(min(1.0, self._done / self._total))


def _best_constant(labels: Floats, are_classes: bool) -> float:
    return float(np.bincount(labels.astype(np.int64)).argmax() if are_classes else labels.mean())


class DiagnosisJob(BackgroundWork[Diagnosis]):
    """Job that runs a diagnosis in a background thread. After a stop, `finish` raises Stopped."""

    def __init__(self, table: LabelledTable, plan: Plan) -> None:
        self._table, self._plan = table, plan
        self.share = 0.0
        """Finished share of the work."""
        super().__init__("diagnosis")

    def _set_share(self, share: float) -> None:
        self.share = share

    def _compute(self) -> Diagnosis:
        with stopped_by(self._stopped.is_set):
            return diagnose(self._table, self._plan, self._set_share)
