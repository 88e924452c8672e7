"""Second derivatives of training losses: Hessians as matrices, operators and products with vectors.

A Hessian is the derivative of a gradient. Autograd computes this derivative, except for fully connected nets,
for which there are formulas. The library curvlinops computes Hessians of one module and one loss. This module
computes the Hessians of a batch of nets with separate parameters at once. It also allows slopes ∂L/∂ŷ that
are not the derivative of any loss, such as the slopes of clipped predictions.

The module also computes tangent kernels of nets: the inner products of the gradients of their predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.architectures import Architecture, LayerSignals, with_penalty
from engine.core.cost import Cost
from engine.core.derivatives import vector_jacobian, vector_jacobians
from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.params import Params, flat
from engine.hypotheses.layered_products import LayeredProducts, has_layered_products
from engine.problems.instances import Instances

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

Floats = NDArray[np.float64]


TOGETHER = 64
"""Number of columns of a Hessian that are computed together."""

GRAPH = 8
"""Number of copies of a net's signals in memory while a gradient is differentiated once more."""

EXACT = 100
"""Largest number of parameters for which λ_max is computed from the whole Hessian.

With 400 parameters, Lanczos is faster.
"""

WHOLE = 1000
"""Largest number of parameters for which several eigenvalues are computed from the whole Hessian."""

TOLERANCE = 1e-3
"""Residual ‖Hv − λv‖/λ below which Lanczos stops. The relative error of λ is about its square."""

KRYLOV = 12
"""Number of vectors that ARPACK stores, and least number of joint Lanczos steps from a random start.

The largest eigenvalue converges after about 12 products.
"""


ADMIXED = 0.03
"""Length of the random vector that is added to a given start of Lanczos, which is a unit vector.

The given vector may be an eigenvector of a smaller eigenvalue. From there, Lanczos would not reach λ_max.
"""

STEPS = 36
"""Largest number of steps of the joint Lanczos iteration for all nets. Nets that need more use ARPACK."""

COMPLETE = 1e-10
"""Residual, relative to the size of ∇²L, at which Lanczos vectors count as spanning an invariant subspace.

The residual becomes so small early if ∇²L has few different eigenvalues. The next Lanczos vector would
consist of rounding errors.
"""

MOST_NUMBERS = 1 << 22
"""Largest total size of the Lanczos vectors of all nets, in numbers."""


