"""Names of a document that are changed wherever something refers to them."""

from __future__ import annotations

import copy

import pytest

from engine.core.expressions import with_name
from engine.core.parts import BadInput
from engine.spec import documents, presets
from engine.spec.changes import put_numbers, rename_axis, rename_learner, rename_picture
from engine.spec.reading import Raw


@pytest.fixture
def raw() -> Raw:
    return presets.document("edge-of-stability")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300/eta", "300/rate"),
        ("2eta", "2rate"),
        ("beta + eta_2", "beta + eta_2"),
        ("eta^2 − log(eta)", "rate^2 − log(rate)"),
        ("eta <= 0.1 and d > 2", "rate <= 0.1 and d > 2"),
        ("1e3eta", "1e3rate"),
    ],
)
def test_renaming_replaces_only_whole_names(text: str, expected: str):
    assert with_name(text, "eta", "rate") == expected


def test_renaming_a_learner_changes_claims_about_its_split_curves(raw: Raw):
    raw["claims"].append({"kind": "order", "text": "x", "curve": "GD 2", "below": "GD"})
    raw["pictures"][1]["relative"] = "GD"
    curves = [claim["curve"] for claim in raw["claims"][:-1]]
    rename_learner(raw, "GD", "descent")
    assert [claim["curve"] for claim in raw["claims"][:-1]] == [
        curve.replace("GD", "descent") for curve in curves
    ]
    assert (raw["claims"][-1]["curve"], raw["claims"][-1]["below"]) == ("GD 2", "descent")
    assert raw["pictures"][1]["relative"] == "descent"


def test_renaming_a_picture_changes_its_claims(raw: Raw):
    before = [claim["picture"] for claim in raw["claims"]]
    rename_picture(raw, "loss", "cost")
    assert "cost" not in before
    assert [claim["picture"] for claim in raw["claims"]] == [
        "cost" if name == "loss" else name for name in before
    ]


def test_renaming_an_axis_keeps_the_plan(raw: Raw):
    before = documents.sweep_of(raw)
    raw["pictures"][0] |= {"at": {"k": 1}, "read": None}
    raw["learners"][0]["where"] = "eta < 1"
    raw["axes"][0]["name"] = "speed"
    rename_axis(raw, "eta", "speed")
    after = documents.sweep_of(raw)
    assert "eta" not in str({**raw, "title": "", "story": "", "claims": []}).replace("beta", "").replace(
        "two-over-eta", ""
    )
    assert [point.experiment.learners[0].update for point in after.points] == [
        point.experiment.learners[0].update for point in before.points
    ]
    assert [point.experiment.protocol for point in after.points] == [
        point.experiment.protocol for point in before.points
    ]
    assert after.experiment.claims[0].curve == "GD, speed = 0.1"


def test_renaming_an_axis_changes_the_dimensions_of_pictures():
    raw = presets.document("threshold-sample-size")
    raw["axes"][1]["name"] = "examples"
    rename_axis(raw, "rows", "examples")
    assert raw["pictures"][0]["read"]["over"] == "examples"
    assert raw["problem"]["matrix"]["n"] == "examples"
    documents.first(raw)


def test_numbers_replace_names_in_expressions(raw: Raw):
    put_numbers(raw, {"eta": 0.05})
    assert raw["learners"][0]["update"]["lr"] == 0.05
    assert raw["protocol"]["steps"] == "300/(0.05)"
    assert raw["pictures"][0]["x"] == "(0.05)*step"


@pytest.mark.parametrize(
    ("changes", "where", "reason"),
    [
        ({"x": "foo*step"}, "x", "no 'foo'; there are eta, step, k"),
        ({"x": "step*?"}, "x", "'?' does not belong in an expression"),
        ({"y": "foo"}, "y", "no 'foo'"),
        ({"times": "1/m"}, "times", "no 'm'"),
        ({"curves": "alpha"}, "curves", "no 'alpha'; there are eta"),
        ({"at": {"layer": 3}}, "at", "no 'layer'"),
        ({"read": {"over": "rows", "take": "max"}}, "read", "no 'rows'; there are record"),
        ({"relative": "SGD"}, "relative", "'SGD' is neither a theory line nor one of the learners 'GD'"),
        ({"relative": "svd"}, "relative", "about the loss, but the picture shows the sharpness"),
        (
            {"relative": "gp-band"},
            "relative",
            "'gp-band' stands for 2 theory lines, upper gp-band, lower gp-band",
        ),
        ({"relative": "GD", "x": "step", "y": "eta"}, "relative", "a heat map cannot be relative to a curve"),
        ({"lines": ["svd", "nothing"]}, "lines", "no theory line 'nothing'"),
    ],
)
def test_a_picture_with_unknown_names_is_refused_with_its_place(
    raw: Raw, changes: Raw, where: str, reason: str
):
    raw["pictures"][0] |= changes
    for read in (documents.first, documents.sweep_of):
        with pytest.raises(BadInput) as error:
            read(copy.deepcopy(raw))
        assert error.value.where == f"pictures[0].{where}"
        assert reason in error.value.fault


def test_a_claim_about_an_unrecorded_measure_is_refused(raw: Raw):
    raw["claims"] = [
        {"kind": "value", "text": "x", "at": 1, "below": 1, "measure": "rank", "picture": "loss"}
    ]
    with pytest.raises(BadInput, match=r"claims\[0\]: rank is measured only where"):
        documents.first(raw)
