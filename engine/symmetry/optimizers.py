"""Symmetries of torch's optimizers by measurement: which transformations of the inputs change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.core import optimizers
from engine.core.parts import BadInput
from engine.symmetry.rules import Symmetry, symmetries
from engine.updates.torch_optimizer import Torch

if TYPE_CHECKING:
    from torch.optim import Optimizer

MakeOptimizer = Callable[..., "Optimizer"]
"""Function of a model's parameters that returns their optimizer.

If it has an argument called `model` or `module`, it receives the model, too. It may be a class.
"""


def symmetry(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> Symmetry:
    """Measure by `symmetries` whether transformations of the inputs change what an optimizer learns.

    Raises: ValueError for an unknown group, and for an optimizer that moves nothing or that fails.
    """
    with optimizers.registering(_class_of(make_optimizer)) as name:
        try:
            (measured,) = symmetries(Torch(name=name), [group], seed)
        except BadInput as error:
            raise ValueError(str(error)) from error
    return measured


def assert_invariant(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> None:
    """Assert that transformations of the inputs change nothing that an optimizer learns.

    It is measured by `symmetry`, for rotations, permutations, sign flips or scalings.
    `assert_invariant(lambda parameters: torch.optim.SGD(parameters, lr=0.1))` passes. Raises: AssertionError
    with the measured change, also for an optimizer that is unstable.
    """
    measured = symmetry(make_optimizer, group, seed)
    if measured.word != "invariant":
        raise AssertionError(f"the optimizer is {measured.sentence}")


def _class_of(make_optimizer: MakeOptimizer) -> type[Optimizer]:
    """Return a class whose objects are what a function returns, and whose rates are those of the function."""
    usual = type(_made(make_optimizer, optimizers.small_model()))

    class Made(usual):  # type: ignore[misc, valid-type]
        def __init__(self, params: object, model: Any, lr: float) -> None:
            self.__dict__.update(vars(_made(make_optimizer, model)))

    # Tables of the libraries' optimizers hold for this class, too.
    Made.__module__, Made.__name__ = usual.__module__, usual.__name__
    return Made


def _made(make_optimizer: MakeOptimizer, model: Any) -> Optimizer:
    """Return the optimizer of a model's parameters, made by a function or of a class."""
    if isinstance(make_optimizer, type):
        return optimizers.make_optimizer(make_optimizer, model.parameters(), model)
    parameters = inspect.signature(make_optimizer).parameters
    wants = [name for name in ("model", "module") if name in parameters]
    return make_optimizer(model.parameters(), **dict.fromkeys(wants, model))
