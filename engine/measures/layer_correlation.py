"""Layer correlation: the similarity of two inputs after every hidden layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.measures import Index, Measure, MeasureNeeds, Probe
from engine.measures.layer_variance import LayerVariance

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class LayerCorrelation(Measure, frozen=True, tag="layer-correlation"):
    """c_l: correlation of the signals of layer l + 1 on the first two rows, for hidden layers l = 1 … L.

    c_l = K₁₂/√(K₁₁ K₂₂) with K_ab = C_b + C_w · mean σ(z^l_a) σ(z^l_b). The mean is over the units of layer
    l, and z^l_a are their signals on row a before σ. C_w is the variance of the weights of layer l + 1 times
    the number of inputs of a unit. C_b is the variance of the biases of layer l + 1. So c_l is the
    correlation over draws of the weights and biases of layer l + 1, for a fixed layer l. If c_l = 1, the net
    no longer distinguishes the two rows. Averaged over targets. Source: RYH ch. 5;
    theory/wide-nets#criticality.
    """

    label: ClassVar[str] = "correlation of two inputs"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return LayerVariance().index(learner, problem)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        start = None if learner.architecture is None else learner.architecture.structure().signals
        if start is None:
            return "the learner is a dense net with a Gaussian start"
        if start.joint_inputs == 1:
            return "the architecture draws the signals of two rows jointly (`inputs` is 2 or more)"
        return "the matrix has two rows or more" if problem.matrix.shape()[0] < 2 else None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        net = probe.architecture
        start = net.structure().signals
        assert start is not None, "others are refused"
        correlations = []
        signals = net.preactivations(probe.tensors, probe.data.instances)
        for layer_signal, cw, cb in zip(signals, start.cw[1:], start.cb[1:], strict=True):
            sent = transfer(start.activation, layer_signal[..., :2]).double()  # [B, units, 2]
            kernel = cb + cw * sent.mT @ sent / sent.shape[1]
            scale = kernel.diagonal(dim1=1, dim2=2).prod(1).sqrt()
            correlations.append(kernel[:, 0, 1] / scale)
        return probe.data.over_targets(torch.stack(correlations)).movedim(0, -1)
