"""Optimizers of other libraries and of users: their names, classes and options, and their construction."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.core.lazy import torch
from engine.core.parts import BadField
from engine.core.texts import nearest, quoted, reason_of
from engine.core.user_errors import located

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

MODULES = {"torch": "torch.optim", "pytorch-optimizer": "pytorch_optimizer"}
"""Module in which each library publishes its optimizers."""

OPTIONAL = frozenset({"pytorch-optimizer"})
"""Libraries that may be missing. The package to install has the same name as the library."""

registered: dict[str, type[Optimizer]] = {}
"""Optimizers that users define, by name.

Only code that a user loads explicitly can add an optimizer; a preset cannot.
"""

REFUSED = {
    "torch.SparseAdam": "it needs sparse gradients, but all architectures here have dense gradients",
    **dict.fromkeys(
        ("pytorch_optimizer.AdaHessian", "pytorch_optimizer.SophiaH"),
        "it differentiates gradients, but this program computes gradients without a graph",
    ),
    "pytorch_optimizer.AdaLOMO": "it changes weights in `backward` of a torch module, not in `step`",
    "pytorch_optimizer.LOMO": "it changes weights in `backward` of a torch module, not in `step`",
    "pytorch_optimizer.DeMo": "it needs einops and a process group of torch.distributed",
    "pytorch_optimizer.DistributedMuon": "it needs a process group of torch.distributed",
    "pytorch_optimizer.FAdam": "it fails on float64, because it mixes in float32 numbers",
    "pytorch_optimizer.GSAM": "it needs a call of its method `set_closure`, which the program never calls",
    "pytorch_optimizer.PCGrad": "its method `pc_backward` needs several losses, but the program computes one",
    "pytorch_optimizer.SafeFP16Optimizer": "it is for float16, and trains copies of the model's weights",
}
"""Reason why an optimizer cannot train here, by the name that `qualified` returns."""

NEEDS_CLOSURE = frozenset(
    f"pytorch_optimizer.{name}" for name in ("AliG", "BSAM", "FriendlySAM", "LookSAM", "SAM", "WSAM")
)
"""Optimizers whose `step` needs a closure that computes the loss, although its signature does not say so."""

MATRICES_ONLY = frozenset({"torch.Muon", "pytorch_optimizer.SpectralSphere"})
"""Optimizers that can train only matrices. They are given the matrices of a model, but not its biases."""

MATRICES_APART = frozenset(
    f"pytorch_optimizer.{name}" for name in ("AdaGO", "AdaMuon", "Muon", "MuonClip", "NorMuon")
)
"""Optimizers that need matrices and biases in separate groups, marked by the key `use_muon`."""

REQUIRED: Mapping[str, Mapping[str, object]] = {
    "pytorch_optimizer.BSAM": {"num_data": 1000},
    "pytorch_optimizer.Ranger21": {"num_iterations": 100},
}
"""Values for arguments without a default, by optimizer; the values suit short runs."""

SET_BY_PROGRAM = frozenset(
    {"self", "params", "model", "module", "optimizer", "base_optimizer", "lr", "max_lr"}
)
"""Arguments that the program itself passes, so that options must not set them."""


def entry(name: str, library: str) -> str:
    """Return an optimizer's name in tables such as REFUSED, without importing the optimizer's package.

    For an optimizer of a library, this is the name that `qualified` returns, such as `torch.SGD`. For an
    optimizer that a user registered, the name begins with `registered.`, and no table contains it.
    """
    return f"{MODULES[library].split('.')[0] if name not in registered else 'registered'}.{name}"


def qualified(optimizer: type[Optimizer]) -> str:
    """Return an optimizer's name in tables such as REFUSED: package and class, such as `torch.SGD`."""
    return f"{optimizer.__module__.split('.')[0]}.{optimizer.__name__}"


