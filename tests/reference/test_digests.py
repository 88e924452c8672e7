"""Presets measure what they measured before: a few here, and all of them by `make verify`."""

import copy

import pytest
from digest import FOLDER, QUICK, differences, digest, names, read


@pytest.mark.parametrize("name", QUICK)
def test_a_preset_measures_what_it_measured_before(name):
    assert differences(read(name), digest(name)) == []


def test_every_preset_has_a_digest():
    assert {file.stem for file in FOLDER.glob("*.json")} == set(names())


def test_no_digest_keeps_a_claim_that_failed():
    failed = {name: [one["text"] for one in read(name)["claims"] if not one["holds"]] for name in names()}
    assert {name: texts for name, texts in failed.items() if texts} == {}


CHANGES = {
    "a loss": lambda found: found["curves"][0]["loss"]["at"].__setitem__(3, 0.97),
    "a loss that is missing": lambda found: found["curves"][0]["loss"]["at"].__setitem__(3, None),
    "a loss that is whole": lambda found: found["curves"][0]["loss"]["at"].__setitem__(3, 1),
    "the mean of a bound": lambda found: found["bounds"][0]["loss"].update({"min, max, mean": [0, 1, 0.6]}),
    "a number of records": lambda found: found["curves"][0]["loss"].update(records=128),
    "where it diverged": lambda found: found["curves"][1].update(diverged_at=5),
    "whom a bound binds": lambda found: found["bounds"][0]["applies_to"].append("EGU"),
    "an outcome": lambda found: found["claims"][0].update(holds=False),
    "a measure": lambda found: found["curves"][0].pop("error"),
    "a learner": lambda found: found["curves"].pop(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_differs_by(change):
    kept = read("hadamard-128")
    assert differences(kept, kept) == []
    other = copy.deepcopy(kept)
    CHANGES[change](other)
    assert differences(kept, other)


def test_rounding_is_no_difference():
    kept = read("hadamard-128")
    other = copy.deepcopy(kept)
    losses = other["curves"][0]["loss"]["at"]
    losses[3] = losses[3] * (1 + 1e-6)
    assert differences(kept, other) == []
