"""The two-layer network in which each hidden unit has edges from only a few inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start, StructureAt
from engine.core.activations import Activation, transfer
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Count, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class SparseInput(Architecture, frozen=True, tag="sparse-input"):
    """A two-layer net with a random sparse input layer: ŷ = Σ_j a_j σ(Σ_{i ∈ S_j} W_ji x_i).

    Every hidden unit j has edges from a random set S_j of c inputs, where c is the field `connectivity`. The
    sets are drawn once, and missing edges have no gradient. With s = `scale` and h hidden units, W_ji starts
    as N(0, s²/c) and a_j as N(0, s²/h). If c ≥ d, all edges exist, and the net equals `dense` and is rotation
    invariant. If c < d, the net is not rotation invariant. Source: WKA21 Thm 2;
    theory/conventions#architectures, theory/symmetry#rotation-invariance.
    """

    connectivity: Annotated[
        Count,
        Meta(
            title="connectivity c", description="number of inputs of every hidden unit; d or more means all"
        ),
    ] = 4
    width: Annotated[Count, Meta(title="width h", description="hidden units")] = 128
    activation: Activation = "identity"
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of the start")] = 1.0

    def _is_full(self, d: int) -> bool:
        return self.connectivity >= d

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(learner_kind="sparse")

    @property
    def layers(self) -> tuple[str, ...]:
        return ("W1", "W2")

    def start(self, stream: Stream, d: int) -> Start:
        c, h = min(self.connectivity, d), self.width
        first = self.scale / np.sqrt(c) * stream.normal(h, d)
        output = self.scale / np.sqrt(h) * stream.normal(1, h)
        if self._is_full(d):
            return {"W1": first, "W2": output}
        ranks = stream.uniform(h, d).argsort(-1).argsort(-1)
        edges = (ranks < c).astype(np.float64)
        return {"W1": first * edges, "W2": output, "edges": edges}

    def layout(self, d: int) -> Layout:
        h = self.width
        trained: dict[str, tuple[int, ...]] = {"W1": (h, d), "W2": (1, h)}
        shapes = trained if self._is_full(d) else {**trained, "edges": (h, d)}
        return Layout(shapes, units=0 if self.activation == "identity" else h)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        if self.activation == "identity":
            return instances.inner(self._product_of_layers(params))[:, 0]
        (signal,) = self.preactivations(params, instances)
        return (params["W2"] @ transfer(self.activation, signal))[:, 0]

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return [instances.inner(self._input_weights(params))]

    def weights(self, params: Params) -> torch.Tensor | None:
        return self._product_of_layers(params)[:, 0] if self.activation == "identity" else None

    def _input_weights(self, params: Params) -> torch.Tensor:
        """Return the weights [B, h, d] of the input layer, with 0 for missing edges.

        Update rules may have changed the stored weights of such edges.
        """
        return params["W1"] * params["edges"] if "edges" in params else params["W1"]

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        return [Edges(self._input_weights(params)[:, :units, inputs]), Edges(params["W2"][:, :, :units])]

    def _product_of_layers(self, params: Params) -> torch.Tensor:
        return params["W2"] @ self._input_weights(params)

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        if "edges" in params:
            return params
        return {**params, "W1": turn(params["W1"])}

    def structure_at(self, d: int) -> StructureAt:
        is_linear = self._is_full(d) and self.activation == "identity"
        return super().structure_at(d)._replace(linear_layers=2 if is_linear else None)

    def invariance(self, d: int) -> Verdict:
        if self._is_full(d):
            return Verdict(
                True, "every unit sees all inputs, and the Gaussian start of its weights favours no direction"
            )
        few = "one" if self.connectivity == 1 else str(self.connectivity)
        return Verdict(
            False,
            f"every unit sees only {few} of the {d} features, and a rotation mixes all features",
        )
