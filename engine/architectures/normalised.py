"""The fully connected network on normalised inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start
from engine.architectures.dense import Dense
from engine.core.groups import PERMUTATIONS, SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

EPSILON = 1e-5
"""Constant that LayerNorm adds to the variance of the entries of an instance."""

CONSTANT = 8
"""A feature counts as constant if its deviation is at most this many rounding errors of its values."""


class Normalised(Dense, frozen=True, tag="normalised"):
    """A dense net on normalised inputs (x − mean)/deviation: each feature, or each instance, is normalised.

    `of = "features"` standardises each feature by its mean and its standard deviation over all rows of the
    problem. A constant feature becomes 0. `of = "instances"` is LayerNorm without gains: it standardises the
    entries of each instance by their mean and standard deviation. The normalisation is part of the learner:
    if the instances are rotated, it is computed from the rotated instances. The first kind of normalisation
    treats the coordinate axes differently from other directions. The second kind treats the direction of the
    vector of ones differently. Source: theory/symmetry#habits.
    """

    of: Annotated[
        Literal["features", "instances"],
        Meta(
            title="of", description="normalise each feature over all rows, or each instance over its entries"
        ),
    ] = "features"

    def structure(self) -> ArchitectureStructure:
        dense = super().structure()
        return Architecture.structure(self)._replace(
            learner_kind="by-rule",
            fixed_input_start=dense.fixed_input_start,
            hidden_layers=dense.hidden_layers,
        )

    @property
    def is_linear(self) -> bool:
        return False

    def start(self, stream: Stream, d: int) -> Start:
        shape = stream.replicas, 1, d
        return {**super().start(stream, d), "centre": np.zeros(shape), "spread": np.ones(shape)}

    def layout(self, d: int) -> Layout:
        layout = super().layout(d)
        return layout._replace(shapes={**layout.shapes, **dict.fromkeys(("centre", "spread"), (1, d))})

    def fitted(self, params: Params, instances: Instances) -> Params:
        if self.of == "instances":
            return params
        rows = instances.rows
        deviation, mean = torch.std_mean(rows, 1, correction=0, keepdim=True)  # [R, 1, d]
        rounding = CONSTANT * torch.finfo(rows.dtype).eps * rows.abs().amax(1, keepdim=True)
        spread = torch.where(deviation > rounding, deviation, 1.0)
        nets = len(params["W1"]) // len(mean)
        moments = {"centre": mean, "spread": spread}
        return {**params, **{name: moment.repeat_interleave(nets, 0) for name, moment in moments.items()}}

    def first(self, params: Params, instances: Instances) -> torch.Tensor:
        weights = params["W1"]
        d = weights.shape[-1]
        if self.of == "features":
            weights = weights / params["spread"][..., :d]
            return instances.inner(weights) - weights @ params["centre"][..., :d].mT
        mean, deviation = self._mean_and_deviation(params, instances)
        return (instances.inner(weights) - weights.sum(-1, keepdim=True) * mean) / deviation

    def _mean_and_deviation(self, params: Params, instances: Instances) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean and the standard deviation of the entries of every instance, [B, 1, n] each."""
        d = params["centre"].shape[-1]
        mean = instances.rows.sum(-1) / d  # [R, n]; rows may omit entries, all of which are 0
        deviation = (instances.rows.square().sum(-1) / d - mean.square() + EPSILON).sqrt()
        nets = len(params["W1"]) // len(mean)
        return mean.repeat_interleave(nets, 0)[:, None], deviation.repeat_interleave(nets, 0)[:, None]

    def _gradient_of_first_layer(
        self, params: Params, back: torch.Tensor, instances: Instances
    ) -> torch.Tensor:
        d = instances.d
        if self.of == "features":
            centred = (
                super()._gradient_of_first_layer(params, back, instances)
                - back.sum(2, keepdim=True) * (params["centre"][..., :d])
            )
            return centred / params["spread"][..., :d]
        mean, deviation = self._mean_and_deviation(params, instances)
        back = back / deviation
        return super()._gradient_of_first_layer(params, back, instances) - (back * mean).sum(2, keepdim=True)

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        return super().gradient(params, instances, slope)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return super().preactivations(params, instances)

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        return super().rotated(params, turn)

    def invariance(self, d: int) -> Verdict:
        start = super().invariance(d)
        if self.of == "features":
            reason, group = (
                "each feature is standardised by itself, and a rotation mixes features",
                SIGNED_PERMUTATIONS,
            )
        else:
            reason = "each instance is standardised by the mean of its entries, which a rotation changes"
            group = PERMUTATIONS
        return Verdict(False, reason, group & start.group)
