"""Every part there is, found by looking: a file in a family's folder is a member of that family."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache
from typing import Any, Union

import msgspec

from engine.core.parts import Part, is_member, kind_of

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
    """The members of one family by kind, in alphabetical order.

    Raises: KeyError for a family that is not in FOLDERS; ValueError if two members claim the same kind.
    """
    package = importlib.import_module(FOLDERS[family])
    found: dict[str, type[Part]] = {}
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for member in vars(module).values():
            if not (isinstance(member, type) and issubclass(member, Part)):
                continue
            if member.__module__ != module.__name__ or not is_member(member):
                continue
            kind = kind_of(member)
            if kind in found:
                raise ValueError(f"two {family} are called {kind!r}: {found[kind]} and {member}")
            found[kind] = member
    return dict(sorted(found.items()))


def file_names(package: str) -> list[str]:
    """What the files in a package are called, as presets say it, without importing any."""
    found = importlib.util.find_spec(package)
    assert found is not None, f"{package} is a package"
    files = pkgutil.iter_modules(found.submodule_search_locations)
    return sorted(file.name.replace("_", "-") for file in files if not file.ispkg)


def union(family: str) -> Any:
    """The tagged union of a family's members: what a preset may say in that place."""
    return Union[tuple(members(family).values())]  # noqa: UP007 - the members are known at run time only


def defaults(family: str) -> tuple[Any, ...]:
    """Every member of a family as it is by default, in alphabetical order; every field must have one."""
    return _by_default(tuple(members(family).values()))


@cache
def _by_default(made_of: tuple[type[Part], ...]) -> tuple[Any, ...]:
    return tuple(member() for member in made_of)


def make(family: str, kind: str, **fields: object) -> Any:
    """The member of `family` called `kind`, checked as if it came from a preset."""
    return msgspec.convert({"kind": kind, **fields}, members(family)[kind])
