"""Invariance by measurement: how far predictions change under transformations and under rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, tee

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core.cost import Cost
from engine.core.groups import ROTATIONS, UNCHANGED, Group
from engine.core.lazy import torch
from engine.core.streams import Streams
from engine.learners.learner import Learner
from engine.measures import named
from engine.problems.data import Data, draw
from engine.problems.instances import Instances, element
from engine.protocols import EarlyEnd
from engine.spec.experiment import Setup, missing
from engine.training.descent import TrainingInputs, rates_of
from engine.training.training_run import TrainingRun, on_instances, on_transformed

MOST_ENTRIES = 1 << 24
"""Largest number of entries of a data matrix for which invariance is measured.

For larger matrices, two copies in float64 and products with these copies would take too long.
"""

PERTURBATION = 4 * np.finfo(np.float64).eps
"""Size of perturbations, relative to the root mean square of the entries of an instance."""

MAGNIFIED = 100
"""Ratio of changes under transformations and under perturbations, up to which rounding may be the cause.

A run rounds at every step, but instances are perturbed only once. In 76 random runs of K-FAC, SOAP, Shampoo
and Muon, the change under rotations was 0.2 to 6 times the change under a perturbation.
"""

PAIRS = 6
"""Number of pairs of perturbations to try before a change counts as larger than rounding can explain.

