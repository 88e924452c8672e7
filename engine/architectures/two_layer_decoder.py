"""Two linear layers on a feature map that is constructed for the start of the layers."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start, StructureAt
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

LEAST, MOST = 1e-9, 1e9
"""Range of ε, μ and L.

In this range, all entries of the feature map are finite in float64.
"""


class TwoLayerDecoder(Architecture, frozen=True, tag="two-layer-decoder"):
    """ŷ = w₂ᵀW₁φ(x): two fully connected linear layers, for d rows in the order of `ordered-hadamard`.

    There are h = d/2 + 1 hidden units. The start is W₁ = [L·I, 0] and w₂ = 0. The features φ = (ψ, m) of a
    row have two halves ψ and m in ℝ^h. L, μ and ε are the fields `gain`, `mu` and `eps`, and e_0, e_1, … are
    the unit vectors of ℝ^h. For row 0, Lψ = e_0 and m = μe_0. For row 1, Lψ = √½(√(1−ε²) e_1 + ε e_0) and m =
    √½ e_1. For each row t from 2 to d/2, Lψ = e_t and m = μe_t.

    Rows 0 to d/2 are the training rows. Let v = W₁ᵀw₂ = (v_ψ, v_m) after one pass of gradient descent at rate
    ½ over these rows. Then (v_ψ)_t ≈ L y_t and (v_m)_t ≈ μ (c_t y_t + κ y_t y_0 y_1), with κ = ε/√2 and a
    number c_t that does not depend on labels. For each t from 2 to d/2, row t + d/2 − 1 is not a training
    row. The prediction vᵀφ for this row combines (v_ψ)_t and (v_m)_t into y_t y_0 y_1, which is the label of
    this row. The construction of φ thus uses the fact that row t + d/2 − 1 is the entrywise product of rows
    t, 0 and 1. The largest entries of φ exceed √2/(με).

    After k ≤ d/2 + 1 examples, the loss is 1 − max(k, 2(k−1))/d up to O(ε + d(μ² + L⁻²)). It was conjectured
    that 1 − (k+1)/d is a lower bound for any start and any φ. For k ≥ 4, the loss of this net is below this
    bound. Derived here; no earlier statement is known to us. Source: theory/hadamard#two-layers.
    """

    eps: Annotated[
        float,
        Meta(ge=LEAST, le=1, title="ε", description="cosine of the angle between ψ of row 0 and ψ of row 1"),
    ] = 0.5
    mu: Annotated[float, Meta(ge=LEAST, le=MOST, title="μ", description="size of the features m")] = 0.5
    gain: Annotated[float, Meta(ge=LEAST, le=MOST, title="L", description="size of the start of W₁")] = 2.0

    @property
    def layers(self) -> tuple[str, ...]:
        return ("W1", "W2")

    def structure(self) -> ArchitectureStructure:
        return (
            super()
            .structure()
            ._replace(learner_kind="by-rule", fixed_input_start=True, by_inner_products=True)
        )

    def structure_at(self, d: int) -> StructureAt:
        return super().structure_at(d)._replace(layers_on_features=2)

    def layout(self, d: int) -> Layout:
        hidden = d // 2 + 1
        return Layout({"W1": (hidden, 2 * hidden), "W2": (1, hidden), "map": (2 * hidden, d)})

    def start(self, stream: Stream, d: int) -> Start:
        hidden = d // 2 + 1
        first = self.gain * np.eye(hidden, 2 * hidden)
        return {
            "W1": np.tile(first, (stream.replicas, 1, 1)),
            "W2": np.zeros((stream.replicas, 1, hidden)),
            "map": np.zeros((stream.replicas, 2 * hidden, d)),
        }

    def fitted(self, params: Params, instances: Instances) -> Params:
        """Return the tensors `params` with the linear map from instances to features φ.

        The instances are orthogonal rows of length √d. The map sends each row to its features.
        """
        count = min(instances.n, instances.d)
        features = torch.from_numpy(self.features(instances.d)[:count]).to(instances.device, instances.dtype)
        rows = instances.at(slice(0, count)).rows
        maps = features.T @ rows / instances.d
        return {**params, "map": maps.repeat_interleave(len(params["map"]) // len(maps), 0)}

    def features(self, d: int) -> NDArray[np.float64]:
        """Compute the features φ of all d rows in their order, [d, 2h]."""
        h, eps, mu, gain = d // 2 + 1, self.eps, self.mu, self.gain
        psi, m = np.eye(d, h) / gain, mu * np.eye(d, h)
        if d > 1:
            psi[1, :2] = math.sqrt(0.5) * np.array([eps, math.sqrt(1 - eps**2)]) / gain
            m[1, 1] = math.sqrt(0.5)
        kappa = eps / math.sqrt(2)
        for t in range(2, h):
            c = 1.5 - 0.75 * eps**2 + (t - 2)  # factor of y_t in the sum with κ y_t y_0 y_1
            unseen = t + h - 2
            psi[unseen, t] = -c / (kappa * gain)
            m[unseen, t] = (1 / mu + c / (mu * gain**2)) / kappa
        return np.concatenate((psi, m), 1)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return (params["W2"] @ params["W1"] @ params["map"]).flatten(1)

    def invariance(self, d: int) -> Verdict:
        return Verdict(
            True, "the features of a row depend only on its place in the order, which no rotation changes"
        )
