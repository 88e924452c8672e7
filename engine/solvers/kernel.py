"""Kernel ridge regression and kernel interpolation."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Positive, Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    OfTwo = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DEPENDENT = 1e-11
"""Largest ratio of a pivot to K(x, x) at which the pivot counts as 0, so that the example adds no rank."""

ALIGNED = 1e-13
"""Largest distance of a cosine from ±1 at which unit vectors count as equal or opposite.

arccos has a square-root singularity at ±1, so a rounding error of 1e-16 in the cosine would become 1e-8.
"""

AHEAD, CHUNK = 128, 128
"""Number of examples whose coordinates are computed in advance, and of rows in a chunk of `GrowingRows`."""

LEAST = 64
"""Number of examples for which memory is allocated at the start."""

MOST_DEGREE = 1023
"""Largest degree p for which (1 + 1)^p does not overflow float64."""

MOST_BITS = 500
"""Largest d of the xor-product kernel. Its values reach 2^d, and their squares must not overflow float64."""


class Kernel(Solver, frozen=True, tag="kernel"):
    """Kernel ridge regression: ŷ(x) = Σ_j a_j K(x_j, x) with a = (K + λI)⁻¹y over the examples so far.

    If λ = `lam` = 0, the fit is minimum-norm interpolation, a = K⁺y. If examples are linearly dependent (up
    to rounding) and cannot all be fitted, K⁺y is the least-squares fit.

    The linear kernel is xᵀx̃. The polynomial kernel is (c + xᵀx̃)^p with c = `offset` and p = `degree`. The
    rbf kernel is exp(−‖x − x̃‖²/(2 s²)) with s = `width`. The xor-product kernel is Π_i (1 + x_i x̃_i). It
    is the inner product of vectors of 2^d features, which are the products of the entries in each subset. The
    ntk kernel is the tangent kernel of an infinitely wide two-layer ReLU net with both layers trained. It is
    ‖x‖‖x̃‖ (u κ₀(u) + κ₁(u)), where u is the cosine of the angle between x and x̃. Here κ₀ = (π − arccos u)/π
    and κ₁ = (√(1 − u²) + u(π − arccos u))/π.

    The Cholesky factor L of K + λI grows by one row per example, in float64. For each of the n rows x of the
    data, the vector L⁻¹k(x) is stored. Here k(x) holds K(x_j, x) for all examples x_j so far. Each example
    adds one entry to every vector. The k-th example costs O(k² + n k + n d). Only the linear kernel has
    weights. Source: Saunders, Gammerman, Vovk 1998; Cho, Saul 2009, Jacot et al. 2018 for ntk; WKA21 §2 for
    xor-product; theory/conventions#matrices, theory/conventions#update-rules.
    """

    kernel: Annotated[
        Literal["linear", "polynomial", "rbf", "xor-product", "ntk"],
        Meta(title="kernel K", description="kernel of two instances"),
    ] = "rbf"
    lam: Annotated[
        float, Meta(ge=0, title="penalty λ", description="penalty on the norm; 0: interpolation")
    ] = 0.0
    degree: Annotated[
        int, Meta(ge=1, le=MOST_DEGREE, title="degree p", description="degree of the polynomial kernel")
    ] = 2
    offset: Annotated[
        float, Meta(ge=0, title="offset c", description="constant in the polynomial kernel")
    ] = 1.0
    width: Annotated[
        Positive | None,
        Meta(title="width s", description="width of the rbf kernel; if not set, √d for d features"),
    ] = None

    def structure(self) -> SolverStructure:
        return SolverStructure(
            learner_kind="exact",
            linear_in_instance=False,
            linear_in_labels=True,
            of_kernel=True,
            prior_noise=self.lam or None,
        )

    def refuses(self, d: int) -> str | None:
        if self.kernel != "xor-product" or d <= MOST_BITS:
            return None
        return (
            f"the xor-product kernel requires at most {MOST_BITS} features, and instances have {d}; "
            f"set kernel = linear, or on the xor matrix, set features = bits"
        )

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return KernelFit(data, self.values, self.lam, weighs=self.kernel == "linear")

    def bytes_held(self, sizes: Sizes) -> int:
        return bytes_of_fit(sizes, squares=2 if self.lam == 0 else 1)

    def operations(self, sizes: Sizes) -> float:
        return operations_of_fit(sizes)

    def invariance(self) -> Verdict:
        if self.kernel == "xor-product":
            return Verdict(
                False,
                "a product over the features, unlike an inner product, depends on the coordinate axes",
                SIGNED_PERMUTATIONS,
            )
        of = {"rbf": "distances", "ntk": "lengths and angles"}.get(self.kernel, "inner products")
        return Verdict(True, f"the {self.kernel} kernel depends only on {of} of instances")

    def values(self, rows: torch.Tensor, other_rows: torch.Tensor) -> torch.Tensor:
        if self.kernel == "xor-product":
            products = [(1 + rows * other[:, None]).prod(2) for other in other_rows.unbind(1)]
            return torch.stack(products, 2)
        if self.kernel == "ntk":
            return _relu_tangent_kernel(rows, other_rows)
        inner = rows @ other_rows.mT
        if self.kernel == "polynomial":
            return (self.offset + inner) ** self.degree
        if self.kernel == "rbf":
            lengths, other_lengths = (torch.linalg.vector_norm(x, dim=2) for x in (rows, other_rows))
            squares = lengths.square()[:, :, None] + other_lengths.square()[:, None]
            width = self.width or math.sqrt(rows.shape[2])
            return inner.mul_(2).sub_(squares).clamp_(max=0).div_(2 * width**2).exp_()
        return inner


def _relu_tangent_kernel(rows: torch.Tensor, other_rows: torch.Tensor) -> torch.Tensor:
    lengths, other_lengths = (x.norm(dim=2, keepdim=True) for x in (rows, other_rows))
    units, other_units = (
        x / torch.where(length > 0, length, 1.0)
        for x, length in ((rows, lengths), (other_rows, other_lengths))
    )
    cosine = units @ other_units.mT
    cosine = torch.where(cosine.abs() > 1 - ALIGNED, cosine.sign(), cosine)
    rest = torch.pi - torch.arccos(cosine)
    sine = (1 - cosine.square()).sqrt()
    kernels: torch.Tensor = lengths * other_lengths.mT * (2 * cosine * rest + sine) / torch.pi
    return kernels


class KernelStep(NamedTuple):
    """The part of `KernelFit`'s update by one example that does not depend on labels, precomputed."""

    x: torch.Tensor
    """Instance, [R, 1, d]."""

    z: torch.Tensor
    """Coordinates z of the instance, one per earlier example, [R, k, 1]."""

    new: torch.Tensor
    """Whether the instance is linearly independent of the earlier examples, [R, 1, 1]."""

    root: torch.Tensor
    """Square root of the instance's pivot, or 1 if `new` is false, [R, 1, 1]."""


