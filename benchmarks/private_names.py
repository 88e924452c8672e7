"""Uses of private names of Textual and numba in the code of the program."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

LIBRARIES = ("textual", "numba")

OF_TUPLES = frozenset({"_asdict", "_fields", "_make", "_replace"})
"""Names of named tuples, which are public in spite of their underscore."""

BY_NAME = ("getattr", "hasattr", "setattr", "delattr")
"""Functions that receive the name of an attribute."""


class PrivateUse(NamedTuple):
    """One use of a private name, at a line of a module."""

    module: str
    line: int
    name: str


def private_uses(texts: Mapping[str, str]) -> list[PrivateUse]:
    """Uses of private names of a library in modules of the program, by their texts."""
    return [use for module, text in texts.items() for use in _uses(module, text)]


def _uses(module: str, text: str) -> Iterator[PrivateUse]:
    tree = ast.parse(text)
    mixed = "textual" in text and any(isinstance(node, ast.ClassDef) for node in tree.body)
    namespace = vars(import_module(module.removesuffix(".__init__"))) if mixed else {}
    for line, name in uses_in(tree, namespace):
        yield PrivateUse(module, line, name)


def uses_in(tree: ast.Module, namespace: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Lines and names of private uses in a module, whose classes are in `namespace`.

    A private attribute of another object than `self` is a library's unless a class of the same module has it.
    One of `self` is a library's if a base class from there has it, whether it is read, set or overridden.
    """
    classes = {node: namespace.get(node.name) for node in tree.body if isinstance(node, ast.ClassDef)}
    defined_here = {
        name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for name in _defined(node)
    }
    modules = set(_modules(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.Attribute) and not _is_of(node.value, modules | {"self", "cls"}):
            if is_private(node.attr) and node.attr not in defined_here | OF_TUPLES:
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in BY_NAME:
            value, name = node.args[:2]
            if isinstance(name, ast.Constant) and is_private(name.value) and not _is_of(value, modules):
                yield node.lineno, name.value
    for node, defined in classes.items():
        theirs = _names_of_bases(defined)
        for line, name in _of_self(node):
            if name in theirs:
                yield line, name


def is_private(name: str) -> bool:
    """Whether a name begins with an underscore and is not special, as `__init__` is."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[int, str]]:
    """Private modules and names that an import of a library names."""
    module = node.module if isinstance(node, ast.ImportFrom) else None
    for alias in node.names:
        path = f"{module}.{alias.name}" if module else alias.name
        parts = path.split(".")
        if parts[0] in LIBRARIES and any(map(is_private, parts)):
            yield node.lineno, path


def _modules(tree: ast.Module) -> Iterator[str]:
    """Names of imported modules outside the libraries, as `os`, whose private names are not meant here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] not in LIBRARIES:
                    yield alias.asname or alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module == "engine.core.lazy":
            yield from (alias.name for alias in node.names)


def _is_of(value: ast.expr, names: set[str]) -> bool:
    """Whether an expression is one of some names, an attribute of a module among them, or `super()`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super":
        return True
    if isinstance(value, ast.Name):
        return value.id in names
    return isinstance(value, ast.Attribute) and _is_of(value.value, names - {"self", "cls"})


def _defined(node: ast.ClassDef) -> Iterator[str]:
    """Private names that a class defines: methods, values of the class, and attributes of `self`."""
    for _, name in _of_self(node, stored_only=True):
        yield name


def _of_self(node: ast.ClassDef, stored_only: bool = False) -> Iterator[tuple[int, str]]:
    """Lines and private names of the methods, values and attributes of `self` or `super()` of a class."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _if_private(statement.lineno, statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield from _if_private(statement.lineno, target.id)
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute) or (stored_only and not isinstance(part.ctx, ast.Store)):
            continue
        if _is_of(part.value, {"self", "cls", node.name}):
            yield from _if_private(part.lineno, part.attr)


def _if_private(line: int, name: str) -> Iterator[tuple[int, str]]:
    if is_private(name):
        yield line, name


def _names_of_bases(defined: Any) -> set[str]:
    """Private names of the base classes that are from a library."""
    if not isinstance(defined, type):
        return set()
    bases = [base for base in defined.__mro__ if base.__module__.split(".")[0] in LIBRARIES]
    return {name for base in bases for name in vars(base)} | {
        name for base in bases for name in _stored(base.__module__).get(base.__name__, ())
    }


@cache
def _stored(module: str) -> dict[str, set[str]]:
    """Private names that each class of a library's module defines."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {node.name: {*_defined(node)} for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
