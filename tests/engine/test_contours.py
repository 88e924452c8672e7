"""Contours on heat maps: the line of the theory at every place, and the claim that it divides the map."""

import copy
import json
import math

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.pictures.view import heat_of, line_of
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of

CW = (1.0, 1.5, 2.0, 3.0)
DEPTH = 5
CONTOUR = {"line": "chi-perp", "level": 1}
DOCUMENT = {
    "axes": [{"name": "cw", "values": list(CW)}],
    "problem": {"matrix": {"kind": "sphere", "n": 2, "d": 6}, "target": "coin"},
    "protocol": "at-init",
    "run": {"device": "cpu", "dtype": "float64", "replicas": 6},
    "learners": [
        {
            "name": talk_name,
            "architecture": {"kind": "dense", "depth": DEPTH, "width": 40, "cw": "cw", **words},
        }
        for talk_name, words in {
            "relu": {"activation": "relu"},
            "tanh": {"activation": "tanh", "cb": 0.1},
        }.items()
    ],
    "pictures": [
        {"name": "map", "x": "layer", "y": "cw", "measure": "layer-variance", "contours": [CONTOUR]},
        {"name": "curves", "x": "layer", "measure": "susceptibility", "curves": "cw"},
    ],
}
MAP = {"kind": "divides", "text": "It is so", "picture": "map", "curve": "relu", "contour": "chi-perp"}


def document(claims=(), **picture):
    """The document with claims, and with words of its first picture changed."""
    changed_document = copy.deepcopy(DOCUMENT)
    changed_document["pictures"][0].update(picture)
    return {**changed_document, "claims": [{**MAP, **claim} for claim in claims]}


def swept(**words):
    return run_sweep(sweep_of(document(**words)))


@pytest.fixture(scope="module")
def results():
    return swept()


