"""Which learners bounds bind: known before anything runs, and the same in the run."""

from __future__ import annotations

import pytest

from engine.core.parts import Verdict
from engine.pictures.view import bound_class
from engine.planning.run_plan import bound_classes
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.pictures import of_run

INVARIANT, HERE, NOT = Verdict(True, ""), Verdict("on this data", ""), Verdict(False, "")


def test_a_learner_is_bound_by_proofs_alone_and_without_any_bound_there_is_no_class():
    assert bound_class(["lower", "conjecture"], ["lower", "conjecture"], NOT) == "bound"
    assert bound_class(["lower"], ["lower"], HERE) == "bound"
    assert bound_class(["lower", "exact"], ["exact"], NOT) == "free"
    assert bound_class(["lower"], [], INVARIANT) == "free"
    assert bound_class(["lower", "conjecture"], ["conjecture"], NOT) == "undecided"
    assert bound_class(["lower"], [], HERE) == "undecided"
    assert bound_class(["exact", "upper"], ["exact"], INVARIANT) is None


@pytest.mark.parametrize(
    ("preset", "classes"),
    [
        (
            "hadamard-128",
            {"GD": "bound", "least squares": "bound", "EGU": "free", "EGU±": "free", "spindly": "free"},
        ),
        ("too-easy-128", None),
    ],
)
def test_a_run_says_what_the_set_up_said(preset: str, classes: dict[str, str] | None):
    experiment = presets.load(preset, ["problem.matrix.d=16", "run.device=cpu", "claims=[]"])
    expected = bound_classes(experiment)
    assert classes is None or expected == classes
    losses = view(of_run(experiment), of_one(experiment, run(experiment)))
    assert {curve.learner: curve.training.bound_class for curve in losses.curves} == expected
