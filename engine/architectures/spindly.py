"""The spindly network, in which each input has a separate edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start, StructureAt
from engine.core.groups import PERMUTATIONS, TRIVIAL
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, SELDOM, Positive, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

MOST_SHAPE = 4096
"""Largest number of features whose starting values can be set separately."""

Shape = Annotated[
    tuple[Annotated[float, Meta(ge=0.01, le=100)], ...],
    Meta(
        max_length=MOST_SHAPE,
        title="shape θ",
        description="factors of the starting values of u and v, one per feature; features beyond the list: 1",
        extra=SELDOM,
    ),
]


def filled(shape: tuple[float, ...], d: int) -> NDArray[np.float64]:
    """Return the factors [d] that multiply the starting values of d parameters: `shape`, then ones."""
    numbers = np.ones(d)
    numbers[: len(shape)] = shape[:d]
    return numbers


def chains(parts: Sequence[torch.Tensor], depth: int) -> list[Edges]:
    """Return the layers of a net in which each input has its own chain of `depth` edges to the output.

    All edges of a chain have the same weight. `parts` are one or two tensors of these weights, [B, d], for d
    inputs. With two tensors, each input has two chains, and the second one has a negative sign at the output.
    """
    paths = torch.cat(list(parts), 1)
    first = torch.cat([torch.diag_embed(part) for part in parts], 1)
    signs = torch.cat(
        [torch.full_like(part, sign) for part, sign in zip(parts, (1.0, -1.0), strict=False)], 1
    )
    between = [torch.diag_embed(paths)] * (depth - 2)
    return [Edges(layer) for layer in (first, *between, (signs * paths)[:, None])]


class Spindly(Architecture, frozen=True, tag="spindly"):
    """A spindly net, one edge per input: ŷ = Σ_i x_i u_i^L or, if `signed`, Σ_i x_i (u_i^L − v_i^L).

    With depth L = 2, this is the two-layer net w = u ⊙ u of the talk on WKA21. On this net, gradient descent
    with a small rate η takes nearly the same steps as the update rule `egu` with rate 4η. The net starts at
    u^L = w0, by default 1/d. If `signed` is set, it starts at u^L = v^L = w0, by default 1/(2d). A `shape` θ
    multiplies the starting values of u and v, not those of u^L and v^L, entry by entry. Source: AW20; WKA21
    §5; theory/conventions#conventions, theory/conventions#architectures; theory/implicit-bias#shaped-start.
    """

    depth: Annotated[
        int, Meta(ge=2, le=MOST_LAYERS, title="depth L", description="number of layers; w = u^L")
    ] = 2
    signed: Annotated[bool, Meta(title="signed", description="w = u^L − v^L can be negative")] = False
    w0: Annotated[Positive | None, Meta(title="start w₀", description="none: 1/d, or 1/(2d) if signed")] = (
        None
    )
    shape: Shape = ()

    def structure(self) -> ArchitectureStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="sparse",
            rate_of_weights=4.0 if self.depth == 2 and self._has_usual_start else None,
            power=self.depth,
            starts_alike=not self.shape,
            fixed_input_start=True,
            exchanges_on_flips=self.signed and not self.shape,
        )

    @property
    def _has_usual_start(self) -> bool:
        return not self.signed and self.w0 is None and not self.shape

    @property
    def layers(self) -> tuple[str, ...]:
        return ("u", "v") if self.signed else ("u",)

    def structure_at(self, d: int) -> StructureAt:
        slope = self.depth * self._start_of_parameters(d) ** (self.depth - 1)
        kernel = dict.fromkeys(self.layers, slope**2) if self.signed and not self.shape else None
        return super().structure_at(d)._replace(kernel_at_start=kernel)

    def _start_of_parameters(self, d: int) -> float:
        """Return the start of all parameters, before `shape` multiplies it."""
        w0 = self.w0 or (0.5 / d if self.signed else 1.0 / d)
        return float(w0 ** (1.0 / self.depth))

    def start(self, stream: Stream, d: int) -> Start:
        start = np.tile(self._start_of_parameters(d) * filled(self.shape, d), (stream.replicas, 1))
        return {"u": start, "v": start} if self.signed else {"u": start}

    def layout(self, d: int) -> Layout:
        return Layout(dict.fromkeys(self.layers, (d,)))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        w = params["u"] ** self.depth
        return w - params["v"] ** self.depth if self.signed else w

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        return chains([params[layer][:, inputs] for layer in self.layers], self.depth)

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        by_weight = instances.combine(self.depth * slope(self.predict(params, instances)))
        gradients = {"u": by_weight * self._power(params["u"], self.depth - 1)}
        if self.signed:
            gradients["v"] = -by_weight * self._power(params["v"], self.depth - 1)
        return gradients

    def _power(self, w: torch.Tensor, exponent: int) -> torch.Tensor:
        return w if exponent == 1 else w**exponent

    def invariance(self, d: int) -> Verdict:
        group = TRIVIAL if self.shape else PERMUTATIONS
        reason = "every input has a separate edge, so the net depends on the coordinate axes"
        return Verdict(False, reason, group)