@cache
def optimizers_of(library: str) -> dict[str, type[Optimizer]]:
    """Return the optimizers that a library publishes: their classes by name, in alphabetical order.

    Raises: BadField if the library is not installed.
    """
    from torch.optim import Optimizer

    try:
        module = import_module(MODULES[library])
    except ImportError as error:
        if library not in OPTIONAL:
            raise
        fault = f"the package {library} is not installed; run pip install {library}"
        raise BadField("kind", fault) from error
    return {
        name: candidate
        for name, candidate in sorted(vars(module).items())
        if isinstance(candidate, type) and issubclass(candidate, Optimizer) and candidate is not Optimizer
    }


def optimizer_names(library: str = "torch") -> tuple[str, ...]:
    """Return the names of the optimizers that a library publishes, in alphabetical order.

    Raises: BadField if the library is not installed.
    """
    return tuple(optimizers_of(library))


@contextmanager
def registering(optimizer: type[Optimizer]) -> Iterator[str]:
    """Register an optimizer under a unique name inside the block, and yield the name.

    Inside the block, experiments can use the optimizer under this name.
    """
    names = (f"{optimizer.__name__} {number}" for number in count(1))
    name = next(name for name in names if name not in registered)
    registered[name] = optimizer
    try:
        yield name
    finally:
        del registered[name]


def optimizer_class(name: str, library: str = "torch") -> type[Optimizer]:
    """Return the optimizer class called `name`, registered by a user or published by `library`.

    Raises: BadField if the name is unknown, or if the optimizer cannot train in this program.
    """
    optimizer = registered.get(name) or optimizers_of(library).get(name)
    if optimizer is None:
        choices = nearest(name, [*registered, *optimizers_of(library)])
        hint = "--parts FILE.py loads optimizers of your own"
        raise BadField("name", f"{library} has no optimizer {quoted(name)}; {choices}; {hint}")
    if (reason := REFUSED.get(qualified(optimizer))) is not None:
        raise BadField("name", f"{name} cannot train here: {reason}")
    return optimizer


def arguments(optimizer: type[Optimizer]) -> dict[str, inspect.Parameter]:
    """Return the arguments of an optimizer's constructor by name, except arguments that the program sets."""
    after_parameters = [*inspect.signature(optimizer.__init__).parameters.items()][2:]
    return {
        name: parameter
        for name, parameter in after_parameters
        if name not in SET_BY_PROGRAM and parameter.kind is not parameter.VAR_KEYWORD
    }


def check_options(optimizer: type[Optimizer], options: Mapping[str, object]) -> None:
    """Check that an optimizer accepts `options`, and that no required option is missing.

    To check the values, construct the optimizer for a small model. Raises: BadField.
    """
    accepted = arguments(optimizer)
    name = optimizer.__name__
    for option in options:
        if option not in accepted:
            hint = "set the rate by lr"
            if option not in ("lr", "max_lr"):
                hint = f"{nearest(option, [*accepted])}; {hint}"
            raise BadField("options", f"{name} takes no option {quoted(option)}; {hint}")
    for option, parameter in accepted.items():
        if parameter.default is parameter.empty and option not in options:
            raise BadField("options", f"{name} requires {option}; add it to the options")
    model = small_model()
    try:
        make_optimizer(optimizer, model.parameters(), model, 0.1, options)
    except Exception as error:  # optimizers raise errors of any kind
        fault = f"{name} refuses these options: {reason_of(error)}"
        if name in registered:
            fault = f"{name} cannot be constructed: {located(error, optimizer.__init__)}"
        raise BadField("options", fault) from error


def small_model() -> Any:
    """Return a torch module whose weight matrix and biases are 0.

    Unlike torch's `Linear`, the module draws no random numbers.
    """
    nn: Any = torch.nn  # mypy has no type stubs for modules
    model = nn.Module()
    model.register_parameter("weight", nn.Parameter(torch.zeros(2, 2)))
    model.register_parameter("bias", nn.Parameter(torch.zeros(2)))
    return model


