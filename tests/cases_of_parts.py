"""Pytest plugin that selects a few cases about each part and panel named in the variable PARTS."""

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
"""Most cases per test and part; further cases only cross the part with other parts."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the first FEW cases of every test that have a wanted part among their parameters."""
    cases_by_name: Counter[tuple[str, str]] = Counter()
    selected = []
    for test in items:
        parameters = test.callspec.params if hasattr(test, "callspec") else {}
        # Fields of parts may be called as other parts are.
        names = {
            (test.nodeid.partition("[")[0], name)
            for key, parameter in parameters.items()
            if key != "field"
            for name in _names(parameter)
            if name in WANTED
        }
        if any(cases_by_name[name] < FEW for name in names):
            selected.append(test)
            cases_by_name.update(names)
    config.hook.pytest_deselected(items=[test for test in items if test not in selected])
    items[:] = selected


def _names(parameter: Any) -> Iterator[str]:
    """Names of the parts that a test parameter holds; a list of parts is about none of them."""
    match parameter:
        case str():
            yield parameter
        case Panel():
            yield parameter.name
        case Mapping():
            for member in parameter.values():
                yield from _names(member)
        case type() if issubclass(parameter, Part) and is_member(parameter):
            yield kind_of(parameter)
        case Part():
            yield parameter.kind
