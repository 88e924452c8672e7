"""Docstrings of modules, classes and functions, also under `python -OO`, which drops them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

MODULE = ""
"""The key of the docstring of a module among those in its source."""


@cache
def docstring(documented: Any) -> str:
    """Return the docstring of a module, class or function without its indentation.

    A class without one has that of a base. It is empty where Python has dropped it and there is no source.
    """
    restore(documented)
    return inspect.getdoc(documented) or ""


def restore(documented: Any) -> None:
    """Set the docstring that Python has dropped, and those of the bases of a class, from the source."""
    if sys.flags.optimize < 2:
        return
    for owner in documented.__mro__ if isinstance(documented, type) else (documented,):
        if owner.__doc__ is None and (text := _from_source(owner)):
            owner.__doc__ = text


def _from_source(documented: Any) -> str | None:
    if isinstance(documented, ModuleType):
        return _in_source(documented).get(MODULE)
    module = sys.modules.get(documented.__module__)
    return None if module is None else _in_source(module).get(documented.__qualname__)


@cache
def _in_source(module: ModuleType) -> Mapping[str, str | None]:
    """The docstrings in the source of a module by qualified name; none without a source."""
    import ast

    def named(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, str | None]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                name = f"{prefix}{child.name}"
                yield name, ast.get_docstring(child)
                yield from named(child, f"{name}.")

    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return {}
    return {MODULE: ast.get_docstring(tree), **dict(named(tree))}
