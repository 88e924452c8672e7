"""Symmetries of torch's optimizers by measurement: which transformations of the inputs change nothing.

A model is trained on X, and with a coupled start on the transformed XTᵀ: its first layer W starts at W T⁻¹,
so that both begin with the same predictions. For an optimizer with the symmetry they stay the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.optimizers import make_optimizer as optimizer_of
from engine.core.optimizers import needs_graph, random_numbers
from engine.core.streams import Streams
from engine.core.texts import listed
from engine.problems.instances import element
from engine.symmetry.certificate import PAIRS, PERTURBATION
from engine.symmetry.rules import (
    FEATURES,
    GROUPS,
    LARGEST_FACTOR,
    ROWS,
    STEPS,
    UNITS,
    Symmetry,
    lower_precisions,
    magnified,
)

if TYPE_CHECKING:
    from torch.optim import Optimizer

MakeOptimizer = Callable[..., "Optimizer"]
"""Function of a model's parameters that returns their optimizer.

If it has an argument called `model` or `module`, it receives the model, too. It may be a class.
"""

Model = Any
"""A module of torch; mypy reads no stubs of these."""


def symmetry(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> Symmetry:
    """Measure whether a group of transformations of the inputs changes what an optimizer learns.

    It trains a linear model and a tanh net in float64 with full batches, for two random elements of the
    group. Random numbers of the optimizer are the same in all runs. Where it computes in a lower precision,
    rounding is that of this precision.

    Raises: ValueError for an unknown group, and for an optimizer that moves nothing.
    """
    if group not in GROUPS:
        raise ValueError(f"there is no group {group!r}; the groups are {listed(GROUPS)}")
    change = by_rounding = 0.0
    precisions: set[str] = set()
    for units in (0, UNITS):
        pair = _Pair(make_optimizer, units, seed)
        precisions |= pair.precisions
        change = max(change, *(pair.change(transformation) for transformation in pair.transformations(group)))
        by_rounding = max(by_rounding, pair.change_by_rounding(change))
    return Symmetry(group, change, by_rounding, tuple(sorted(precisions)))


def assert_invariant(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> None:
    """Assert that transformations of the inputs change nothing that an optimizer learns.

    It is measured by `symmetry`, for rotations, permutations, sign flips or scalings.
    `assert_invariant(lambda parameters: torch.optim.SGD(parameters, lr=0.1))` passes. Raises: AssertionError
    with the measured change, also for an optimizer that is unstable.
    """
    measured = symmetry(make_optimizer, group, seed)
    if measured.word != "invariant":
        raise AssertionError(f"the optimizer is {measured.sentence}")


class _Pair:
    """Runs of an optimizer on one set of data, and on changed ones."""

    def __init__(self, make_optimizer: MakeOptimizer, units: int, seed: int) -> None:
        self._make, self._units, self._seed = make_optimizer, units, seed
        self._streams = Streams([seed])
        stream = self._streams("data")
        self._x = stream.normal(ROWS, FEATURES)[0]
        self._y = torch.from_numpy(self._x[:, 0] + np.sin(self._x[:, 1]))
        self.precisions: set[str] = set()
        """Floating-point types below float64 among the numbers of the optimizer."""
        with lower_precisions(self.precisions):
            self._predictions = self._train(np.eye(FEATURES))
        self._movement = float(np.abs(self._predictions - self._predictions[0]).max())
        if self._movement == 0:
            raise ValueError("the optimizer does not move the model")

    def transformations(self, group: str) -> Iterator[NDArray[np.float64]]:
        """Yield two random elements [d, d] of a group; the second rotation has determinant −1."""
        stream = self._streams(group)
        for determinant in (1, -1):
            if (orthogonal := GROUPS[group]) is not None:
                yield element(orthogonal, stream, FEATURES, determinant)
            else:
                exponents = 2 * stream.uniform(FEATURES)[0] - 1
                yield np.diag(LARGEST_FACTOR**exponents)

    def change(self, transformation: NDArray[np.float64], noise: NDArray[np.float64] | float = 0.0) -> float:
        """Return the largest change of a prediction on transformed inputs, relative to the movement.

        Predictions are compared up to the first that is not finite.
        """
        predictions = self._train(transformation, noise)
        finite = np.isfinite(predictions).all(1) & np.isfinite(self._predictions).all(1)
        length = len(finite) if finite.all() else int(finite.argmin())
        difference = np.abs(predictions[:length] - self._predictions[:length])
        return float(difference.max()) / self._movement

    def change_by_rounding(self, to_explain: float) -> float:
        """Return the largest change under perturbations, of as many as may be needed to explain a change."""
        largest, stream = 0.0, self._streams("perturbation")
        for _ in range(PAIRS):
            for _ in range(2):
                noise = self._rounding * stream.normal(ROWS, FEATURES)[0]
                largest = max(largest, self.change(np.eye(FEATURES), noise))
            if to_explain <= magnified(tuple(self.precisions)) * largest:
                break
        return largest

    @property
    def _rounding(self) -> float:
        """Size of rounding in the lowest precision of the optimizer."""
        epsilons = [torch.finfo(getattr(torch, precision)).eps for precision in self.precisions]
        return 4 * max(epsilons) if epsilons else float(PERTURBATION)

    def _train(self, transformation: NDArray[np.float64], noise: NDArray[np.float64] | float = 0.0) -> Any:
        """Return the predictions [steps + 1, rows] of a model on transformed inputs."""
        inputs = torch.from_numpy((self._x + noise) @ transformation.T)
        with random_numbers(inputs.device) as seed:
            seed(self._seed)
            model = self._model(np.asarray(np.linalg.inv(transformation), np.float64))
            optimizer = _made(self._make, model)
            graph = needs_graph(type(optimizer))

            @torch.enable_grad()
            def loss() -> torch.Tensor:
                optimizer.zero_grad()
                mean: torch.Tensor = ((model(inputs)[:, 0] - self._y) ** 2).mean()
                mean.backward(create_graph=graph)  # type: ignore[no-untyped-call]
                return mean

            takes_closure = "closure" in inspect.signature(optimizer.step).parameters
            predictions = [model(inputs)[:, 0].detach().numpy()]
            for _ in range(STEPS):
                loss()  # some optimizers read the gradient before they call the closure
                if takes_closure:
                    optimizer.step(loss)
                else:
                    optimizer.step()
                predictions.append(model(inputs)[:, 0].detach().numpy())
        return np.array(predictions)

    def _model(self, back: NDArray[np.float64]) -> Model:
        """Return the model at its start, with `back` = T⁻¹ applied behind the first layer."""
        stream = self._streams("start")
        widths = [FEATURES, 1] if not self._units else [FEATURES, self._units, 1]
        nn: Any = torch.nn
        layers: list[Model] = []
        for number, (incoming, outgoing) in enumerate(pairwise(widths)):
            layer = nn.Linear(incoming, outgoing, bias=bool(self._units), dtype=torch.float64)
            weights = stream.normal(outgoing, incoming)[0] / np.sqrt(incoming)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weights if number else weights @ back))
                if layer.bias is not None:
                    layer.bias.zero_()
            layers += [layer] if number == len(widths) - 2 else [layer, nn.Tanh()]
        return nn.Sequential(*layers)


def _made(make_optimizer: MakeOptimizer, model: Model) -> Optimizer:
    """Return the optimizer of a model's parameters, made by a function or of a class."""
    if isinstance(make_optimizer, type):
        return optimizer_of(make_optimizer, model.parameters(), model)
    parameters = inspect.signature(make_optimizer).parameters
    wants = [name for name in ("model", "module") if name in parameters]
    return make_optimizer(model.parameters(), **dict.fromkeys(wants, model))
