"""Solver for labels that are products of signs, by paths of examples or by Gaussian elimination."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import rotations
from engine.core.lazy import torch
from engine.core.parts import Factors, Several, Side, Verdict, check_factors, factor_sizes
from engine.core.streams import Streams
from engine.formulas.parities import SignProducts
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Solver, SolverStructure

VIEWS = 3
"""Number of random projections of every factor. Together, they distinguish directions of the factor."""

MOST_ROWS = 8
"""Largest number of instances that are converted to a matrix. More instances stay an operator."""

SAME = {4: 1e-3, 8: 1e-6}
"""Distance below which two projectors count as the same direction, by the number of bytes of the dtype.

Rounding errors are smaller than this distance.
"""


class PathRule(Solver, frozen=True, tag="path-rule"):
    """Predicts the label of a product x¹ ⊗ … ⊗ xʳ if labels seen determine this label, and otherwise 0.

    The rule assumes that every label ±1 is a product of unknown signs, one for each factor x¹, …, xʳ. With
    two factors, every example is an edge that joins its first factor to its second factor. A label is known
    if a path of edges seen leads from x¹ to x². The label is then the product of the labels along the path.
    With r factors, an instance has an indicator vector, with one entry for each possible value of each
    factor. The entries are 1 for the r values that the instance combines, and 0 elsewhere. A label is known
    if the indicator vector of its instance is a sum, over F₂, of indicator vectors seen. Gaussian elimination
    decides this. Two factors x and x̃ count as the same or opposite if |x·x̃| = ‖x‖‖x̃‖, so rotations of
    single factors do not change predictions. Suppose that there are two factors, and that different values
    of a factor are orthogonal vectors. The prediction is then sgn(x¹ᵀ S x²) with sgn 0 = 0. Here S is the sum
    of (MMᵀ)^p M over p = 0, 1, …, P for any large enough P, with M = Σ_t y_t x¹_t x²_tᵀ. Source:
    theory/hadamard#factors.
    """

    factors: Factors = None
    side: Side = None
    count: Several = None

    def structure(self) -> SolverStructure:
        return SolverStructure(linear_in_instance=False, by_products=True, labels="signs")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_factors(self.factors, self.side, self.count)

    def sizes(self, d: int) -> tuple[int, ...]:
        """Return the sizes of the factors of instances with d features; by default, a single factor."""
        return factor_sizes(self.factors, self.side, self.count) or (d,)

    def refuses(self, d: int) -> str | None:
        if (product := math.prod(self.sizes(d))) == d:
            return None
        return f"the product of the factors' sizes is {product}, but it must be the number of features, {d}"

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Paths(data, self.sizes(data.instances.d))

    def size(self, n: int, d: int) -> int:
        sizes = self.sizes(d)
        return (VIEWS * len(sizes) + 1) * (n + d) + sum(sizes) ** 2 // 8

    def invariance(self) -> Verdict:
        reason = (
            "predictions depend only on which factors are equal or opposite, as their inner products show"
        )
        sizes = factor_sizes(self.factors, self.side, self.count) or ()
        if len(sizes) <= 1:
            return Verdict(True, reason)
        return Verdict(False, reason, rotations(*sizes))


class Paths:
    """Labels of instances x¹ ⊗ … ⊗ xʳ, as far as the examples seen determine them.

    A label is the product of r unknown signs, one for each factor. Labels are stored for every replica and
    target.
    """

    def __init__(self, data: Data, factors: tuple[int, ...]) -> None:
        self._given, self._weights = data.instances, _projection_weights(factors)
        self._count = data.targets * data.variants
        views = self._random_projections(data.instances)
        self._same = SAME[data.instances.dtype.itemsize]
        directions = [
            [_distinct_directions(of_replica[:, :, at], self._same) for at in range(len(factors))]
            for of_replica in views[0]
        ]
        self._directions = [[projectors for _, projectors in of_replica] for of_replica in directions]
        self._numbers = np.array([[numbers for numbers, _ in of_replica] for of_replica in directions])
        self._flipped = views[1] < 0
        sizes = [[len(projectors) for projectors in of_replica] for of_replica in self._directions]
        self._products = [SignProducts(of_replica, self._count) for of_replica in sizes]

    def _random_projections(self, instances: Instances) -> tuple[Floats, Floats]:
        """Return random projections of each factor of n instances, [R, n, VIEWS, r], and of each instance.

        The VIEWS projections of a factor have an unknown common scale, which depends on the other factors.
        The projections of instances are [R, n]. Their signs distinguish an instance x from −x.
        """
        weights = torch.from_numpy(self._weights).to(instances.device, instances.dtype)
        if instances.n <= MOST_ROWS:
            products = instances.rows @ weights[0].T
        else:
            products = instances.inner(weights.expand(instances.replicas, -1, -1)).mT
        views = products.double().cpu().numpy()
        of_factors, of_row = views[:, :, :-1], views[:, :, -1]
        return of_factors.reshape(*of_factors.shape[:2], VIEWS, -1), of_row

    def _directions_and_signs(self, instances: Instances) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the direction of each factor, [R, r, n], and whether each instance's sign is −1, [R, n].

        A direction is given by its index among the directions in the data, or by −1 if it is not among them.
        """
        if instances is self._given:
            return self._numbers, self._flipped
        of_factors, of_row = self._random_projections(instances)
        numbers = [
            [
                _matching_directions(_projectors_onto(views[:, :, at]), projectors, self._same)
                for at, projectors in enumerate(of_replica)
            ]
            for views, of_replica in zip(of_factors, self._directions, strict=True)
        ]
        return np.array(numbers), of_row < 0

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        numbers, flipped = self._directions_and_signs(instances)
        negative = (labels < 0).cpu().numpy().reshape(len(numbers), self._count, -1) ^ flipped[:, None]
        for products, of_replica, minus in zip(self._products, numbers, negative, strict=True):
            for row, signs in zip(of_replica.T, minus.T, strict=True):
                if (row >= 0).all():
                    products.see(row, signs)

    def predict(self, instances: Instances) -> torch.Tensor:
        numbers, flipped = self._directions_and_signs(instances)
        predictions = np.empty((len(numbers), self._count, instances.n))
        for place, products in enumerate(self._products):
            is_known, negative = products.known(numbers[place].T)
            is_known &= (numbers[place] >= 0).all(0)
            predictions[place] = is_known * np.where(negative.T ^ flipped[place], -1.0, 1.0)
        return torch.from_numpy(predictions).to(instances.device, instances.dtype).flatten(0, 1)

    def weights(self) -> None:
        return


