"""Headlines: the finding of a picture, with measured values, and whether its claim holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from view_fields import curve_view, replace, view_of

from engine.claims import Outcome
from engine.core import catalogue
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.pictures.view import ContourView, CurveView, HeatView, LineView, View
from engine.pictures.wording import LONGEST, arrival, fits
from engine.results.headlines import ending, first_and_last_arrival, headline
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import of_run

K = np.arange(129.0)


def curve(name: str, y: np.ndarray) -> CurveView:
    return curve_view(
        name=name, learner=name, x=K, y=y, stderr=None, over=lambda _: y, complete=True, clock=K
    )


def losses(**curves: np.ndarray) -> View:
    picture = Picture(measure=catalogue.make("measures", "loss"))
    view_curves = [curve(curve_name, y) for curve_name, y in curves.items()]
    return replace(view_of(picture, "examples k", "loss", False, False, 1e-11, curves=view_curves), clock="k")


NUMBER = r"-?\d[\d.]*(?:e[-+]?\d+)?"
PAIRS = (
    rf"{NUMBER} (?:to|of|and) {NUMBER}",
    rf"{NUMBER} for N and {NUMBER} for N",
    rf"at {NUMBER} \(theory line: {NUMBER}\)",
)
"""Two numbers of a comparison or a range, which count as one; N stands for a name."""

NAMES = ("GD", "EGU", "spindly", "least squares", "ReLU net, W = 0", "tanh net, W = 0")


def count_numbers(sentence: str, names: Sequence[str]) -> int:
    """Count of numbers in a sentence, without numbers in names and counts of further names."""
    for name in sorted(names, key=len, reverse=True):
        sentence = sentence.replace(f"“{name}”", "N").replace(name, "N")
    sentence = re.sub(r" and \d+ more", "", sentence)
    for pair in PAIRS:
        sentence = re.sub(pair, "0 for N" if "for N" in pair else "0", sentence)
    return len(re.findall(rf"(?<![\w.]){NUMBER}|(?<=\^){NUMBER}", sentence))


SLOW, FAST = 1 - K / 128, np.exp(-K / 9)


def finding(kind: str, seen: View, **fields: object) -> str:
    claim = catalogue.make("claims", kind, text="It is so", **fields)
    return str(claim.finding(seen, claim.judge(seen)))


def test_curve_names_with_commas_are_quoted_in_comparisons():
    seen = losses(**{"L1, rotated": SLOW, "L2, rotated": FAST})
    compared = finding("ratio", seen, curve="L1, rotated", to="L2, rotated", at=64, above=1)
    assert compared == "After 64 examples, loss is 0.5 for “L1, rotated” and 0.000816 for “L2, rotated”"
    crossed = finding("crossing", seen, curve="L1, rotated", other="L2, rotated", below=128)
    assert crossed.startswith("“L1, rotated” crosses “L2, rotated”")


def test_the_hadamard_128_headline_names_learners_below_a_tenth_and_their_examples():
    experiment = presets.load("hadamard-128", ["run.device=cpu"])
    preset_results = of_one(experiment, run(experiment))
    seen, outcomes = view(of_run(experiment), preset_results), judge(preset_results)
    assert headline(seen, experiment, outcomes) == (
        "EGU, EGU± and spindly stay below a tenth after 30 examples, GD and least squares only after 116"
    )
    for learner_name, x in (("EGU±", 30), ("GD", 116)):
        y = seen.curve(learner_name).y
        assert (y[x:] < 0.1).all()
    assert max(y[29] for y in (seen.curve(curve_name).y for curve_name in ("EGU", "EGU±", "spindly"))) >= 0.1
    assert min(y[115] for y in (seen.curve(curve_name).y for curve_name in ("GD", "least squares"))) >= 0.1
    fails = [outcome._replace(holds=False) for outcome in outcomes]
    assert headline(seen, experiment, fails).startswith("The claim fails: EGU, EGU± and spindly")
    unjudged = [Outcome(outcome.claim, None, None, "the set-up was changed") for outcome in outcomes]
    assert headline(seen, experiment, unjudged).startswith(
        "The set-up was changed (claims not judged): After 128"
    )


EGU = '{name="EGU", architecture="linear", update={kind="egu", lr=0.15}}'
EGU_PM = '{name="EGU±", architecture="linear", update={kind="egu-pm", lr=0.15}}'


@pytest.mark.slow
def test_egu_falls_below_a_tenth_early_and_stays_below_much_later():
    learners = f"learners=[{EGU}, {EGU_PM}]"
    settings = ["run.device=cpu", "problem.matrix.d=512", "claims=[]", learners]
    experiment = presets.load("hadamard-128", settings)
    seen = view(of_run(experiment), of_one(experiment, run(experiment)))
    for learner_name, stays in (("EGU", 133), ("EGU±", 25)):
        curve = seen.curve(learner_name)
        assert np.flatnonzero(curve.y < 0.1)[0] <= 25
        assert arrival(curve, 0.1) == stays, "only where positive and negative weights cancel it stays below"


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
            "Loss of GD changes by -0.00781 per unit of k; at the end it is 0 for GD and 6.66e-07 for EGU",
        ),
    ],
)
def test_a_finding_states_the_measured_values(kind: str, fields: dict[str, object], sentence: str):
    words = finding(kind, losses(GD=SLOW, EGU=FAST), **fields)
    assert words == sentence
    assert len(words) <= LONGEST


def crowded() -> View:
    """Six curves of four replicas around a line, three of which come below 0.05, and a map of one."""
    heights = (SLOW + 0.2, FAST, FAST**2, SLOW, SLOW**2, 0.5 + FAST)
    line = LineView(
        name="bound", kind="ri-signed", direction="lower", formula="1 − k/d", applies_to=NAMES, x=K, y=SLOW
    )
    contour = ContourView("critical line", "chi-perp", "exact", 1.0, np.outer(K, K) / 64**2)
    heat = HeatView("GD", K, K, np.outer(K, K) / 64**2, None, (contour,))
    curves = [
        replace(curve(name, y), number=number, replicas=4, diverged=2, diverged_at=3.0)
        for number, (name, y) in enumerate(zip(NAMES, heights, strict=True))
    ]
    return replace(losses(), curves=curves, lines=[line], heats=[heat])


ALL_FORMS: dict[str, list[dict[str, object]]] = {
    "crossing": [{"curve": "tanh net, W = 0", "other": "GD", "below": 128}],
    "difference": [
        {"curve": "GD", "to": "EGU", "above": 0},
        {"curve": "GD", "to": "EGU", "at": 3, "above": 0},
    ],
    "diverges": [{"curve": "GD"}],
    "divides": [{"curve": "GD", "contour": "chi-perp", "at_value": 0.25}],
    "everywhere": [{"curve": "GD", "below": 3}],
    "largest-gap": [{"curve": "GD", "at": 3}],
    "line": [
        {"curve": learner_name, form: "ri-signed", "within": 1e-3}
        for learner_name in ("GD", "EGU", "least squares")
        for form in ("never_below", "never_above", "follows")
    ],
    "order": [{"curve": "EGU", "below": "GD"}, {"curve": "EGU", "below": "GD", "at": 3}],
    "ratio": [{"curve": "GD", "to": "EGU", "above": 0}, {"curve": "GD", "to": "EGU", "at": 3, "above": 0}],
    "same-as": [{"curve": "GD", "other": "EGU", "within": 1}],
    "share": [{"curve": "GD", "at": 3, "between": [0.05, 2]}],
    "slope": [{"curve": "GD", "below": 0}, {"curve": "GD", "linear": True, "below": 0}],
    "value": [
        {"curve": "GD", "at": 64, "above": 0.3},
        {"curve": "EGU", "at": 64, "below": 0.05},
        {"curve": "EGU", "at": 64, "below": 0.3},
        {"curve": "GD", "at": 128, "below": 0.6},
    ],
}


def test_every_kind_of_claim_has_a_finding_case():
    assert ALL_FORMS.keys() == catalogue.members("claims").keys()


@pytest.mark.parametrize("kind", ALL_FORMS)
def test_a_finding_has_at_most_three_numbers_and_160_characters(kind: str):
    for fields in ALL_FORMS[kind]:
        for seen in (crowded(), losses(GD=SLOW + 0.2, EGU=FAST, spindly=FAST**2)):
            if kind not in ("line", "divides", "everywhere", "crossing") or seen.lines:
                sentence = finding(kind, seen, **fields)
                assert count_numbers(sentence, NAMES) <= 3, sentence
                assert len(sentence) <= LONGEST, sentence


def test_count_numbers_ignores_numbers_inside_names():
    assert count_numbers("After 3 examples, loss is 0.5 for GD and 0.1 to 2e-05 for the others", NAMES) == 3
    assert count_numbers("At d = 64, loss is 0.5 for ReLU net, W = 0, 1 for GD, and 2 for EGU", NAMES) == 4
    assert count_numbers("Loss of GD goes like d^-0.98; at d = 128 they are 3", NAMES) == 3


def test_equal_values_are_stated_once_in_a_finding():
    words = finding("value", losses(GD=SLOW, A=SLOW, B=SLOW), curve="GD", at=64, above=0.1)
    assert words == "After 64 examples, loss is 0.5 for GD, A and B"


def test_a_finding_states_the_first_value_and_the_range_of_many_others():
    words = finding("value", losses(GD=SLOW, A=SLOW / 2, B=SLOW / 4), curve="GD", at=64, above=0.1)
    assert words == "After 64 examples, loss is 0.5 for GD and 0.125 to 0.25 for the others"


def test_many_curves_above_the_limit_are_summarised_as_the_others():
    seen = losses(GD=SLOW + 1, EGU=FAST, A=SLOW + 1, B=SLOW + 1)
    assert finding("value", seen, curve="EGU", at=32, below=0.05) == (
        "EGU stays below 0.05 after 27 examples, the others never"
    )


def test_a_finding_reports_a_curve_that_breaks_its_line():
    assert finding("line", crowded(), curve="EGU", never_below="ri-signed") == (
        "GD and least squares never fall below 1 − k/d; "
        "after 15 examples spindly is at 0.0357 (theory line: 0.883)"
    )
    only = replace(crowded(), curves=[curve("EGU", FAST)])
    words = finding("line", only, curve="EGU", never_below="ri-signed")
    assert words == "EGU falls below 1 − k/d; after 24 examples EGU is at 0.0695 (theory line: 0.812)"


def test_a_long_finding_is_shortened_by_naming_fewer_curves():
    learners = [f"net of {width} hidden units at the rate {number}" for number, width in enumerate((2, 4, 8))]
    line = LineView(
        name="bound", kind="ri-signed", direction="lower", formula="1 − k/d", applies_to=learners, x=K, y=SLOW
    )
    curves = [curve(learner, SLOW + number / 8) for number, learner in enumerate(learners)]
    words = finding(
        "line", replace(losses(), curves=curves, lines=[line]), curve=learners[0], never_below="ri-signed"
    )
    assert words == (
        "net of 2 hidden units at the rate 0 and 2 more never fall below 1 − k/d; "
        "at the start net of 8 hidden units at the rate 2 is at 1.25 (theory line: 1)"
    )
    assert fits(words)


def test_curves_with_separate_lines_are_described_by_the_line_title():
    lines = [
        LineView(
            name=f"bound of {name}",
            title="limit",
            kind="limit",
            curve=name,
            direction="lower",
            formula="",
            applies_to=(name,),
            x=K,
            y=SLOW,
        )
        for name in ("A", "B")
    ]
    seen = replace(losses(A=SLOW, B=SLOW + 1e-3), lines=lines)
    assert finding("line", seen, curve="A", follows="limit", within=0.01) == (
        "A and B follow the limit; after 1 example B is at 0.993 (theory line: 0.992)"
    )


def test_a_loss_that_rises_again_is_not_reported_as_staying_below():
    again = np.where(K == 100, 0.3, FAST)
    words = finding("value", losses(GD=SLOW, EGU=again), curve="EGU", at=32, below=0.1)
    assert words == "After 32 examples, loss is 0.0286 for EGU and 0.75 for GD"


def test_a_picture_without_claims_reports_its_least_and_greatest_final_value():
    assert ending(losses(A=SLOW + 0.25, B=SLOW + 0.5, C=SLOW + 1)) == (
        "After 128 examples, loss is 0.25 for A and 1 for C"
    )
    assert ending(losses()) == ""


def test_losses_without_claims_report_the_first_and_last_learner_below_a_tenth():
    gd, egu, slow = 1 - K / 128, np.where(K < 19, 1.0, 0.0), np.where(K < 0, 0.0, 0.5)
    assert first_and_last_arrival(losses(GD=gd, EGU=egu)) == (
        "EGU stays below a tenth after 19 examples, GD only after 116"
    )
    assert first_and_last_arrival(losses(GD=gd, copy=gd)) == (
        "GD and copy stay below a tenth after 116 examples"
    )
    assert first_and_last_arrival(losses(GD=slow, EGU=egu)) == (
        "EGU stays below a tenth after 19 examples, GD never"
    )
    assert headline(losses(GD=gd, EGU=egu), presets.load("hadamard-d"), ()).startswith("EGU stays below")
    assert not first_and_last_arrival(losses(GD=slow)), "no loss falls below a tenth"
    assert not first_and_last_arrival(losses(GD=egu, EGU=0 * K)), "a loss starts below a tenth"


def test_a_picture_has_at_most_one_headline():
    marked = '{kind = "value", text = "so", curve = "GD", at = 64, below = 1, headline = true}'
    assert presets.load("hadamard-128", [f"claims=[{marked}]"]).claims[0].headline
    with pytest.raises(BadInput) as refused:
        presets.load("hadamard-128", [f"claims=[{marked}, {marked}]"])
    assert refused.value.where == "hadamard-128: claims[1].headline"
    assert refused.value.fault == "claims[0] has headline = true for the same picture; remove one of them"


def test_the_page_of_headlines_lists_every_preset():
    page = presets.folder().parent / "docs" / "reference" / "headlines.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line.removeprefix("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == presets.names()
    assert all(row[1] for row in rows)
    assert [row[0] for row in rows if not fits(row[1])] == [], "cut at 80 columns"
