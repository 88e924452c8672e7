"""The class of an instance as the target."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import SELDOM, BadInput
from engine.core.streams import Streams
from engine.problems.data_files import DataReport
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target, TargetStructure

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Classes(Target, frozen=True, tag="classes"):
    """The class of an instance is its label: +1 and −1 for two classes, and one-hot for more.

    With two classes, the first has the label +1, unless `each` gives each class a separate target. K > 2
    classes are K targets, each 1 for one class and 0 for all other classes. Separate nets, or one net with K
    outputs, learn these targets. With `size` √K, the label 1 becomes √K, so that the K labels of an instance
    have the mean square 1. The 0/1 error of these targets is the share of instances for which the prediction
    of a wrong class is the largest.

    A share `corrupted` of the instances of every cluster has the label of another class, chosen uniformly.
    Without clusters, `corrupted` is the share of the instances of every class. Wrong labels are spread
    evenly: each cluster, in the order of its instances, is cut into equal stretches with one wrong label
    each. So the training rows, which come first, have about the same share of wrong labels as all rows. All
    measures except the error on true labels use the corrupted labels. Source:
    theory/parities-and-noise#wrong-labels, theory/parities-and-noise#nuisance-space,
    theory/parities-and-noise#mixtures, theory/automatic-descent#variants-and-recipes.
    """

    corrupted: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        Meta(title="corrupted", description="share of the instances of each cluster that have wrong labels"),
    ] = 0.0
    size: Annotated[
        Literal["1", "sqrt(K)"],
        Meta(
            title="size",
            description="label of an instance for its own class, 1 or √K; its labels for other classes are 0",
            extra=SELDOM,
        ),
    ] = "1"
    each: Annotated[
        bool,
        Meta(
            title="a target per class",
            description="give two classes two one-hot targets, instead of one target ±1",
            extra=SELDOM,
        ),
    ] = False

    def columns(self, matrix: Matrix) -> int:
        count = matrix.structure().class_count
        return 1 if count is None or not self._is_one_hot(matrix) else count

    def check(self, matrix: Matrix) -> None:
        if matrix.structure().class_count is None:
            raise BadInput(
                "problem.target.kind",
                f"the instances of {matrix.kind} have no classes; set [problem.matrix] kind = "
                '"clusters" or "digits"; for a file, set `label` to a column of words or whole numbers',
            )
        if matrix.repeat is not None:
            raise BadInput(
                "problem.matrix.repeat",
                "`repeat` shows negated instances, which belong to no class; leave `repeat` out",
            )

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        numbers = _classes_of_rows(matrix, streams)
        if self.corrupted > 0:
            numbers = self._corrupted_classes(numbers, matrix, streams)
        return self._labels_of_classes(numbers, matrix)

    def true_labels(self, matrix: Matrix, streams: Streams) -> Rows | None:
        return (
            None
            if self.corrupted == 0
            else self._labels_of_classes(_classes_of_rows(matrix, streams), matrix)
        )

    def data_report(self, matrix: Matrix) -> DataReport | None:
        report, labels = matrix.data_report(), matrix.structure().given_labels
        if report is None or labels is None or labels.classes is None:
            return super().data_report(matrix)
        classes = labels.classes.with_a_target_each if self.each else labels.classes.in_words
        return report.of_labels(self.columns(matrix), f"labels: {classes}", classes)

    def _labels_of_classes(self, numbers: Numbers, matrix: Matrix) -> Rows:
        """Convert classes [R, n] of the instances to labels [R, m, n] of the m targets."""
        if not self._is_one_hot(matrix):
            return np.where(numbers[:, None] == 0, 1.0, -1.0)
        count = matrix.structure().class_count
        assert count is not None, "check() admits no other family"
        one_hot: Rows = (numbers[:, None] == np.arange(count)[:, None]).astype(np.float64)
        return one_hot if self.size == "1" else np.sqrt(count) * one_hot

    def _corrupted_classes(self, numbers: Numbers, matrix: Matrix, streams: Streams) -> Numbers:
        """Give some instances of every cluster a wrong class at random; return the classes [R, n]."""
        count, clusters = matrix.structure().class_count, matrix.row_numbers(streams).clusters
        assert count is not None, "check() admits no other family"
        assert clusters is not None, "check() admits no other family"
        draws = streams("corrupted")
        by_chance, shifts = draws.uniform(numbers.shape[1]), 1 + draws.integers(count - 1, numbers.shape[1])
        corrupted = numbers.copy()
        for replica, cluster in enumerate(clusters):
            for number in np.unique(cluster):
                members = np.flatnonzero(cluster == number)
                wrong = members[_one_of_each_stretch(by_chance[replica, members], self.corrupted)]
                corrupted[replica, wrong] = (numbers[replica, wrong] + shifts[replica, wrong]) % count
        return corrupted

    def structure(self, matrix: Matrix) -> TargetStructure:
        if not self._is_one_hot(matrix):
            return TargetStructure("signs", is_never_zero=True)
        return TargetStructure("bits" if self.size == "1" else "any", one_hot=True)

    def _is_one_hot(self, matrix: Matrix) -> bool:
        return self.each or matrix.structure().class_count != 2


def _classes_of_rows(matrix: Matrix, streams: Streams) -> Numbers:
    classes = matrix.row_numbers(streams).classes
    assert classes is not None, "check() admits no other family"
    return classes


def _one_of_each_stretch(by_chance: Floats, share: float) -> Numbers:
    """Divide all positions into equal stretches, and return one position from each, chosen at random.

    `share` is the number of stretches, relative to the number of positions. The chosen position of a stretch
    has the smallest number in `by_chance`.
    """
    size = len(by_chance)
    count = round(share * size)
    ends = [stretch * size // max(1, count) for stretch in range(count + 1)]
    places = [first + int(by_chance[first:last].argmin()) for first, last in pairwise(ends)]
    return np.array(places, np.int64)
