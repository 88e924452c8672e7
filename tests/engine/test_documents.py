"""Sweeps: points of the axes with their expressions, learners and claims."""

import numpy as np
import pytest
from building import gd, measures_of

from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.spec.documents import first, in_full, sweep_of
from engine.spec.reading import parse
from engine.spec.sweep import only

LINEAR = {"architecture": "linear"}


def document(axes, **words):
    return {
        "axes": axes,
        "problem": {"matrix": {"kind": "gaussian", "d": 8, "n": 4}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [{"name": "GD", **gd(0.1)}],
        **words,
    }


def test_sweep_points_are_all_combinations_with_the_last_axis_fastest():
    axes = [{"name": "size", "values": [8, 16]}, {"name": "eta", "from": 0.1, "to": 0.001, "log": True}]
    sweep = sweep_of(
        document(
            axes,
            problem={"matrix": {"kind": "gaussian", "d": "size", "n": "2d"}, "target": "feature"},
            learners=[{"name": "GD", **gd("eta/d")}],
        )
    )
    assert [len(axis.grid) for axis in sweep.axes] == [2, 3]
    assert [point.place for point in sweep.points] == [(i, j) for i in range(2) for j in range(3)]
    expected = [(d, 2 * d, eta / d) for d in (8, 16) for eta in (0.1, 0.01, 0.001)]
    for point, (d, n, rate) in zip(sweep.points, expected, strict=True):
        assert point.experiment.problem.matrix.shape() == (n, d)
        assert point.experiment.learners[0].update.lr == pytest.approx(rate, rel=1e-12)
    assert sweep.points[4].label == "size = 16, eta = 0.01"


def test_an_axis_table_binds_several_names_and_set_writes_a_field():
    axes = [
        {"name": "both", "values": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]},
        {"name": "rule", "set": "learners[0].update.kind", "values": ["gd", "egu"]},
    ]
    sweep = sweep_of(document(axes, learners=[{"name": "GD", **gd("a/(10b)")}]))
    assert [point.experiment.learners[0].update.kind for point in sweep.points] == ["gd", "egu"] * 2
    rates = [point.experiment.learners[0].update.lr for point in sweep.points]
    np.testing.assert_allclose(rates, [0.05, 0.05, 0.075, 0.075])


def test_learners_run_only_at_points_satisfying_their_condition():
    learners = [{"name": "GD", **gd("size/80")}, {"name": "LLS", "solver": "lls", "where": "size <= 8"}]
    axes = [{"name": "size", "values": [4, 8, 16]}]
    sweep = sweep_of(document(axes, learners=learners))
    assert [len(point.experiment.learners) for point in sweep.points] == [2, 2, 1]
    assert sweep.learners == ("GD", "LLS")
    (only_small,) = sweep_of(document([{"name": "size", "values": [8, 16]}], learners=learners[1:])).points
    assert only_small.names == {"size": 8}
    picture = {"x": "size", "measure": "layer-variance", "at": {"layer": 1}}
    net = {"name": "net", **gd(0.1, kind="dense", widths=[2]), "where": "size > 4"}
    assert first(document(axes, learners=[learners[0], net], pictures=[picture])).pictures
    with pytest.raises(BadInput, match="no learner runs at any sweep point"):
        sweep_of(document([{"name": "size", "values": [16]}], learners=learners[1:]))


def test_and_binds_more_tightly_than_or_in_conditions():
    sizes = [{"name": "size", "values": [2, 4, 8, 16]}]
    for where, sizes_with_gd in (
        ("size < 4 or size > 4 and size < 16", [2, 8]),
        ("size = 16 or size = 2", [2, 16]),
    ):
        learners = [{"name": "GD", **gd("size/80"), "where": where}]
        points = sweep_of(document(sizes, learners=learners)).points
        assert [point.names["size"] for point in points] == sizes_with_gd


def test_learner_conditions_can_use_problem_sizes():
    learners = [{"name": "GD", **gd(0.1)}, {"name": "LLS", "solver": "lls", "where": "n < d/2 and m = 1"}]
    matrix = {"kind": "gaussian", "d": 8, "n": "size"}
    problem = {"matrix": matrix, "target": "feature"}
    sweep = sweep_of(document([{"name": "size", "values": [2, 4]}], problem=problem, learners=learners))
    assert [len(point.experiment.learners) for point in sweep.points] == [2, 1]
    (alone,) = sweep_of(document([], learners=[*learners[:1], {**learners[1], "where": "d > 8"}])).points
    assert [learner.name for learner in alone.experiment.learners] == ["GD"]
    with pytest.raises(
        BadInput, match=r"'e' is unknown; a condition compares axes, d, n or m, as in d <= 128"
    ):
        sweep_of(document([], learners=[*learners[:1], {**learners[1], "where": "e > 8"}]))


