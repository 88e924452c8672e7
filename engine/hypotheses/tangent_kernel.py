"""The tangent kernel of nets: inner products of the gradients of their predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.architectures import Architecture, LayerSignals
from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.params import Params
from engine.problems.instances import Instances

FEW = 64
"""Kernels of no more predictions are taken apart whole; of more Lanczos finds the largest eigenvalues."""


def tangent_kernels(
    architecture: Architecture, tensors: Params, instances: Instances, speeds: Mapping[str, float]
) -> Iterator[torch.Tensor]:
    """Σ_l s_l J_l J_lᵀ [K·n, K·n] of one net after the other in float64, J_l = ∂(predictions)/∂(tensor l).

    Of a `layered` architecture with K outputs, on n instances, output by output; `speeds` are the s_l of the
    trained tensors by name. J_l J_lᵀ = Σ_u (∂ŷ/∂z_u)(∂ŷ/∂z_u)ᵀ ⊙ A Aᵀ of a layer z = W_l a.
    """
    outputs = architecture.outputs
    trained = {name: speed for name, speed in speeds.items() if speed}
    assert trained, "some layer is trained"
    of_outputs = [_slopes_of(architecture, tensors, instances, output) for output in range(outputs)]
    for net in range(len(tensors[architecture.layers[0]])):
        kernel = None
        for name, speed in trained.items():
            a = of_outputs[0][name].inputs[net].double()  # [i, n]
            back = torch.cat([of_output[name].back[net] for of_output in of_outputs], 1).double()  # [o, K n]
            part, n = back.T @ back, a.shape[1]
            part.view(outputs, n, outputs, n).mul_(speed * (a.T @ a)[None, :, None])
            kernel = part if kernel is None else kernel.add_(part)
        assert kernel is not None, "some layer is trained"
        yield kernel


def _slopes_of(
    architecture: Architecture, tensors: Params, instances: Instances, output: int
) -> dict[str, LayerSignals]:
    """What goes into the layers, and the slopes of one output by what they make of that."""

    def sent(predictions: torch.Tensor) -> torch.Tensor:
        alone = torch.zeros_like(predictions)
        alone[output :: architecture.outputs] = 1
        return alone

    return architecture.through(tensors, instances, sent)


def largest_eigenpairs(kernel: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest eigenvalues of a kernel [m] and their eigenvectors [K·n, m], largest first."""
    size = len(kernel)
    if not kernel.sum().isfinite():
        return kernel.new_full((count,), torch.nan), kernel.new_full((size, count), torch.nan)
    if size <= FEW or 4 * count > size:
        eigenvalues, vectors = torch.linalg.eigh(kernel)
    else:
        from scipy.sparse.linalg import eigsh  # type: ignore[import-untyped]

        begin = np.random.default_rng(0).standard_normal(size)  # the same always: runs can be repeated
        with one_thread():
            pairs = eigsh(kernel.cpu().numpy(), count, which="LA", v0=begin)
        eigenvalues, vectors = (torch.from_numpy(array).to(kernel.device) for array in pairs)
    return eigenvalues.flip(0)[:count].clamp(min=0), vectors.flip(1)[:, :count]
