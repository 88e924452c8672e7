"""Mean of the first layer's tangent kernel over random starts, for nets with one hidden layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.core.activations import slope
from engine.core.lazy import torch
from engine.formulas import wide_nets

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.core.params import Params
    from engine.problems.instances import Instances


class MeanKernel(NamedTuple):
    """Mean E K of the tangent kernels K of N nets on n rows, and quantities that occur in bounds on K.

    All values include the scale factors of the parametrisation.
    """

    kernels: torch.Tensor
    """Mean of K over random Gaussian first layers, with fixed output weights, [N, n, n]."""

    input_lengths: torch.Tensor
    """Length of every row after it is scaled as an input of the first layer, [N, n]."""

    output_weights: torch.Tensor
    """Weight of every hidden unit in the output, [N, units]."""

    @property
    def least_eigenvalues(self) -> torch.Tensor:
        """Least eigenvalue λ₀ of the mean kernel E K, for every net, [N]."""
        eigenvalues: torch.Tensor = torch.linalg.eigvalsh(self.kernels)
        return eigenvalues[:, 0]


def mean_kernel(net: Architecture, tensors: Params, instances: Instances) -> MeanKernel:
    """Return the mean E K of the first layer's tangent kernel over random starts of this layer.

    E K_ij = x_iᵀx_j · E[σ′(u) σ′(v)] · Σ_k a_k². Here u and v are the preactivations of a hidden unit for the
    rows x_i and x_j, and a_k are the output weights.

    Args:
        net: a net with one hidden layer, whose first layer has Gaussian weights at the start.
    """
    hidden = net.structure().hidden_layers
    assert hidden is not None, "others are refused"
    assert hidden.first is not None, "others are refused"
    cw, cb = hidden.first
    activation, rows = hidden.activation, instances.rows.double()
    covariances = (cb + cw * rows @ rows.mT / rows.shape[2]).cpu().numpy()  # [R, n, n]
    variances = np.broadcast_to(covariances.diagonal(axis1=1, axis2=2)[..., None], covariances.shape)
    pairs = np.stack([variances, covariances, covariances, variances.swapaxes(1, 2)], -1)
    means = wide_nets.product_mean(
        lambda z: slope(activation, torch.from_numpy(z)).numpy(), pairs.reshape(-1, 2, 2)
    )
    slopes = torch.from_numpy(means.reshape(covariances.shape))
    inputs = net.through(tensors, instances, torch.ones_like)["W1"].inputs.double()  # [N, d, n]
    _, (edges, _) = net.edges(tensors, slice(None), tensors["W1"].shape[1])
    output_weights = edges.double().flatten(1)
    squares = output_weights.square().sum(1)[:, None, None]
    slopes = slopes.to(inputs).repeat_interleave(len(inputs) // len(slopes), 0)
    lengths = torch.linalg.vector_norm(inputs, dim=1)
    return MeanKernel(inputs.mT @ inputs * slopes * squares, lengths, output_weights)
