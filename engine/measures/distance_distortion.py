"""The largest relative change that the first layer of a net makes to the distance between two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

SAME = 1e-6
"""Two rows count as the same point if their distance is at most this share of the largest distance between
rows.
"""


class DistanceDistortion(Measure, frozen=True, tag="distance-distortion"):
    """max over pairs of rows a, b of |r_ab − 1|, for r_ab = √(d/(m C_w)) ‖z_a − z_b‖/‖x_a − x_b‖.

    z_a is the vector of the signals of the m units of the first hidden layer on row a, before σ. Rows have d
    features, and C_w is the variance of weights times d. Biases cancel in z_a − z_b. At the start, each entry
    of z_a − z_b has the variance C_w‖x_a − x_b‖²/d. So with the factor √(d/(m C_w)), the map x ↦ z preserves
    squared distances on average. Pairs of equal rows are left out. Averaged over targets. Source:
    theory/kernels-and-entropy#entropy.
    """

    label: ClassVar[str] = "worst relative change of a distance"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        start = None if learner.architecture is None else learner.architecture.structure().signals
        if start is None:
            return "the learner is a dense net with a Gaussian start"
        if start.joint_inputs is not None:
            return "all rows pass through one map, as in a dense net"
        return "the matrix has two rows or more" if problem.matrix.shape()[0] < 2 else None

    def bytes_held(self, sizes: Sizes) -> int:
        return super().bytes_held(sizes) + DERIVED * 4 * sizes.n**2

    def value(self, probe: Probe) -> torch.Tensor:
        net, instances = probe.architecture, probe.data.instances
        start = net.structure().signals
        assert start is not None, "others are refused"
        signals = next(iter(net.preactivations(probe.tensors, instances)))  # [B, m, n]
        scale = (instances.d / (signals.shape[1] * start.cw[0])) ** 0.5
        worst = []
        maps_by_replica = signals.reshape(len(instances.rows), -1, *signals.shape[1:])
        for rows, maps in zip(instances.rows, maps_by_replica, strict=True):
            before = _pairwise_distances(rows)
            is_pair = before > SAME * before.amax()
            for signal in maps:
                ratios = scale * _pairwise_distances(signal.mT)[is_pair] / before[is_pair]
                worst.append((ratios - 1).abs().amax() if len(ratios) else before.new_tensor(torch.nan))
        return probe.data.over_targets(torch.stack(worst)[None])[0]


def _pairwise_distances(points: torch.Tensor) -> torch.Tensor:
    centred = points.double() - points.double().mean(0)
    return torch.cdist(centred, centred, compute_mode="use_mm_for_euclid_dist")