class Curvature:
    """The Hessian ∇²L of every net of a batch, for the training loss L = Σ_j s_j ℓ(ŷ_j, y_j) + λ/2 ‖θ‖².

    Here s_j is the weight of row j in the loss, and ℓ is a loss of `engine.losses`. For example, square loss
    is (ŷ − y)², without a ½. For a net with several outputs, L is the sum over the outputs. So a batch with B
    outputs in total has N = B/outputs nets. The vector θ of P parameters is the concatenation of the trained
    tensors, and λ is the L2 penalty.

    If a joint loss couples several nets with one output each, these nets count as a single net. The
    parameters of the single net are those of its members, one member after the other. For example, m linear
    neurons with cross-entropy are one softmax regression.
    """

    def __init__(
        self,
        architecture: Architecture,
        tensors: Params,
        instances: Instances,
        labels: torch.Tensor,
        shares: torch.Tensor,
        loss: Cost,
    ) -> None:
        """Store the nets and their loss.

        Args:
            labels: labels of the rows, [B, n].
            shares: weights s_j of the rows in the loss, [B or 1, n].
        """
        self._coupled = loss.coupled if architecture.outputs == 1 else 1
        self._architecture, self._tensors, self._loss = architecture, tensors, loss
        self._instances, self._labels, self._shares = instances, labels, shares.expand_as(labels)
        self._l2_penalties = architecture.layout(instances.d).l2_penalties

    @property
    def size(self) -> int:
        """Number P of parameters of each net."""
        return self._coupled * sum(self._tensors[layer][0].numel() for layer in self._architecture.layers)

    @property
    def _count_of_nets(self) -> int:
        return len(self._labels) // (self._architecture.outputs * self._coupled)

    @cached_property
    def gradient(self) -> torch.Tensor:
        """Gradient ∇L of every net, [N, P]."""
        gradients = self._architecture.gradient(self._tensors, self._instances, self._weighted_slopes)
        gradients = with_penalty(self._l2_penalties, self._tensors, gradients)
        return flat(gradients[layer] for layer in self._architecture.layers).view(self._count_of_nets, -1)

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the products ∇²L v [N, P], with one vector v of `vectors` [N, P] for each net."""
        return self._hessian_products(vectors[None])[0]

    def matrices(self) -> torch.Tensor:
        """Return the Hessian ∇²L of every net as a matrix, [N, P, P]."""
        if self._architecture.structure().trains_weights and self._coupled == 1:
            return self._matrices_of_rows()
        basis = torch.eye(self.size, dtype=self._labels.dtype, device=self._labels.device)
        columns = basis[:, None].expand(-1, self._count_of_nets, -1)
        pieces = [self._hessian_products(piece) for piece in torch.split(columns, TOGETHER)]
        return torch.cat(pieces).movedim(0, 2)

    @cached_property
    def eigenpairs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """All eigenvalues [N, P] of the Hessians ∇²L, in ascending order, and their eigenvectors [N, P, P].

        Both are in float64, and NaN for a net whose ∇²L is not finite.
        """
        matrices = self.matrices().double()
        finite = matrices.isfinite().all((1, 2))
        filled = torch.where(finite[:, None, None], (matrices + matrices.mT) / 2, 0.0)
        eigenvalues, vectors = torch.linalg.eigh(filled)
        eigenvalues[~finite], vectors[~finite] = torch.nan, torch.nan
        return eigenvalues, vectors

    def _matrices_of_rows(self) -> torch.Tensor:
        """Return XᵀCX + λI of every net, [N, d, d], for nets whose predictions are Xw.

        C is the derivative of ∂L/∂ŷ with respect to the predictions ŷ.
        """
        predictions = self._architecture.predict(self._tensors, self._instances).detach().requires_grad_()
        with torch.enable_grad():
            slopes = self._weighted_slopes(predictions)
        rows = self._instances.rows.repeat_interleave(
            self._count_of_nets // self._instances.replicas, 0
        )  # [N, n, d]
        penalty = torch.diag_embed(self._penalty_diagonal)
        if not slopes.requires_grad:  # a loss without curvature
            return penalty.repeat(self._count_of_nets, 1, 1)
        (changes,) = vector_jacobians([slopes], [rows.movedim(2, 0)], [predictions])
        return changes.movedim(0, 1) @ rows + penalty

    def _hessian_products(self, several: torch.Tensor) -> torch.Tensor:
        """Return the products ∇²L v [S, N, P], with S vectors v of `several` [S, N, P] for each net."""
        asked = several.shape
        several = several.reshape(len(several), self._count_of_nets * self._coupled, -1)
        trained = [self._tensors[layer] for layer in self._architecture.layers]
        lengths = [tensor[0].numel() for tensor in trained]
        parts = [
            part.reshape(len(several), *tensor.shape)
            for part, tensor in zip(torch.split(several, lengths, 2), trained, strict=True)
        ]
        derivatives = (
            self._products_by_graph(parts)
            if self._layered_products is None
            else self._layered_products.products(parts)
        )
        images = [derivative.reshape(*several.shape[:2], -1) for derivative in derivatives]
        return (torch.cat(images, 2) + self._penalty_diagonal * several).view(asked)

    def _products_by_graph(self, parts: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return ∇²L v without the L2 penalty, for S vectors v of each net.

        Each v is given in parts [S, …], one part for each trained tensor.
        """
        leaves, gradients = self._differentiable_gradients
        pairs = [pair for pair in zip(gradients, parts, strict=True) if pair[0].requires_grad]
        if not pairs:  # predictions are linear, and the loss has no curvature
            return [torch.zeros_like(part) for part in parts]
        outputs, vectors = zip(*pairs, strict=True)
        return _transposed_products(outputs, vectors, leaves)

    @cached_property
    def _layered_products(self) -> LayeredProducts | None:
        """Products with Hessians by formulas, or None if the formulas do not apply to the architecture."""
        if not has_layered_products(self._architecture, self._tensors):
            return None
        predictions = self._architecture.predict(self._tensors, self._instances).detach().requires_grad_()
        with torch.enable_grad():
            slopes = self._weighted_slopes(predictions)

        def slope_changes(changes: torch.Tensor) -> torch.Tensor:
            if self._loss.is_square:
                return 2 * self._shares * changes
            if not slopes.requires_grad:  # the loss has no curvature
                return torch.zeros_like(changes)
            # The derivative of the slopes is symmetric.
            (changed,) = _transposed_products([slopes], [changes], [predictions])
            return changed

        tensors = {layer: tensor.detach() for layer, tensor in self._tensors.items()}
        return LayeredProducts(self._architecture, tensors, self._instances, slopes.detach(), slope_changes)

    @cached_property
    def _penalty_diagonal(self) -> torch.Tensor:
        """Diagonal [1, P] of the Hessian of λ/2 ‖θ‖². The other entries of this Hessian are 0."""
        rates = {layer: self._l2_penalties.get(layer, 0.0) for layer in self._architecture.layers}
        return flat(torch.full_like(self._tensors[layer][:1], rate) for layer, rate in rates.items())

    def operators(self) -> Iterator[LinearOperator]:
        """Yield the Hessian ∇²L of every net as a scipy operator in float64."""
        nets, outputs = (
            self._count_of_nets // self._instances.replicas,
            self._architecture.outputs * self._coupled,
        )
        for net in range(self._count_of_nets):
            predicted = slice(net * outputs, (net + 1) * outputs)
            members = slice(net * self._coupled, (net + 1) * self._coupled)
            yield _hessian_operator(
                Curvature(
                    self._architecture,
                    {layer: tensor[members] for layer, tensor in self._tensors.items()},
                    self._instances.of_replica(net // nets),
                    self._labels[predicted],
                    self._shares[predicted],
                    self._loss,
                )
            )

    def _weighted_slopes(self, predictions: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions, self._labels) * self._shares

    @cached_property
    def _differentiable_gradients(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the trained tensors of all nets, and the gradients of L with respect to these tensors.

        Autograd can differentiate the gradients again.
        """
        leaves = {
            layer: self._tensors[layer].detach().requires_grad_() for layer in self._architecture.layers
        }
        with torch.enable_grad():
            predictions = self._architecture.predict({**self._tensors, **leaves}, self._instances)
            slopes = self._weighted_slopes(predictions)
            gradients = vector_jacobian([predictions], [slopes], list(leaves.values()), create_graph=True)
        return list(leaves.values()), list(gradients)


def _transposed_products(
    outputs: Sequence[torch.Tensor], vectors: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    """Return the products of S vectors with the Jacobian of `outputs` with respect to `inputs`.

    The autograd graph is kept, so that it can be used again. For a single vector, the product is computed
    without vmap.
    """
    if len(vectors[0]) > 1:
        return vector_jacobians(outputs, vectors, inputs)
    single = vector_jacobian(outputs, [vector[0] for vector in vectors], inputs, retain_graph=True)
    return [derivative[None] for derivative in single]


def _hessian_operator(curvature: Curvature) -> LinearOperator:
    from scipy.sparse.linalg import LinearOperator

    leaf = curvature.gradient

    def product(vector: Floats) -> Floats:
        direction = torch.from_numpy(vector.reshape(1, -1)).to(leaf)
        image: Floats = curvature.products(direction)[0].double().cpu().numpy()
        return image

    size = curvature.size
    return LinearOperator((size, size), matvec=product, rmatvec=product, dtype=np.float64)


def largest(curvature: Curvature, tolerance: float | None = None) -> torch.Tensor:
    """Return the largest eigenvalue of the Hessian of every net, [N], in float64.

    Up to EXACT parameters, the eigenvalue is computed from the whole Hessian. With more parameters, Lanczos
    stops if the residual is below `tolerance` (by default TOLERANCE) times the eigenvalue. The result is NaN
    if the Hessian is not finite, or if Lanczos does not converge.
    """
    return largest_near(curvature, None, tolerance)[0]


def largest_near(
    curvature: Curvature, near: torch.Tensor | None, tolerance: float | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the largest eigenvalue of every net's Hessian, as `largest` does, and eigenvectors.

    Lanczos starts near the vectors `near` [N, P], such as eigenvectors of the same nets a few training steps
    ago. With this start, Lanczos needs about half as many products with the Hessian as with a random start.
    The eigenvectors [N, P] are None for nets of at most EXACT parameters, and for nets that are too large for
    a joint iteration. In the returned eigenvectors and in `near`, a row of zeros means that the net has no
    vector.
    """
    if curvature.size <= EXACT:
        return _largest_of_matrices(curvature.matrices().double()), None
    tolerance = tolerance or TOLERANCE
    # A smaller tolerance, because near-equal eigenvalues need more steps, and joint steps are cheap.
    tops, vectors = _largest_eigenvalues_together(curvature, tolerance / 10, near)
    finite = curvature.gradient.isfinite().all(1)
    if (missing := finite & tops.isnan()).any():
        for net, operator in enumerate(curvature.operators()):
            if missing[net]:
                tops[net] = float(_eigenpairs_of_operator(operator, 1, tolerance, KRYLOV)[0][0])
    return tops, vectors


def _largest_eigenvalues_together(
    curvature: Curvature, tolerance: float, near: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the largest eigenvalue of every net's Hessian, [N], by one Lanczos iteration for all nets.

    The steps are in float64 on the CPU. If nets are small, a product for all nets costs little more than a
    product for one net. A net is complete once its vectors span an invariant subspace, which then contains an
    eigenvector of λ_max. The result is NaN if the residual stays above λ times `tolerance`, or if the Hessian
    is not finite. If the nets are too large for this method, all results are NaN. `near` and the eigenvectors
    are described at `largest_near`.
    """
    nets, size = curvature.gradient.shape
    if nets * size * STEPS > MOST_NUMBERS:
        return torch.full((nets,), torch.nan, dtype=torch.float64), None
    start = torch.from_numpy(np.random.default_rng(0).standard_normal(size))  # fixed seed
    vector, least = (start / start.norm()).expand(nets, -1), KRYLOV
    if near is not None:
        vector, least = torch.nn.functional.normalize(near + ADMIXED * vector), KRYLOV // 2
    basis, projected = vector.new_zeros(nets, STEPS, size), vector.new_zeros(nets, STEPS, STEPS)
    is_complete = torch.zeros(nets, dtype=torch.bool)
    for step in range(STEPS):
        basis[:, step] = vector
        spanned = basis[:, : step + 1]
        image = curvature.products(vector.to(curvature.gradient)).double().cpu()
        # Complete nets get the first diagonal entry again, because it is at most λ_max.
        projected[:, step, step] = torch.where(is_complete, projected[:, 0, 0], (vector * image).sum(1))
        for _ in range(2):  # one pass leaves rounding errors along the basis
            image = image - ((spanned @ image[:, :, None]).mT @ spanned)[:, 0]
        residual = image.norm(dim=1)
        is_complete |= residual <= COMPLETE * projected.abs().amax((1, 2))
        if step + 1 >= least or bool(is_complete.all()):
            finite = projected.isfinite().all((1, 2)) & residual.isfinite()
            small = torch.where(finite[:, None, None], projected[:, : step + 1, : step + 1], 0.0)
            ritz, vectors = torch.linalg.eigh(small)
            is_close = is_complete | (residual * vectors[:, -1, -1].abs() <= tolerance * ritz[:, -1].abs())
            if bool((is_close | ~finite).all()):
                break
        if step + 1 < STEPS:
            residual = torch.where(is_complete, 0.0, residual)
            projected[:, step, step + 1] = projected[:, step + 1, step] = residual
            image = torch.where(is_complete[:, None], 0.0, image)
            vector = image / residual.clamp(min=torch.finfo(torch.float64).tiny)[:, None]
    is_sound = is_close & finite
    tops = (vectors[:, None, :, -1] @ spanned)[:, 0]
    return torch.where(is_sound, ritz[:, -1], torch.nan), torch.where(is_sound[:, None], tops, 0.0)


def _largest_of_matrices(matrices: torch.Tensor) -> torch.Tensor:
    """Return the largest eigenvalues [B] of symmetric matrices [B, P, P]; NaN if a matrix is not finite."""
    finite = matrices.isfinite().all((1, 2))
    filled = torch.where(finite[:, None, None], matrices, 0.0)
    return torch.where(finite, torch.linalg.eigvalsh((filled + filled.mT) / 2)[:, -1], torch.nan)


def top_eigenpairs(curvature: Curvature, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the `count` largest eigenvalues of every Hessian, [N, count], largest first, with eigenvectors.

    The eigenvectors [N, P, count] are in the same order. Both results are in float64. They are NaN if a
    Hessian is not finite, or if Lanczos does not converge. Up to WHOLE parameters, they are computed from the
    whole Hessian.
    """
    if curvature.size <= WHOLE:
        eigenvalues, vectors = curvature.eigenpairs
        return eigenvalues.flip(1)[:, :count], vectors.flip(2)[:, :, :count]
    pairs = [_eigenpairs_of_operator(operator, count, TOLERANCE**2) for operator in curvature.operators()]
    device = curvature.gradient.device
    eigenvalues, vectors = (torch.from_numpy(np.stack(part)).to(device) for part in zip(*pairs, strict=True))
    return eigenvalues, vectors


def _eigenpairs_of_operator(
    operator: LinearOperator, count: int, tolerance: float, krylov: int | None = None
) -> tuple[Floats, Floats]:
    """Return the `count` largest eigenvalues of a symmetric operator, largest first, and their eigenvectors.

    The eigenvectors are [P, count]. Lanczos stores `krylov` vectors. All results are NaN if the operator is
    not finite, or if Lanczos does not converge.
    """
    from scipy.sparse.linalg import ArpackError, eigsh

    size = operator.shape[0]
    start = np.random.default_rng(0).standard_normal(size)  # a fixed seed: runs are reproducible
    failed = np.full(count, np.nan), np.full((size, count), np.nan)
    if not np.isfinite(image := operator @ start).all():
        return failed
    if not image.any():  # Lanczos cannot start on a zero operator
        return np.zeros(count), np.eye(size, count)
    try:
        eigenvalues, vectors = eigsh(operator, count, which="LA", v0=start, ncv=krylov, tol=tolerance)
    except ArpackError:  # also raised if Lanczos does not converge
        return failed
    return eigenvalues[::-1], vectors[:, ::-1]


FEW = 64
"""Largest size of a kernel for which all eigenvalues are computed.

Larger kernels use Lanczos, unless more than a quarter of the eigenvalues are needed.
"""


TOGETHER_NUMBERS = 1 << 20
"""Largest total size, in numbers, of the signals or kernels of the nets in one batch of kernels."""


def tangent_kernels(
    architecture: Architecture, tensors: Params, instances: Instances, speeds: Mapping[str, float]
) -> Iterator[torch.Tensor]:
    """Yield the tangent kernel [K·n, K·n] of every net: inner products of the gradients of its predictions.

    `_kernel_batches` states the formula and describes the arguments.
    """
    for kernels in _kernel_batches(architecture, tensors, instances, speeds):
        yield from kernels


def squared_jacobians(
    architecture: Architecture, tensors: Params, instances: Instances, speeds: Mapping[str, float]
) -> torch.Tensor:
    """Return the largest eigenvalue of the tangent kernel Σ_l s_l J_l J_lᵀ of every net, [N].

    If all factors s_l (`speeds`) are 1, it is the square of the largest singular value of the Jacobian ∂ŷ/∂θ.
    """
    batches = _kernel_batches(architecture, tensors, instances, speeds)
    return torch.cat([_largest_of_kernels(batch) for batch in batches])


def _largest_of_kernels(kernels: torch.Tensor) -> torch.Tensor:
    if kernels.shape[1] <= FEW:
        return _largest_of_matrices(kernels).clamp(min=0)
    return torch.cat([largest_eigenpairs(kernel, 1)[0] for kernel in kernels])


def _kernel_batches(
    architecture: Architecture, tensors: Params, instances: Instances, speeds: Mapping[str, float]
) -> Iterator[torch.Tensor]:
    """Yield the tangent kernels Σ_l s_l J_l J_lᵀ of all nets in batches, [nets of a batch, K·n, K·n].

    The kernels are in float64. J_l is the derivative of the predictions with respect to tensor l. `speeds`
    maps the name of each trained tensor to its factor s_l. The architecture must be `layered`, with K
    outputs. Predictions of n instances are ordered output by output.

    Let a be the inputs of layer l, and z = W_l a the signals of its units. Let D_u [K·n] be the derivatives
    of the predictions with respect to the signal z_u of unit u. Let the rows of A be the inputs a for all
    instances. Then J_l J_lᵀ = (Σ_u D_u D_uᵀ) ⊙ A Aᵀ, where A Aᵀ is repeated for each pair of outputs.
    """
    outputs = architecture.outputs
    trained = {layer: speed for layer, speed in speeds.items() if speed}
    assert trained, "some layer is trained"
    of_outputs = [_signals_and_slopes(architecture, tensors, instances, output) for output in range(outputs)]
    n = instances.n
    widest = max(max(of_outputs[0][layer].inputs.shape[1], outputs * n) for layer in trained)
    count = max(1, TOGETHER_NUMBERS // max(1, widest * outputs * n))  # n is 0 before the first example
    for first in range(0, len(tensors[architecture.layers[0]]), count):
        nets, kernels = slice(first, first + count), None
        for layer, speed in trained.items():
            a = of_outputs[0][layer].inputs[nets].double()  # [N, i, n]
            back = torch.cat([of_output[layer].back[nets] for of_output in of_outputs], 2).double()
            part = back.mT @ back  # [N, K n, K n]
            part.view(len(part), outputs, n, outputs, n).mul_(speed * (a.mT @ a)[:, None, :, None])
            kernels = part if kernels is None else kernels.add_(part)
        assert kernels is not None, "some layer is trained"
        yield kernels


def _signals_and_slopes(
    architecture: Architecture, tensors: Params, instances: Instances, output: int
) -> dict[str, LayerSignals]:
    """Return the inputs of each layer, and derivatives of one output with respect to the layer's signals."""

    def sent(predictions: torch.Tensor) -> torch.Tensor:
        alone = torch.zeros_like(predictions)
        alone[output :: architecture.outputs] = 1
        return alone

    return architecture.through(tensors, instances, sent)


def largest_eigenpairs(kernel: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the `count` largest eigenvalues of a tangent kernel, largest first, with eigenvectors.

    The kernel is [K·n, K·n], and the eigenvectors are [K·n, count]. If the kernel is not finite, both results
    are NaN.
    """
    size = len(kernel)
    if not kernel.sum().isfinite():
        return kernel.new_full((count,), torch.nan), kernel.new_full((size, count), torch.nan)
    if size <= FEW or 4 * count > size:
        eigenvalues, vectors = torch.linalg.eigh(kernel)
    else:
        from scipy.sparse.linalg import eigsh

        begin = np.random.default_rng(0).standard_normal(size)  # a fixed seed: runs are reproducible
        with one_thread():
            arrays = eigsh(kernel.cpu().numpy(), count, which="LA", v0=begin)
        eigenvalues, vectors = (torch.from_numpy(array).to(kernel.device) for array in arrays)
    return eigenvalues.flip(0)[:count].clamp(min=0), vectors.flip(1)[:, :count]