def _projection_weights(factors: tuple[int, ...]) -> Floats:
    """Return weights [1, VIEWS · r + 1, d] of random projections of instances x¹ ⊗ … ⊗ xʳ [d].

    Every projection is a product of r inner products, each of a factor with a vector. There is one fixed
    vector for each factor. In VIEWS projections for each factor, a random vector replaces the fixed vector of
    this factor. The last projection uses only fixed vectors.
    """
    draws = np.random.default_rng(0)
    sides = [draws.standard_normal((VIEWS + 1, size)) for size in factors]
    views = []
    for side in range(VIEWS):
        for seen in range(len(factors)):
            weights = np.ones(1)
            for factor, of_factor in enumerate(sides):
                weights = np.kron(weights, of_factor[side if factor == seen else VIEWS])
            views.append(weights)
    of_row = np.ones(1)
    for of_factor in sides:
        of_row = np.kron(of_row, of_factor[VIEWS])
    return np.stack([*views, of_row])[None]


def _projectors_onto(views: Floats) -> Floats:
    """Return matrices u uᵀ [n, VIEWS²], where u is a row of `views` [n, VIEWS] divided by its length.

    The matrix u uᵀ changes neither with the length nor with the sign of the row.
    """
    lengths = np.linalg.norm(views, axis=1, keepdims=True)
    units = views / np.where(lengths > 0, lengths, 1.0)
    return (units[:, :, None] * units[:, None]).reshape(len(views), -1)


def _distinct_directions(views: Floats, same: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the index of each row's direction, and the projector u uᵀ onto each distinct direction.

    Rows of `views` that differ only in length or sign have the same direction. u is a row divided by its
    length.
    """
    projectors = _projectors_onto(views)
    numbers = np.zeros(len(projectors), np.int64)
    for column in projectors.T:
        order = np.argsort(column, kind="stable")
        apart = np.empty(len(order), np.int64)
        apart[order] = np.concatenate(([0], np.cumsum(np.diff(column[order]) > same)))
        _, numbers = np.unique(numbers * len(order) + apart, return_inverse=True)
    _, firsts = np.unique(numbers, return_index=True)
    return numbers, projectors[firsts]


def _matching_directions(projectors: Floats, directions: Floats, same: float) -> NDArray[np.int64]:
    """Return, for each projector, the index of the direction with an equal projector, or −1 without any.

    Args:
        projectors: projectors u uᵀ of n vectors.
        directions: projectors onto the known directions.
        same: distance below which two projectors count as equal.
    """
    gaps = np.abs(projectors[:, None] - directions).max(2)
    nearest = gaps.argmin(1)
    return np.where(gaps[np.arange(len(nearest)), nearest] < same, nearest, -1)
