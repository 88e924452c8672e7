"""Data drawn for a problem: the instances and labels on which learners are trained."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.examples import given, tabled
from engine.problems.hadamard_matrices import Sylvester, Walsh
from engine.problems.instances import DenseInstances, Instances
from engine.problems.matrices import RowNumbers, Rows

if TYPE_CHECKING:
    from engine.problems.problem import Problem
    from engine.problems.targets import Combination

Star = tuple["torch.Tensor", "torch.Tensor"]
"""Sparse w* of every replica and target: the indices of r features, and their weights, [R, m, r] each."""


@dataclass(frozen=True)
class Data:
    """Instances and labels drawn for R replicas of a problem.

    Instances are [R, n, d]. Labels are [B, n], where B = replicas × variants × targets, in this order.
    Variants are copies of a learner on the same data, such as one copy per rate.

    Args:
        w_star: the weights w* of m targets, if every label is xᵀw*; otherwise None. Only r entries of each w*
            can differ from 0. `w_star` is a pair of tensors [R, m, r]: the indices and the values of these
            entries.
        teacher: like `w_star`, but also set if labels are signs made from xᵀw*, or contain noise. The indices
            refer to entries of the instances as drawn, before any change of coordinates.
        second_moment: Σ [d, d] as declared by the matrix family, or σ² if Σ = σ²I. None if Σ is unknown.
        true_labels: labels [B, n] before corruption, or None if no label is corrupted.
        values: range of the labels.
        one_hot: whether targets are classes: each instance has a label above 0 for its own class, and 0 for
            all other classes.
        tuples: for each instance, the indices of its r factor rows, [R, n, r], if instances are outer
            products of rows with random signs. Otherwise None.
        span: ends of an interval that contains all instances, if instances are random single numbers. None
            without such an interval.
        clusters: cluster [R, n] of every row, or its class if classes have no clusters. None without classes.
        memo: cache of expensive results that depend only on the data, for other sweep points with the same
            data. The code that computes a result chooses the key.
    """

    instances: Instances
    labels: torch.Tensor
    replicas: int
    targets: int
    variants: int = 1
    w_star: Star | None = None
    teacher: Star | None = None
    second_moment: float | torch.Tensor | None = None
    true_labels: torch.Tensor | None = None
    values: Values = "any"
    one_hot: bool = False
    tuples: NDArray[np.int64] | None = None
    span: tuple[float, float] | None = None
    clusters: NDArray[np.int64] | None = None
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def over_targets(self, values: torch.Tensor) -> torch.Tensor:
        """Return the means over targets, [S, R, V], of values [S, B] at S evaluation points.

        R is the number of replicas, and V the number of variants. If there is one value for each net, instead
        of one for each target, the means are over the nets of a variant.
        """
        return values.view(len(values), self.replicas, self.variants, -1).mean(3)

    def with_variants(self, count: int) -> Data:
        """Return the data with `count` copies of every variant.

        In each replica, all variants come once in their order, then again, `count` times in total.
        """

        def copies(labels: torch.Tensor) -> torch.Tensor:
            grouped = labels.view(self.replicas, 1, -1, self.instances.n)
            return grouped.expand(-1, count, -1, -1).reshape(-1, self.instances.n)

        true = None if self.true_labels is None else copies(self.true_labels)
        return replace(self, labels=copies(self.labels), true_labels=true, variants=self.variants * count)

    def examples(self, numbers: torch.Tensor) -> tuple[Instances, torch.Tensor]:
        """Return the instances with indices `numbers` [R, k] in each replica, and their labels [B, k]."""
        members = len(self.labels) // len(numbers)
        return self.instances.pick(numbers), self.labels.gather(1, numbers.repeat_interleave(members, 0))

    def dense(self) -> Data:
        return replace(self, instances=DenseInstances(self.instances.rows, self.instances.signs))

    def from_w_star(self, weights: torch.Tensor) -> torch.Tensor:
        """Return w − w* for weights w […, B, d]. Every label must be xᵀw*."""
        assert self.w_star is not None, "only labels that are linear in the instances have w*"
        return self._errors_from(self.w_star, weights)

    def from_teacher(self, weights: torch.Tensor) -> torch.Tensor:
        """Return w − w* for weights w [B, d]. Every label must be made from xᵀw*.

        Unlike for `from_w_star`, labels may be signs, or contain noise. The coordinates of w are those of the
        instances as drawn.
        """
        assert self.teacher is not None, "only labels that are made of xᵀw* have a teacher"
        return self._errors_from(self.teacher, weights)

    def _errors_from(self, star: Star, weights: torch.Tensor) -> torch.Tensor:
        errors = weights.clone(memory_format=torch.contiguous_format)
        by_target = errors.view(-1, self.replicas, self.variants, self.targets, errors.shape[-1])
        several = len(by_target), -1, self.variants, -1, -1
        places, sizes = (part[:, None].expand(several) for part in star)
        by_target.scatter_add_(4, places, -sizes.to(weights.dtype))
        return errors


def draw(problem: Problem, streams: Streams, dtype: str, device: str) -> Data:
    """Draw targets, instances and noisy labels of a problem, independently for every replica.

    Raises: BadInput for a file that cannot be used.
    """
    combination, streams = problem.target.combination(problem.matrix, streams), streams.of_data()
    structure = problem.matrix.structure()
    if structure.is_sylvester:
        instances, labels = _sylvester_rows_and_labels(problem, combination, streams, dtype, device)
    else:
        rows, labels = tabled(problem, combination, streams)
        matrix = torch.from_numpy(np.ascontiguousarray(rows, dtype=dtype)).to(device)
        instances = DenseInstances(matrix, structure.entries_are_signs)
    replicas, targets, n = labels.shape
    labels = given(problem, labels, streams)
    teacher = None
    if combination is not None and structure.features_are_seen:
        places, sizes = combination
        teacher = torch.from_numpy(places).to(device), torch.from_numpy(sizes.astype(dtype)).to(device)
    moment, true = problem.matrix.second_moment, problem.target.true_labels(problem.matrix, streams)
    numbers = RowNumbers()
    if structure.in_clusters or structure.sign_factors:
        numbers = problem.matrix.row_numbers(streams)

    def tensor(labels: Rows) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(labels, dtype=dtype)).reshape(-1, n).to(device)

    return Data(
        instances,
        tensor(labels),
        replicas,
        targets,
        true_labels=None if true is None else tensor(true),
        w_star=teacher if problem.labels == "soft" and problem.noise == 0 else None,
        teacher=teacher,
        second_moment=torch.from_numpy(moment).to(device) if isinstance(moment, np.ndarray) else moment,
        values=problem.label_values,
        one_hot=problem.one_hot,
        tuples=numbers.tuples if structure.sign_factors else None,
        span=None if structure.points_are_fixed else structure.span,
        clusters=numbers.clusters if structure.in_clusters else None,
    )


def _sylvester_rows_and_labels(
    problem: Problem, combination: Combination | None, streams: Streams, dtype: str, device: str
) -> tuple[Instances, Rows]:
    """Return the instances as an operator, and the target's labels [R, m, n] before `given` converts them."""
    matrix = problem.matrix
    arrangement = matrix.arrangement(streams)
    if matrix.repeat is not None:
        arrangement = arrangement.repeated(matrix.repeat)
    _, d = matrix.shape()
    order, signs = torch.from_numpy(arrangement.order), torch.from_numpy(arrangement.signs)

    def instances(dtype: str, device: str) -> Sylvester:
        number = getattr(torch, dtype)
        placed = order.to(device), signs.to(device, number)
        return Sylvester(
            Walsh(d, number, device), d, *placed, arrangement.shifted, balanced=not arrangement.shifted
        )

    features = instances("float32", "cpu")  # the entries −1, 0 and 1 are exact in any dtype
    if combination is None:
        labels = problem.target.labels(matrix, lambda: features.rows.numpy(), streams)
    else:
        labels = combination.labels(lambda places: features.columns(torch.from_numpy(places)).numpy())
    same = (dtype, device) == ("float32", "cpu")
    return features if same else instances(dtype, device), labels
