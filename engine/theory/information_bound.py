"""Bound on the share of mistakes on new instances, computed from a net's Jacobian at the start.

The constants of the bound are unknown.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.parts import Finding
from engine.hypotheses.curvature import tangent_kernels
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends_by_first_layer, only_square

ROUNDING = 1e-12
"""Eigenvalues of J Jᵀ below this share of the largest count as 0."""


class InformationBound(Line, frozen=True, tag="information-bound"):
    """min_s e^(−2ηλ_s²t/n) + ‖Π_s y‖/√n + 2ηλ_s√K·t/n: the shape of a bound with unknown constants.

    λ_1 ≥ λ_2 ≥ … are the singular values of J = ∂(predictions of the n training rows)/∂W₁ at the start. Π_s
    projects the one-hot labels y of K classes onto the complement of the first s left singular vectors of J.
    The line is based on a theorem about wide nets, which has two free parameters, ᾱ and Γ. The information
    space of the theorem is spanned by the singular vectors with λ ≥ √(nK)·ᾱ, and Π projects onto the
    complement of this space. After t = Γ/(2ηKᾱ²) steps, a wide net misclassifies the share e^(−Γ) + ‖Π y‖/√n
    + Γ/(ᾱ√n) of new instances, up to unknown constants.

    For every s, the line takes the ᾱ with √(nK)·ᾱ = λ_s, and the Γ that belongs to t steps. At every t, the
    line is the least value over all s. All constants are set to 1. Only the shape of the line can be compared
    with curves, not its height. If labels are randomly corrupted, the theorem bounds the error on new
    instances with corrupted labels. A learner that is better than chance has a smaller error on true labels.
    So the theorem also bounds this smaller error. Source: OFLS19; theory/parities-and-noise#nuisance-space.
    """

    title: ClassVar[str] = "shape of the Jacobian bound"
    measure: ClassVar[str] = "true-test-error"
    formula: ClassVar[str] = "min_s e^(−2ηλ_s²t/n) + ‖Π_s y‖/√n + 2ηλ_s√K·t/n"
    source: ClassVar[str] = "OFLS19"

    def structure(self) -> LineStructure:
        return LineStructure(direction="shape", in_expectation=False, per_learner=True, per_replica=True)

    def holds(self, experiment: Setup) -> Finding:
        protocol, problem, (n, _) = experiment.protocol, experiment.problem, experiment.problem.matrix.shape()
        if not protocol.schedule().full_batch or protocol.clock != "step":
            return Finding(False, "requires steps along the gradient over all training rows")
        if protocol.extent(n).most_examples == n:
            return Finding(False, "requires rows that are never trained on, and all rows are training rows")
        if not problem.one_hot:
            return Finding(False, f"requires one-hot labels, and the target is {problem.target.kind}")
        return only_square(experiment) or Finding(
            True, "steps follow the gradient of the square loss of one-hot labels"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return descends_by_first_layer(learner, experiment)

    def value(self, at: At) -> Floats:
        start, data = at.start, at.drawn.data
        net, outputs = start.architecture, start.architecture.outputs
        count = at.experiment.protocol.extent(data.instances.n).most_examples
        labels = data.labels.double().view(data.replicas, outputs, -1)[..., :count].flatten(1)
        rate = torch.as_tensor(start.rates["W1"], dtype=torch.float64)
        rates: Floats = rate.expand_as(start.tensors["W1"])[:, 0, 0].cpu().numpy()
        kernels = tangent_kernels(net, start.tensors, data.instances.at(slice(0, count)), {"W1": 1.0})
        replicas = zip(rates, labels, kernels, strict=True)
        return np.stack([_bound_of_net(*replica, outputs, at.clocks["step"]) for replica in replicas])


def _bound_of_net(
    rate: float, labels: torch.Tensor, kernel: torch.Tensor, outputs: int, steps: Floats
) -> Floats:
    """Return the values [S] of the bound for one net, at each of S training steps.

    Args:
        rate: learning rate η of the first layer.
        labels: one-hot labels of the training rows, [K·n].
        kernel: J Jᵀ at the start, [K·n, K·n].
        outputs: number K of classes.
    """
    n = len(labels) // outputs
    ascending, vectors = torch.linalg.eigh(kernel)
    eigenvalues: Floats = ascending.flip(0).cpu().numpy()
    squares = eigenvalues[eigenvalues > ROUNDING * eigenvalues[0]]
    along = (vectors.flip(1).T @ labels).square().cpu().numpy()[: len(squares)]
    unfitted = np.sqrt(np.maximum(float(labels @ labels) - np.cumsum(along), 0) / n)
    progress = 2 * rate / n * steps[:, None]  # 2ηt/n, [S, 1]
    terms = np.exp(-progress * squares) + unfitted + progress * np.sqrt(squares * outputs)
    bounds: Floats = terms.min(1)
    return bounds
