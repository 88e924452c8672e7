"""Interfaces of hypotheses: objects that predict labels, and may have weights or learn from examples."""

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
    """Interface of objects that predict labels."""

    def predict(self, instances: Instances) -> torch.Tensor:
        """Return predictions for the instances, [B, n]."""


class Weighted(Predictor, Protocol):
    """Interface of predictors that can return their weights."""

    def weights(self) -> torch.Tensor | None:
        """Return w [B, d] if predictions are xᵀw, or None if predictions are not linear in x.

        The weights are in the coordinates of the instances.
        """


class Hypothesis(Weighted, Protocol):
    """Interface of models (hypotheses) that learn from examples, by gradient steps or by a solver."""

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Train on examples: the instances [R, n, d] with the labels [B, n]."""


@runtime_checkable
class Parametrised(Protocol):
    """Interface of hypotheses with an architecture and parameters."""

    @property
    def architecture(self) -> Architecture: ...

    @property
    def params(self) -> Params:
        """Trained tensors by name."""

    @property
    def tensors(self) -> Params:
        """All tensors of the architecture, trained and fixed."""


@runtime_checkable
class Solved(Protocol):
    """Interface of hypotheses that a solver computes from all examples at once.

    The members of a batch are computed one after another.
    """

    def solving(self) -> Iterator[None]:
        """Compute the hypotheses of all batch members.

        Yield after each hypothesis, so that the caller can interrupt the computation.
        """


@runtime_checkable
class Normed(Protocol):
    """Interface of predictors that are functions from the Hilbert space of a kernel."""

    def squared_norm(self) -> torch.Tensor:
        """Return the squared norm ‖f‖² of the predictor f in the Hilbert space of its kernel, [B]."""


@runtime_checkable
class WithPosterior(Protocol):
    """Interface of predictors that have a posterior distribution of weights, and predict by its mean."""

    def posteriors(self) -> list[Posterior]:
        """Return the posterior distribution of the weights, for each batch member."""


@runtime_checkable
class Turnable(Protocol):
    """Interface of predictors whose initial state can be rotated together with the instances."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Rotate the initial state to match instances that are rotated from x to U x, with U = `rotation`.

        Call this method before the first example.
        """