Rules that order eigenvectors can reach a tipping point, beyond which they amplify rounding without bound. Not
every perturbation leads there: a run of SOAP on a small net reached this point under two of three
perturbations.
"""

MOST_KEPT = 1 << 22
"""Largest number of predictions on unchanged data that a comparison keeps for its later runs."""

Going = Callable[[float], object]
"""Callback that is called repeatedly with the finished share of the work. If it raises, the work ends."""


def certificate(
    setup: Setup,
    learner: Learner,
    going: Going = lambda done: None,
    group: Group = ROTATIONS,
) -> float | None:
    """Return the largest relative change of a prediction under a group of transformations of instances.

    The learner is trained on (X, y), and on (Xgᵀ, y) for two random elements g of the group, in float64 on
    the CPU. Of two rotations, one has determinant −1. For Xgᵀ, the initial weights are transformed to
    correspond to the initial weights for X. Predictions of the first replica on all rows are compared at
    every evaluation point, as long as the predictions are finite. The change is max |Δŷ| / max |ŷ|. If the
    change is below UNCHANGED, the learner counts as invariant on these data.

    Some rules are rotation invariant on some data only. For example, diagonal AdaGrad is rotation invariant
    on ±1 data, but rotated data are not ±1. Such a rule declares an invariant counterpart, for example the
    rule with one rate for all inputs. The rotated data then train this counterpart instead of the rule. If
    the predictions agree, the learner predicts on the given data as a rotation-invariant rule does.

    Return None if the matrix has more than MOST_ENTRIES entries. Source: theory/symmetry#rotation-invariance.
    """
    if _is_too_large(setup):
        return None
    counterpart = learner
    unseen = learner.architecture is not None and learner.architecture.structure().by_inner_products
    if learner.update is not None and group == ROTATIONS and not unseen:
        rule = learner.update.structure().invariant_counterpart or learner.update
        counterpart = msgspec.structs.replace(learner, update=rule)
    compared = Comparison(setup, learner, counterpart)
    return compared.under([*_random_elements(group, compared)], going)


def change_by_rounding(
    setup: Setup, learner: Learner, going: Going = lambda done: None, to_explain: float = 0.0
) -> float | None:
    """Return the largest relative change of a prediction when instances are perturbed by rounding errors.

    The change is measured as in `certificate`, for pairs of random perturbations. Return None if the matrix
    is too large.

    Args:
        to_explain: change that was measured under transformations. If it is at most MAGNIFIED times the
            change by a perturbation, amplified rounding errors may explain it. It then does not disprove
            invariance. Up to PAIRS pairs of perturbations are tried until one explains it. If it is 0, one
            pair is tried.
    """
    if _is_too_large(setup):
        return None
    comparison, pairs, largest = Comparison(setup, learner, learner), PAIRS if to_explain else 1, 0.0
    perturbations = comparison.perturbations()
    for pair in range(pairs):
        share = partial(_report_progress, going, pair, pairs)
        largest = max(largest, comparison.on_changed(islice(perturbations, 2), share))
        if to_explain <= MAGNIFIED * largest:
            break
    return largest


def _report_progress(going: Going, part: int, parts: int, done: float) -> None:
    """Report progress of a task with `parts` equal parts. Part number `part` is finished up to `done`."""
    going((part + done) / parts)


def is_unstable(change: float, by_rounding: float) -> bool:
    """Return whether a change is too large for an invariant learner, but may be caused by rounding.

    Args:
        change: change of predictions under transformations.
        by_rounding: change of predictions under perturbations of the size of rounding errors.
    """
    return UNCHANGED <= change <= MAGNIFIED * by_rounding


def _is_too_large(setup: Setup) -> bool:
    return math.prod(setup.problem.matrix.shape()) > MOST_ENTRIES


def _random_elements(group: Group, compared: Comparison) -> Iterator[NDArray[np.float64]]:
    """Yield two random elements of a group of transformations.

    Two elements of the group of all rotations differ only in the sign of one column. One of them has
    determinant 1, and the other −1.
    """
    d, stream = compared.data.instances.d, compared.streams("rotation")
    for determinant in (1, -1):
        if group.factors is not None:
            stream = compared.streams("rotation")
        yield element(group, stream, d, determinant)


class Comparison:
    """Comparison of a learner's predictions with the predictions of a counterpart on changed instances.

    The counterpart is a second learner, and often the learner itself.
    """

    def __init__(
        self, experiment: Setup, learner: Learner, other: Learner, relative_to_movement: bool = False
    ) -> None:
        """Compare `learner` on the data of an experiment with its counterpart `other` on changed data.

        Changes of predictions are divided by the largest prediction. With `relative_to_movement`, they are
        divided by the largest difference between a prediction and its initial value.
        """
        self._experiment, self._learners = experiment, (learner, other)
        self._relative_to_movement = relative_to_movement
        self.streams = Streams([experiment.run.seed], single=experiment.run.streams == "single")
        data = draw(experiment.problem, self.streams, "float64", "cpu").dense()
        self.data = data.with_variants(len(rates_of(learner)))
        self._schedule = experiment.protocol.schedule()
        self._records = experiment.protocol.extent(self.data.instances.n).records
        self._kept: Iterator[_Unchanged] | None = None

    def size(self) -> float:
        """Train on unchanged data, and return the size by which changes of predictions are divided.

        The size is the largest prediction. If `relative_to_movement` is True, it is the largest movement of a
        prediction from the start of training.
        """
        with torch.no_grad():
            return max((float(size) for _, size in self._unchanged_predictions()), default=0.0)

    def under(
        self, transformations: Sequence[NDArray[np.float64]], going: Going = lambda done: None
    ) -> float:
        """Return the largest change of predictions if the instances x are transformed to T x.

        Args:
            transformations: orthogonal matrices T. Each is tried in a separate training run.
        """
        begin, inputs = self._experiment.protocol.training_run, self._counterpart_inputs()
        turns = (torch.from_numpy(transformation) for transformation in transformations)
        return self._largest_change((on_transformed(inputs, begin, turn) for turn in turns), going)

    def under_scalings(self, factors: Sequence[NDArray[np.float64]]) -> float:
        """Return the largest change of predictions if features are multiplied by factors [d]."""
        begin, inputs = self._experiment.protocol.training_run, self._counterpart_inputs()
        scalings = [torch.from_numpy(np.diag(of_features)) for of_features in factors]
        return self._largest_change(
            on_transformed(inputs, begin, scaling, torch.diag(1 / scaling.diag())) for scaling in scalings
        )

    def perturbations(self, rounding: float = PERTURBATION) -> Iterator[torch.Tensor]:
        """Yield an endless sequence of random perturbations of the instances, [replicas, n, d].

        Every entry of an instance is changed by ± `rounding` times the root mean square of the instance's
        entries. The signs are random.
        """
        rows, draws = self.data.instances.rows, self.streams("rounding")
        size = rounding * rows.square().mean(-1, keepdim=True).sqrt()
        while True:
            yield size * torch.from_numpy(draws.signs(*rows.shape[1:]))

    def on_changed(self, changes: Iterable[torch.Tensor], going: Going = lambda done: None) -> float:
        """Return the largest change of predictions if an array in `changes` is added to the instances."""
        begin, inputs, rows = (
            self._experiment.protocol.training_run,
            self._counterpart_inputs(),
            self.data.instances.rows,
        )
        return self._largest_change((on_instances(inputs, begin, rows + change) for change in changes), going)

    def _counterpart_inputs(self) -> TrainingInputs:
        return TrainingInputs(self._learners[1], self.data, self._loss_of_targets(), self.streams)

    def _loss_of_targets(self) -> Cost:
        return self._experiment.loss.of_targets(self.data.targets)

    def _largest_change(
        self, transformed: Iterable[tuple[Data, TrainingRun]], going: Going = lambda done: None
    ) -> float:
        """Return the largest relative change of a prediction over all evaluations of the first replica.

        `__init__` describes the divisor of the change. The runs on changed data advance together with a run
        on unchanged data, and stop when this run stops.
        """
        compared = [
            _predictions_by_evaluation(run, its.instances, self._records, going, self._limits)
            for its, run in transformed
        ]
        change = size = torch.zeros((), dtype=torch.float64)
        with torch.no_grad():
            for before, size_so_far in self._unchanged_predictions():
                together = [
                    (predictions, after)
                    for predictions in compared
                    if (after := next(predictions)).isfinite().all()
                ]
                compared = [predictions for predictions, _ in together]
                if not compared:
                    break
                change = torch.stack([change, *((after - before).abs().max() for _, after in together)]).max()
                size = size_so_far
        return float(change / size) if size else float(change)

    @property
    def _limits(self) -> tuple[float, float] | None:
        return None if self._schedule.clips_at is None else (0.0, self._schedule.clips_at)

    def _unchanged_predictions(self) -> Iterator[_Unchanged]:
        """Return the predictions on unchanged data. If they are few, they are computed only once."""
        if self._records * self.data.labels.numel() > MOST_KEPT:
            return self._train_unchanged()
        self._kept, predictions = tee(self._kept or self._train_unchanged())
        return predictions

    def _train_unchanged(self) -> Iterator[_Unchanged]:
        """Train on unchanged data, as long as the predictions are finite."""
        experiment, data, learner = self._experiment, self.data, self._learners[0]
        until = self._schedule.ends_early
        ending = [] if until is None or until.measure is None else [named()[until.measure]]
        asked = tuple(measure for measure in ending if missing(measure, experiment, learner) is None)
        ends = [] if until is None else [EarlyEnd(until, data.replicas) for _ in range(data.variants)]
        inputs = TrainingInputs(learner, data, self._loss_of_targets(), self.streams, asked)
        run = experiment.protocol.training_run(inputs)
        size = torch.zeros((), dtype=torch.float64)
        origin: torch.Tensor | float | None = None if self._relative_to_movement else 0.0
        for predictions in _predictions_by_evaluation(
            run, data.instances, self._records, lambda done: None, self._limits, ends
        ):
            if not predictions.isfinite().all():
                return
            origin = predictions if origin is None else origin
            size = torch.maximum(size, (predictions - origin).abs().max())
            yield predictions, size


_Unchanged = tuple["torch.Tensor", "torch.Tensor"]
"""Predictions at an evaluation, and the divisor of changes up to this evaluation."""


def _predictions_by_evaluation(
    training_run: TrainingRun,
    instances: Instances,
    records: int,
    going: Callable[[float], object],
    limits: tuple[float, float] | None,
    ends: Sequence[EarlyEnd] = (),
) -> Iterator[torch.Tensor]:
    """Continue a training run to its end, and yield its predictions on all instances at each evaluation.

    If several evaluations are completed together, yield only the predictions at the last of them.

    Args:
        limits: least and largest value, to which predictions are clipped. None if they are not clipped.
        ends: checks whether training ends early, one for each setting of the hyperparameters. Once training
            has ended for all settings, no further predictions are yielded. Without checks, training never
            ends early.
    """
    complete, ended = 0, False
    while complete < records and not ended:
        going(complete / records)
        block = training_run.advance(1)
        if new := len(block.loss):
            complete += new
            predictions = training_run.hypothesis.predict(instances)
            yield predictions if limits is None else predictions.clamp(*limits)
            for variant, end in enumerate(ends):
                end.length(*block.of_variant(variant), np.full(block.loss.shape[1], new))
            ended = bool(ends) and all(end.reached for end in ends)
