"""The sum, over all paths of a net, of the absolute product of the weights along the path."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from engine.architectures import Architecture
from engine.core.lazy import torch
from engine.core.parts import MOST
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class PathNorm(Measure, frozen=True, tag="path-norm"):
    """Σ |w₁ w₂ ⋯ w_L| over all paths from an input to the output, for the weights w_l along each path.

    For one hidden layer, the norm is Σ_j Σ_i |a_j w_ji|. Biases do not contribute. The norm does not change
    if the weights into a ReLU unit are multiplied by c > 0, and the weights out of the unit by 1/c. With one
    input, ½ Σ_j (a_j² + w_j²) is never smaller than the path norm, and equals it if |a_j| = |w_j| for all j.
    Averaged over targets. Source: Neyshabur, Tomioka, Srebro 2015; SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    label: ClassVar[str] = "Σ|a w| over paths"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, coordinates=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        has_edges = net is not None and type(net).edges is not Architecture.edges
        return (
            None
            if has_edges
            else "the learner is a net of weighted edges, such as a dense net or a spindly net"
        )

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * parameters

    def value(self, probe: Probe) -> torch.Tensor:
        edges = probe.architecture.edges(probe.tensors, slice(None), MOST)
        layers = [edge.weights.double().abs() for edge in edges]
        ones = torch.ones_like(layers[0][:, 0, :, None])
        paths = reduce(lambda below, layer: layer @ below, layers, ones)  # [N, outputs, 1]
        return probe.data.over_targets(paths.reshape(1, -1))[0]
