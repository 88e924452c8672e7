"""Products with the Hessians of fully connected nets, by formulas for the derivative of backpropagation.

Automatic differentiation computes such products for every architecture, but takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.architectures import Architecture
from engine.core.activations import bend, with_slope
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST
from engine.problems.instances import Instances

SlopeChanges = Callable[["torch.Tensor"], "torch.Tensor"]
"""Function from S changes of the predictions, [S, B, n], to the first-order changes of ∂L/∂ŷ."""


def has_layered_products(architecture: Architecture, tensors: Params) -> bool:
    """Return whether `LayeredProducts` applies: the net is fully connected, and all tensors are trained."""
    structure = architecture.structure()
    is_layered = structure.affine and structure.layered and structure.hidden_layers is not None
    return is_layered and tensors.keys() == set(architecture.layers)


class LayeredProducts:
    """Products ∇²L v for M nets with layers z_l = W_l a_{l−1} + b_l and a_l = σ(z_l).

    R denotes the derivative along v. V_l and c_l are the parts of v for W_l and b_l. Let g_l = ∂L/∂z_l and
    e_l = W_{l+1}ᵀ g_{l+1}, so that g_l = σ′(z_l) e_l. Then

        Rz_l = V_l a_{l−1} + W_l Ra_{l−1} + c_l,  Ra_l = σ′(z_l) Rz_l,
        Rg_l = σ′(z_l) (V_{l+1}ᵀ g_{l+1} + W_{l+1}ᵀ Rg_{l+1}) + σ″(z_l) e_l Rz_l.

    The part of the product for W_l is Rg_l a_{l−1}ᵀ + g_l Ra_{l−1}ᵀ, and the part for b_l is the sum of Rg_l
    over the instances. Terms that do not depend on v are computed once. Source: Pearlmutter 1994.
    """

    def __init__(
        self,
        architecture: Architecture,
        tensors: Params,
        instances: Instances,
        slopes: torch.Tensor,
        slope_changes: SlopeChanges,
    ) -> None:
        """Compute the terms that do not depend on v. `slopes` are ∂L/∂ŷ [B, n] for the nets `tensors`."""
        hidden = architecture.structure().hidden_layers
        assert hidden is not None, "has_layered_products says so"
        edges = architecture.edges(tensors, slice(None), MOST)
        self._instances, self._slope_changes = instances, slope_changes
        self._weights = [edge.weights for edge in edges]  # of W_l, [M, n_l, n_{l−1}]
        self._has_biases = [edge.biases is not None for edge in edges]
        signals = architecture.preactivations(tensors, instances)  # z_l, [M, n_l, n]
        outputs, factors = zip(*(with_slope(hidden.activation, z) for z in signals), strict=True)
        self._inputs = [None, *outputs]  # a_{l−1}; the inputs of the first layer are the instances
        self._factors = [factor[:, :, None] for factor in factors]  # σ′(z_l), [M, n_l, 1, n]
        back = slopes.view(len(self._weights[0]), -1, instances.n)
        self._back = [back]  # g_l
        self._bends: list[torch.Tensor | None] = []  # σ″(z_l) e_l, or None if it is 0
        for weights, z, factor in zip(
            reversed(self._weights[1:]), reversed(signals), reversed(factors), strict=True
        ):
            sent = weights.mT @ self._back[0]
            self._back.insert(0, factor * sent)
            bent = bend(hidden.activation, z)
            self._bends.insert(0, None if bent is None else (bent * sent)[:, :, None])

    def products(self, parts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return ∇²L v for S vectors v per net, as one tensor [S, M, …] for every trained tensor.

        `parts` contains the vectors v in the same form.
        """
        # S comes after the units, [M, n_l, S, …], so that each product of matrices serves all vectors.
        along = [part.movedim(0, 2) for part in parts]
        members, _, count, _ = along[0].shape
        n, remaining = self._instances.n, iter(along)
        directions: list[torch.Tensor] = []  # V_l
        signal_changes: list[torch.Tensor] = []  # Rz_l
        input_changes: list[torch.Tensor] = []  # Ra_{l−1}, without the first layer
        for number, inputs in enumerate(self._inputs):
            direction = next(remaining)
            units = direction.flatten(1, 2)
            if inputs is None:
                change = self._instances.inner(units)
            else:
                carried = self._factors[number - 1] * signal_changes[-1]
                change = units @ inputs
                change = change.view(members, -1, count * n).baddbmm(
                    self._weights[number], carried.flatten(2)
                )
                input_changes.append(carried)
            change = change.view(members, -1, count, n)
            if self._has_biases[number]:
                change = change + next(remaining)
            directions.append(direction)
            signal_changes.append(change)
        last = signal_changes[-1].movedim(2, 0)
        changed = self._slope_changes(last.reshape(count, -1, n)).view(last.shape).movedim(0, 2)  # Rg_l
        products = []
        for number in reversed(range(len(self._weights))):
            units = changed.reshape(members, -1, n)
            if self._has_biases[number]:
                products.append(changed.sum(3, keepdim=True))
            inputs, direction, weights = self._inputs[number], directions[number], self._weights[number]
            if inputs is None:
                products.append(self._instances.combine(units.flatten(0, 1)).view(direction.shape))
                break
            back, carried = self._back[number], input_changes[number - 1].transpose(1, 3)
            product = (units @ inputs.mT).view(members, -1, count * inputs.shape[1])
            products.append(product.baddbmm(back, carried.flatten(2)).view(direction.shape))
            sent = direction.transpose(1, 3).flatten(1, 2) @ back
            sent = sent.view(members, -1, count * n).baddbmm(weights.mT, changed.flatten(2))
            changed = self._factors[number - 1] * sent.view(members, -1, count, n)
            if (bent := self._bends[number - 1]) is not None:
                changed = changed.addcmul(bent, signal_changes[number - 1])
        return [product.movedim(2, 0) for product in reversed(products)]
