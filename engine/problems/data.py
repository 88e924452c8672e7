"""A problem drawn: the numbers that a learner sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.lazy import torch
from engine.problems.instances import Instances
from engine.streams import Streams

if TYPE_CHECKING:
    from engine.experiment import Problem


@dataclass(frozen=True)
class Data:
    """Instances [R, n, d] and labels [B, n], where B = replicas × variants × targets, in this order.

    Variants are copies of a learner on the same data, such as one per rate. What is recorded
    beside the loss over all rows: with `train_loss` that over the rows seen and over those unseen, with
    `spectrum` the singular values of the weights across targets.
    """

    instances: Instances
    labels: torch.Tensor
    replicas: int
    targets: int
    variants: int = 1
    train_loss: bool = False
    spectrum: bool = False

    def with_variants(self, count: int) -> Data:
        """The same data for `count` times as many variants; the new ones are the slower index."""
        labels = self.labels.view(self.replicas, 1, -1, self.instances.n)
        copies = labels.expand(-1, count, -1, -1).reshape(-1, self.instances.n)
        return replace(self, labels=copies, variants=self.variants * count)


def draw(problem: Problem, streams: Streams, dtype: str, device: str) -> Data:
    """Draw a problem once per replica: rows, labels from their features, label noise, and the instances seen.

    Raises: BadInput for a file that cannot be used.
    """
    rows = problem.matrix.draw(streams)
    labels = problem.target.labels(problem.matrix, problem.matrix.named(rows), streams)  # [R, m, n]
    replicas, targets, n = labels.shape
    if problem.labels == "sign":
        labels = np.where(labels < 0, -1.0, 1.0)
    elif problem.labels == "bernoulli":
        heads = streams("labels").uniform(targets, n) < 1 / (1 + np.exp(-labels))
        labels = np.where(heads, 1.0, -1.0)
    if problem.noise > 0:
        labels = labels + problem.noise * streams("noise").normal(targets, n)
    instances = problem.matrix.instances(rows, streams)
    return Data(
        Instances(torch.from_numpy(np.ascontiguousarray(instances, dtype=dtype)).to(device)),
        torch.from_numpy(np.ascontiguousarray(labels, dtype=dtype)).reshape(-1, n).to(device),
        replicas,
        targets,
    )
