"""The spectral norm of the weights of every layer."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import OfLayers, Probe
from engine.updates import as_matrix
from engine.updates.agd import ratio


class LayerNorms(OfLayers, frozen=True, tag="layer-norms"):
    """‖W_l‖₂/√(d_l/d_{l−1}): the largest singular value of the weights of layer l, relative to its shape.

    Layer l has d_{l−1} inputs and d_l outputs, and biases count as a separate layer. If the measure is at
    most 1, the mean square of the layer's outputs is at most that of its inputs. The derivation of automatic
    gradient descent assumes that the measure is 1. Averaged over nets. Source: Bernstein et al. 2023;
    theory/automatic-descent#majoriser.
    """

    label: ClassVar[str] = "‖W_l‖₂ in units of √(d_l/d_{l−1})"

    def value(self, probe: Probe) -> torch.Tensor:
        layers = [probe.parameters[layer] for layer in probe.architecture.layers]
        norms = torch.stack([spectral_norm(w) / ratio(w) for w in layers])  # [L, N]
        return probe.data.over_targets(norms).movedim(0, -1)


def spectral_norm(w: torch.Tensor) -> torch.Tensor:
    """Return the largest singular value [N] of each matrix in a batch [N, …, d].

    A vector counts as a matrix with one row.
    """
    norms: torch.Tensor = torch.linalg.matrix_norm(as_matrix(w).double(), ord=2)
    return norms
