"""Measured symmetries of torch optimizers: transformations of the inputs that do not change the result."""

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
"""Function or class that takes the parameters of a model and returns an optimizer for them.

If it has an argument called `model` or `module`, it also receives the model.
"""


def symmetry(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> Symmetry:
    """Measure by `symmetries` whether transformations of the inputs change what an optimizer learns.

    Raises: ValueError for an unknown group, and for an optimizer that fails or does not change the weights.
    """
    with optimizers.registering(_class_of(make_optimizer)) as name:
        try:
            (measured,) = symmetries(Torch(name=name), [group], seed)
        except BadInput as error:
            raise ValueError(str(error)) from error
    return measured


def assert_invariant(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> None:
    """Assert that transformations of the inputs do not change what an optimizer learns.

    `symmetry` measures the change. The group is rotations, permutations, sign flips or scalings. For example,
    `assert_invariant(lambda parameters: torch.optim.SGD(parameters, lr=0.1))` passes. Raises: AssertionError
    with the measured change, also if the optimizer amplifies rounding, so that nothing can be concluded.
    """
    measured = symmetry(make_optimizer, group, seed)
    if measured.word != "invariant":
        raise AssertionError(f"the optimizer is {measured.sentence}")


def _class_of(make_optimizer: MakeOptimizer) -> type[Optimizer]:
    """Return a class whose objects have all attributes of the optimizers that `make_optimizer` returns.

    The constructor ignores `lr`, so that the learning rates are those of `make_optimizer`.
    """
    usual = type(_made(make_optimizer, optimizers.small_model()))

    class Made(usual):  # type: ignore[misc, valid-type]
        def __init__(self, params: object, model: Any, lr: float) -> None:
            self.__dict__.update(vars(_made(make_optimizer, model)))

    # With this name, the tables of optimizers in `engine.core.optimizers` apply to the class, too.
    Made.__module__, Made.__name__ = usual.__module__, usual.__name__
    return Made


def _made(make_optimizer: MakeOptimizer, model: Any) -> Optimizer:
    """Call `make_optimizer`, a function or a class, and return the optimizer of a model's parameters."""
    if isinstance(make_optimizer, type):
        return optimizers.make_optimizer(make_optimizer, model.parameters(), model)
    parameters = inspect.signature(make_optimizer).parameters
    wants = [name for name in ("model", "module") if name in parameters]
    return make_optimizer(model.parameters(), **dict.fromkeys(wants, model))
