"""Presets measure what they measured before: a few here, and all of them by `make verify`."""

import copy

import pytest
from digest import FOLDER, MAGNIFIED, QUICK, differences, digest, names, read


@pytest.mark.slow
@pytest.mark.parametrize("preset_name", QUICK)
def test_a_preset_measures_what_it_measured_before(preset_name):
    assert differences(read(preset_name), digest(preset_name)) == []


def test_every_preset_has_a_digest():
    assert {file.stem for file in FOLDER.glob("*.json")} == set(names())


def test_no_digest_contains_a_failed_claim():
    failed = {
        name: [place for place, claim in enumerate(read(name)["claims"]) if not claim["holds"]]
        for name in names()
    }
    assert {name: places for name, places in failed.items() if places} == {}


CHANGES = {
    "a loss": lambda digest: digest["curves"][0]["loss"]["at"].__setitem__(3, 0.97),
    "a loss that is missing": lambda digest: digest["curves"][0]["loss"]["at"].__setitem__(3, None),
    "a loss that is whole": lambda digest: digest["curves"][0]["loss"]["at"].__setitem__(3, 1),
    "the mean of a bound": lambda digest: digest["bounds"][0]["loss"].update({"min, max, mean": [0, 1, 0.6]}),
    "a number of records": lambda digest: digest["curves"][0]["loss"].update(records=128),
    "where it diverged": lambda digest: digest["curves"][1].update(diverged_at=5),
    "whom a bound binds": lambda digest: digest["bounds"][0]["applies_to"].append("EGU"),
    "an outcome": lambda digest: digest["claims"][0].update(holds=False),
    "a measure": lambda digest: digest["curves"][0].pop("error"),
    "a learner": lambda digest: digest["curves"].pop(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_differs_after_each_kind_of_change(change):
    digest = read("hadamard-128")
    assert differences(digest, digest) == []
    other = copy.deepcopy(digest)
    CHANGES[change](other)
    assert differences(digest, other)


def test_rounding_errors_do_not_change_a_digest():
    digest = read("hadamard-128")
    other = copy.deepcopy(digest)
    losses = other["curves"][0]["loss"]["at"]
    losses[3] = losses[3] * (1 + 1e-6)
    assert differences(digest, other) == []


def test_magnified_numbers_have_a_larger_finite_tolerance():
    digest = read("hadamard-128")
    other = copy.deepcopy(digest)
    losses = other["curves"][0]["loss"]["at"]
    losses[3] = losses[3] + 1e-3
    assert differences(digest, other, magnified=2e-3) == []
    assert differences(digest, other, magnified=5e-4)
    assert MAGNIFIED.keys() < set(names())
