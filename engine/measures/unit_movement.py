"""The largest distance of the weights of a hidden unit from their start."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class UnitMovement(Measure, frozen=True, tag="unit-movement"):
    """max_k ‖w_k − w_k(0)‖₂ over the units k of the first layer, where w_k are the trained weights of unit k.

    In the kernel regime, the movement goes to 0 as the width grows. Averaged over nets. Unit: that of a
    weight. Source: DLL19; theory/wide-nets#kernel-regime.
    """

    label: ClassVar[str] = "largest ‖w_k − w_k(0)‖"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, start=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        hidden = None if net is None else net.structure().hidden_layers
        if net is None or hidden is None or "W1" not in net.layers:
            return "the learner is a dense net"
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 2 * batch * parameters

    def value(self, probe: Probe) -> torch.Tensor:
        moved = probe.parameters["W1"].double() - probe.start["W1"].double()
        return probe.data.over_targets(torch.linalg.vector_norm(moved, dim=2).amax(1)[None])[0]
