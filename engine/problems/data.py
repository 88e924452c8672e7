"""A problem drawn: the numbers that a learner sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.lazy import torch
from engine.problems.instances import Instances
from engine.streams import Streams

if TYPE_CHECKING:
    from engine.experiment import Problem


@dataclass(frozen=True)
class Data:
    """Instances [R, n, d] and labels [B, n], where B = replicas × targets, replica by replica."""

    instances: Instances
    labels: torch.Tensor
    replicas: int
    targets: int


def draw(problem: Problem, streams: Streams, dtype: str, device: str) -> Data:
    """Draw a problem once per replica: features, labels from them, label noise, and the instances seen.

    Raises: BadInput for a file that cannot be used.
    """
    features = problem.matrix.draw(streams)
    labels = problem.target.labels(problem.matrix, features, streams)  # [R, m, n]
    replicas, targets, n = labels.shape
    if problem.labels == "sign":
        labels = np.where(labels < 0, -1.0, 1.0)
    elif problem.labels == "bernoulli":
        heads = streams("labels").uniform(targets, n) < 1 / (1 + np.exp(-labels))
        labels = np.where(heads, 1.0, -1.0)
    if problem.noise > 0:
        labels = labels + problem.noise * streams("noise").normal(targets, n)
    instances = problem.matrix.instances(features, streams)
    return Data(
        Instances(torch.from_numpy(np.ascontiguousarray(instances, dtype=dtype)).to(device)),
        torch.from_numpy(np.ascontiguousarray(labels, dtype=dtype)).reshape(-1, n).to(device),
        replicas,
        targets,
    )
