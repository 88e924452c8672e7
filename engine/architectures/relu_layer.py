"""A net with one hidden layer of ReLU units, whose kinks at the start are spread over the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST, Count, Positive, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class ReluLayer(Architecture, frozen=True, tag="relu-layer"):
    """A net with one hidden layer of ReLU units: f(x) = Σ_j a_j relu(w_jᵀx + b_j) + c.

    All parameters a, w, b and c are trained. The net starts with ‖w_j‖ = |a_j| = s, where s is the field
    `scale`, and with c = 0. The directions of the w_j and the signs of the a_j are uniformly random. b_j is
    −s t_j, with t_j uniform between −`reach` and `reach`. So unit j bends f at the distance |t_j| from the
    origin. `l2_penalty` λ adds λ/2 Σ_j (a_j² + ‖w_j‖²) to the training loss. b and c are not penalised. For a
    scalar input x, consider all nets that represent the same function f. Over these nets, the minimum of ½
    Σ_j (a_j² + w_j²) is max(∫|f″|, |f′(−∞) + f′(∞)|). Source: SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    width: Annotated[Count, Meta(title="width n", description="hidden units")] = 100
    scale: Annotated[Positive, Meta(title="scale s", description="size of all weights at the start")] = 0.1
    reach: Annotated[
        Positive,
        Meta(
            title="reach", description="largest distance from the origin at which units bend f at the start"
        ),
    ] = 2.5
    l2_penalty: Annotated[
        float,
        Meta(ge=0, le=LARGEST, title="L2 penalty λ", description="adds λ/2 Σ(a² + ‖w‖²) to the loss"),
    ] = 0.0

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(learner_kind="by-rule", is_relu_layer=True)

    @property
    def layers(self) -> tuple[str, ...]:
        return ("W1", "b1", "W2", "b2")

    def layout(self, d: int) -> Layout:
        n = self.width
        return Layout(
            {"W1": (n, d), "b1": (n, 1), "W2": (1, n), "b2": (1, 1)},
            l2_penalties=dict.fromkeys(("W1", "W2"), self.l2_penalty) if self.l2_penalty else {},
            units=n,
        )

    def start(self, stream: Stream, d: int) -> Start:
        directions = stream.normal(self.width, d)
        directions /= np.linalg.norm(directions, axis=2, keepdims=True)
        distances = self.reach * (2 * stream.uniform(self.width, 1) - 1)
        return {
            "W1": self.scale * directions,
            "b1": -self.scale * distances,
            "W2": self.scale * stream.signs(1, self.width).astype(np.float64),
            "b2": np.zeros((stream.replicas, 1, 1)),
        }

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        hidden = torch.relu(self._hidden_signals(params, instances))
        return (params["W2"] @ hidden + params["b2"]).flatten(0, 1)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return [self._hidden_signals(params, instances)]

    def _hidden_signals(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.inner(params["W1"]) + params["b1"]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        signals = self._hidden_signals(params, instances)
        hidden = torch.relu(signals)
        slopes = slope((params["W2"] @ hidden + params["b2"]).flatten(0, 1))[:, None]  # [B, 1, n]
        back = params["W2"].mT * slopes * (signals > 0)
        return {
            "W1": instances.combine(back.flatten(0, 1)).view_as(params["W1"]),
            "b1": back.sum(2, keepdim=True),
            "W2": slopes @ hidden.mT,
            "b2": slopes.sum(2, keepdim=True),
        }

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        first = Edges(params["W1"][:, :units][:, :, inputs], params["b1"][:, :units, 0])
        return [first, Edges(params["W2"][:, :, :units], params["b2"][..., 0])]

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        return {**params, "W1": turn(params["W1"])}

    def invariance(self, d: int) -> Verdict:
        return Verdict(True, "the input layer is fully connected, and starts in uniformly random directions")
