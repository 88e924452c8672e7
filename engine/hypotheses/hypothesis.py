"""What a hypothesis provides, however it came about: predictions, weights, to take in examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.architectures import Architecture
    from engine.core.lazy import torch
    from engine.core.params import Params
    from engine.problems.instances import Instances


class Predictor(Protocol):
    """Whatever predicts labels."""

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""


class Weighted(Predictor, Protocol):
    """What a record needs of a learner, however it takes in examples."""

    def weights(self) -> torch.Tensor | None:
        """The vectors w [B, d] with predictions xᵀw, or None if predictions are not linear in x.

        Their coordinates are those that the instances are given in.
        """


class Hypothesis(Weighted, Protocol):
    """What a protocol needs of a learner, whether it follows gradients or solves."""

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples: instances [R, n, d] and labels [B, n]."""


@runtime_checkable
class Parametrised(Protocol):
    """A hypothesis that is a function with parameters, trained or not."""

    @property
    def architecture(self) -> Architecture:
        """The function."""

    @property
    def params(self) -> Params:
        """The trained tensors by name."""

    @property
    def tensors(self) -> Params:
        """All tensors that the function takes: the trained ones and those that belong to it."""


@runtime_checkable
class Solved(Protocol):
    """A hypothesis that is solved for once its examples are complete, member by member of the batch."""

    def solving(self) -> Iterator[None]:
        """Solve for what is needed next; yields between members."""


@runtime_checkable
class Normed(Protocol):
    """A predictor that is an element of the space of a kernel."""

    def squared_norm(self) -> torch.Tensor:
        """Its squared norm ‖f‖² there, [B]."""


@runtime_checkable
class Turnable(Protocol):
    """A predictor with a start that has a counterpart on turned instances."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Replace the start by the one that corresponds to instances U x; for use before any example."""
