"""Laws of readings along an axis: which law fits, and its sentence."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from engine.claims.slope import Slope
from engine.pictures.picture import Read
from engine.pictures.wording import fitted_law, laws_in_words
from engine.results.headlines import headline
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets

X = 2.0 ** np.arange(5, 10)


@pytest.mark.parametrize("exponent", [-0.5, 0.5, 1.0, 2.0])
def test_a_fit_finds_the_exponent_of_a_power_law(exponent: float):
    law = fitted_law(X, 3 * X**exponent)
    assert law is not None
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.slope is None
    assert law.error < 1e-12


def test_the_slope_of_a_logarithm_is_the_growth_per_doubling():
    law = fitted_law(X, 4 + 2.5 * np.log2(X))
    assert law is not None
    assert law.slope == pytest.approx(2.5, abs=1e-12)
    assert law.exponent is None


def test_a_fit_omits_missing_points_and_refuses_few_or_scattered_points():
    y = 3 * X
    assert fitted_law(np.append(X, 1024), np.append(y, np.nan)) == fitted_law(X, y)
    assert fitted_law(X[:3], y[:3]) is None
    assert fitted_law(X, np.array([1.0, 100, 1, 100, 1])) is None


def test_a_constant_has_no_law():
    assert fitted_law(X, np.full(len(X), 58.0)) is None
    assert fitted_law(X, 58 + 1e-12 * np.arange(len(X))) is None


def test_a_power_law_is_found_despite_errors_of_a_few_percent():
    law = fitted_law(X, 3 * X * np.exp(0.03 * np.random.default_rng(0).standard_normal(5)))
    assert law is not None
    assert law.exponent == pytest.approx(1, abs=0.1)


def test_a_small_power_is_called_a_logarithm():
    law = fitted_law(X, np.round(8 * X**0.19))
    assert law is not None
    assert law.slope is not None


def test_a_law_is_stated_only_for_readings_along_an_axis():
    changes = [
        "axes=[{name='size', symbol='d', values=[32, 64, 128, 256]}]",
        "problem.matrix.d=size",
        "claims=[]",
    ]
    law_picture = "{x='size', measure='loss', read={first_below=0.1}}"
    pictures = f"pictures=[{law_picture}, {{x='k', measure='loss', curves='size'}}]"
    sweep = presets.sweep_of("hadamard-128", presets.document("hadamard-128", [*changes, pictures]))
    results = run_sweep(sweep)
    law, curves = (view(picture, results) for picture in sweep.experiment.pictures)
    words = laws_in_words(law)
    assert words.startswith(
        "First below a tenth: GD and least squares ∝ d^1.00 (0.91 d); EGU, EGU± and spindly ∝ log d: "
    )
    assert words.endswith(" more examples per doubling of d")
    numbers = [float(number) for number in re.findall(r"\d\.\d", words.split("log d: ")[1])]
    slopes = [
        fitted_law(law.curve(curve_name).x, law.curve(curve_name).y).slope
        for curve_name in ("EGU", "EGU±", "spindly")
    ]
    assert numbers == pytest.approx([min(slopes), max(slopes)], abs=0.05)
    assert len(words) <= 160
    assert laws_in_words(curves) == ""
    assert headline(law, sweep.experiment, []) == words
    assert headline(curves, sweep.experiment, [], results) == words


def test_a_law_names_curves_that_never_pass_the_threshold():
    changes = [
        "axes=[{name='size', symbol='d', values=[8, 16, 32, 64]}]",
        "problem.matrix.d=size",
        "claims=[]",
    ]
    rates = ["learners[2].update.lr=1e-6", "learners[4].update.lr=1e-9"]
    picture = "pictures=[{x='size', measure='loss', read={first_below=0.1}}]"
    sweep = presets.sweep_of("hadamard-128", presets.document("hadamard-128", [*changes, *rates, picture]))
    law = view(sweep.experiment.pictures[0], run_sweep(sweep))
    assert laws_in_words(law).startswith("First below a tenth: GD and least squares ∝ ")
    assert laws_in_words(law).endswith("; EGU and spindly never")


AXIS = "axes=[{name='size', symbol='d', values=[16, 32, 64, 128]}]"


def swept(*changes: str) -> Results:
    """Run hadamard-d at four values of d, with changes and without claims."""
    document = presets.document("hadamard-d", [AXIS, "run.replicas=2", "claims=[]", *changes])
    return run_sweep(presets.sweep_of("hadamard-d", document))


def test_a_claimed_power_law_has_the_wording_of_the_picture():
    sizes = swept()
    law = view(sizes.sweep.experiment.pictures[0], sizes)
    claim = Slope(text="", curve="GD", between=(0.95, 1.05))
    assert claim.finding(law, claim.judge(law)) == laws_in_words(law)
    assert laws_in_words(law).startswith("First below a tenth: GD ∝ d^")
    steep = Slope(text="", curve="GD", linear=True, between=(0.8, 1.0))
    assert " per unit of d; " in steep.finding(law, steep.judge(law))


def test_only_readings_of_the_run_clock_have_its_unit():
    sizes = swept()
    law = view(sizes.sweep.experiment.pictures[0], sizes)
    assert " more examples per doubling of d" in laws_in_words(law)
    of_rows = replace(law.picture, read=Read(over="rows", first_below=0.1))
    assert " more per doubling of d" in laws_in_words(replace(law, picture=of_rows))


def test_the_headline_names_an_axis_that_no_field_uses():
    sizes = swept("problem.matrix.d=64")
    sentence = "No field uses the axis size: its 4 values repeat the same experiment"
    assert sizes.sweep.idle_axes == (sentence,)
    law = view(sizes.sweep.experiment.pictures[0], sizes)
    assert headline(law, sizes.sweep.experiment, [], sizes) == sentence
    claim = Slope(text="", curve="GD", between=(-0.1, 0.1))
    finding = claim.finding(law, claim.judge(law))
    assert finding.startswith("Examples for loss < 0.1 of GD do not change with d; at d = 128 they are 5")


def test_an_axis_used_by_a_field_or_run_setting_is_not_idle():
    used = ["problem.matrix.d=size", "run.replicas=size", "learners.GD.update.lr=1/size"]
    for place in used:
        changes = [AXIS, "problem.matrix.d=64", place, "claims=[]", "pictures=[]"]
        assert presets.sweep_of("hadamard-d", presets.document("hadamard-d", changes)).idle_axes == ()
