"""Instances as operators, which compute rows on demand, and multiply all rows by many vectors.

The module also contains orthogonal instances rotated to the coordinate axes, and random elements of groups of
transformations.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import Group
from engine.core.lazy import torch
from engine.core.linear_algebra import moment, one_thread, with_rows
from engine.core.streams import Stream

CACHE = 8 << 20
"""Size in bytes above which a matrix does not fit into the processor's cache.

Products of such a matrix with several vectors should share one pass over its entries.
"""

REPEATED = 4
"""Least average number of times that each sign vector is among the instances, for `repeats` to pay."""

PIECE = 4 << 20
"""Number of bytes of rows that are converted to float64 at a time."""


class Instances:
    """Interface of n instances with d features for each of R replicas.

    Weights are a batch of B = R·G vectors, replica by replica. The G vectors of a replica (one per target,
    for example) share its instances, which are therefore never copied.
    """

    replicas: int
    n: int
    d: int
    dtype: torch.dtype
    device: torch.device
    signs: bool = False
    """Whether all entries are known to be +1 or −1."""

    better_together: bool = False
    """Whether it is cheaper to multiply several weight vectors by the instances together than one by one."""

    @property
    def repeats(self) -> Repeats | None:
        """The different instances and where they occur, if they are known to be few; otherwise None."""
        return None

    @property
    def rows(self) -> torch.Tensor:
        """The instances of each replica as rows of a matrix, [R, n, d]."""
        raise NotImplementedError

    def at(self, numbers: slice) -> Instances:
        """Return the instances at the positions of a slice, the same positions in every replica."""
        raise NotImplementedError

    def pick(self, numbers: torch.Tensor) -> Instances:
        """Return the instances with the given indices [R, k] in every replica. Indices may repeat."""
        return DenseInstances(self.rows.gather(1, numbers[:, :, None].expand(-1, -1, self.d)), self.signs)

    def of_replica(self, replica: int) -> Instances:
        raise NotImplementedError

    def narrowed(self) -> Instances | None:
        """Return the instances without their last features, if these are known to be 0; otherwise None."""
        return None

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        """Return inner products [B, h, n] of weights [B, h, d] with the instances of their replica.

        h is the number of weight vectors of a batch member, such as one for each hidden unit.
        """
        raise NotImplementedError

    def products(self, weights: torch.Tensor) -> torch.Tensor:
        """Return inner products [B, n] of weights [B, d] with the instances of their replica."""
        return self.inner(weights[:, None])[:, 0]

    def products_of_each(self, several: torch.Tensor) -> torch.Tensor:
        """Return the results of `products` for S sets of weights [S, B, d] together, [S, B, n]."""
        return torch.stack([self.products(weights) for weights in several])

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return Σ_j c_j x_j [B, d], for coefficients c [B, n] of the instances x_j."""
        raise NotImplementedError

    def chosen(self, plus: torch.Tensor, minus: torch.Tensor) -> torch.Tensor:
        """Return a vector with `plus` where x_i > 0, `minus` where x_i < 0, and 0 where x_i = 0, [B, d].

        x is the only instance of each replica. `plus` and `minus` are [B, 1].
        """
        entries = self.rows[:, 0]  # [R, d]
        of_plus, of_minus = (numbers.view(self.replicas, -1, 1) for numbers in (plus, minus))
        picked = of_plus * (entries > 0).to(plus.dtype)[:, None]
        return picked.addcmul_(of_minus, (entries < 0).to(plus.dtype)[:, None]).view(-1, self.d)

    @property
    def has_moment(self) -> bool:
        """Whether `mean_square` uses the matrix XᵀX/n, so that calls with many errors are cheaper."""
        return False

    def mean_square(self, errors: torch.Tensor) -> torch.Tensor | None:
        """Return the mean of (xᵀe)² over the instances x, for errors e […, B, d] of weights.

        The mean is eᵀ(XᵀX/n)e, computed in float64. Return None if it is cheaper to compute the mean from
        predictions.
        """
        return None

    def products_with(self, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return Xᵀy/n [B, d] and ‖y‖²/n [B] of labels y [B, n], in float64. `has_moment` must be true."""
        raise NotImplementedError

    def turn(self, weights: torch.Tensor) -> torch.Tensor:
        """Convert weights [B, …, d] from the coordinates that learners see to those of the stored instances.

        If the matrix option `rotate` is set, learners see the rotated coordinates. `ScaledIdentity`, for
        example, stores instances in other coordinates.
        """
        return weights

    def turn_back(self, weights: torch.Tensor) -> torch.Tensor:
        """Undo `turn`: convert weights [B, d] to the coordinates that learners see."""
        return weights


class Repeats(NamedTuple):
    """All different instances, and the positions at which each of them occurs."""

    instances: Instances
    """All 2^d vectors of ±1, the same for every replica."""
    numbers: torch.Tensor
    """Index in `instances` of each of the n instances, [R, n]."""

    def spread(self, predictions: torch.Tensor) -> torch.Tensor:
        """Convert predictions [B, 2^d] of the different instances to predictions [B, n] of all instances."""
        members = len(predictions) // len(self.numbers)
        return predictions.gather(1, self.numbers.repeat_interleave(members, 0))


class DenseInstances(Instances):
    """Instances that are stored as a matrix, `rows` [R, n, d]."""

    def __init__(self, rows: torch.Tensor, signs: bool = False) -> None:
        self._rows, self.signs = rows, signs
        self.replicas, self.n, self.d = rows.shape
        self.dtype, self.device = rows.dtype, rows.device
        self.better_together = rows.nbytes > CACHE and rows.device.type == "cpu"

    @cached_property
    def repeats(self) -> Repeats | None:
        if not self.signs or self.n < REPEATED << self.d:
            return None
        numbers = self._rows.new_zeros(self.replicas, self.n, dtype=torch.int64)
        for i in range(self.d):
            numbers += (self._rows[:, :, i] > 0).long() << i
        places = torch.arange(self.d, device=self.device)
        bits = torch.arange(1 << self.d, device=self.device)[:, None] >> places & 1
        vectors = (2 * bits - 1).to(self.dtype).expand(self.replicas, -1, -1)
        return Repeats(DenseInstances(vectors, signs=True), numbers)

    @property
    def rows(self) -> torch.Tensor:
        return self._rows

    def at(self, numbers: slice) -> Instances:
        return DenseInstances(self._rows[:, numbers], self.signs)

    def of_replica(self, replica: int) -> Instances:
        return DenseInstances(self._rows[replica : replica + 1], self.signs)

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        batch, h, d = weights.shape
        products = weights.reshape(self.replicas, -1, d) @ self._rows.mT
        return products.view(batch, h, self.n)

    def products(self, weights: torch.Tensor) -> torch.Tensor:
        return weights @ self._columns if self.replicas == 1 else super().products(weights)

    def products_of_each(self, several: torch.Tensor) -> torch.Tensor:
        products = with_rows(self._grouped_by_replica(several), self._rows)
        return self._grouped_by_record(products, len(several))

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        if self.replicas == 1 and self.n > 1 and coefficients.dim() == 2:
            return coefficients @ self._columns.T
        grouped = coefficients.view(self.replicas, -1, self.n)
        product = grouped * self._rows if self.n == 1 else grouped @ self._rows
        return product.view(-1, self.d)

    @cached_property
    def _columns(self) -> torch.Tensor:
        """Xᵀ of the only replica, [d, n]. Cached, because creating a view is as slow as a small product."""
        return self._rows[0].T

    @property
    def has_moment(self) -> bool:
        return self.n >= 2 * self.d

    def mean_square(self, errors: torch.Tensor) -> torch.Tensor | None:
        if not self.has_moment:
            return None
        several = errors.view(-1, *errors.shape[-2:])
        grouped = self._grouped_by_replica(several).double()
        squares = torch.linalg.vecdot(grouped @ self._second_moment, grouped)[..., None]
        return self._grouped_by_record(squares, len(several)).view(errors.shape[:-1])

    def products_with(self, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        grouped = labels.view(self.replicas, -1, self.n)
        products = grouped.new_zeros(*grouped.shape[:2], self.d, dtype=torch.float64)
        for rows, part in zip(self._pieces_along(self._rows, 1), self._pieces_along(grouped, 2), strict=True):
            products.baddbmm_(part.double(), rows.double())
        return products.flatten(0, 1) / self.n, labels.double().square().mean(1)

    @cached_property
    def _second_moment(self) -> torch.Tensor:
        """Second moment XᵀX/n of the instances, [R, d, d].

        The matrix is in float64, because its products lose digits if columns have large means.
        """
        total = self._rows.new_zeros(self.replicas, self.d, self.d, dtype=torch.float64)
        for rows in self._pieces_along(self._rows, 1):
            total += moment(rows.double())
        return total / self.n

    def _pieces_along(self, tensor: torch.Tensor, dimension: int) -> tuple[torch.Tensor, ...]:
        """Split a tensor along the dimension of the n instances, into pieces of about PIECE bytes of rows."""
        return torch.split(tensor, max(1, PIECE * self.n // self._rows.nbytes), dimension)

    def _grouped_by_replica(self, several: torch.Tensor) -> torch.Tensor:
        """Reorder vectors [S, B, …] of S evaluation points so that replicas come first, [R, S·B/R, …]."""
        grouped = several.view(len(several), self.replicas, -1, several.shape[-1])
        return grouped.transpose(0, 1).reshape(self.replicas, -1, several.shape[-1])

    def _grouped_by_record(self, tensor: torch.Tensor, records: int) -> torch.Tensor:
        """Undo `_grouped_by_replica`: reorder [R, S·B/R, …] to [S, B, …], for S evaluation points."""
        grouped = tensor.view(self.replicas, records, -1, tensor.shape[-1])
        return grouped.transpose(0, 1).reshape(records, -1, tensor.shape[-1])


class ScaledIdentity(Instances):
    """d orthogonal instances of length √d, rotated to √d e_1 … √d e_d, or a slice of these instances.

    For X with XXᵀ = d·I, the rotation is by X/√d. A rotation-invariant learner makes the same predictions as
    on X if the start is also rotated. The weights of a linear neuron are the neuron's predictions, divided by
    √d. In a net, column i of the first layer's weights is the output of this layer for instance i, divided by
    √d. For these weights, the gradient of the loss on instance i is 0 outside column i. Source:
    theory/symmetry#rotation-invariance.
    """

    def __init__(self, drawn: Instances, numbers: slice | None = None) -> None:
        self._drawn = drawn
        self.replicas, self.d = drawn.replicas, drawn.d
        self.dtype, self.device = drawn.dtype, drawn.device
        self._first, self._end, _ = (numbers or slice(None)).indices(drawn.d)
        self.n = self._end - self._first
        self._length = math.sqrt(drawn.d)

    @property
    def rows(self) -> torch.Tensor:
        axes = self._length * torch.eye(self.d, dtype=self.dtype, device=self.device)
        return axes[self._first : self._end].repeat(self.replicas, 1, 1)

    @property
    def length(self) -> float:
        return self._length

    def at(self, numbers: slice) -> Instances:
        first, end, _ = numbers.indices(self.n)
        return ScaledIdentity(self._drawn, slice(self._first + first, self._first + end))

    def pick(self, numbers: torch.Tensor) -> PickedAxes:
        return PickedAxes(self, numbers + self._first)

    def of_replica(self, replica: int) -> ScaledIdentity:
        return ScaledIdentity(self._drawn.of_replica(replica), slice(self._first, self._end))

    def narrowed(self) -> ScaledIdentity | None:
        if self._first > 0:
            return None
        few = ScaledIdentity(self._drawn, slice(0, self.n))
        few.d = self.n
        return few

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        selected = weights if self.n == self.d else weights[:, :, self._first : self._end]
        return selected * self._length

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        if self.n == self.d:
            return coefficients * self._length
        combined = coefficients.new_zeros(len(coefficients), self.d)
        combined[:, self._first : self._end] = coefficients * self._length
        return combined

    def turn(self, weights: torch.Tensor) -> torch.Tensor:
        turned = self._drawn.inner(weights.reshape(len(weights), -1, self.d)) / self._length
        return turned.view(weights.shape)

    def turn_back(self, weights: torch.Tensor) -> torch.Tensor:
        return self._drawn.combine(weights) / self._length


class PickedAxes(Instances):
    """Instances √d e_j, multiples of unit vectors, for the indices j in `numbers` [R, k]."""

    def __init__(self, axes: ScaledIdentity, numbers: torch.Tensor) -> None:
        self._axes, self._numbers = axes, numbers
        self.d, (self.replicas, self.n) = axes.d, numbers.shape
        self.dtype, self.device = axes.dtype, axes.device
        self._length = math.sqrt(axes.d)

    @property
    def rows(self) -> torch.Tensor:
        rows = torch.zeros(self.replicas, self.n, self.d, dtype=self.dtype, device=self.device)
        return rows.scatter_(2, self._numbers[:, :, None], self._length)

    def at(self, numbers: slice) -> PickedAxes:
        return PickedAxes(self._axes, self._numbers[:, numbers])

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        grouped = weights.reshape(self.replicas, -1, self.d)
        places = self._numbers[:, None].expand(-1, grouped.shape[1], -1)
        return grouped.gather(2, places).mul_(self._length).view(*weights.shape[:2], self.n)

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        grouped = coefficients.view(self.replicas, -1, self.n) * self._length
        places = self._numbers[:, None].expand_as(grouped)
        combined = grouped.new_zeros(*grouped.shape[:2], self.d).scatter_add_(2, places, grouped)
        return combined.view(-1, self.d)


Matrix = NDArray[np.float64]


def element(group: Group, stream: Stream, d: int, determinant: int = 1) -> Matrix:
    """Return a random element g [d, d] of a group of orthogonal maps x → g x.

    If the group consists of rotations, g is the Kronecker product of Haar-random rotations, one for each size
    in `group.factors`. The first of these rotations has the given determinant. A permutation is a random
    cycle through all coordinates. Sign flips change half of the coordinates. A few such elements generate the
    group, or a dense subgroup of the rotations.
    """
    if group.factors is not None:
        sizes = group.factors or (d,)
        first, *rest = (haar(stream.normal(size, size)[0]) for size in sizes)
        if np.sign(np.linalg.det(first)) != determinant:
            first[:, 0] *= -1
        product: Matrix = first
        for other in rest:
            product = np.asarray(np.kron(product, other), np.float64)
        return product
    moved = np.eye(d)
    if group.permutations:
        order = stream.permutation(d)[0]
        moved = np.zeros((d, d))
        moved[np.roll(order, 1), order] = 1.0
    if group.signs:
        moved = moved * np.where(stream.permutation(d)[0] % 2, 1.0, -1.0)
    return moved


def haar(gaussian: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a Haar-random orthogonal matrix [d, d], made from a matrix of independent N(0, 1) numbers.

    The result is the factor Q of the QR decomposition in which R has a positive diagonal. Source: Mezzadri
    2007.
    """
    with one_thread(len(gaussian)):
        q, r = np.linalg.qr(gaussian)
    rotation: NDArray[np.float64] = q * np.sign(np.diag(r))
    return rotation
