"""Records: the loss of a hypothesis on all rows, for every replica and variant."""

from __future__ import annotations

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

    error: NDArray[np.float64] | None
    """Share of rows whose sign is mistaken, [S, R, V], for labels ±1. A prediction of 0 counts one half.

    Rounding gives 0 a sign, and on unseen Hadamard rows even the right one: up to √eps counts as 0.
    """

    weights: NDArray[np.floating[Any]] | None
    """The weight vectors of the first replica and target, [S, V, d], if predictions are linear."""

    spectrum: NDArray[np.float64] | None = None
    """Singular values of the first replica's weights across targets, [S, V, r]; NaN where not computed."""


class Recorder:
    """Takes records one by one and computes their losses for many at once.

    Predictions are made record by record, so that a curve does not depend on how a run is divided.
    """

    def __init__(self, data: Data, loss: Cost) -> None:
        self._data, self._loss = data, loss
        self._signs = bool((data.labels.abs() == 1).all())
        self._x: list[float] = []
        self._waiting: list[torch.Tensor] = []
        self._losses: list[torch.Tensor] = []
        self._errors: list[torch.Tensor] = []
        self._weights: list[torch.Tensor] = []
        self._spectra: list[torch.Tensor] = []
        self._taken = 0

    def take(self, x: float, hypothesis: Hypothesis) -> None:
        """Record a hypothesis at a place on the x-axis."""
        self._x.append(x)
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
        return torch.full((variants, min(matrices.shape[1:])), torch.nan, dtype=torch.float64)

    def block(self) -> Block:
        """The records taken since the last block."""
        self._measure()
        shape = (0, self._data.replicas, self._data.variants)
        block = Block(
            np.array(self._x),
            torch.cat(self._losses).cpu().numpy() if self._x else np.empty(shape),
            torch.cat(self._errors).cpu().numpy() if self._errors else None,
            torch.stack(self._weights).cpu().numpy() if self._weights else None,
            torch.stack([one.cpu() for one in self._spectra]).numpy() if self._spectra else None,
        )
        for taken in (self._x, self._losses, self._errors, self._weights, self._spectra):
            taken.clear()
        return block

    def _measure(self) -> None:
        if not self._waiting:
            return
        predictions = torch.stack(self._waiting)  # [S, B, n]
        self._waiting.clear()
        self._losses.append(self._averages(self._loss.value(predictions, self._data.labels)))
        if self._signs:
            margins = predictions * self._data.labels
            tie = margins.abs() <= torch.finfo(margins.dtype).eps ** 0.5
            self._errors.append(self._averages((1 - torch.where(tie, 0.0, torch.sign(margins))) / 2))

    def _averages(self, values: torch.Tensor) -> torch.Tensor:
        """Values [S, B, n] averaged over rows and targets, [S, R, V] in float64."""
        shape = (len(values), self._data.replicas, self._data.variants, self._data.targets)
        return values.mean(2, dtype=torch.float64).view(shape).mean(3)
