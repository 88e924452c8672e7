"""Captions say what a view shows, and nothing that it does not show."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from engine.claims import Outcome
from engine.core import catalogue
from engine.core.groups import ROTATIONS
from engine.pictures.picture import Picture
from engine.pictures.view import CurveView, HeatView, LineView, View
from engine.results.caption import Room, caption

D = 128
K = np.arange(D + 1.0)


def curve(name: str, x: np.ndarray, y: np.ndarray, **more: object) -> CurveView:
    given: dict[str, object] = {
        "learner": name,
        "stderr": None,
        "replicas": 1,
        "over": lambda replicas: y,
        "missing": np.zeros(len(x), int),
        "diverged": 0,
        "diverged_at": None,
        "complete": True,
    }
    return CurveView(name=name, x=x, y=y, **(given | more))  # type: ignore[arg-type]


def line(y: np.ndarray, x: np.ndarray = K, **more: object) -> LineView:
    given: dict[str, object] = {
        "name": "ri-signed",
        "kind": "ri-signed",
        "direction": "lower",
        "formula": "1 − k/d",
        "group": ROTATIONS,
        "applies_to": ("GD",),
    }
    return LineView(x=x, y=y, **(given | more))  # type: ignore[arg-type]


def losses(*curves: CurveView, lines: tuple[LineView, ...] = ()) -> View:
    picture = Picture(measure=catalogue.make("measures", "loss"))
    return View(picture, "examples k", "average loss", False, False, 1e-11, curves=[*curves], lines=[*lines])


GD = curve("GD", K, 1 - K / D)
EGU = curve("EGU", K, np.exp(-K / 9))  # below 0.1 from k = 9 ln 10 = 20.7 on
BOUND = line(1 - K / D)
LETTERS = {"GD": "A", "EGU": "B"}


def test_who_comes_down_and_who_cannot():
    assert caption(losses(GD, EGU, lines=(BOUND,)), letters=LETTERS) == (
        "B (EGU) is below 0.1 after k = 21. Every rotation-invariant learner stays above 1 − k/d and cannot "
        "be there before k = 116; A (GD) follows that line exactly."
    )


@pytest.mark.parametrize(
    ("clock", "every", "said"),
    [("k", 1, "before k = 116"), ("k", 8, "up to k = 112"), ("time", 1, "up to time = 115")],
)
def test_between_the_places_of_a_line_nothing_is_said_of_it(clock: str, every: int, said: str):
    view = losses(GD, EGU, lines=(line(1 - K[::every] / D, K[::every]),))
    told = caption(replace(view, picture=msgspec.structs.replace(view.picture, x=clock)), letters=LETTERS)
    assert f"and cannot be there {said}; A (GD)" in told


def test_a_bound_that_is_low_from_the_start_keeps_nobody_out():
    told = caption(losses(GD, EGU, lines=(line((1 - K / D) / 20),)), letters=LETTERS)
    assert "stays above 1 − k/d; A (GD) stays above it" in told


def test_a_tenth_is_one_of_where_the_curves_start():
    high = [replace(one, y=3 * one.y) for one in (GD, EGU)]
    assert "EGU is below 0.3 after k = 21" in caption(losses(*high))


def test_curves_that_start_apart_have_no_common_tenth():
    assert "below" not in caption(losses(GD, replace(EGU, y=3 * EGU.y)))


def test_what_does_not_come_down_goes_from_where_to_where():
    flat = curve("flat", K, np.linspace(1, 0.5, D + 1))
    assert caption(losses(flat)) == "flat goes from 1 at k = 0 to 0.5 at 128."


@pytest.mark.parametrize(
    ("replicas", "stderr", "said"),
    [
        (1, None, "GD is below it by 0.2 at k = 1, as a single run may be"),
        (5, 0.01, "GD is below it by 0.2 at k = 1, as so few runs may be"),
        (100, 0.1, "GD stays above it within its error"),
        (100, 0.01, "GD is below it by 0.2 at k = 1, against the theorem"),
    ],
)
def test_a_curve_below_a_bound_on_the_expectation(replicas: int, stderr: float | None, said: str):
    y = GD.y.copy()
    y[1] -= 0.2
    error = None if stderr is None else np.full(len(K), stderr)
    below = curve("GD", K, y, stderr=error, replicas=replicas)
    assert said in caption(losses(below, EGU, lines=(BOUND,)))


def test_a_bound_on_every_run_is_broken_by_one():
    y = GD.y.copy()
    y[1] -= 0.2
    always = line(1 - K / D, in_expectation=False)
    text = caption(losses(curve("GD", K, y), lines=(always,)))
    assert "GD is below it by 0.2 at k = 1, against the theorem" in text


def test_a_curve_above_its_bound_and_a_bound_without_learners():
    above = curve("GD", K, GD.y + 0.1)
    assert "GD stays above it" in caption(losses(above, EGU, lines=(BOUND,)))
    assert "none here is one of those" in caption(losses(EGU, lines=(BOUND,)))
    both = losses(
        above, replace(above, name="LLS", learner="LLS"), lines=(line(GD.y, applies_to=("GD", "LLS")),)
    )
    assert "GD and LLS stay above it" in caption(both)


def test_a_bound_that_is_0_or_says_nothing_of_these_curves_is_not_told():
    assert "1 − k/d" not in caption(losses(GD, EGU, lines=(line(0 * K),)))
    assert "1 − k/d" not in caption(losses(GD, lines=(line(GD.y, apart=(1,)),)))
    many = replace(GD, summary="median", replicas=9, stderr=np.ones(len(K)))
    assert "1 − k/d" not in caption(losses(many, lines=(BOUND,)))


def test_each_curve_stands_to_the_bound_that_is_its_own():
    curves = [curve(name, K, GD.y + 0.1 * number) for number, name in enumerate(("GD", "net"))]
    own = [line(one.y - 0.05, curve=one.name, applies_to=(one.name,), group=None) for one in curves]
    assert "stays above 1 − k/d; GD and net stay above it." in caption(losses(*curves, lines=tuple(own)))
    below = replace(own[1], y=own[1].y + 0.1, in_expectation=False)
    assert "; GD stays above it, net is below it" in caption(losses(*curves, lines=(own[0], below)))


def test_the_strongest_bound_that_binds_is_told():
    weak, stranger = line(GD.y / 2, formula="weak"), line(GD.y + 1, formula="other", applies_to=("kernel",))
    text = caption(losses(GD, EGU, lines=(weak, BOUND, stranger)))
    assert "1 − k/d" in text
    assert "weak" not in text
    assert "other" not in text


def test_a_curve_that_rises_once_more_is_told_of_where_it_first_comes_down():
    y = EGU.y.copy()
    y[-2] = 0.5
    first = K[np.argmax(y < 0.1)]
    text = caption(losses(replace(EGU, y=y)))
    assert f"EGU is below 0.1 after k = {first:g} (for good after {K[-1]:g})" in text


def test_how_far_from_what_theory_says_exactly():
    x = np.array([1.0, 2, 4])
    exact = line(np.array([1.0, 2, 4]), x, direction="exact", curve="net", applies_to=("net",))
    off = curve("net", x, np.array([1.0, 2.2, 4]), stderr=np.full(3, 0.1), replicas=4)
    assert caption(losses(off, lines=(exact,))) == (
        "Beside the exact value net is off by at most 10 %, 2.0 standard errors."
    )
    nothing = replace(exact, y=np.array([1.0, 0, 4]))
    off = curve("net", x, np.array([1.0, 1e-33, 4.4]), stderr=np.array([0.1, 1e-35, 0.1]), replicas=4)
    assert "by at most 0.4, 4.0 standard errors" in caption(losses(off, lines=(nothing,)))
    same = curve("net", x, x.copy())
    assert "net is the same to rounding" in caption(losses(same, lines=(exact,)))


def test_of_theory_that_comes_near_0_no_share_is_told():
    x = np.array([1.0, 2, 4])
    limit = line(np.array([1.0, 0.5, 0.01]), x, direction="asymptotic", applies_to=("net",))
    net = curve("net", x, np.array([1.0, 0.5, 0.02]))
    told = "net is below 0.1 after k = 4. Beside the asymptotic value net is off by at most 0.01."
    assert caption(losses(net, lines=(limit,))) == told
    assert "net is within 0.01 of the" in caption(losses(net, lines=(limit,)), room=Room(len(told) - 1))
    assert "100 %" in caption(replace(losses(net, lines=(limit,)), y_log=True))


def test_how_far_a_curve_ends_from_a_limit_that_it_comes_to():
    x = np.array([1.0, 2, 4])
    limit = line(np.ones(3), x, direction="asymptotic", curve="net", applies_to=("net",))
    net = curve("net", x, np.array([0, 0.5, 0.98]))
    told = caption(losses(net, lines=(limit,)))
    assert told == "Beside the asymptotic value net is off by at most 100 %, by 2 % at the end."
    late = curve("net", x, np.array([0.5, 0.5, 0.6]))
    assert "at the end" not in caption(losses(late, lines=(limit,)))


def test_power_laws_are_told_where_both_axes_are_logarithmic_and_they_fit():
    x = 2.0 ** np.arange(4, 11)
    view = replace(losses(curve("GD", x, 0.9 * x), curve("EGU", x, np.log(x))), x_log=True, y_log=True)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="size"), x_label="size")
    text = caption(view)
    assert "GD goes like size^1.00" in text
    assert "EGU goes like" not in text
    assert "EGU goes from 2.77 at size = 16 to 6.93 at 1024" in text
    assert "^" not in caption(replace(view, y_log=False))


def test_a_valley_is_told():
    y = np.abs(K - 40.0) + 1
    assert caption(losses(curve("valley", K, y))) == (
        "valley goes from 41 at k = 0 to 89 at 128 by way of 1 at 40."
    )


@pytest.mark.parametrize(("y_log", "end"), [(False, 1e-12), (True, 1e-23)])
def test_values_that_are_only_rounding_are_told_as_0(y_log: bool, end: float):
    flat = [curve(name, K, 0.5 - 0.1 * K / D) for name in ("flat",)]
    falling = curve("falling", K, np.where(K < D, 1 + 0 * K, end))
    still = [curve(name, K, 1e-13 / (1 + K)) for name in ("SOAP", "Muon")]
    view = replace(losses(*flat, falling, *still), y_log=y_log)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="rows"))
    assert caption(view) == (
        "Along rows = 0 to 128: flat goes from 0.5 to 0.4, falling from 1 to 0; "
        "SOAP and Muon are 0 but for rounding."
    )


def test_where_two_runs_are_compared_a_start_of_rounding_is_told_as_0_on_a_logarithmic_axis_too():
    adam = curve("Adam", K, np.where(K > 0, 0.1 + K / 1000, 7.3e-16))
    change = Picture(measure=catalogue.make("measures", "change"))
    assert caption(replace(losses(adam), picture=change, y_log=True)) == (
        "Adam goes from 0 at k = 0 to 0.228 at 128."
    )
    assert "from 7.3e-16 at" in caption(replace(losses(adam), y_log=True)), "a loss may be as small"


def test_which_curves_end_near_what_they_are_relative_to():
    x = np.array([0.0, 1, 2])
    curves = [
        curve(name, x, np.array([0.2, 0.5, end]), clock=x)
        for name, end in (("slow", 0.5), ("mid", 0.96), ("fast", 1.01))
    ]
    view = replace(losses(*curves), divisor="2/η")
    assert caption(view) == ("slow goes from 0.2 at k = 0 to 0.5 at 2; mid and fast end within 4 % of 2/η.")


def test_a_single_curve_along_an_axis_is_told_though_it_is_what_theory_says():
    exact = line(EGU.y + 1, direction="exact", curve="EGU")
    view = replace(losses(replace(EGU, y=EGU.y + 1), lines=(exact,)))
    along = replace(view, picture=msgspec.structs.replace(view.picture, x="size"))
    assert caption(along).startswith("EGU goes from 2 at size = 0 to 1 at 128. Beside the exact value")


def test_what_a_logarithmic_axis_shows_is_told():
    view = replace(losses(curve("net", K, 10.0 ** (-K / 10))), y_log=True)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="rows"))
    assert caption(view) == "net goes from 1 at rows = 0 to 1.58e-13 at 128."


def test_a_valley_within_the_errors_is_not_told():
    y = np.where(K == 40, 0.9, 1.0)
    error = {"stderr": np.full(len(K), 0.05), "replicas": 9}
    assert caption(losses(curve("flat", K, y, **error))) == "flat goes from 1 at k = 0 to 1 at 128."
    assert "by way of 0.9 at 40" in caption(losses(curve("valley", K, y)))


def test_in_brief_those_on_one_side_of_a_bound_are_told_together():
    y = GD.y + 0.1
    y[3] -= 0.2
    many = {"stderr": np.full(len(K), 0.1), "replicas": 99}
    curves = [curve("GD", K, GD.y + 0.1), curve("LLS", K, y, **many)]
    view = losses(*curves, lines=(line(GD.y, applies_to=("GD", "LLS")),))
    assert "stays above it, LLS stays above it within its error" in caption(view)
    assert caption(view, room=Room(80)).endswith(" GD and LLS are above 1 − k/d.")


def test_where_a_heat_map_is_least_and_greatest():
    heat = HeatView("net", np.array([1.0, 2]), np.array([0.5, 1.5]), np.array([[3.0, np.nan], [2, 7]]), None)
    picture = Picture(x="layer", y="cw", measure=catalogue.make("measures", "loss"))
    view = View(picture, "layer", "variance", False, False, 1e-11, heats=[heat])
    assert caption(view) == ("Variance: net goes from 2 (layer = 1, cw = 1.5) to 7 (layer = 2, cw = 1.5).")


def test_divergence_conjectures_and_claims_are_told():
    lost = np.where(K > 4, 3, 0)
    wild = curve(
        "wild", K, np.where(K > 4, np.nan, 1.0), replicas=8, missing=lost, diverged=3, diverged_at=5.0
    )
    guess = line(GD.y, kind="guess", direction="conjecture")
    text = caption(losses(wild, GD, EGU, lines=(BOUND, guess)))
    assert "wild diverged in 3 of 8 replicas at k = 5." in text
    assert text.endswith("; guess is only conjectured.")


def test_the_first_claim_that_fails_is_named():
    claim = catalogue.make("claims", "value", text="it is so", curve="GD", at=1.0, below=2.0)
    holds, fails = (Outcome(claim, so, None, "") for so in (True, False))
    assert caption(losses(GD), [holds, holds]).endswith("Both claims hold.")
    assert caption(losses(GD), [holds]).endswith("Its claim holds.")
    assert caption(losses(GD), [holds, fails]).endswith("1 of 2 claims fails: “it is so”.")
    assert caption(losses(GD), [holds], [holds, holds]).endswith(
        "All 3 claims hold, 1 of them about this chart."
    )
    assert caption(losses(GD), [], [holds] * 3).endswith("All 3 claims hold, none of them about this chart.")
    assert caption(losses(GD), [holds], [fails]).endswith("1 of 2 claims fails: “it is so”.")


def test_many_curves_are_told_in_short():
    many = [replace(EGU, name=f"E{number}", learner=f"E{number}", x=K) for number in range(6)]
    assert caption(losses(*many, GD)).startswith(
        "E0 is below 0.1 after k = 21, E1 after 21, E2 after 21 and 4 more later"
    )
    assert caption(losses(*many[:4])) == (
        "E0 is below 0.1 after k = 21, E1 after 21, E2 after 21, E3 after 21."
    )


def test_the_name_of_the_only_learner_is_not_told_again_and_again():
    flat = [
        curve(f"GD, eta = {rate}", K, np.linspace(1, 0.5, D + 1), learner="GD", apart=(number,))
        for number, rate in enumerate((0.1, 0.2))
    ]
    assert caption(losses(*flat)) == (
        "Along k = 0 to 128: η = 0.1 goes from 1 to 0.5, η = 0.2 from 1 to 0.5."
    )


def test_an_empty_view_has_no_caption():
    assert caption(losses()) == ""


CLAIM = catalogue.make("claims", "value", text="it is so", curve="GD", at=1.0, below=2.0)
HOLD = [Outcome(CLAIM, True, None, "")] * 6
SHORT = "EGU is below 0.1 after k = 21, GD after 116. GD cannot be before k = 116."


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (Room(80), SHORT),
        (Room(40, 2), SHORT),
        (Room(86), "B (EGU) is below 0.1 after k = 21. GD cannot be before k = 116; all 6 claims hold."),
        (Room(44), "EGU is below 0.1 after k = 21, GD after 116."),
        (Room(41), "B is below 0.1 after k = 21, A after 116."),
        (Room(40), "EGU is below 0.1 after k = 21."),
        (Room(29), "B is below 0.1 after k = 21."),
        (Room(20), "B is below 0.1 afte…"),
    ],
)
def test_where_there_is_little_room_both_halves_are_told_in_brief(room: Room, said: str):
    view = losses(GD, EGU, lines=(BOUND,))
    assert caption(view, HOLD, letters=LETTERS, room=room) == said
    assert room.holds(said)


HEAT = View(
    Picture(x="layer", y="cw", measure=catalogue.make("measures", "loss")), "layer", "variance", False, False,
    1e-11, heats=[HeatView(name, K[:2], K[:2], np.eye(2), None) for name in ("ReLU net", "tanh net")],
)  # fmt: skip
GROWING = replace(
    losses(*(curve(name, K[2:], K[2:] ** (at + 1)) for at, name in enumerate("ab"))), x_log=True, y_log=True
)
VERB = re.compile(r"\b(is|are|goes|go|cannot|holds?|fails?|follows?|ends?|binds|diverged|stays?)\b")


@pytest.mark.parametrize(
    "view",
    [
        losses(GD, EGU, lines=(BOUND,)),
        losses(EGU, lines=(BOUND,)),
        losses(GD, *(replace(EGU, name=f"E{at}", learner=f"E{at}") for at in range(6)), lines=(line(GD.y),)),
        losses(*(curve(name, K, 2.0 - K / (at + D)) for at, name in enumerate("abcdef"))),
        losses(GD, EGU, lines=(line(EGU.y, direction="exact", curve="EGU", applies_to=("EGU",)),)),
        HEAT,
        GROWING,
    ],
)
def test_in_whatever_room_captions_are_sentences_with_verbs(view: View):
    letters = {one.name: "ABCDEFGHI"[at] for at, one in enumerate(view.curves)}
    for columns, lines in itertools.product(range(20, 200, 3), (1, 2)):
        said = caption(view, HOLD, letters=letters, room=Room(columns, lines))
        for sentence in said.removesuffix(".").split(". "):
            assert VERB.search(sentence) or sentence.endswith("…"), said
            first = sentence.split()[0]
            assert not first[0].islower() or first in "abcdef", said


def test_many_bound_learners_are_told_in_brief_as_a_class():
    bound = [replace(GD, name=f"learner {number}", learner=f"learner {number}") for number in range(4)]
    view = losses(*bound, EGU, lines=(line(GD.y, applies_to=tuple(one.name for one in bound)),))
    said = caption(view, letters=LETTERS, room=Room(100))
    assert said.endswith(" Rotation-invariant learners cannot be before k = 116.")


def test_brief_captions_call_curves_what_legends_call_them():
    values = {"GD, fresh = True": GD.y, "EGU, fresh = False": EGU.y}
    curves = [
        curve(name, K, y, learner=name.partition(",")[0], apart=(at,))
        for at, (name, y) in enumerate(values.items())
    ]
    assert caption(losses(*curves), room=Room(64)) == (
        "EGU, not fresh is below 0.1 after k = 21, GD, fresh after 116."
    )


def test_long_names_give_way_to_letters_where_ranges_are_told_in_one_line():
    x = np.array([1.0, 2.0])
    names = [f"a learner with a long name, number {number}" for number in range(3)]
    view = losses(*(curve(name, x, (2.0 + number) - x) for number, name in enumerate(names)))
    letters = dict(zip(names, "ABC", strict=True))
    assert caption(view, letters=letters, room=Room(40)) == "A goes from 1 to 0."
    assert caption(view, room=Room(80)) == f"{names[0]} goes from 1 to 0."


def test_a_single_line_says_when_each_of_a_few_comes_down_those_that_are_bound_last():
    free = [replace(EGU, name=name, learner=name) for name in ("spindly", "EGU", "EGU±")]
    said = caption(losses(GD, *free, lines=(BOUND,)), HOLD, letters=LETTERS, room=Room(78))
    assert said == ("EGU is below 0.1 after k = 21, EGU± after 21, spindly after 21, GD after 116.")


def test_a_bound_that_is_broken_is_told_in_brief_too():
    y = GD.y - 0.2
    text = caption(
        losses(curve("GD", K, y), EGU, lines=(replace(BOUND, in_expectation=False),)), room=Room(110)
    )
    assert "GD is below 1 − k/d, against the theorem" in text
    assert "not before" not in text


def test_captions_have_at_most_two_sentences():
    guess = line(GD.y, kind="guess", direction="conjecture")
    exact = line(EGU.y, direction="exact", kind="exact", applies_to=("EGU",), group=None)
    wild = curve("wild", K, np.where(K > 4, np.nan, 1.0), missing=np.where(K > 4, 1, 0), diverged=1)
    text = caption(losses(wild, GD, EGU, lines=(BOUND, guess, exact)), HOLD)
    for told in ("wild diverged", "exact value", "guess is only", "All 6", "stays above 1 − k/d"):
        assert told.lower() in text.lower()
    assert text.count(". ") == 1


def test_a_line_of_what_was_made_of_the_measure_has_a_name_and_no_formula():
    x = 2.0 ** np.arange(4, 8)
    bound = line(0.9 * x, x)
    text = caption(replace(losses(curve("GD", x, 0.9 * x), lines=(bound,)), as_measured=False))
    assert "Every rotation-invariant learner stays above ri-signed; GD follows that line exactly" in text
    assert "k/d" not in text


def test_a_median_is_not_compared_with_a_line_about_the_mean():
    exact = line(2 * GD.y, direction="exact", applies_to=("GD",), group=None)
    many = curve("GD", K, GD.y, summary="median", replicas=9, stderr=np.ones(len(K)))
    assert "exact" not in caption(losses(many, lines=(exact,)))
    assert "against" not in caption(losses(many, lines=(replace(BOUND, y=GD.y + 1),)))
    assert "exact" in caption(losses(many, lines=(replace(exact, summary="median"),)))


def test_in_brief_a_power_law_and_a_range_come_before_the_bound():
    x = 2.0 ** np.arange(4, 11)
    curves = [curve(name, x, y) for name, y in (("GD", 0.9 * x), ("EGU", np.log(x)), ("EGU±", 1 + np.log(x)))]
    view = replace(losses(*curves, lines=(line(0.9 * x, x),)), x_log=True, y_log=True, as_measured=False)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="size"), x_label="size")
    said = "GD goes like size^1.00; EGU goes from 2.77 to 6.93, and 1 more."
    assert caption(view, room=Room(70)) == said
    assert caption(view, room=Room(90)) == f"{said} GD follows ri-signed."
