"""Headlines say what a picture shows, with measured values, and whether its claim holds."""

from __future__ import annotations

import numpy as np
import pytest
from view_fields import curve_view, replace, view_of

from engine.claims import Outcome
from engine.core import catalogue
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.pictures.view import CurveView, View
from engine.pictures.wording import LONGEST
from engine.results.headlines import ending, headline
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.pictures import of_run

K = np.arange(129.0)


def curve(name: str, y: np.ndarray) -> CurveView:
    return curve_view(
        name=name, learner=name, x=K, y=y, stderr=None, over=lambda _: y, complete=True, clock=K
    )


def losses(**curves: np.ndarray) -> View:
    picture = Picture(measure=catalogue.make("measures", "loss"))
    made = [curve(name, y) for name, y in curves.items()]
    return replace(view_of(picture, "examples k", "loss", False, False, 1e-11, curves=made), clock="k")


SLOW, FAST = 1 - K / 128, np.exp(-K / 9)


def finding(kind: str, seen: View, **fields: object) -> str:
    claim = catalogue.make("claims", kind, text="It is so", **fields)
    return str(claim.finding(seen, claim.judge(seen)))


def test_the_headline_of_hadamard_128_says_who_is_below_a_tenth_and_when():
    experiment = presets.load("hadamard-128", ["run.device=cpu"])
    results = of_one(experiment, run(experiment))
    seen, outcomes = view(of_run(experiment), results), judge(results)
    assert headline(seen, experiment, outcomes) == (
        "EGU, EGU± and spindly stay below a tenth after 30 examples, GD and least squares only after 116"
    )
    for name, x in (("EGU±", 30), ("GD", 116)):
        y = seen.curve(name).y
        assert (y[x:] < 0.1).all()
    assert max(y[29] for y in (seen.curve(one).y for one in ("EGU", "EGU±", "spindly"))) >= 0.1
    assert min(y[115] for y in (seen.curve(one).y for one in ("GD", "least squares"))) >= 0.1
    fails = [one._replace(holds=False) for one in outcomes]
    assert headline(seen, experiment, fails).startswith("Its claim fails: EGU, EGU± and spindly")
    unjudged = [Outcome(one.claim, None, None, "the set-up was changed") for one in outcomes]
    assert headline(seen, experiment, unjudged).startswith("Not judged, as the set-up was changed: After 128")


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (
            "value",
            {"curve": "EGU", "at": 32, "below": 0.1},
            "EGU stays below a tenth after 21 examples, GD only after 116",
        ),
        (
            "value",
            {"curve": "GD", "at": 64, "above": 0.1},
            "After 64 examples, loss is 0.5 for GD and 0.000816 for EGU",
        ),
        (
            "ratio",
            {"curve": "EGU", "to": "GD", "at": 64, "below": 1},
            "After 64 examples, loss is 0.000816 for EGU and 0.5 for GD",
        ),
        (
            "difference",
            {"curve": "EGU", "to": "GD", "below": 1},
            "From k = 0 to 128, EGU minus GD is -0.743 to 6.66e-07",
        ),
        (
            "order",
            {"curve": "EGU", "below": "GD", "at": 64},
            "After 64 examples, loss is 0.000816 for EGU and 0.5 for GD",
        ),
        (
            "same-as",
            {"curve": "EGU", "other": "GD", "within": 1},
            "EGU and GD differ by at most 0.74 everywhere",
        ),
        (
            "share",
            {"curve": "EGU", "at": 64, "below": 0.1},
            "In 1 of 1 replicas, loss of EGU is below 0.1 after 64 examples",
        ),
        (
            "slope",
            {"curve": "GD", "linear": True, "below": 0},
            "From k = 0 to 128, loss of GD changes by -0.00781 per 1 of k; after 128 examples it "
            "is 0 for GD and 6.66e-07 for EGU",
        ),
    ],
)
def test_a_finding_has_the_measured_values(kind: str, fields: dict[str, object], sentence: str):
    said = finding(kind, losses(GD=SLOW, EGU=FAST), **fields)
    assert said == sentence
    assert len(said) <= LONGEST


def test_a_loss_that_rises_again_does_not_stay_below():
    again = np.where(K == 100, 0.3, FAST)
    said = finding("value", losses(GD=SLOW, EGU=again), curve="EGU", at=32, below=0.1)
    assert said == "After 32 examples, loss is 0.0286 for EGU and 0.75 for GD"


def test_a_picture_without_claims_ends_with_the_least_and_the_greatest_value():
    assert ending(losses(A=SLOW + 0.25, B=SLOW + 0.5, C=SLOW + 1)) == (
        "After 128 examples, loss is 0.25 for A and 1 for C"
    )
    assert ending(losses()) == ""


def test_a_picture_has_at_most_one_headline():
    marked = '{kind = "value", text = "so", curve = "GD", at = 64, below = 1, headline = true}'
    assert presets.load("hadamard-128", [f"claims=[{marked}]"]).claims[0].headline
    with pytest.raises(BadInput) as refused:
        presets.load("hadamard-128", [f"claims=[{marked}, {marked}]"])
    assert refused.value.where == "hadamard-128: claims[1].headline"
    assert refused.value.what == "the picture has a headline, claims[0]; keep one of them"


def test_the_page_of_headlines_lists_every_preset():
    lines = (presets.folder().parent / "docs" / "headlines.md").read_text(encoding="utf-8").splitlines()
    rows = [line.removeprefix("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == presets.names()
    assert all(0 < len(row[1]) <= LONGEST for row in rows)
