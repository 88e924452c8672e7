"""The update rule of a name: one of the catalogue, an optimizer of a library, or a class in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.core import catalogue, optimizers
from engine.core.outside import outside
from engine.core.parts import BadField, BadInput, Part, kind_of
from engine.core.texts import nearest, quoted
from engine.updates import Update
from engine.updates.torch_optimizer import Torch

if TYPE_CHECKING:
    from torch.optim import Optimizer

Library = Literal["torch", "pytorch-optimizer"]

LIBRARIES: dict[str, Library] = {
    "torch.optim": "torch",
    "torch": "torch",
    "pytorch_optimizer": "pytorch-optimizer",
}
"""Library of a prefix, as in `torch.Adam`."""


ALL: tuple[Library, ...] = "torch", "pytorch-optimizer"


def named_rule(name: str) -> Update:
    """Return the rule of a name, with its defaults.

    The name is a kind of the catalogue (`egu`), a class of torch.optim or of pytorch-optimizer (`AdamW`,
    `pytorch_optimizer.AdamW`), or a class in a file (`my_rule.py:MyOptimizer`), which is loaded.

    Raises: BadInput for an unknown name, and for an optimizer that cannot train here.
    """
    file, _, class_name = name.rpartition(":")
    if file.endswith(".py"):
        return _in_file(file, class_name)
    if (part := catalogue.find("updates", name)) is not None:
        return _made(part)
    prefix, _, own_name = name.rpartition(".")
    libraries = (LIBRARIES[prefix],) if prefix in LIBRARIES else ALL
    for library in libraries:
        if own_name in _names(library) or own_name in optimizers.registered:
            return _of_library(own_name, library)
    names = [*catalogue.members("updates"), *(rule for library in libraries for rule in _names(library))]
    raise BadInput(name, f"no preset, rule or optimizer has this name; {nearest(own_name or name, names)}")


def rule_of(rule: str | Update | type[Optimizer]) -> Update:
    """Return an update rule as it is, by its name, or that of a class of optimizers. Raises: BadInput."""
    if isinstance(rule, Update):
        return rule
    if isinstance(rule, str):
        return named_rule(rule)
    optimizers.registered[rule.__name__] = rule
    return _of_library(rule.__name__, "torch")


def _in_file(file: str, class_name: str) -> Update:
    outside.request([Path(file)])
    outside.modules()
    if class_name in optimizers.registered:
        return _of_library(class_name, "torch")
    parts = {part.__name__: part for part in catalogue.members("updates").values()}
    if class_name in parts:
        return _made(parts[class_name])
    fault = f"the file defines no optimizer of torch and no update rule {quoted(class_name)}"
    raise BadInput(f"{file}:{class_name}", fault)


def _made(part: type[Part]) -> Update:
    try:
        rule: Any = part()
    except TypeError as error:
        raise BadInput(kind_of(part), f"a rule needs defaults for all fields: {error}") from error
    assert isinstance(rule, Update), "the family has no other parts"
    return rule


def _of_library(name: str, library: Library) -> Update:
    try:
        required: Any = optimizers.REQUIRED.get(optimizers.entry(name, library), {})
        return Torch(name=name, library=library, options=dict(required))
    except BadField as error:
        raise BadInput(name, error.fault) from error


def _names(library: str) -> tuple[str, ...]:
    """Return the names in a library; none if it is not installed."""
    try:
        return optimizers.optimizer_names(library)
    except BadField:
        return ()
