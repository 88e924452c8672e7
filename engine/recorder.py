"""Records: the loss of a hypothesis on all rows, for every replica and variant."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.costs import Cost
from engine.hypothesis import Hypothesis
from engine.lazy import torch
from engine.problems.data import Data
from engine.spectrum import looked_at, singular_values

CELLS = 1 << 22
"""At most so many predictions are held at once while losses are computed."""


class Block(NamedTuple):
    """A few consecutive records of a learner, for R replicas and V variants (rates, say)."""

    x: NDArray[np.float64]
    """Where on the x-axis the records lie, [S]."""

    loss: NDArray[np.float64]
    """Average loss over rows and targets, [S, R, V]."""

    measures: dict[str, NDArray[np.float64]]
    """What else is measured of every replica and variant, by name, [S, R, V].

    error: the share of rows whose sign is mistaken, for labels ±1. A prediction of 0 counts one half.
      Rounding gives 0 a sign, and on unseen Hadamard rows even the right one: up to √eps counts as 0.
    train: the average loss over the examples seen; NaN before the first.
    unseen: the average loss over the rows never seen; NaN after the last.
    """

    weights: NDArray[np.floating[Any]] | None
    """The weight vectors of the first replica and target, [S, V, d], if predictions are linear."""

    spectrum: NDArray[np.float64] | None
    """Singular values of the first replica's weights across targets, [S, V, r]; NaN where not computed."""


class Recorder:
    """Takes records one by one and computes their losses for many at once.

    Predictions are made record by record, so that a curve does not depend on how a run is divided.
    """

    def __init__(self, data: Data, loss: Cost, order: torch.Tensor | None = None) -> None:
        """`order` [R, n]: which row is seen first, second, …; by default they are seen in their order."""
        self._data, self._loss, self._order = data, loss, order
        self._signs = bool((data.labels.abs() == 1).all())
        self._taken = 0
        self._x: list[float] = []
        self._waiting: list[torch.Tensor] = []
        self._counts: list[torch.Tensor] = []
        self._measures: defaultdict[str, list[torch.Tensor]] = defaultdict(list)
        self._weights: list[torch.Tensor] = []
        self._spectra: list[torch.Tensor] = []

    def take(self, x: float, hypothesis: Hypothesis, seen: int | torch.Tensor) -> None:
        """Record a hypothesis at a place on the x-axis, after `seen` examples, one number or [B, 1]."""
        self._x.append(x)
        if self._data.train_loss:
            self._counts.append(self._count(seen))
        self._waiting.append(hypothesis.predict(self._data.instances))
        if len(self._waiting) * self._data.labels.numel() >= CELLS:
            self._measure()
        weights = hypothesis.weights()
        if weights is not None:
            variants = weights[: self._data.variants * self._data.targets : self._data.targets]
            self._weights.append(variants)
            if self._data.spectrum:
                self._spectra.append(self._spectrum(weights))
        self._taken += 1

    def _spectrum(self, weights: torch.Tensor) -> torch.Tensor:
        """The singular values of the first replica [V, r], or NaN where it is not their turn."""
        variants, targets = self._data.variants, self._data.targets
        matrices = weights[: variants * targets].view(variants, targets, -1)
        if looked_at(self._taken):
            return singular_values(matrices)
        shape = variants, min(matrices.shape[1:])
        return torch.full(shape, torch.nan, dtype=torch.float64, device=weights.device)

    def _count(self, seen: int | torch.Tensor) -> torch.Tensor:
        """How often every row is among the first `seen` examples, [B, n] or [1, n]."""
        data = self._data
        if self._order is None:
            rows = torch.arange(data.instances.n, device=data.labels.device)
            return (rows < seen).view(-1, data.instances.n).double()
        first = self._order[:, :seen]
        counts = torch.zeros_like(self._order, dtype=torch.float64)
        counts.scatter_add_(1, first, torch.ones_like(first, dtype=torch.float64))
        return counts.repeat_interleave(data.variants * data.targets, 0)

    def block(self) -> Block:
        """The records taken since the last block."""
        self._measure()
        measures = {name: torch.cat(parts).cpu().numpy() for name, parts in self._measures.items()}
        block = Block(
            np.array(self._x),
            measures.pop("loss", np.empty((0, self._data.replicas, self._data.variants))),
            measures,
            torch.stack(self._weights).cpu().numpy() if self._weights else None,
            torch.stack(self._spectra).cpu().numpy() if self._spectra else None,
        )
        for taken in (self._x, self._measures, self._weights, self._spectra):
            taken.clear()
        return block

    def _measure(self) -> None:
        if not self._waiting:
            return
        predictions = torch.stack(self._waiting)  # [S, B, n]
        self._waiting.clear()
        losses = self._loss.value(predictions, self._data.labels)
        self._measures["loss"].append(self._averages(losses))
        if self._signs:
            margins = predictions * self._data.labels
            tie = margins.abs() <= torch.finfo(margins.dtype).eps ** 0.5
            mistakes = (1 - torch.where(tie, 0.0, torch.sign(margins))) / 2
            self._measures["error"].append(self._averages(mistakes))
        if self._counts:
            counts = torch.stack(self._counts)  # [S, B or 1, n]
            self._counts.clear()
            self._measures["train"].append(self._averages(losses, counts))
            self._measures["unseen"].append(self._averages(losses, (counts == 0).double()))

    def _averages(self, values: torch.Tensor, shares: torch.Tensor | None = None) -> torch.Tensor:
        """Values [S, B, n] averaged over rows, weighed by shares if given, and targets: [S, R, V] float64."""
        shape = (len(values), self._data.replicas, self._data.variants, self._data.targets)
        if shares is None:
            means = values.mean(2, dtype=torch.float64)
        else:
            means = (values * shares).sum(2) / shares.sum(2)
        return means.view(shape).mean(3)
