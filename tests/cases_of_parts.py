"""A plugin of pytest that keeps some cases about the parts and panels named in PARTS of the environment."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from engine.core.parts import Part, is_member, kind_of
from hadamard_tui.panels.panel import Panel

WANTED = {*filter(None, os.environ.get("PARTS", "").split(","))}

FEW = 2
"""Of each test so many cases are kept at most for each of them: others cross it with other parts."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first cases of every test that have one of them among their parameters."""
    taken: Counter[tuple[str, str]] = Counter()
    kept = []
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        # Fields of parts may be called as other parts are.
        found = {(item.nodeid.partition("[")[0], name) for key, one in given.items() if key != "field"
                 for name in _names(one) if name in WANTED}  # fmt: skip
        if any(taken[one] < FEW for one in found):
            kept.append(item)
            taken.update(found)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _names(value: Any) -> Iterator[str]:
    """What a parameter of a test is called, or parts in it are; a list of some is about none of them."""
    match value:
        case str():
            yield value
        case Panel():
            yield value.name
        case Mapping():
            for one in value.values():
                yield from _names(one)
        case type() if issubclass(value, Part) and is_member(value):
            yield kind_of(value)
        case Part():
            yield value.kind
