"""The kind of learner, as its parts declare it, and which curves of a picture proved bounds bind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.core import catalogue
from engine.core.parts import LearnerKind
from engine.learners.learner import Learner
from engine.results.gathering import kinds_in
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.solvers import Solver
from engine.spec import presets
from engine.spec.experiment import drawn, of_run
from engine.updates import Diagonal, Update
from engine.updates.gd import GD


def learner(**parts: str | dict[str, Any]) -> Learner:
    tables = {name: {"kind": part} if isinstance(part, str) else part for name, part in parts.items()}
    return msgspec.convert({"name": "it", **tables}, Learner)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"architecture": "linear", "update": "gd"}, "gradient"),
        ({"architecture": "dense", "update": "momentum"}, "gradient"),
        ({"architecture": "dense", "update": "adam"}, "coordinate"),
        ({"architecture": "dense", "update": {"kind": "adam", "shared": True}}, "gradient"),
        ({"architecture": "linear", "update": "sign"}, "coordinate"),
        ({"architecture": "dense", "update": "muon"}, "spectral"),
        ({"architecture": "linear", "update": "online-newton"}, "spectral"),
        ({"architecture": "linear", "update": "egu-pm"}, "multiplicative"),
        ({"architecture": "linear", "update": "winnow"}, "multiplicative"),
        ({"architecture": "linear", "update": "hedge"}, "multiplicative"),
        ({"architecture": "linear", "update": "adaboost"}, "multiplicative"),
        ({"solver": "bayes"}, "multiplicative"),
        ({"architecture": "linear", "update": "p-norm"}, "other"),
        ({"architecture": "spindly", "update": "gd"}, "sparse"),
        ({"architecture": "two-weight", "update": "adam"}, "sparse"),
        ({"architecture": "conv", "update": "gd"}, "other"),
        ({"architecture": "dense"}, "other"),
        ({"solver": "lls"}, "exact"),
        ({"solver": "kernel"}, "exact"),
        ({"solver": "hebb"}, "other"),
        ({"solver": {"kind": "sklearn", "name": "Lasso"}}, "exact"),
        ({"solver": {"kind": "sklearn", "name": "SVC"}}, "exact"),
        ({"solver": {"kind": "sklearn", "name": "SGDRegressor"}}, "gradient"),
        ({"solver": {"kind": "sklearn", "name": "ExtraTreesClassifier"}}, "other"),
        ({"solver": {"kind": "sklearn", "name": "no such class"}}, "other"),
    ],
)
def test_the_kind_of_a_learner_follows_its_parts(parts: dict[str, Any], kind: LearnerKind):
    assert learner(**parts).learner_kind == kind


def test_a_part_without_a_declared_kind_has_the_kind_other():
    class Silent(Update, frozen=True, tag="silent"):
        """A rule that says nothing of itself."""

    class Changed(GD, frozen=True, tag="changed"):
        """A rule that does something else than the one that it is made of."""

        def step(self, params, gradients, rates, state):
            return params, state

    class Quiet(Solver, frozen=True, tag="quiet"):
        """A solver that says nothing of itself."""

    assert {part.structure().learner_kind for part in (Silent(), Changed(), Quiet())} == {"other"}


def test_diagonal_rules_are_coordinate_wise_unless_their_scale_is_shared():
    members = [rule for rule in catalogue.members("updates").values() if issubclass(rule, Diagonal)]
    assert len(members) >= 7
    for member in members:
        assert member().structure().learner_kind == "coordinate"
        assert member(shared=True).structure().learner_kind == "gradient"


def test_curves_have_the_same_kinds_before_and_after_a_run():
    experiment = presets.load("hadamard-128", ["problem.matrix.d=16", "run.device=cpu", "claims=[]"])
    results = of_one(experiment, run(experiment))
    losses = view(of_run(experiment), results)
    planned = kinds_in(of_run(experiment), results.sweep)
    assert {(curve.learner, (), 0): curve.kind_place for curve in losses.curves} == planned
    assert {curve.learner for curve in losses.curves if curve.training.is_bound} == {"GD", "least squares"}


def test_curves_of_one_learner_follow_the_order_of_the_split_values():
    sweep = presets.sweep_of("momentum-128", presets.document("momentum-128"))
    for picture in drawn(sweep.experiment):
        places = kinds_in(picture, sweep)
        values = [apart for (_, apart, _) in places]
        assert values == sorted(values)
