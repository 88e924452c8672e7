"""The size of a learner's mean prediction in clusters of instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import OfRows, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class ClusterMean(OfRows, frozen=True, tag="cluster-mean"):
    """The mean of |ȳ_ℓ| over clusters ℓ, where ȳ_ℓ is the mean prediction in cluster ℓ.

    The measure covers all rows, the rows seen or the rows never seen, and is averaged over targets. Clusters
    without such rows are left out. Suppose that a share ρ of the labels ±1 of every cluster is wrong. For a
    learner that uses only the cluster of a row, the measure is then 1 − 2ρ times its value with true labels.
    Unit: that of a label. Source: LSO20; theory/parities-and-noise#wrong-labels.
    """

    label: ClassVar[str] = "size of the mean prediction of a cluster"

    names: ClassVar[Mapping[str, str]] = {
        "all": "cluster-mean",
        "train": "cluster-mean-seen",
        "test": "cluster-mean-unseen",
    }

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return None if problem.matrix.structure().in_clusters else "instances fall into clusters or classes"

    def value(self, probe: Probe) -> torch.Tensor:
        data, predictions = probe.data, probe.predictions.double()
        assert data.clusters is not None, "refuses() admits no other problem"
        clusters = torch.from_numpy(data.clusters).to(predictions.device)
        members = len(predictions) // len(clusters)
        sizes = []
        for cluster in range(int(clusters.max()) + 1):
            inside = (clusters == cluster).double().repeat_interleave(members, 0)  # [B, n]
            share = self.mean_over_rows(inside, probe)
            sizes.append((self.mean_over_rows(predictions * inside, probe) / share).abs())
        return data.over_targets(torch.stack(sizes).nanmean(0)[None])[0]