def test_claim_numbers_can_vary_between_curves_but_not_along_a_curve():
    axes = [{"name": "size", "values": [4, 8]}, {"name": "eta", "values": [0.1, 0.2]}]
    pictures = [{"x": "k", "measure": "loss", "curves": ["learner", "size"], "at": {"eta": 0.1}}]
    claim = {"kind": "value", "text": "It is so", "curve": "GD", "at": "size/2", "above": 0}
    learners = [{"name": "GD", **gd("eta/size")}]
    sweep = sweep_of(document(axes, learners=learners, pictures=pictures, claims=[claim]))
    assert len(sweep.claims) == 1
    picture = sweep.experiment.pictures[0]
    assert [sweep.claims_along(picture, (place,))[0].at for place in (0, 1)] == [2, 4]
    along = [{"x": "size", "measure": "loss", "at": {"eta": 0.1}}]
    claim |= {"at": 4, "above": "size"}
    with pytest.raises(BadInput, match="the claim's numbers vary along a curve"):
        sweep_of(document(axes, learners=learners, pictures=along, claims=[claim]))


def test_a_claim_can_name_a_learner_missing_at_some_points():
    learners = [{"name": "GD", **gd("size/80")}, {"name": "LLS", "solver": "lls", "where": "size <= 8"}]
    axes = [{"name": "size", "values": [4, 16]}]
    claim = {"kind": "value", "text": "It is so", "curve": "LLS", "at": 4, "above": 0}
    pictures = [{"x": "size", "measure": "loss"}]
    assert sweep_of(document(axes, learners=learners, pictures=pictures, claims=[claim])).claims


def test_measures_of_claims_are_recorded_at_every_point():

    claim = {"kind": "value", "text": "It", "curve": "GD", "at": 4, "above": 0, "measure": "error"}
    problem = {"matrix": {"kind": "gaussian", "d": 8, "n": 4}, "target": "feature", "labels": "sign"}
    axes, learners = [{"name": "eta", "values": [1, 2]}], [{"name": "GD", **gd("eta/10")}]
    sweep = sweep_of(document(axes, problem=problem, learners=learners, claims=[claim]))
    for point in sweep.points:
        (learner,) = point.experiment.learners
        assert "error" in [measure.name for measure in measures_of(learner, point.experiment)]


@pytest.mark.parametrize(
    ("axes", "where", "reason"),
    [
        ([{"name": "d", "values": [1]}], "axes[0].name", "already has a meaning"),
        ([{"name": "k", "values": [1]}], "axes[0].name", "already has a meaning"),
        ([{"name": "size", "values": [4, 8], "names": ["a", "a"]}], "axes[0].names", "2 values have 1"),
        ([{"name": "a", "values": [1]}, {"name": "a", "values": [2]}], "axes[1].name", "a different name"),
        ([{"name": "a", "from": 1, "to": 2, "points": 9999}] * 1 + [{"name": "b", "from": 1, "to": 2}],
         "axes", "too many"),
    ],
)  # fmt: skip
def test_invalid_axes_are_refused_with_place_and_reason(axes, where, reason):
    with pytest.raises(BadInput) as caught:
        sweep_of(document(axes))
    assert caught.value.where == where
    assert reason in caught.value.fault


def test_an_error_at_a_sweep_point_names_the_point():
    axes = [{"name": "size", "values": [8, 2]}]
    words = document(axes, problem={"matrix": {"kind": "gaussian", "d": "size", "n": 4}, "target": "feature"})
    with pytest.raises(BadInput) as caught:
        sweep_of(words)
    assert caught.value.where == "problem.target.index where size = 2"
    assert first(words).problem.matrix.d == 8


def test_an_experiment_without_axes_is_a_sweep_of_one_point():
    described = parse({key: value for key, value in document([]).items() if key != "axes"})
    sweep = only(described)
    assert sweep.experiment is described
    assert sweep.axes == ()
    assert sweep.claims_along(Picture(measure=described_loss()), ()) == described.claims


def described_loss():
    from engine.core import catalogue

    return catalogue.make("measures", "loss")


def test_a_learner_missing_at_the_first_point_is_written_in_full():
    learners = [
        {"name": "LLS", "solver": "lls"},
        {"name": "L2", "solver": "l2-logistic", "where": "size > 4"},
    ]
    raw = document([{"name": "size", "values": [4, 16]}], learners=learners)
    full, later = in_full(raw, first(raw))["learners"]
    assert later["solver"] == {"kind": "l2-logistic"}
    assert list(later) == list(full)
    assert (later["update"], later["rate_unit"], later["where"]) == (None, "one", "size > 4")
