"""The training loss of a net, including its L2 penalty."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureStructure, Probe
from engine.measures.loss import AverageLoss

OF_TRAINING = AverageLoss(rows="train")


class Objective(Measure, frozen=True, tag="objective"):
    """The mean loss over outputs and rows seen, plus (λ/2m) ‖θ‖² for m outputs and the L2 penalty λ.

    θ are the penalised parameters. The measure is the training objective of a net with m outputs, divided by
    m. It has no value before the first example. In the protocol `steps`, it has a value from the start, over
    all training rows. Averaged over nets. Unit: that of a loss. Source: theory/automatic-descent#majoriser.
    """

    label: ClassVar[str] = "loss with its penalty"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True, per_learner=True)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        net, loss = probe.architecture, probe.value(OF_TRAINING)
        penalties = net.layout(probe.data.instances.d).l2_penalties
        if not penalties:
            return loss
        squares = [
            rate / (2 * net.outputs) * probe.parameters[name].double().square().flatten(1).sum(1)
            for name, rate in penalties.items()
        ]
        return loss + probe.data.over_targets(torch.stack(squares).sum(0, keepdim=True))[0]
