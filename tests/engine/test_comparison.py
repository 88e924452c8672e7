"""A comparison of two runs names the differences and how far they move the curves."""

from __future__ import annotations

import numpy as np
import pytest
from view_fields import curve_view, replace, view_of

from engine.core import catalogue
from engine.pictures.picture import Picture
from engine.pictures.view import View
from engine.pictures.wording import LONGEST
from engine.results.headlines import comparison
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import of_run

K = np.arange(129.0)
CHANGE = "rate η of EGU 0.15 → 0.05"


def losses(measure: str = "loss", complete: bool = True, **curves: np.ndarray) -> View:
    picture = Picture(measure=catalogue.make("measures", measure))
    drawn = [
        curve_view(
            name=curve_name,
            learner=curve_name,
            x=K,
            y=y,
            stderr=None,
            over=y.take,
            complete=complete,
            clock=K,
        )
        for curve_name, y in curves.items()
    ]
    return replace(view_of(picture, "examples k", measure, False, False, 1e-11, curves=drawn), clock="k")


def falling(rate: float) -> np.ndarray:
    return np.exp(-K / rate)


SLOW = 1 - K / 128


def test_doubling_features_doubles_the_examples_of_gd_and_adds_few_to_egu():
    views = []
    for d in (128, 256):
        experiment = presets.load("hadamard-128", [f"problem.matrix.d={d}", "run.device=cpu", "claims=[]"])
        views.append(view(of_run(experiment), of_one(experiment, run(experiment))))
    assert comparison("d 128 → 256", *views, "EGU") == (
        "d 128 → 256: GD 116 → 231 examples, EGU 30 → 35 until loss stays below a tenth"
    )
    for seen, places in zip(views, ((116, 30), (231, 35)), strict=True):
        for learner_name, place in zip(("GD", "EGU"), places, strict=True):
            y = seen.curve(learner_name).y
            assert y[place - 1] >= 0.1
            assert (y[place:] < 0.1).all()


def test_a_curve_above_the_threshold_in_one_run_is_reported_as_never():
    earlier, later = losses(GD=SLOW, EGU=falling(9)), losses(GD=SLOW + 0.2, EGU=falling(5))
    assert comparison(CHANGE, earlier, later) == (
        f"{CHANGE}: GD 116 examples → never, EGU 21 → 12 until loss stays below a tenth"
    )
    assert comparison(CHANGE, later, earlier).startswith(f"{CHANGE}: GD never → 116 examples, EGU 12 → 21")


def test_curves_above_the_threshold_in_both_runs_are_omitted():
    earlier, later = losses(GD=SLOW + 1, EGU=falling(9)), losses(GD=SLOW + 1, EGU=falling(5))
    assert comparison(CHANGE, earlier, later) == (
        f"{CHANGE}: EGU 21 → 12 examples until loss stays below a tenth"
    )


def test_final_losses_are_compared_if_no_loss_reaches_the_threshold():
    earlier, later = losses(GD=SLOW + 1, EGU=SLOW + 2), losses(GD=SLOW + 1.5, EGU=SLOW + 4)
    assert comparison(CHANGE, earlier, later) == (
        f"{CHANGE}: at the end, loss is 2 → 4 for EGU and 1 → 1.5 for GD"
    )


def test_final_values_are_compared_for_measures_other_than_loss():
    earlier, later = losses("error", GD=SLOW), losses("error", GD=falling(60))
    assert comparison(CHANGE, earlier, later) == f"{CHANGE}: at the end, error is 0 → 0.118 for GD"


def test_only_the_slowest_and_the_fastest_of_many_curves_are_compared():
    curves = {f"net {rate}": falling(rate) for rate in (20, 9, 30, 12)}
    moved = {curve_name: y**2 for curve_name, y in curves.items()}
    assert comparison(CHANGE, losses(**curves), losses(**moved)) == (
        f"{CHANGE}: net 30 70 → 35 examples, net 9 21 → 11 until loss stays below a tenth"
    )


@pytest.mark.parametrize(
    ("earlier", "later"), [({"A": SLOW}, {"B": SLOW}), ({}, {"A": SLOW}), ({"A": SLOW}, {})]
)
def test_runs_without_a_common_curve_are_not_compared(earlier: dict, later: dict):
    assert comparison(CHANGE, losses(**earlier), losses(**later)) == ""


def test_a_long_change_drops_the_threshold_clause():
    long = ", ".join(f"field {number} 1 → 2" for number in range(8))
    sentence = comparison(long, losses(GD=falling(9)), losses(GD=falling(5)))
    assert sentence == f"{long}: GD 21 → 12 examples"
    assert len(sentence) <= LONGEST
