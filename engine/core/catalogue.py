"""The catalogue of all parts, by family, such as update rules, losses or targets.

The members of a family are the parts that the files in its folder define. A part that a user or another
package adds belongs to the family whose base class it derives from.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union

import msgspec

from engine.core.outside import classes_in, outside
from engine.core.parts import BadInput, Part, is_member, kind_of

FOLDERS = {
    "matrices": "engine.problems.matrices",
    "targets": "engine.problems.targets",
    "architectures": "engine.architectures",
    "updates": "engine.updates",
    "solvers": "engine.solvers",
    "losses": "engine.losses",
    "protocols": "engine.protocols",
    "measures": "engine.measures",
    "theory": "engine.theory",
    "claims": "engine.claims",
}


@cache
def members(family: str) -> dict[str, type[Part]]:
    """Return the members of a family by kind (the name in presets), in alphabetical order.

    Raises: KeyError for a family that is not in FOLDERS; ValueError if two members have the same kind;
        BadInput if a part from outside the program cannot be loaded, or has the kind of another member.
    """
    package = importlib.import_module(FOLDERS[family])
    members_by_kind: dict[str, type[Part]] = {}
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for kind, member in _members_in(importlib.import_module(module_info.name)):
            if kind in members_by_kind:
                raise ValueError(f"two {family} are called {kind!r}: {members_by_kind[kind]} and {member}")
            members_by_kind[kind] = member
    for module in outside.modules():
        for kind, member in _members_in(module):
            if all(base.__module__ != package.__name__ for base in member.__mro__):
                continue
            if kind in members_by_kind:
                fault = f"class {member.__name__} has the tag {kind!r}, which another class of {family}"
                raise BadInput(str(module.__file__), f"{fault} already has; choose another tag")
            members_by_kind[kind] = member
    _evaluate_bases(members_by_kind.values())
    return dict(sorted(members_by_kind.items()))


def _evaluate_bases(members_of_family: Iterable[type[Part]]) -> None:
    """Replace annotations of base classes, which are texts, by types.

    Otherwise, msgspec evaluates them again for each member, which takes longer than the import of a family.
    Unions of parts stay texts, because they need the other families.
    """
    bases = {base for member in members_of_family for base in member.__mro__[1:] if issubclass(base, Part)}
    for base in bases:
        annotations, names = inspect.get_annotations(base), vars(sys.modules.get(base.__module__, sys))
        for field, annotation in annotations.items():
            if isinstance(annotation, str) and "Of[" not in annotation:
                with suppress(NameError):
                    annotations[field] = eval(annotation, names, dict(vars(base)))
        base.__annotations__ = annotations


def _members_in(module: ModuleType) -> Iterator[tuple[str, type[Part]]]:
    for member in classes_in(module):
        if issubclass(member, Part) and is_member(member):
            yield kind_of(member), member


def find(family: str, kind: str) -> type[Part] | None:
    """Return the member of a family that is called `kind`, or None.

    If a file of this name defines the member, no other file of the family is imported.
    """
    package = FOLDERS[family]
    if kind in file_names(package):
        module = importlib.import_module(f"{package}.{kind.replace('-', '_')}")
        if (member := dict(_members_in(module)).get(kind)) is not None:
            return member
    return members(family).get(kind)


@cache
def file_names(package: str) -> tuple[str, ...]:
    """Return the names of the modules in a package, without importing them.

    Names have hyphens in place of underscores, as in presets.
    """
    package_spec = importlib.util.find_spec(package)
    assert package_spec is not None, f"{package} is a package"
    files = pkgutil.iter_modules(package_spec.submodule_search_locations)
    return tuple(sorted(file.name.replace("_", "-") for file in files if not file.ispkg))


if TYPE_CHECKING:
    T = TypeVar("T")
    MemberOf = Annotated[T, None]
    ChoiceOf = Annotated[T, None]
else:
    # msgspec evaluates the annotations of a Struct when the class is first used. So parts from outside the
    # program may be loaded after the class is defined.

    class MemberOf:
        """Type of a field that holds a part: `MemberOf[Update]` is the tagged union of all update rules."""

        def __class_getitem__(cls, base: type[Part]) -> Any:
            family = next(name for name, folder in FOLDERS.items() if folder == base.__module__)
            return Union[tuple(members(family).values())]  # noqa: UP007 - known at run time only

    class ChoiceOf:
        """Type of a text field that allows only the texts in `words()`: `ChoiceOf[words]`."""

        def __class_getitem__(cls, words: Callable[[], Iterable[str]]) -> Any:
            return Literal[tuple(words())]


def defaults(family: str) -> tuple[Any, ...]:
    """Return all parts of a family, in alphabetical order, with their default hyperparameters.

    No member may have a field without a default.
    """
    return _default_instances(tuple(members(family).values()))


@cache
def _default_instances(made_of: tuple[type[Part], ...]) -> tuple[Any, ...]:
    return tuple(member() for member in made_of)


def make(family: str, kind: str, **fields: object) -> Any:
    """Create the part `kind` of a family. Its fields are checked like those in a preset."""
    return msgspec.convert({"kind": kind, **fields}, members(family)[kind])
