"""Claims of a changed preset are not judged, whatever their numbers are."""

from __future__ import annotations

import pytest

from engine.results.outcomes import judge
from engine.results.report import claim as written
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.changes import COARSER, FEWER, PICTURE, SET_UP

PRESET = """
title = "Eight features"
axes = [{ name = "size", values = [8, 16] }]
pictures = [
  { name = "ends", x = "size", measure = "loss" },
  { name = "middles", x = "k", measure = "loss", curves = "size" },
]
[problem]
matrix = { kind = "hadamard", d = "size" }
target = { kind = "feature", index = 3 }

[protocol]
kind = "one-pass"

[run]
replicas = 2
device = "cpu"

[[learners]]
name = "GD"
architecture = { kind = "linear" }
update = { kind = "gd", lr = "1/(2d)" }

[[claims]]
kind = "value"
text = "Of 8 features nothing is left"
curve = "GD"
at = 8
equals = 0
within = 1e-9

[[claims]]
kind = "value"
text = "After 4 a share is left"
picture = "middles"
curve = "GD"
at = 4
equals = "1 - 4/d"
within = 1e-5
"""


@pytest.fixture(autouse=True)
def preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(PRESET)
    return "mine.toml"


def holding(*changes):
    """Whether each claim of the changed preset holds, and why it is not judged."""
    results = run_sweep(presets.sweep_of("mine.toml", presets.document("mine.toml", changes)))
    outcomes = judge(results)
    reasons = {outcome.detail for outcome in outcomes if outcome.holds is None}
    return [outcome.holds for outcome in outcomes], reasons


def test_claims_of_an_unchanged_user_preset_are_judged():
    assert holding() == ([True, True], set())


@pytest.mark.parametrize(
    "change",
    [
        "problem.target.index=2",
        "problem.noise=0.5",
        "protocol.examples=6",
        "learners.GD.update.lr=0.001",
        'learners.GD.update.kind="egu"',
        'axes[0].values=[8, 32]',
    ],
)  # fmt: skip
@pytest.mark.slow
def test_claims_are_not_judged_after_a_change_of_the_set_up(change):
    assert holding(change) == ([None, None], {SET_UP})


@pytest.mark.parametrize(
    "change",
    [
        "run.seed=7",
        "run.replicas=3",
        'run.measures=["norm"]',
        'title="Another title"',
        'pictures[1].title="Another title"',
        'learners.GD.update.lr="0.5/d"',
    ],
)
def test_claims_stay_judged_after_changes_of_seed_replicas_or_titles(change):
    assert holding(change) == ([True, True], set())


def test_claims_are_not_judged_with_fewer_replicas_or_lower_precision():
    assert holding("run.replicas=1") == ([None, None], {FEWER})
    assert holding('run.dtype="float64"') == ([True, True], set())
    mine = presets.path_of("mine.toml")
    mine.write_text(PRESET.replace("replicas = 2", 'replicas = 2\ndtype = "float64"'))
    assert holding('run.dtype="float32"') == ([None, None], {COARSER})


def test_a_claim_is_not_judged_after_a_change_of_its_picture():
    assert holding('pictures[1].measure="norm"') == ([True, None], {PICTURE})


@pytest.mark.parametrize(("equals", "holds"), [(1, True), (5, False)])
def test_a_user_claim_is_judged_on_the_changed_set_up(equals, holds):
    words = 'kind = "value", text = "It is my own", picture = "middles", curve = "GD", at = 4, within = 1e-5'
    changes = "learners.GD.update.lr=1e-9", f"claims[1]={{{words}, equals = {equals}}}"
    assert holding(*changes) == ([None, holds], {SET_UP})


def test_an_unjudged_claim_is_null_in_json_with_a_reason():
    document = presets.document("mine.toml", ["protocol.examples=6"])
    outcome, _ = judge(run_sweep(presets.sweep_of("mine.toml", document)))
    assert written(outcome) == {
        "text": "Of 8 features nothing is left",
        "holds": None,
        "measured": None,
        "stderr": None,
        "detail": f"not judged: {SET_UP}",
    }
