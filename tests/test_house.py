"""Figures of `benchmarks/house.py` that must not grow: decisions of a run, and widths of base classes."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WIDEST = 15
"""Most public names of a base class, inherited ones included."""

MOST_CALLS = 300
"""Most calls outside planning and spec that receive the experiment in one run."""

LEARNERS = 5
"""Learners of the preset whose run is counted."""


@pytest.fixture(scope="module")
def house():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
        yield importlib.import_module("house")


def test_base_classes_and_widely_used_classes_are_narrow(house):
    widths = {base: names for base, _, names, _ in house.base_classes()} | dict(house.sizes_of_classes())
    assert len(widths) == len(house.FAMILIES) + 1 + sum(map(len, house.WIDE.values()))
    assert min(widths.values()) > 5
    assert {base: width for base, width in widths.items() if width > WIDEST} == {}


def test_a_run_makes_each_decision_once_per_learner(house):
    decisions, receiving = house.calls_in_a_run()
    assert {name: decisions[name] for name in ("plan_run", "recorded_measures", "lines_along_runs")} == {
        "plan_run": 1,
        "recorded_measures": 1,
        "lines_along_runs": 1,
    }
    assert (decisions["verdict"], decisions["backend_choice"]) == (LEARNERS, LEARNERS)
    assert 0 < receiving <= MOST_CALLS
