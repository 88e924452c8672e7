"""How many linear pieces a net has along a line of instances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.activations import slope
from engine.core.lazy import torch
from engine.formulas import linear_pieces
from engine.measures import Measure, Probe
from engine.measures.cells import needs_bent_net

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Pieces(Measure, frozen=True, tag="pieces"):
    """How many linear pieces a net of one variable has: between the least and the largest instance, or on ℝ.

    They are counted exactly: places where units switch are followed up through the layers, and neighbours
    with equal slopes, up to 10⁻⁹, are one. σ bends at 0 alone. Averaged over targets. Source: Hanin, Rolnick
    2019; theory-nets.md §39.
    """

    label: ClassVar[str] = "linear pieces"
    expensive: ClassVar[bool] = True
    of_parameters: ClassVar[bool] = True
    names: ClassVar[Mapping[str, str]] = {"instances": "pieces", "line": "pieces-of-line"}

    along: Annotated[
        Literal["instances", "line"],
        Meta(title="along", description="between the least and the largest instance, or the whole line"),
    ] = "instances"

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return cls(), cls(along="line")

    @property
    def name(self) -> str:
        return self.names[self.along]

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if (reason := needs_bent_net(learner)) is not None:
            return reason
        if problem.matrix.shape()[1] != 1:
            return "instances have one entry, as those of matrix interval"
        return None

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        rows = data.instances.rows.double()[..., 0]  # [R, n]
        ends = torch.stack([rows.amin(1), rows.amax(1)], 1).tolist()
        nets = list(nets_of(probe))
        members = len(nets) // len(ends)
        slopes = slopes_of(probe)
        counts = [
            linear_pieces.pieces(net, slopes, *self._between(*ends[number // members]))
            for number, net in enumerate(nets)
        ]
        return data.over_targets(torch.tensor([counts], dtype=torch.float64))[0]

    def _between(self, low: float, high: float) -> tuple[float, float]:
        return (low, high) if self.along == "instances" else (-math.inf, math.inf)


def slopes_of(probe: Probe) -> tuple[float, float]:
    """Those of σ above 0 and below."""
    hidden = probe.architecture.hidden_layers
    assert hidden is not None, "others are refused"
    up, down = slope(hidden.activation, torch.tensor([1.0, -1.0], dtype=torch.float64)).tolist()
    return up, down


def nets_of(probe: Probe) -> Iterator[linear_pieces.Layers]:
    """Weights and biases of every net."""
    layers = [
        (weights.double().cpu().numpy(), biases.double().cpu().numpy())
        for weights, biases in probe.architecture.affine_layers(probe.tensors)
    ]
    for number in range(len(layers[0][0])):
        yield [(weights[number], biases[number]) for weights, biases in layers]
