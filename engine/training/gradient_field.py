"""The direction of a gradient flow at a place, for one net or coupled ones, as scipy takes it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from engine.architectures import Architecture, with_penalty
from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.params import Params
from engine.hypotheses.curvature import Curvature
from engine.problems.instances import Instances
from engine.updates import EUCLIDEAN, Mirror

Floats = NDArray[np.float64]


class GradientField:
    """dθ/dt = −c ⊙ ∂L/∂w, with the dual weights θ, one layer after the other, and a speed c for each layer.

    L is the mean loss of these rows.
    """

    def __init__(
        self,
        architecture: Architecture,
        mirror: Mirror,
        speeds: Mapping[str, float],
        dual: Params,
        fixed: Params,
        instances: Instances,
        labels: torch.Tensor,
        loss: Cost,
    ) -> None:
        """From dual weights and fixed tensors [N, …], with instances [1, n, d] and labels [N·outputs, n]."""
        self._architecture, self._mirror, self._fixed = architecture, mirror, fixed
        self._instances, self._labels, self._loss = instances, labels, loss
        self._l2_penalties = architecture.layout(instances.d).l2_penalties
        self._shapes = {name: theta.shape for name, theta in dual.items()}
        self._nets = len(next(iter(dual.values())))
        sizes = [shape.numel() for shape in self._shapes.values()]
        self._parts = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        self._speeds = np.concatenate(
            [np.full(size, speeds[name]) for name, size in zip(self._shapes, sizes, strict=True)]
        )
        self.start = _joined(dual)

    def velocity(self, place: Floats) -> Floats:
        """dθ/dt [P] at dual weights [P]."""
        tensors = self._tensors(place)
        gradients = self._architecture.gradient(tensors, self._instances, self._slopes)
        gradients = with_penalty(self._l2_penalties, tensors, gradients)
        return -self._speeds * _joined({name: gradients[name] for name in self._shapes})

    def weights(self, places: Floats) -> Params:
        """The weights [S·N, …] by layer, of dual weights [S, P] of such nets."""
        whole = torch.from_numpy(places).to(self._labels)
        layers = zip(self._shapes.items(), self._parts, strict=True)
        return self._mirror.primal(
            {name: whole[:, part].reshape(-1, *shape[1:]) for (name, shape), part in layers}
        )

    def primal(self, place: Floats) -> Floats:
        """The weights of dual weights [P], one layer after the other."""
        return _joined(self.weights(place[None]))

    @property
    def has_jacobian(self) -> bool:
        """Whether the derivative of the velocity is known: for one net, and if w is θ."""
        return self._mirror is EUCLIDEAN and self._nets == 1

    def jacobian(self, place: Floats) -> Floats:
        """The derivative [P, P] of the velocity at weights [P]."""
        shares = torch.full_like(self._labels, 1 / self._instances.n)
        parts = self._tensors(place), self._instances, self._labels, shares, self._loss
        hessian: Floats = Curvature(self._architecture, *parts).matrices()[0].cpu().numpy()
        return -self._speeds[:, None] * hessian

    def _tensors(self, place: Floats) -> Params:
        return {**self._fixed, **self.weights(place[None])}

    def _slopes(self, predictions: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions, self._labels) / self._instances.n


def _joined(tensors: Params) -> Floats:
    """Tensors [1, …] one after the other, [P]."""
    whole: Floats = torch.cat([tensor.flatten() for tensor in tensors.values()]).cpu().numpy()
    return whole
