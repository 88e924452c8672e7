"""How much the weights of every layer can stretch a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.measures import Index, Measure, Probe
from engine.updates import as_matrix
from engine.updates.agd import ratio

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class LayerNorms(Measure, frozen=True, tag="layer-norms"):
    """‖W_l‖₂/√(d_l/d_{l−1}): the largest singular value of the weights of layer l, in units of its shape.

    Layer l has d_{l−1} inputs and d_l outputs; biases are a layer of their own. At 1 a layer leaves the mean
    square of the entries of a signal as it is, at most; automatic gradient descent is derived for that.
    Averaged over nets. Source: Bernstein et al. 2023; theory-symmetry.md §22.
    """

    label: ClassVar[str] = "‖W_l‖₂ in units of √(d_l/d_{l−1})"
    of_parameters: ClassVar[bool] = True

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        layers = 0 if learner.architecture is None else len(learner.architecture.layers)
        return (Index("layer", np.arange(1.0, layers + 1)),)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * parameters

    def value(self, probe: Probe) -> torch.Tensor:
        layers = [probe.parameters[name] for name in probe.architecture.layers]
        norms = torch.stack([spectral_norm(w) / ratio(w) for w in layers])  # [L, N]
        return probe.data.over_targets(norms).movedim(0, -1)


def spectral_norm(w: torch.Tensor) -> torch.Tensor:
    """The largest singular value [N] of every member of a batch of layers [N, …, d]; a vector is one row."""
    norms: torch.Tensor = torch.linalg.matrix_norm(as_matrix(w).double(), ord=2)
    return norms