def normal_mean(function, variance):
    """E f(z) for z ~ N(0, variance), by the trapezoidal rule."""
    z = np.linspace(-12, 12, 20001) * math.sqrt(variance)
    density = np.exp(-(z**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return np.trapezoid(function(z) * density, z)


def naive_chi(cw, cb, transfer, slope):
    """χ⊥ of all layers of an infinitely wide net, for instances with entries of mean square 1."""
    variance, recursion = cb + cw, []
    for _ in range(DEPTH):
        recursion.append(cw * normal_mean(lambda z: slope(z) ** 2, variance))
        variance = cb + cw * normal_mean(lambda z: transfer(z) ** 2, variance)
    return np.array(recursion)


NAIVE = {
    "relu": (0.0, lambda z: np.maximum(z, 0), lambda z: (z > 1e-9) + (abs(z) <= 1e-9) * math.sqrt(0.5)),
    "tanh": (0.1, np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}


@pytest.mark.parametrize("learner_name", NAIVE)
def test_a_contour_holds_the_line_of_its_learner_in_every_cell(results, learner_name):
    heat = heat_of(view(results.sweep.experiment.pictures[0], results), learner_name)
    contour = heat.contour("chi-perp")
    assert contour.values.shape == heat.z.shape == (len(CW), DEPTH)
    assert (contour.name, contour.direction, contour.level) == ("recursion of χ⊥ = 1", "asymptotic", 1)
    cb, transfer, slope = NAIVE[learner_name]
    for row, cw in enumerate(CW):
        np.testing.assert_allclose(contour.values[row], naive_chi(cw, cb, transfer, slope), rtol=2e-5)


def test_measured_susceptibilities_agree_with_the_line(results):
    seen = view(results.sweep.experiment.pictures[1], results)
    assert len(seen.curves) == 2 * len(CW)
    for curve in seen.curves:
        line = line_of(seen, "chi-perp", curve.name)
        finite = 0.05 if curve.learner == "tanh" else 0
        assert (abs(curve.y - line.y) < 4.5 * curve.stderr + finite * line.y).all(), curve.name


def test_factors_of_a_measure_do_not_scale_the_contour():
    plain, twice = (swept(**words) for words in ({}, {"times": "2*layer", "read": "last"}))
    heats = [
        heat_of(view(sweep_results.sweep.experiment.pictures[0], sweep_results), "relu")
        for sweep_results in (plain, twice)
    ]
    np.testing.assert_allclose(heats[1].z, heats[0].z * 2 * heats[0].x, rtol=1e-12)
    np.testing.assert_array_equal(heats[1].contour("chi-perp").values, heats[0].contour("chi-perp").values)


def test_contours_omit_points_that_are_not_computed_yet(results):
    snapshot = results.snapshot()
    del snapshot.traces[1]
    heat = heat_of(view(results.sweep.experiment.pictures[0], snapshot), "relu")
    assert heat.y.tolist() == [1, 2, 3]
    assert heat.contour("chi-perp").values[:, 0].tolist() == pytest.approx([0.5, 1, 1.5])


def test_lines_outside_all_pictures_are_not_computed():
    without = swept(contours=[])
    trace = without.traces[0]
    assert "chi-perp" in {line.kind for line in trace.lines}, "the second picture measures what it is about"
    changed_document = document(contours=[])
    changed_document["pictures"].pop()
    assert "chi-perp" not in {line.kind for line in run_sweep(sweep_of(changed_document)).traces[0].lines}


def test_json_contains_contour_values_and_levels(results):
    contours = json.loads(encode(DOCUMENT, results, []))["pictures"][0]["heat_maps"][0]["contours"]
    assert [
        (contour["name"], contour["line"], contour["direction"], contour["level"]) for contour in contours
    ] == [("recursion of χ⊥ = 1", "chi-perp", "asymptotic", 1)]
    np.testing.assert_allclose(contours[0]["values"], np.repeat(np.array(CW)[:, None] / 2, DEPTH, 1))


@pytest.mark.parametrize(
    ("claim", "holds", "words"),
    [
        ({"at_value": 2}, True, "in 15 of 15 cells; 100 % are needed"),
        ({"at_value": 100, "share": 0.6}, True, "in 10 of 15 cells"),
        ({"at_value": 100}, False, "in 10 of 15 cells"),
        ({"at_value": 100, "falls": True}, False, "in 5 of 15 cells"),
        ({"at_value": 100, "falls": True, "share": 0.3}, True, "in 5 of 15 cells"),
        ({"at_value": 2, "curve": "tanh"}, False, "of 20 cells"),
        ({"at_value": 2, "curve": None}, False, "tanh: "),
    ],
)
def test_a_dividing_line_claim_is_judged_by_the_share_of_cells(claim, holds, words):
    (outcome,) = judge(swept(claims=[claim]))
    assert outcome.holds is holds, outcome.detail
    assert words in outcome.detail


@pytest.mark.parametrize(
    ("claim", "holds", "words"),
    [
        ({"between": [0, 1e9]}, True, "in [0, 1e+09]"),
        ({"above": 0}, True, "> 0"),
        ({"below": 2}, False, "≥ 2"),
        ({"equals": 2, "within": 1e-6}, False, "≠ 2"),
        ({"below": 2, "curve": None}, False, "relu: "),
    ],
)
def test_an_everywhere_claim_holds_only_if_every_cell_satisfies_it(results, claim, holds, words):
    asked = {"kind": "everywhere", "text": "It is so", "picture": "map", "curve": "relu", **claim}
    (outcome,) = judge(run_sweep(sweep_of({**DOCUMENT, "claims": [asked]})))
    assert outcome.holds is holds, outcome.detail
    assert words in outcome.detail
    z = heat_of(view(results.sweep.experiment.pictures[0], results), "relu").z
    if "below" in claim:
        assert outcome.measured == z.max()
        row, column = np.unravel_index(z.argmax(), z.shape)
        assert f"at layer = {column + 1}, cw = {CW[row]:g} is" in outcome.detail


def test_a_contour_without_its_level_divides_no_map():
    (outcome,) = judge(swept(claims=[{"at_value": 2}], contours=[{"line": "chi-perp", "level": 9}]))
    assert not outcome.holds
    assert outcome.detail == "chi-perp is below 9 everywhere on the map"


def test_an_inapplicable_line_has_no_contour_on_the_map():
    other = {"contours": [{"line": "two-over-eta", "level": 1}]}
    drawn = swept(claims=[{"at_value": 2, "contour": "two-over-eta"}], **other)
    assert view(drawn.sweep.experiment.pictures[0], drawn).heats[0].contours == ()
    (outcome,) = judge(drawn)
    assert (outcome.holds, outcome.detail) == (False, "two-over-eta has no values on the map")


@pytest.mark.parametrize(
    ("picture", "claim", "where", "reason"),
    [
        (
            {"contours": [{"line": "chi", "level": 1}]},
            {},
            "pictures[0].contours[0].line",
            "no theory line 'chi'",
        ),
        ({"y": None, "curves": "cw"}, {}, "pictures[0].contours", "drawn on heat maps"),
        ({"read": {"over": "cw", "take": "max"}}, {}, "pictures[0].y", "`read` reduces cw to one number"),
        (
            {"x": "step", "read": {"over": "layer", "take": "max"}},
            {},
            "pictures[0].contours",
            "along layer, but `read` reduces layer to one",
        ),
        (
            {},
            {"contour": "two-over-eta"},
            "claims[0].contour",
            "no contour of 'two-over-eta'; its contours are chi",
        ),
        ({}, {"contour": "chi"}, "claims[0].contour", "no contour of 'chi'"),
        ({}, {"picture": "curves"}, "claims[0].picture", "divides is about heat maps"),
        ({}, {"kind": "value", "at": 1, "below": 1}, "claims[0].picture", "value is about curves"),
    ],
)
def test_impossible_contour_settings_are_refused_with_place_and_reason(picture, claim, where, reason):
    changed_document = document(claims=[{"at_value": 2, **claim}], **picture)
    if claim.get("kind") == "value":
        changed_document["claims"] = [
            {
                key: value
                for key, value in changed_document["claims"][0].items()
                if key not in ("contour", "at_value")
            }
        ]
    with pytest.raises(BadInput) as caught:
        sweep_of(changed_document)
    assert caught.value.where == where
    assert reason in caught.value.fault
