"""Interfaces of hypotheses: objects that predict, return weights, or learn from examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.architectures import Architecture
    from engine.core.lazy import torch
    from engine.core.params import Params
    from engine.formulas.deep_linear_posterior import Posterior
    from engine.problems.instances import Instances


class Predictor(Protocol):
    """An object that predicts labels."""

    def predict(self, instances: Instances) -> torch.Tensor:
        """Return predictions [B, n]."""


class Weighted(Predictor, Protocol):
    """A predictor whose weights can be stored in records."""

    def weights(self) -> torch.Tensor | None:
        """Return w [B, d] with predictions xᵀw, or None if predictions are not linear in x.

        The weights are in the coordinates of the instances.
        """


class Hypothesis(Weighted, Protocol):
    """A hypothesis that learns from examples, by gradient steps or by a solver."""

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Learn from examples: instances [R, n, d] and labels [B, n]."""


@runtime_checkable
class Parametrised(Protocol):
    """A hypothesis with an architecture and parameters."""

    @property
    def architecture(self) -> Architecture:
        """Architecture of the hypothesis."""

    @property
    def params(self) -> Params:
        """Trained tensors by name."""

    @property
    def tensors(self) -> Params:
        """All tensors of the architecture, trained and fixed."""


@runtime_checkable
class Solved(Protocol):
    """A hypothesis that a solver computes after all examples, one batch member at a time."""

    def solving(self) -> Iterator[None]:
        """Compute the hypothesis, and yield between batch members."""


@runtime_checkable
class Normed(Protocol):
    """A predictor that is a function in the Hilbert space of a kernel."""

    def squared_norm(self) -> torch.Tensor:
        """Return the squared norm ‖f‖² of the predictor, [B]."""


@runtime_checkable
class WithPosterior(Protocol):
    """A predictor that is the mean of a posterior distribution of weights."""

    def posteriors(self) -> list[Posterior]:
        """Return the posterior of every member of the batch."""


@runtime_checkable
class Turnable(Protocol):
    """A predictor whose initial state has a counterpart for rotated instances."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Replace the initial state by the corresponding state for instances U x.

        Call it before the first example.
        """