def needs_closure(optimizer: type[Optimizer]) -> bool:
    """Return whether the optimizer's `step` needs a closure, which recomputes the loss and the gradients."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    required = closure is not None and closure.default is closure.empty
    return required or qualified(optimizer) in NEEDS_CLOSURE


def make_optimizer(
    optimizer: type[Optimizer],
    parameters: Iterable[Tensor] | Iterable[dict[str, Any]],
    model: Any = None,
    lr: float | None = None,
    options: Mapping[str, object] | None = None,
) -> Optimizer:
    """Construct an optimizer of the given class for `parameters`.

    The signature of the class determines its arguments. A class with an argument for the model gets `model`.
    A class that wraps another optimizer, such as Lookahead or SAM, wraps gradient descent. Arguments in
    REQUIRED have the values listed there unless `options` sets them.

    Args:
        parameters: tensors, or groups of tensors, `{"params": [...], "lr": ...}`.
        model: torch module of the parameters, for optimizers that take it.
        lr: learning rate; None means the optimizer's default.
        options: keyword arguments; a list becomes a tuple.
    """
    from torch.optim import SGD

    name, signature = qualified(optimizer), [*inspect.signature(optimizer.__init__).parameters][1:]
    keywords: dict[str, Any] = {**REQUIRED.get(name, {}), **(options or {})}
    keywords = {
        option: tuple(setting) if isinstance(setting, list) else setting
        for option, setting in keywords.items()
    }
    rate = {} if lr is None else {"max_lr" if "max_lr" in signature else "lr": lr}
    keywords |= {argument: model for argument in ("model", "module") if argument in signature}
    groups = _parameter_groups(name, list(parameters))
    if "optimizer" in signature:
        keywords["optimizer"] = SGD(groups, **rate)
    else:
        keywords |= rate
    if "base_optimizer" in signature:
        keywords["base_optimizer"] = SGD
    if "params" in signature:
        keywords["params"] = groups
    # In a user's optimizer, the first argument may have a name other than `params`.
    positional = [] if signature[0] in keywords else [groups]
    optimizer_of_model = optimizer(*positional, **keywords)
    if callable(train := getattr(optimizer_of_model, "train", None)):
        train()  # schedule-free optimizers refuse steps before this call
    return optimizer_of_model


def _parameter_groups(name: str, parameters: list[Any]) -> list[Any]:
    """Return parameters in the form that the optimizer `name` needs.

    Optimizers in MATRICES_ONLY get no biases. Optimizers in MATRICES_APART get separate groups of matrices
    and of biases. All other optimizers get the parameters unchanged.
    """
    if not any(isinstance(group, dict) for group in parameters):
        parts = _groups_by_dimension(name, parameters)
        return [part for part in parts if part["params"]] if len(parts) > 1 else parts[0]["params"]
    return [
        {**group, **part}
        for group in parameters
        for part in _groups_by_dimension(name, group["params"])
        if part["params"]
    ]


def _groups_by_dimension(name: str, parameters: list[Tensor]) -> list[dict[str, Any]]:
    if name not in MATRICES_ONLY | MATRICES_APART:
        return [{"params": parameters}]
    matrices = [parameter for parameter in parameters if parameter.dim() > 1]
    if name in MATRICES_ONLY:
        return [{"params": matrices}]
    biases = [parameter for parameter in parameters if parameter.dim() < 2]
    return [{"params": matrices, "use_muon": True}, {"params": biases, "use_muon": False}]


@contextmanager
def random_numbers(device: torch.device) -> Iterator[Callable[[int], None]]:
    """Yield a function that seeds the random generators of torch, numpy and Python.

    At the end of the block, restore the generators' former states. Saving the states takes longer than a
    small training step, but seeding takes almost no time.
    """
    # `fork_rng` and `manual_seed` would be slower, because they visit every kind of device.
    generators = [torch.default_generator]
    if device.type == "cuda":
        generators.append(torch.cuda.default_generators[device.index or 0])
    states, of_numpy = [generator.get_state() for generator in generators], np.random.get_state()
    of_python = random.getstate()

    def seed(number: int) -> None:
        for generator in generators:
            generator.manual_seed(number)
        np.random.seed(number)
        random.seed(number)

    try:
        yield seed
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        np.random.set_state(of_numpy)
        random.setstate(of_python)
