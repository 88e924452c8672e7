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

For larger matrices, two float64 copies and products with them would take too long.
"""

PERTURBATION = 4 * np.finfo(np.float64).eps
"""Size of perturbations, relative to the root mean square of the entries of the instances."""

MAGNIFIED = 100
"""A change up to this multiple of the change under a perturbation may be caused by rounding.

A run rounds at every step, but instances are perturbed only once. In 76 random runs of K-FAC, SOAP, Shampoo
and Muon, the change under rotations was 0.2 to 6 times the change under a perturbation.
"""

PAIRS = 6
"""Number of pairs of perturbations to try before a change counts as larger than rounding can explain.

Rules that order eigenvectors can reach a tipping point, beyond which they amplify rounding without bound. A
perturbation may fail to reach it: a run of SOAP on a small net reached it under two of three perturbations.
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

    The learner is trained on (X, y) and on (Xgᵀ, y), in float64 on the CPU. For Xgᵀ, its initial weights are
    transformed to correspond to the initial weights for X. This is done for two random elements g of the
    group. Of two rotations, one has determinant −1. Predictions of the first replica on all rows are compared
    at every evaluation point, as long as the predictions are finite. The change is max |Δŷ| / max |ŷ|. If it
    is below UNCHANGED, the learner is invariant on these data.

    Under rotations, a rule with an invariant counterpart is compared with this counterpart. For example,
    diagonal AdaGrad is compared with the rule that has one rate for all inputs. Diagonal AdaGrad is rotation
    invariant on ±1 data only, but rotated data are not ±1. Therefore, the counterpart is trained on the
    rotated data. If the predictions agree, the learner predicts on the given data as a rotation-invariant
    rule does.

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

    The change is measured as in `certificate`, for pairs of random perturbations. One pair is tried. If
    `to_explain` is given, up to PAIRS pairs are tried, until the returned change is large enough to explain
    `to_explain`.

    `to_explain` is a change that was measured under transformations. If `to_explain` is at most MAGNIFIED
    times the returned change, amplified rounding errors may explain it. The measured change then does not
    disprove invariance.

    Return None if the matrix is too large.
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
    """Return whether rounding may have caused a change of predictions.

    `by_rounding` is the change under a perturbation of the size of rounding.
    """
    return UNCHANGED <= change <= MAGNIFIED * by_rounding


def _is_too_large(setup: Setup) -> bool:
    return math.prod(setup.problem.matrix.shape()) > MOST_ENTRIES


def _random_elements(group: Group, compared: Comparison) -> Iterator[NDArray[np.float64]]:
    """Yield two random elements of a group of transformations.

    If they are rotations, the second is the first with one column negated.
    """
    d, stream = compared.data.instances.d, compared.streams("rotation")
    for determinant in (1, -1):
        if group.factors is not None:
            stream = compared.streams("rotation")
        yield element(group, stream, d, determinant)


class Comparison:
    """Comparison of a learner's predictions with those of a second learner on changed instances.

    The second learner, the counterpart, is often the learner itself.
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
        """Return the size of the predictions on unchanged data, which changes of predictions are relative to.

        If `relative_to_movement` is True, it is the size of their movement from the start of training.
        """
        with torch.no_grad():
            return max((float(size) for _, size in self._unchanged_predictions()), default=0.0)

    def under(
        self, transformations: Sequence[NDArray[np.float64]], going: Going = lambda done: None
    ) -> float:
        """Return the largest change of predictions if the instances x are transformed to T x.

        `transformations` are the matrices T of x → T x; each is tried in a separate training run.
        """
        begin, inputs = self._experiment.protocol.training_run, self._counterpart_inputs()
        turns = (torch.from_numpy(matrix) for matrix in transformations)
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

        The change is divided by the largest prediction or, with `relative_to_movement`, by the largest
        movement of a prediction. The runs on changed data advance in step with a run on unchanged data, and
        stop when it stops.
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
        """Return the predictions on unchanged data, which are computed once if they are few."""
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
"""Predictions at an evaluation, and the size of all predictions or movements so far."""


def _predictions_by_evaluation(
    training_run: TrainingRun,
    instances: Instances,
    records: int,
    going: Callable[[float], object],
    limits: tuple[float, float] | None,
    ends: Sequence[EarlyEnd] = (),
) -> Iterator[torch.Tensor]:
    """Continue a training run to its end, and yield its predictions on all instances at each evaluation.

    If several evaluations are completed together, yield only the predictions at the last of them. Predictions
    are clipped to `limits`, unless it is None.

    Args:
        ends: checks whether training ends early, one for each setting of the hyperparameters. Once all of
            them have ended, no further predictions are yielded. Without any, training never ends early.
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
