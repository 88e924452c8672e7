"""Automatic gradient descent with a rate for each layer."""

from __future__ import annotations

from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, UpdateStructure
from engine.updates.agd import Automatic, automatic_rate, direction, frobenius, ratio


class AGDLayerwise(Automatic, frozen=True, tag="agd-layerwise"):
    """Automatic gradient descent with a rate for each layer: W_l ← W_l − (η_l/L) s_l ∇_l/‖∇_l‖_F.

    Here s_l = √(d_l/d_{l−1}), G_l = c s_l ‖∇_l‖_F and η_l = ln((1 + √(1 + 4G_l))/2). The field `loss_scale`
    sets c. In contrast to `agd`, each layer has a separate G_l, and there is no mean over the L layers.
    Source: Bernstein et al. 2023; theory/automatic-descent#majoriser.
    """

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="gradient", layerwise=True, along_gradients=True)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        new = {}
        for layer, w in params.items():
            g = gradients[layer]
            length = automatic_rate(self.loss_scale * ratio(g) * frobenius(g)) / len(params)
            new[layer] = w - rates[layer] * length * ratio(w) * direction(g)
        return new, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "the rates depend only on norms of gradients, and rotations preserve these norms"
        )
