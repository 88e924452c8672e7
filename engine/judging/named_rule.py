"""Update rules by name: a rule of the catalogue, an optimizer of a library, or a class in a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from engine.core import catalogue, optimizers
from engine.core.outside import classes_in, outside
from engine.core.parts import BadField, BadInput, Part, is_member, kind_of
from engine.core.texts import listed, nearest, quoted
from engine.updates import Update
from engine.updates.torch_optimizer import Torch

if TYPE_CHECKING:
    from torch.optim import Optimizer

    RuleOrOptimizer = str | Update | type[Optimizer] | partial[Optimizer]

Library = Literal["torch", "pytorch-optimizer"]

LIBRARIES: dict[str, Library] = {
    "torch.optim": "torch",
    "torch": "torch",
    "pytorch_optimizer": "pytorch-optimizer",
}
"""Libraries by the prefix of a name, as in `torch.Adam`."""


NO_SETTINGS: Mapping[str, object] = MappingProxyType({})

ALL: tuple[Library, ...] = "torch", "pytorch-optimizer"


def named_rule(name: str, settings: Mapping[str, object] = NO_SETTINGS) -> Update:
    """Return the update rule with this name. `settings` replace the defaults of its fields or arguments.

    A name has one of three forms. It is a kind of the catalogue (`egu`). Or it is a class of torch.optim or
    of pytorch-optimizer (`AdamW`, `pytorch_optimizer.AdamW`). Or it is a class in a Python file, which is
    executed (`my_rule.py:MyOptimizer`). A file with a single rule needs no class (`my_rule.py`).

    Raises: BadInput for an unknown name, and for an optimizer that cannot train here.
    """
    file, _, class_name = (name, "", "") if name.endswith(".py") else name.rpartition(":")
    if file.endswith(".py"):
        return _rule_in_file(file, class_name, settings)
    if (part := catalogue.find("updates", name)) is not None:
        return _rule_with_settings(part, settings)
    prefix, _, own_name = name.rpartition(".")
    libraries = (LIBRARIES[prefix],) if prefix in LIBRARIES else ALL
    for library in libraries:
        if own_name in _optimizer_names(library) or own_name in optimizers.registered:
            return _rule_of_library(own_name, library, settings)
    names = [
        *catalogue.members("updates"),
        *(rule for library in libraries for rule in _optimizer_names(library)),
    ]
    choices = f"{nearest(own_name or name, names)}; FILE.py:CLASS names a class in a file"
    raise BadInput(name, f"no preset, rule or optimizer has this name; {choices}")


def rule_of(rule: RuleOrOptimizer, options: Mapping[str, object] = NO_SETTINGS) -> Update:
    """Return an update rule that is passed as a rule, as a name, or as an optimizer class.

    A `functools.partial` of a class stands for the class with its keyword arguments. `options` replace the
    defaults of the arguments, as `settings` of `named_rule` do.

    Raises: BadInput.
    """
    if isinstance(rule, str):
        return named_rule(rule, options)
    if isinstance(rule, Update):
        if options:
            raise BadInput(
                rule.kind,
                "this rule is an object, which takes no options; set its fields, or pass its class",
            )
        return rule
    if isinstance(rule, partial) and isinstance(rule.func, type) and not rule.args:
        return rule_of(rule.func, {**rule.keywords, **options})
    from torch.optim import Optimizer

    if not (isinstance(rule, type) and issubclass(rule, Optimizer)):
        right = "pass a subclass of torch.optim.Optimizer, and its constructor arguments as options={…}"
        raise BadInput(quoted(rule), f"this is no name, no class of optimizers and no update rule; {right}")
    optimizers.registered[rule.__name__] = rule
    return _rule_of_library(rule.__name__, "torch", options)


def title_of(name: RuleOrOptimizer, rule: Update) -> str:
    """Return the title of a rule that `named_rule` or `rule_of` returned.

    The title is `name`, unless `name` is an object or names a Python file. In these cases, it is the class of
    a torch optimizer, or the kind of an update rule.
    """
    if isinstance(name, str) and ".py" not in name:
        return name
    return rule.name if isinstance(rule, Torch) else rule.kind


def _rule_in_file(file: str, class_name: str, settings: Mapping[str, object]) -> Update:
    outside.request([Path(file)])
    (module,) = (loaded for loaded in outside.modules() if loaded.__file__ == str(Path(file).absolute()))
    classes = {defined.__name__: defined for defined in classes_in(module)}
    parts = {name: part for name, part in classes.items() if issubclass(part, Update) and is_member(part)}
    rules = [*parts, *(name for name in classes if name in optimizers.registered)]
    if not class_name and len(rules) == 1:
        class_name = rules[0]
    if not rules:
        raise BadInput(file, "the file defines no update rule and no optimizer of torch")
    if class_name not in rules:
        choices = f"the choices are {listed(f'{file}:{rule}' for rule in rules)}"
        if not class_name:
            raise BadInput(file, f"the file defines several rules; {choices}")
        raise BadInput(f"{file}:{class_name}", f"no rule of the file has this name; {choices}")
    if class_name in parts:
        return _rule_with_settings(parts[class_name], settings)
    return _rule_of_library(class_name, "torch", settings)


def _rule_with_settings(part: type[Part], settings: Mapping[str, object]) -> Update:
    try:
        rule: Any = msgspec.convert({"kind": kind_of(part), **settings}, part)
    except msgspec.ValidationError as error:
        raise BadInput(kind_of(part), f"{error}; --set FIELD=VALUE sets a field") from error
    assert isinstance(rule, Update), "the family has no other parts"
    return rule


def _rule_of_library(name: str, library: Library, settings: Mapping[str, object]) -> Update:
    try:
        required: Any = optimizers.REQUIRED.get(optimizers.entry(name, library), {})
        rate: Any = {"lr": settings["lr"]} if "lr" in settings else {}
        options: Any = {option: setting for option, setting in settings.items() if option != "lr"}
        return Torch(name=name, library=library, options={**required, **options}, **rate)
    except BadField as error:
        raise BadInput(name, error.fault) from error


def _optimizer_names(library: str) -> tuple[str, ...]:
    """Return the names of the optimizers in a library; none if it is not installed."""
    try:
        return optimizers.optimizer_names(library)
    except BadField:
        return ()
