"""Every lower, upper and exact line of the catalogue has a twin that computes it from the definition."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from line_twins import Naive, Twin, check

from engine.core import catalogue
from engine.theory import At, Floats, LineStructure
from engine.theory.ri_signed import RISigned

EXACT_SIDES = ("lower", "upper", "exact")
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("test_twins_of_*.py"))


def twins() -> list[Twin]:
    """The twins of all modules that have some."""
    return [twin for module in MODULES for twin in import_module(module).TWINS]


def without_twin() -> list[str]:
    """Kinds of lower, upper and exact lines that owe a twin and have none."""
    computed = {twin.kind for twin in twins()}
    exact = [line for line in catalogue.defaults("theory") if line.structure().direction in EXACT_SIDES]
    owing = [line.kind for line in exact if not line.experimental]
    return [kind for kind in owing if kind not in computed]


def test_every_lower_upper_and_exact_line_has_a_twin():
    kinds = ", ".join(without_twin())
    assert not kinds, (
        f"no twin computes {kinds} from the definition: "
        "add one to TWINS of a module tests/engine/test_twins_of_*.py"
    )


def test_every_twin_belongs_to_a_line_of_the_catalogue():
    assert {twin.kind for twin in twins()} <= {*catalogue.members("theory")}


class Lifted(RISigned, frozen=True, tag="lifted"):
    """1.3 times a bound. Source: this test."""

    def structure(self):
        return LineStructure(direction="lower")

    def value(self, at: At) -> Floats:
        return 1.3 * super().value(at)


def with_lifted(monkeypatch: pytest.MonkeyPatch, line: type[Lifted]) -> None:
    """Add a line to the catalogue."""
    members = catalogue.members
    monkeypatch.setattr(
        catalogue,
        "members",
        lambda family: {**members(family), "lifted": line} if family == "theory" else members(family),
    )


def test_a_stable_new_line_needs_a_twin_but_an_experimental_line_does_not(monkeypatch):
    with_lifted(monkeypatch, Lifted)
    assert without_twin() == ["lifted"]
    with monkeypatch.context() as patch:
        patch.setattr(Lifted, "experimental", True)
        assert without_twin() == []


def unseen(described):
    return 1 - np.arange(9) / 8


def test_a_line_unequal_to_its_twin_fails_the_check(monkeypatch):
    check(Twin("ri-signed", {"d": 8}, unseen))
    monkeypatch.setattr(RISigned, "value", lambda self, at: 1.01 * (1 - at.k / 8))
    with pytest.raises(AssertionError, match="ri-signed is not what its twin computes"):
        check(Twin("ri-signed", {"d": 8}, unseen))


def test_a_twin_too_loose_to_detect_one_per_cent_fails_the_check():
    with pytest.raises(AssertionError, match=r"does not notice a factor of 1\.01"):
        check(Twin("ri-signed", {"d": 8}, lambda described: Naive(unseen(described), 0.02)))