class KernelFit:
    """Kernel solution for the k examples seen, for every replica and target.

    L is the Cholesky factor of K + λI, where K holds the kernels between the examples x_j. The coordinates of
    a row x are z(x) = L⁻¹(K(x_j, x))_j. Predictions are cᵀz(x) with c = L⁻¹y. The pivot of an example x is
    K(x, x) + λ − ‖z(x)‖². The square root of the pivot is the next diagonal entry of L, and z(x) is the rest
    of the same row of L. If λ = 0 and the pivot is 0, the example gets a row of the unit matrix instead. The
    coefficients c then change to the least-squares solution, by the error times P z/(1 + zᵀP z) with P = (Σ_j
    z_j z_jᵀ)⁻¹. P is computed at the first example with pivot 0. The coordinates do not depend on labels. So
    if the examples are the rows of the data in order, their coordinates are computed for several examples
    together.
    """

    def __init__(self, data: Data, kernel: OfTwo, lam: float, weighs: bool = False) -> None:
        """Store the kernel K, a function that maps rows [R, n, d] and rows [R, k, d] to K [R, n, k].

        Args:
            lam: penalty λ of ridge regression.
            weighs: whether the kernel is xᵀx̃, so that the solution has weights.
        """
        self._values, self._lam, self._weighs = kernel, lam, weighs
        self._given = data.instances.rows
        self._rows = self._given.double()  # [R, n, d]
        replicas, n, d = self._rows.shape
        self._k = 0
        self._seen = self._rows.new_zeros(replicas, 0, d)
        self._factor = self._rows.new_zeros(replicas, 0, 0)  # L
        self._real = self._rows.new_zeros(replicas, 0, 1)  # 0 where an example has a unit row, else 1
        self._z = GrowingRows(self._rows.new_empty(replicas, 0, n))  # of all rows, also for steps to come
        self._to_come: deque[KernelStep] = deque()
        self._c = self._rows.new_zeros(replicas, len(data.labels) // replicas, 0)
        self._predictions = self._rows.new_zeros(replicas, len(data.labels) // replicas, n)  # of all rows
        self._inverse: torch.Tensor | None = None  # P

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for x, y in one_by_one(instances, labels):
            if not self._to_come or not torch.equal(self._to_come[0].x, x.mT):
                self._compute_steps_ahead(x.mT)
            self._add_example(self._to_come.popleft(), y)

    def _compute_steps_ahead(self, x: torch.Tensor) -> None:
        """Compute the `KernelStep` of the instance x [R, 1, d].

        If x is the next row of the data, also compute the steps of some rows after it.
        """
        self._z.narrow(self._k)
        ahead = slice(self._k, self._k + AHEAD)
        instances = self._rows[:, ahead]
        if instances.shape[1] and torch.equal(instances[:, :1], x):
            z = self._z.columns(ahead)  # [R, k, b]
        else:
            instances, z = x, self._coordinates_of(x)
        factor, new = self._diagonal_block(self._values(instances, instances), z)
        beyond = self._z.subtracted(self._values(instances, self._rows), z)
        across = torch.linalg.solve_triangular(factor.mT, beyond.mT, upper=True, left=False)
        self._z.append(across.mT.mul_(new))  # contiguous, as the solver from the right returns rows
        self._to_come.clear()
        for number in range(instances.shape[1]):
            at = slice(number, number + 1)
            coordinates = torch.cat((z[:, :, at], factor[:, at, :number].mT), 1)
            self._to_come.append(KernelStep(instances[:, at], coordinates, new[:, at], factor[:, at, at]))

    def _diagonal_block(self, kernels: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the diagonal block [R, b, b] of L for the next b examples, and a mask [R, b, 1].

        L is the Cholesky factor of K + λI. `kernels` [R, b, b] are the kernels between the b examples. `z`
        [R, k, b] are their coordinates L⁻¹(K(x_j, x))_j with respect to the k examples before them. The mask
        is true for examples that are linearly independent of all earlier ones. Any other example gets a row
        of the unit matrix in L.
        """
        least = (DEPENDENT if self._lam == 0 else 0.0) * kernels.diagonal(dim1=1, dim2=2)
        remaining = kernels - z.mT @ z
        factor, new = torch.zeros_like(remaining), torch.zeros_like(remaining[:, :, :1])
        for number in range(remaining.shape[1]):
            at, rest = slice(number, number + 1), slice(number + 1, None)
            pivot = remaining[:, at, at].clamp(min=0) + self._lam
            is_new = pivot > least[:, at, None]
            root = torch.where(is_new, pivot, 1.0).sqrt()
            column = torch.where(is_new, remaining[:, rest, at] / root, 0.0)
            remaining[:, rest, rest] -= column * column.mT
            factor[:, at, at], factor[:, rest, at], new[:, at] = root, column, is_new.double()
        return factor, new

    def _add_example(self, step: KernelStep, y: torch.Tensor) -> None:
        k, seen, added = self._k, slice(self._k), slice(self._k, self._k + 1)
        self._double_memory_if_full()
        z, new, root = step.z, step.new > 0, step.root
        error = y - self._c[:, :, seen] @ z  # [R, m, 1]
        if self._lam == 0 and (self._inverse is not None or not new.all()):
            if self._inverse is None:
                self._inverse = self._initial_inverse()
            self._update_inverse(self._inverse, step, error)
        self._c[:, :, added] = torch.where(new, error / root, 0.0)
        self._predictions += self._c[:, :, added] * self._z.row(k)
        self._factor[:, added, seen] = torch.where(new, z.mT, 0.0)
        self._factor[:, added, added] = root
        self._real[:, added] = step.new
        self._seen[:, added] = step.x
        self._k += 1

    def _double_memory_if_full(self) -> None:
        self._seen, self._real = (roomy(tensor, self._k, (1,)) for tensor in (self._seen, self._real))
        self._c, self._factor = roomy(self._c, self._k, (2,)), roomy(self._factor, self._k, (1, 2))
        if self._inverse is not None:
            self._inverse = roomy(self._inverse, self._k, (1, 2))

    def _initial_inverse(self) -> torch.Tensor:
        """Return P = (Σ_j z_j z_jᵀ)⁻¹, where z_j are the coordinates of the examples so far.

        P is padded to the size of L. Call this method before the first example that depends linearly on
        earlier ones.
        """
        seen = slice(self._k)
        eye = torch.eye(self._k, dtype=self._factor.dtype, device=self._factor.device)
        inverse = torch.linalg.solve_triangular(self._factor[:, seen, seen], eye, upper=False)
        padded = torch.zeros_like(self._factor)
        padded[:, seen, seen] = inverse @ inverse.mT
        return padded

    def _update_inverse(self, inverse: torch.Tensor, step: KernelStep, error: torch.Tensor) -> None:
        """Update `inverse`, the matrix P = (Σ_j z_j z_jᵀ)⁻¹ of the examples' coordinates, after an example.

        If the example is linearly dependent on earlier ones, also change c to the new least-squares solution.
        """
        seen, added, new = slice(self._k), slice(self._k, self._k + 1), step.new > 0
        image = inverse[:, seen, seen] @ step.z  # P z
        stretch = 1 + (step.z * image).sum(1, keepdim=True)
        gain = torch.where(new, 0.0, image / stretch)
        self._c[:, :, seen] += error * gain.mT
        self._predictions += error * self._z.combined(gain.mT)
        inverse[:, seen, seen].baddbmm_(gain, image.mT, alpha=-1)  # in place, since P may be large
        beside = torch.where(new, -image / step.root, 0.0)
        inverse[:, seen, added] = beside
        inverse[:, added, seen] = beside.mT
        inverse[:, added, added] = torch.where(new, stretch / step.root.square(), 0.0)

    def _coordinates_of(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the coordinates z(x) of rows x [R, n, d]: one number for each of k examples, [R, k, n]."""
        if not self._k:
            return rows.new_zeros(len(rows), 0, rows.shape[1])
        seen = slice(self._k)
        kernels = self._values(rows, self._seen[:, seen]).mT * self._real[:, seen]
        z: torch.Tensor = torch.linalg.solve_triangular(self._factor[:, seen, seen], kernels, upper=False)
        return z

    def predict(self, instances: Instances) -> torch.Tensor:
        if instances.rows is self._given:
            predictions = self._predictions
        else:
            predictions = self._c[:, :, : self._k] @ self._coordinates_of(instances.rows.double())
        return predictions.to(self._given.dtype, copy=True).flatten(0, 1)

    def weights(self) -> torch.Tensor | None:
        """Return w = Σ_j a_j x_j [B, d] for the linear kernel, or None for other kernels."""
        if not self._weighs:
            return None
        return (self._dual_coefficients().mT @ self._seen[:, : self._k]).to(self._given.dtype).flatten(0, 1)

    def squared_norm(self) -> torch.Tensor:
        """Return ‖f‖² = aᵀKa [B] of the solution f, computed as ‖c‖² − λ‖a‖².

        The norm is that of the kernel's Hilbert space.
        """
        c = self._c[:, :, : self._k]
        return (c.square().sum(2) - self._lam * self._dual_coefficients().square().sum(1)).flatten()

    def _dual_coefficients(self) -> torch.Tensor:
        """Return the coefficients a = L⁻ᵀc of the k examples, for m targets: [R, k, m]."""
        seen = slice(self._k)
        factor, c = self._factor[:, seen, seen], self._c[:, :, seen]
        dual: torch.Tensor = torch.linalg.solve_triangular(factor.mT, c.mT, upper=True) if self._k else c.mT
        return dual


def bytes_of_fit(sizes: Sizes, squares: int) -> int:
    """Return the memory in bytes of a kernel fit with `squares` matrices [k, k], such as L and P."""
    k, n, d = sizes.examples, sizes.n, sizes.d
    ahead = 3 * min(k, AHEAD) * n
    numbers = n * d + k * n + ahead + 2 * k * d + 2 * squares * k * k
    return DERIVED * (sizes.replicas * numbers + sizes.batch * (n + 2 * k))


def operations_of_fit(sizes: Sizes) -> float:
    """Return the number of multiplications of a kernel fit.

    For the k-th example, the kernels with all n rows of the data take n d multiplications. One new coordinate
    of every row takes n k, and the update of the predictions takes n for each target.
    """
    k, n = float(sizes.examples), float(sizes.n)
    return sizes.replicas * k * n * (k / 2 + sizes.d) + sizes.batch * k * n


class GrowingRows:
    """Matrices [R, k, n] that grow by rows. They are stored in chunks, so old rows are never copied."""

    def __init__(self, nothing: torch.Tensor) -> None:
        """Create matrices without rows. `nothing` [R, 0, n] sets R, n and the dtype."""
        self._nothing, self._chunks, self._count = nothing, list[torch.Tensor](), 0

    def append(self, rows: torch.Tensor) -> None:
        """Append b rows [R, b, n]. The caller must not change them later: some are stored without a copy."""
        replicas, n = self._nothing.shape[0], self._nothing.shape[2]
        if rows.shape[1] == CHUNK and self._count == CHUNK * len(self._chunks):
            self._chunks.append(rows)
            self._count += CHUNK
            return
        while rows.shape[1]:
            if self._count == CHUNK * len(self._chunks):
                self._chunks.append(self._nothing.new_empty(replicas, CHUNK, n))
            first = self._count % CHUNK
            fitting = rows[:, : CHUNK - first]
            self._chunks[-1][:, first : first + fitting.shape[1]] = fitting
            self._count += fitting.shape[1]
            rows = rows[:, fitting.shape[1] :]

    def narrow(self, count: int) -> None:
        self._count = count
        del self._chunks[-(-count // CHUNK) :]

    def row(self, number: int) -> torch.Tensor:
        place = number % CHUNK
        return self._chunks[number // CHUNK][:, place : place + 1]

    def columns(self, selected: slice) -> torch.Tensor:
        return torch.cat(
            [self._nothing[:, :, selected], *(part[:, :, selected] for _, part in self._rows_by_chunk())], 1
        )

    def subtracted(self, minuend: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
        """Subtract b linear combinations of the rows from `minuend` [R, b, n], in place, and return it.

        `coefficients` are [R, k, b].
        """
        for rows, part in self._rows_by_chunk():
            minuend.baddbmm_(coefficients[:, rows].mT, part, alpha=-1)
        return minuend

    def combined(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return b linear combinations [R, b, n] of the first k rows, with `coefficients` [R, b, k]."""
        combinations = self._nothing.new_zeros(*coefficients.shape[:2], self._nothing.shape[2])
        for rows, part in self._rows_by_chunk():
            of_chunk = coefficients[:, :, rows]
            combinations.baddbmm_(of_chunk, part[:, : of_chunk.shape[2]])
        return combinations

    def _rows_by_chunk(self) -> Iterator[tuple[slice, torch.Tensor]]:
        for number, chunk in enumerate(self._chunks):
            rows = slice(number * CHUNK, min(self._count, (number + 1) * CHUNK))
            yield rows, chunk[:, : rows.stop - rows.start]


def roomy(tensor: torch.Tensor, count: int, dimensions: tuple[int, ...]) -> torch.Tensor:
    """Return the tensor if it has room for `count` + 1 entries along `dimensions`, or a larger copy.

    The copy is padded with zeros.
    """
    if count < tensor.shape[dimensions[0]]:
        return tensor
    shape = list(tensor.shape)
    for dimension in dimensions:
        shape[dimension] = max(LEAST, 2 * count)
    larger = tensor.new_zeros(shape)
    larger[tuple(map(slice, tensor.shape))] = tensor
    return larger
