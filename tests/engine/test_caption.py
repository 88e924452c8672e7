"""Captions say what a view shows, and nothing that it does not show."""

from __future__ import annotations

import itertools
import re

import msgspec
import numpy as np
import pytest
from view_fields import curve_view, replace, view_of

from engine.captions.caption import caption, named_once
from engine.captions.clause import MARK
from engine.captions.room import Room
from engine.claims import Outcome
from engine.core import catalogue
from engine.core.groups import ROTATIONS
from engine.measures.change import Change
from engine.pictures.bounds import line_for
from engine.pictures.picture import Marked, Picture
from engine.pictures.view import Absences, CurveView, HeatView, LineView, View

D = 128
K = np.arange(D + 1.0)


def curve(name: str, x: np.ndarray, y: np.ndarray, **more: object) -> CurveView:
    given: dict[str, object] = {
        "learner": name,
        "stderr": None,
        "replicas": 1,
        "over": lambda replicas: y,
        "lost": np.zeros(len(x), int),
        "diverged": 0,
        "diverged_at": None,
        "complete": True,
    }
    return curve_view(name=name, x=x, y=y, **(given | more))  # type: ignore[arg-type]


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
    return view_of(
        picture, "examples k", "average loss", False, False, 1e-11, curves=[*curves], lines=[*lines]
    )


GD = curve("GD", K, 1 - K / D)
EGU = curve("EGU", K, np.exp(-K / 9))  # below 0.1 from k = 9 ln 10 = 20.7 on
BOUND = line(1 - K / D, title="rotation bound")
LETTERS = {"GD": "A", "EGU": "B"}


def test_who_comes_down_and_who_cannot():
    assert caption(losses(GD, EGU, lines=(BOUND,)), letters=LETTERS) == (
        "B (EGU) is below 0.1 after k = 21, A (GD) after 116. No rotation-invariant learner falls below "
        "1 − k/d, nor below 0.1 before k = 116; A follows it exactly; B, which it does not bind, falls below "
        "it."
    )


@pytest.mark.parametrize(
    ("clock", "every", "said"),
    [("k", 1, "before k = 116"), ("k", 8, "up to k = 112"), ("time", 1, "up to time = 115")],
)
def test_between_the_places_of_a_line_nothing_is_said_of_it(clock: str, every: int, said: str):
    view = losses(GD, EGU, lines=(line(1 - K[::every] / D, K[::every]),))
    told = caption(replace(view, picture=msgspec.structs.replace(view.picture, x=clock)), letters=LETTERS)
    assert f", nor below 0.1 {said}; A follows" in told


def test_a_bound_that_is_low_from_the_start_keeps_nobody_out():
    told = caption(losses(GD, EGU, lines=(line((1 - K / D) / 20),)), letters=LETTERS)
    assert "falls below 1 − k/d; A stays above it" in told


def test_a_tenth_is_one_of_where_the_curves_start():
    high = [replace(one, y=3 * one.y) for one in (GD, EGU)]
    assert "EGU is below 0.3 after k = 21" in caption(losses(*high))


def test_curves_that_start_at_half_of_others_have_a_common_tenth():
    assert "EGU is below 0.2 after k = 21" in caption(
        losses(replace(GD, y=2 * GD.y), replace(EGU, y=EGU.y * 2))
    )
    low = replace(GD, y=0.5 * GD.y)
    assert caption(losses(low, EGU)).startswith("EGU is below 0.1 after k = 21, GD after ")


def test_what_ends_above_its_start_is_not_said_to_be_still_there():
    up = curve("net", K, np.linspace(1, 1.25, D + 1))
    told = caption(losses(up, replace(EGU)))
    assert told.startswith("EGU is below 0.1 after k = 21; net ends above the start, at 1.25.")


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
        (100, 0.1, "GD stays above it within standard errors"),
        (100, 0.01, "GD is below it by 0.2 at k = 1, against the theorem"),
    ],
)
def test_a_curve_below_a_bound_on_the_expectation(replicas: int, stderr: float | None, said: str):
    y = GD.y.copy()
    y[1] -= 0.2
    error = None if stderr is None else np.full(len(K), stderr)
    below = curve("GD", K, y, stderr=error, replicas=replicas)
    assert said in (text := caption(losses(below, EGU, lines=(BOUND,))))
    assert "On average no rotation-invariant learner falls below" in text


def test_a_bound_on_every_run_is_broken_by_one():
    y = GD.y.copy()
    y[1] -= 0.2
    always = line(1 - K / D, in_expectation=False)
    text = caption(losses(curve("GD", K, y), lines=(always,)))
    assert "GD is below it by 0.2 at k = 1, against the theorem" in text


def test_a_curve_above_its_bound_and_a_bound_without_learners():
    above = curve("GD", K, GD.y + 0.1)
    assert "GD stays above it" in caption(losses(above, EGU, lines=(BOUND,)))
    told = caption(losses(EGU, lines=(BOUND,)))
    assert told.endswith("k = 116; none here is one of those, and it falls below it.")
    assert caption(losses(EGU, lines=(BOUND,)), room=Room(90)).endswith(
        " 1 − k/d binds none here, and it falls below it."
    )
    long = replace(BOUND, formula="x" * 41)
    assert " The rotation bound binds none here" in caption(losses(EGU, lines=(long,)), room=Room(90))
    net = replace(above, name="net", learner="net")
    two = caption(losses(EGU, net, lines=(replace(BOUND, applies_to=()),)))
    assert "one of those; EGU, which it does not bind, falls below it, net does not" in two
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
    own = [
        replace(BOUND, y=one.y - 0.05, curve=one.name, applies_to=(one.name,), group=None) for one in curves
    ]
    assert (
        "No learner that the rotation bound binds falls below 1 − k/d; GD and net stay above it."
        in caption(losses(*curves, lines=tuple(own)))
    )
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
        "Against the exact value, net is off by at most 10 %, 2.0 standard errors."
    )
    nothing = replace(exact, y=np.array([1.0, 0, 4]))
    off = curve("net", x, np.array([1.0, 1e-33, 4.4]), stderr=np.array([0.1, 1e-35, 0.1]), replicas=4)
    assert "by at most 0.4, 4.0 standard errors" in caption(losses(off, lines=(nothing,)))
    same = curve("net", x, x.copy())
    assert "net is the same to rounding" in caption(losses(same, lines=(exact,)))
    zero = replace(exact, y=np.zeros(3))
    cancelled = curve("net", x, np.array([0.0, 0.0, 1e-32]), stderr=np.array([0.0, 0.0, 1e-34]), replicas=4)
    assert "net is the same to rounding" in caption(losses(cancelled, lines=(zero,)))
    rounded = curve("net", x, 1.1 * x, stderr=np.full(3, 1e-16), replicas=4)
    assert "standard errors" not in caption(losses(rounded, lines=(exact,))), "all draws are the same"


def test_of_theory_that_comes_near_0_no_share_is_told():
    x = np.array([1.0, 2, 4])
    limit = line(np.array([1.0, 0.5, 0.01]), x, direction="asymptotic", applies_to=("net",), group=None)
    net = curve("net", x, np.array([1.0, 0.5, 0.02]))
    told = "net is below 0.1 by k = 4. Against its limit, net is off by at most 0.01."
    assert caption(losses(net, lines=(limit,))) == told
    assert "net is within 0.01 of its limit" in caption(losses(net, lines=(limit,)), room=Room(len(told) - 1))
    assert "100 %" in caption(replace(losses(net, lines=(limit,)), y_log=True))


def test_how_far_a_curve_ends_from_a_limit_that_it_comes_to():
    x = np.array([1.0, 2, 4])
    limit = line(np.ones(3), x, direction="asymptotic", curve="net", applies_to=("net",))
    net = curve("net", x, np.array([0, 0.5, 0.98]))
    told = caption(losses(net, lines=(limit,)))
    assert told == "Against its limit, net ends 2 % off, 100 % at most."
    late = curve("net", x, np.array([0.5, 0.5, 0.6]))
    assert "ends" not in caption(losses(late, lines=(limit,)))


def test_power_laws_are_told_where_both_axes_are_logarithmic_and_they_fit():
    x = 2.0 ** np.arange(4, 11)
    curves = [
        curve(name, x, y) for name, y in (("GD", 0.9 * x), ("EGU", np.log(x)), ("net", np.exp(-x / 99)))
    ]
    view = replace(losses(*curves), x_log=True, y_log=True)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="size"), x_label="size")
    text = caption(view)
    assert text.startswith(
        "GD goes like size^1.00 and EGU like log size; net goes from 0.851 at size = 16 to "
    )
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


def test_a_change_that_counts_as_unchanged_is_0():
    amplified = curve("Sophia", K, 3.6e-11 * (1 + K / D))
    found = losses(curve("GD", K, 1e-16 * (1 + K)), amplified)
    picture = msgspec.structs.replace(found.picture, measure=Change(), y_log=True, x="rows")
    assert caption(replace(found, y_log=True, picture=picture)) == "GD and Sophia are 0 but for rounding."


def test_which_curves_end_near_what_they_are_relative_to():
    x = np.array([0.0, 1, 2])
    curves = [
        curve(name, x, np.array([0.2, 0.5, end]), clock=x)
        for name, end in (("slow", 0.5), ("mid", 0.96), ("fast", 1.01))
    ]
    view = replace(losses(*curves), divisor="2/η")
    assert caption(view) == ("mid and fast end within 4 % of 2/η; slow goes from 0.2 at k = 0 to 0.5 at 2.")


def test_a_single_curve_along_an_axis_is_told_though_it_is_what_theory_says():
    exact = line(EGU.y + 1, direction="exact", curve="EGU")
    view = replace(losses(replace(EGU, y=EGU.y + 1), lines=(exact,)))
    along = replace(view, picture=msgspec.structs.replace(view.picture, x="size"))
    assert caption(along).startswith("EGU goes from 2 at size = 0 to 1 at 128. Against the exact value, ")


def test_what_a_logarithmic_axis_shows_is_told():
    view = replace(losses(curve("net", K, 10.0 ** (-K / 10))), y_log=True)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="rows"))
    assert caption(view) == "net goes from 1 at rows = 0 to 1.58e-13 at 128."


def of_replicas(x: np.ndarray, values: np.ndarray) -> CurveView:
    """A curve of replicas [R, N]."""
    stderr = values.std(0, ddof=1) / np.sqrt(len(values))
    return curve(
        "net", x, values.mean(0), stderr=stderr, replicas=len(values), over=lambda some: values[some].mean(0)
    )


def test_a_valley_within_the_errors_is_not_told_but_one_is_that_all_replicas_have():
    random = np.random.default_rng(0)
    assert "by way of 0.9 at 40" in caption(losses(curve("net", K, np.where(K == 40, 0.9, 1.0))))
    x = K[::16]
    valley = 1 - 0.4 * np.minimum(x / 96, 1) + 0.05 * np.maximum(x - 96, 0) / 32
    noisy = valley + 0.2 * random.standard_normal((30, len(x)))
    assert "by way of" not in caption(losses(of_replicas(x, noisy)))
    together = valley + 0.2 * random.standard_normal((30, 1))
    assert re.search(r"by way of \S+ at 96\.$", caption(losses(of_replicas(x, together))))


def test_in_brief_those_on_one_side_of_a_bound_are_told_together():
    y = GD.y + 0.1
    y[3] -= 0.2
    many = {"stderr": np.full(len(K), 0.1), "replicas": 99}
    curves = [curve("GD", K, GD.y + 0.1), curve("LLS", K, y, **many)]
    view = losses(*curves, lines=(line(GD.y, applies_to=("GD", "LLS")),))
    assert "GD stays above it, LLS stays above it within standard errors" in caption(view)
    assert caption(view, room=Room(80)).endswith("GD and LLS stay above 1 − k/d.")


def test_where_a_heat_map_is_least_and_greatest():
    heat = HeatView("net", np.array([1.0, 2]), np.array([0.5, 1.5]), np.array([[3.0, np.nan], [2, 7]]), None)
    picture = Picture(x="layer", y="cw", measure=catalogue.make("measures", "loss"))
    view = view_of(picture, "layer", "variance", False, False, 1e-11, heats=[heat])
    assert caption(view) == ("Variance: net is between 2 (layer = 1, cw = 1.5) and 7 (layer = 2, cw = 1.5).")


def test_divergence_conjectures_and_claims_are_told():
    lost = np.where(K > 4, 3, 0)
    wild = curve("wild", K, np.where(K > 4, np.nan, 1.0), replicas=8, lost=lost, diverged=3, diverged_at=5.0)
    guess = line(GD.y, kind="guess", direction="conjecture")
    text = caption(losses(wild, GD, EGU, lines=(BOUND, guess)))
    assert "wild diverged in 3 of 8 replicas at k = 5." in text
    assert text.endswith("; the guess is only conjectured, and EGU falls below it.")


@pytest.mark.parametrize("height", [0.1, 1.0, 10.0])
def test_a_shape_is_said_to_have_no_height_and_nobody_stands_above_or_below_it(height):
    shape = line(height * GD.y, kind="shape of it", direction="shape", applies_to=("GD",))
    view = losses(GD, EGU, lines=(shape,))
    text = caption(view)
    assert "the shape of it has constants that are not known, so that its height says nothing" in text.lower()
    assert not re.search("(above|below|follows|beside) (the )?(shape|it\\b)", text)
    assert line_for(view, view.curve("GD"), 2.0) is None


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


def test_those_that_come_down_together_are_told_together_and_of_many_how_many_come_later():
    many = [replace(EGU, name=f"E{number}", learner=f"E{number}") for number in range(6)]
    assert caption(losses(*many, GD)) == "E0, E1, E2 and 3 more are below 0.1 after k = 21, GD after 116."
    slower = [
        curve(f"S{time}", K, np.exp(-K / time))  # below 0.1 from k = 2.3 time on
        for time in (3, 6, 9, 12, 15, 18)
    ]
    assert caption(losses(*slower)) == (
        "S3 is below 0.1 after k = 7, S6 after 14, S9 after 21 and 3 more by 42."
    )


def test_the_name_of_the_only_learner_is_not_told_again_and_again():
    flat = [
        curve(f"GD, eta = {rate}", K, np.linspace(1, 0.5, D + 1), learner="GD", apart=(number,))
        for number, rate in enumerate((0.1, 0.2))
    ]
    assert caption(losses(*flat)) == ("Along k = 0 to 128: η = 0.1 and η = 0.2 go from 1 to 0.5.")


def test_an_empty_view_has_no_caption():
    assert caption(losses()) == ""


CLAIM = catalogue.make("claims", "value", text="it is so", curve="GD", at=1.0, below=2.0)
HOLD = [Outcome(CLAIM, True, None, "")] * 6
SHORT = "EGU is below 0.1 after k = 21, GD after 116. GD follows 1 − k/d; EGU falls below it."


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (Room(86), SHORT),
        (Room(44, 2), SHORT),
        (Room(80), "EGU is below 0.1 after k = 21, GD after 116. GD follows 1 − k/d."),
        (Room(44), "EGU is below 0.1 after k = 21, GD after 116."),
        (Room(41), "B is below 0.1 after k = 21, A after 116."),
        (Room(29), "B is below 0.1 after k = 21."),
        (Room(20), "B is below 0.1 afte…"),
    ],
)
def test_where_there_is_little_room_both_halves_are_told_in_brief(room: Room, said: str):
    view = losses(GD, EGU, lines=(BOUND,))
    assert caption(view, HOLD, letters=LETTERS, room=room) == said
    assert room.holds(said)


HEAT = view_of(
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
            assert not first[0].islower() or first.rstrip(",") in "abcdef", said


def test_many_bound_learners_are_told_in_brief_as_a_class():
    bound = [replace(GD, name=f"learner {number}", learner=f"learner {number}") for number in range(4)]
    view = losses(*bound, EGU, lines=(line(GD.y, applies_to=tuple(one.name for one in bound)),))
    said = caption(view, letters=LETTERS, room=Room(140))
    assert said.endswith(" Rotation-invariant learners stay above 1 − k/d.")


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
    assert said == "spindly, EGU and EGU± are below 0.1 after k = 21, GD after 116."


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
    wild = curve("wild", K, np.where(K > 4, np.nan, 1.0), lost=np.where(K > 4, 1, 0), diverged=1)
    text = caption(losses(wild, GD, EGU, lines=(BOUND, guess, exact)), HOLD)
    for told in ("wild diverged", "exact value", "guess is only", "All 6", "falls below 1 − k/d"):
        assert told.lower() in text.lower()
    assert text.count(". ") == 1


def test_a_line_of_what_was_made_of_the_measure_has_a_name_and_the_formula_that_it_is_made_of():
    x = 2.0 ** np.arange(4, 8)
    bound = line(0.9 * x, x, title="rotation bound")
    text = caption(replace(losses(curve("GD", x, 0.9 * x), lines=(bound,)), as_measured=False))
    assert "falls below the rotation bound, made of 1 − k/d; GD follows it exactly" in text


def test_a_median_is_not_compared_with_a_line_about_the_mean():
    exact = line(2 * GD.y, direction="exact", applies_to=("GD",), group=None)
    many = curve("GD", K, GD.y, summary="median", replicas=9, stderr=np.ones(len(K)))
    assert "exact" not in caption(losses(many, lines=(exact,)))
    assert "against" not in caption(losses(many, lines=(replace(BOUND, y=GD.y + 1),)))
    assert "exact" in caption(losses(many, lines=(replace(exact, summary="median"),)))


def test_in_brief_laws_come_before_bounds_and_the_bounds_of_many_curves_before_ranges():
    x = 2.0 ** np.arange(4, 11)
    curves = [curve(name, x, y) for name, y in (("GD", 0.9 * x), ("EGU", np.log(x)), ("EGU±", 1 + np.log(x)))]
    view = replace(
        losses(*curves, lines=(line(0.9 * x, x, title="rotation bound"),)),
        x_log=True,
        y_log=True,
        as_measured=False,
    )
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="size"), x_label="size")
    laws = "GD goes like size^1.00 and EGU and EGU± like log size."
    assert caption(view, room=Room(60)) == laws
    assert (
        caption(view, room=Room(120)) == f"{laws} GD follows the rotation bound; EGU and EGU± fall below it."
    )


def flat(name: str, height: float, **more: object) -> CurveView:
    return curve(name, K, np.where(K == 0, 1.0, height + (1 - height) * np.exp(-K / 9)), **more)


def test_who_does_not_come_down_is_told_and_where_it_is():
    told = caption(losses(EGU, flat("GD", 0.5), flat("net", 0.25)))
    assert told == "EGU is below 0.1 after k = 21; net is still at 0.25, GD at 0.5."
    many = losses(EGU, *(flat(f"net{at}", 0.2 + at / 10) for at in range(3)))
    assert caption(many).endswith("; net0, net1 and net2 are still between 0.2 and 0.4.")
    letters = {"EGU": "A", "net0": "B", "net1": "C", "net2": "D"}
    assert caption(many, letters=letters, room=Room(56)) == (
        "EGU is below 0.1 after k = 21; B, C and D are not."
    )
    assert caption(many, letters=letters, room=Room(45)) == "EGU is below 0.1 after k = 21; 3 are not."


def test_an_arrival_within_rounding_of_the_height_is_the_next_one():
    k = np.arange(61.0)
    exact = line(1 - k / 60, k)  # 1 − 54/60 is 0.09999999999999998 in floats
    told = caption(losses(curve("GD", k, 1 - k / 60), lines=(exact,)))
    assert "GD is below 0.1 after k = 55. " in told
    assert "nor below 0.1 before k = 55;" in told


def test_between_places_it_is_not_known_when_a_curve_comes_down():
    far = curve("EGU", K[::25], np.exp(-K / 9)[::25])
    assert caption(losses(far)) == "EGU is below 0.1 by k = 25."
    view = losses(EGU)
    timed = replace(view, picture=msgspec.structs.replace(view.picture, x="time"))
    assert caption(timed) == "EGU is below 0.1 by time = 21."


def test_in_brief_it_is_told_where_a_curve_first_comes_down_and_that_this_is_the_first_time():
    y = EGU.y.copy()
    y[60] = 0.5
    view = losses(replace(EGU, y=y), GD)
    assert caption(view) == "EGU is below 0.1 after k = 21 (for good after 61), GD after 116."
    assert caption(view, room=Room(60)) == "EGU is first below 0.1 after k = 21, GD after 116."


def test_who_rises_on_the_way_is_told():
    up = curve("Adam", K, np.where(K < 100, 1 + K / 100, 0.01))
    higher = curve("Muon", K, np.where(K < 100, 1 + K / 50, 0.01))
    assert caption(losses(up, higher, EGU)).endswith(
        "; Muon is up to 2.98 on the way, at k = 99, and 1 more is above the start."
    )
    noisy = replace(up, stderr=np.ones(len(K)), replicas=9)
    assert "on the way" not in caption(losses(noisy, EGU))


def test_in_lists_names_with_commas_or_signs_give_way_to_letters():
    names = ("sign, η = 1/d", "p = 6.0", "EGU")
    curves = [curve(name, K, np.exp(-K / (at + 3))) for at, name in enumerate(names)]
    letters = dict(zip(names, "ABC", strict=True))
    assert caption(losses(*curves), letters=letters, room=Room(60)) == (
        "A is below 0.1 after k = 7, B after 10, C after 12."
    )


def test_curves_are_called_alike_by_letters_that_the_first_mention_of_each_introduces():
    named = {"A (AGD)": "A", "B (AGD with momentum)": "B"}
    brief = {name: f"{MARK}{name}{MARK}" for name in ("AGD", "AGD with momentum")}
    said = f"{brief['AGD with momentum']} falls; A (AGD) and {brief['AGD with momentum']} end."
    assert named_once(said, named) == "B (AGD with momentum) falls; A (AGD) and B end."
    said = f"A (AGD) and B (AGD with momentum) fall; {brief['AGD']} follows “AGD bound”."
    assert named_once(said, named) == "A (AGD) and B (AGD with momentum) fall; A follows “AGD bound”."
    said = f"{brief['AGD']} falls; {brief['AGD']} ends."
    assert named_once(said, named) == "AGD falls; AGD ends."


def test_where_bounds_bind_all_they_are_told_first():
    above = curve("net", K, GD.y + 0.3 * (K > 0))
    view = losses(GD, above, lines=(replace(BOUND, applies_to=("GD", "net")),))
    assert caption(view, room=Room(60)) == "GD follows 1 − k/d, net stays above it."


def test_each_curve_is_set_beside_the_strongest_bound_that_binds_it():
    net = curve("net", K, np.maximum(1 - 2 * K / D, 0))
    weak = line(net.y, name="svd", kind="svd", group=None, formula="1 − 2k/d", applies_to=("GD", "net"))
    told = caption(losses(GD, net, lines=(weak, BOUND)))
    assert (
        "falls below 1 − k/d, nor below 0.1 before k = 116; GD follows it exactly; net, which it does" in told
    )
    assert (
        "no learner that the svd binds falls below 1 − 2k/d, nor below 0.1 before k = 58; net follows it"
        in told
    )


def test_of_equal_bounds_one_about_every_run_is_told():
    svd = line(BOUND.y, name="svd", kind="svd", group=None, formula="Σ s²", in_expectation=False)
    told = caption(losses(GD, lines=(BOUND, svd)))
    assert "svd binds falls below Σ s²" in told
    assert "k/d" not in told


def test_beside_an_expectation_that_a_run_is_below_a_bound_on_every_run_is_told():
    y = GD.y.copy()
    y[1] -= 0.2
    svd = line(GD.y / 2, name="svd", kind="svd", group=None, formula="Σ s²", in_expectation=False)
    told = caption(losses(curve("GD", K, y), lines=(BOUND, svd)))
    assert "On average no rotation-invariant learner falls below 1 − k/d" in told
    assert "GD is below it by 0.2 at k = 1, as a single run may be" in told
    assert (
        "no learner that the svd binds falls below Σ s², nor below 0.1 before k = 103; GD stays above it"
        in told
    )
    brief = caption(losses(curve("GD", K, y), EGU, lines=(BOUND,)), room=Room(120))
    assert "GD is below 1 − k/d, as a single run may be" in brief


def test_a_weaker_bound_that_is_broken_is_told_too():
    low = curve("GD", K, np.where(K < 100, 1 - K / D, 0.01 * (1 - K / D)))
    weak = line(GD.y / 2, name="svd", kind="svd", group=None, formula="Σ s²", in_expectation=False)
    told = caption(losses(low, lines=(BOUND, weak)))
    assert "1 − k/d" in told
    assert "GD is below it by 0.1 at k = 100, against the theorem" in told


def test_who_falls_below_a_bound_of_others_is_told():
    net = curve("net", K, np.maximum(1 - 2 * K / D, 0))
    own = line(net.y, name="own", kind="own", group=None, formula="1 − 2k/d", applies_to=("net",))
    guess = line(GD.y - 0.01, name="once", kind="once", group=None, formula="once", applies_to=("GD",))
    told = caption(losses(GD, net, lines=(BOUND, own, guess)))
    assert "; net falls even below once." in told


def test_bounds_from_above_are_told():
    upper = line(2 * EGU.y, kind="many", direction="upper", formula="2^−k", group=None, applies_to=("EGU",))
    told = caption(losses(GD, EGU, lines=(BOUND, upper)), letters=LETTERS)
    assert " B stays below 2^−k; no rotation-invariant" in told
    broken = replace(upper, y=EGU.y / 2, in_expectation=False)
    assert "EGU is above 2^−k by 0.5 at k = 0, against the theorem" in caption(losses(EGU, lines=(broken,)))


def test_what_bounds_a_class_in_a_limit_is_not_taken_for_the_limit_of_each():
    own = line(GD.y + 0.1, kind="own", direction="asymptotic", curve="GD", group=None, limit="for large d")
    bayes = line(GD.y, kind="bayes", direction="asymptotic", applies_to=("GD", "net"), limit="for large d")
    curves = [curve("GD", K, GD.y + 0.1), curve("net", K, GD.y + 0.3), curve("low", K, GD.y - 0.1)]
    told = caption(losses(*curves, lines=(own, bayes)))
    assert "GD and net stay above the bayes (for large d)" in told
    assert "gainst its limit for large d, GD is the same to rounding." in told
    near = replace(bayes, applies_to=("low",))
    assert "low is below the bayes (for large d) by at most 0.1" in caption(losses(*curves, lines=(near,)))


def test_how_many_other_curves_have_lines_of_their_own():
    names = "abcdefg"
    curves = [curve(name, K, GD.y * (1 + at / 100) + 1) for at, name in enumerate(names)]
    lines = [line(GD.y + 1, direction="exact", curve=name, group=None) for name in names]
    assert caption(losses(*curves, lines=tuple(lines))).endswith(", and 4 others are within 3 % of theirs.")
    told = caption(losses(*curves[1:], lines=tuple(lines)), room=Room(60))
    assert told == "6 curves are within 0.5 % to 3 % of the exact values."


def test_curves_without_a_line_of_their_own_beside_others_with_one_are_told_of():
    curves = [curve(name, K, 1 + at + GD.y) for at, name in enumerate("ab")]
    exact = line(curves[0].y, direction="exact", curve="a", group=None)
    said = caption(losses(*curves, lines=(exact,)))
    assert said == "b goes from 3 at k = 0 to 2 at 128. Against the exact value, a is the same to rounding."


def test_lines_of_one_kind_with_formulas_of_their_own_are_called_by_the_kind():
    curves = [curve(name, K, GD.y / (at + 1)) for at, name in enumerate(("GD", "net"))]
    lines = [
        line(one.y, curve=one.name, group=None, kind="ladder", formula=f"line {one.name}") for one in curves
    ]
    told = caption(losses(*curves, lines=tuple(lines)))
    assert "No learner that the ladder binds falls below it; GD and net follow it exactly" in told


def test_a_long_formula_is_told_by_the_name_of_its_line():
    assert "falls below the rotation bound" in caption(losses(GD, lines=(replace(BOUND, formula="x" * 41),)))


def test_a_curve_close_above_its_bound_is_told_how_close():
    high = line(GD.y + 1)
    near = curve("GD", K, 1.03 * (GD.y + 1))
    assert "GD stays above it by at most 3 %" in caption(losses(near, lines=(high,)))


def along_rows(*curves: CurveView, **more: object) -> View:
    view = replace(losses(*curves), **more)
    return replace(view, picture=msgspec.structs.replace(view.picture, x="rows"))


def test_what_does_not_change_stays_where_it_is():
    assert caption(losses(curve("net", K, 0.3868 + K / D / 1000))) == "net stays at 0.39."
    noisy = {"stderr": np.full(len(K), 0.001), "replicas": 9}
    assert caption(losses(curve("net", K, 0.5 + 0.002 * K / D, **noisy))) == "net stays at 0.5."
    assert "goes from 0.5" in caption(losses(curve("net", K, 0.5 + 0.004 * K / D)))


def test_what_is_the_same_everywhere_but_at_its_start_does_not_go_anywhere():
    solved = curve("ridge", K, np.where(K == 0, 1.26, 0.466))
    assert caption(losses(solved)) == "ridge is 0.466 after the start."


def test_every_turn_is_told_and_on_a_logarithmic_axis_by_ratios():
    x = np.arange(7.0)
    catapult = curve("GD", x, np.array([0.491, 0.9, 1.46, 1.0, 0.485, 0.6, 0.89]))
    assert caption(along_rows(catapult)) == (
        "GD goes from 0.491 at rows = 0 to 0.89 at 6 by way of 1.46 at 2 and 0.485 at 4."
    )
    best = curve("EGU", x, np.array([0.9, 0.5, 0.1, 0.05, 0.0166, 0.018, 0.0207]))
    assert caption(along_rows(best)).endswith("to 0.0207 at 6.")
    assert caption(along_rows(best, y_log=True)).endswith("to 0.0207 at 6 by way of 0.0166 at 4.")
    zigzag = curve("SGD", x, np.array([1.0, 3, 1, 4, 0.2, 3, 2]))
    assert caption(along_rows(zigzag)).endswith("to 2 at 6 by way of 4 at 3 and 0.2 at 4.")


def test_few_values_that_turn_and_places_with_names_are_told_one_by_one():
    x = np.array([1.0, 2, 3, 4])
    tanh = curve("tanh net", x, np.array([0.112, 0, 0.0012, 0]))
    assert caption(along_rows(tanh, y_log=True)) == "tanh net is 0.112 at 1, 0 at 2 and 4, 0.0012 at 3."
    start = curve("start", x, np.array([1.0, 1, 0.333, 0.143]))
    names = {1.0: "x₁", 2.0: "x₁x₂", 3.0: "staircase", 4.0: "AND"}
    assert caption(along_rows(start, names=names)) == (
        "start is 1 at x₁ and x₁x₂, 0.333 at staircase, 0.143 at AND."
    )


def test_of_many_curves_those_are_told_that_change_most_and_where_the_others_end():
    curves = [curve(name, K, 1 - (0.1 + at / 10) * K / D) for at, name in enumerate("abcdef")]
    assert caption(along_rows(*curves)) == (
        "Along rows = 0 to 128: d goes from 1 to 0.6, e from 1 to 0.5, f from 1 to 0.4, "
        "and 3 more end between 0.7 and 0.9."
    )
    assert caption(along_rows(*curves), room=Room(70)) == (
        "f ends lowest, with 0.4 at rows = 128, a highest, with 0.9."
    )
    timed = [replace(one, clock=K) for one in curves]
    assert caption(losses(*timed), room=Room(70)) == "f ends lowest, with 0.4, a highest, with 0.9."
    steep = curve("steep", K, 1e-3 * np.exp(-K / 4))
    assert "steep from 0.001 to" in caption(along_rows(*curves, steep, y_log=True))


def test_the_ends_of_curves_that_go_less_far_are_not_set_beside_those_of_others():
    curves = [curve(name, K[: 64 * at + 1], 1 + K[: 64 * at + 1] * at) for name, at in (("a", 1), ("b", 2))]
    curves.append(curve("c", K, 2 + K))
    assert caption(along_rows(*curves), room=Room(70)) == (
        "c ends lowest, with 130 at rows = 128, b highest, with 257."
    )


def test_a_slope_with_a_floor_is_no_power_law():
    x = 10.0 ** -np.arange(0, 10, 0.1)
    dense = np.concatenate([x, np.geomspace(1, 1e-3, 2000)])  # most places are on the slope
    root = curve("root", dense, np.sqrt(dense))
    floor = curve("floor", dense, np.sqrt(dense) + 2e-4)
    told = caption(along_rows(root, floor, x_log=True, y_log=True))
    assert "root goes like rows^0.50" in told
    assert "floor goes from 1 " in told


def test_a_power_of_what_is_no_single_name_is_in_parentheses():
    x = 2.0 ** np.arange(4, 11)
    view = along_rows(curve("a", x, x**-2), x_log=True, y_log=True)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="1/alpha"))
    assert caption(view) == "a goes like (1/α)^-2.00."


def test_power_laws_with_about_the_same_exponent_are_told_together():
    x = 2.0 ** np.arange(4, 11)
    curves = [curve(name, x, x**power) for name, power in (("a", 0.48), ("b", 0.5), ("c", 1.0))]
    assert caption(along_rows(*curves, x_log=True, y_log=True)) == (
        "a and b go like rows^0.5 and c like rows^1.00."
    )


def test_a_curve_is_called_by_its_name_once():
    told = caption(losses(GD, EGU, lines=(BOUND,)), letters=LETTERS)
    assert told.count("A (GD)") == told.count("B (EGU)") == 1


def test_whole_numbers_of_seven_digits_are_told_in_full():
    x = 2.0 ** np.arange(14, 21)
    assert "at rows = 16384 to 1048576 at 1048576" in caption(along_rows(curve("GD", x, x)))


def test_where_along_an_axis_no_replica_has_a_value():
    x = np.array([0.5, 1, 1.5])
    lost = curve("GD", x, np.array([0.5, 0.7, np.nan]), replicas=4, lost=np.array([0, 0, 4]), ended=True)
    told = "GD goes from 0.5 at rows = 0.5 to 0.7 at 1"
    assert caption(along_rows(lost)) == f"{told}; GD has no value at rows = 1.5."
    assert caption(along_rows(replace(lost, ended=False))) == f"{told}."


def test_a_curve_that_comes_to_its_limit_is_told_so():
    limit = line(np.ones(3), K[:3], direction="asymptotic", curve="net", group=None, limit="for large d")
    net = curve("net", K[:3], np.array([1.5, 1.1, 1.0]))
    assert caption(losses(net, lines=(limit,))) == (
        "Against its limit for large d, net comes to it from at most 50 % off."
    )
    both = (net, replace(net, name="other", learner="other"))
    limits = tuple(replace(limit, curve=one.name, applies_to=(one.name,)) for one in both)
    assert "net and other come to it from at most 50 % off" in caption(losses(*both, lines=limits))
    ends = [
        replace(net, name=name, learner=name, y=np.array([1.5, 1.1, end]))
        for name, end in (("a", 1.01), ("b", 1.2))
    ]
    own = [replace(limit, curve=one.name) for one in ends]
    told = caption(losses(*ends, lines=tuple(own)), room=Room(70))
    assert told == "2 curves end within 1 % to 20 % of their limits for large d."


def test_who_stays_on_one_side_of_a_line_to_compare_with_and_how_close():
    def promise(times: float, **more: object) -> LineView:
        return line(times * (1 + K), kind="promise", direction="reference", group=None, **more)

    loss = curve("GD", K, 1 + K)
    assert caption(losses(loss, lines=(promise(1.01),))).endswith(
        " GD stays below the promise by at most 0.99 %."
    )
    assert caption(losses(loss, lines=(promise(0.5),))).endswith(
        " GD stays above the promise by at least 100 %."
    )
    assert caption(losses(loss, lines=(promise(1),))).endswith(" GD follows the promise.")
    band = (promise(0.5, title="lower edge"), promise(2, title="upper edge"))
    assert caption(losses(loss, lines=band)).endswith(" GD stays between the lower edge and the upper edge.")
    crossed = replace(promise(1), y=np.full(len(K), 60.0))
    assert "promise" not in caption(losses(loss, lines=(crossed,)))
    assert "promise" not in caption(losses(loss, lines=(promise(1, applies_to=("net",)),)))


def test_bounds_from_above_come_before_those_from_below():
    upper = line(2 * EGU.y, kind="many", direction="upper", formula="2^−k", group=None, applies_to=("EGU",))
    told = caption(losses(GD, EGU, lines=(BOUND, upper)))
    assert told.index("2^−k") < told.index("1 − k/d")


def test_a_line_says_nothing_where_it_has_no_value():
    half = line(1 - K[:65] / D, K[:65], kind="once", formula="once", group=None, applies_to=("net",))
    low = curve("GD", K, np.where(K <= 64, 1.0, 0.3))
    assert "GD, which it does not bind, does not fall below it, either" in caption(
        losses(low, curve("net", K, 0 * K + 1), lines=(half,))
    )
    promise = replace(half, direction="reference", kind="promise", applies_to=("GD",))
    assert caption(losses(low, lines=(promise,))).endswith("GD stays above the promise.")


def pair(name: str, value: int, end: float, jitter: float = 0.0) -> CurveView:
    """A learner at one of two values of an axis, of four replicas that end `jitter` apart."""
    steps = np.arange(11.0)
    each = np.linspace(1, end, 11) + jitter * np.array([[-1], [1], [-1], [1]]) * (1 if value else -1)
    return curve(
        f"{name}, turned = {bool(value)}",
        steps,
        each.mean(0),
        learner=name,
        apart=(value,),
        clock=steps,
        ended=True,
        replicas=4,
        stderr=np.full(11, jitter / np.sqrt(3)),
        over=lambda some: each[list(some)].mean(0),
    )


def turned(*curves: CurveView) -> View:
    view = losses(*curves)
    return replace(view, picture=msgspec.structs.replace(view.picture, x="step", curves="turned"))


def test_learners_at_two_values_are_compared_with_themselves():
    every = [
        pair(name, value, end, jitter)
        for value in (0, 1)
        for name, end, jitter in (
            ("GD", 0.5, 0),
            ("Adam", 0.6 - 0.2 * value, 0),
            ("Lion", 0.5 - value / 50, 0.1),
        )
    ]
    assert caption(turned(*every)) == (
        "Turned against not turned: Adam ends at 0.4 instead of 0.6, Lion the same within standard errors, "
        "GD is the same to rounding."
    )
    assert "against" not in caption(turned(*[replace(one, ended=False) for one in every]))
    assert "against" not in caption(turned(*every[:-1])), "Lion has no partner"


def test_values_that_are_numbers_keep_the_name_of_their_axis_as_it_is():
    every = [pair(name, value, 0.5 - value / 5) for value in (0, 1) for name in ("GD", "Adam")]
    named = [replace(one, name=one.name.replace("turned = True", "c = 1")) for one in every]
    named = [replace(one, name=one.name.replace("turned = False", "c = 0")) for one in named]
    assert caption(turned(*named)).startswith("c = 1 against c = 0: GD and Adam end at 0.3 instead of 0.5.")


def test_pairs_fit_into_a_line():
    every = [
        pair(name, value, 0.5 - value / 5) for value in (0, 1) for name in ("GD", "Adam", "Lion", "Muon")
    ]
    told = caption(turned(*every), room=Room(68))
    assert told == "Turned against not turned: GD and 3 more end at 0.3 instead of 0.5."


def test_pairs_that_all_come_down_are_told_by_when():
    every = [pair(name, value, 0.01) for value in (0, 1) for name in ("GD", "Adam")]
    assert "below 0.1" in caption(turned(*every))


def test_curves_that_coincide_off_any_line_are_said_to():
    along = {"clock": K}
    first, second = curve("EGU±", K, EGU.y, **along), curve("hypentropy", K, EGU.y + 1e-13, **along)
    third = curve("GD", K, GD.y, **along)
    text = caption(losses(first, second, third))
    assert "; EGU± and hypentropy coincide." in text
    assert "coincide" not in caption(losses(first, replace(second, y=EGU.y + 1e-3), third))
    solver = replace(third, name="LLS", learner="LLS")
    assert "GD and LLS coincide" in caption(losses(third, solver))
    assert "coincide" not in caption(losses(third, solver, lines=(line(GD.y, applies_to=("GD", "LLS")),)))


def test_a_function_goes_no_way_but_has_a_least_and_a_greatest_value():
    x = np.linspace(-2, 2, 41)
    kernel = curve("kernel", x, np.sin(2 * x), point=0)
    near = replace(kernel, name="near", learner="near", y=kernel.y + 0.01)
    far = replace(kernel, name="far", learner="far", y=kernel.y + 0.2)
    view = losses(kernel, near, far)
    view = replace(view, picture=msgspec.structs.replace(view.picture, x="input"))
    text = caption(view)
    assert text.startswith("Along input = -2 to 2: kernel is between -1 at -0.8 and 1 at 0.8, near between")
    assert text.endswith("; near is within 0.01 of kernel."), "and the other is not"
    assert "by way of" in caption(replace(view, curves=[replace(kernel, point=None)])), "of several runs"
    many = [
        curve(f"λ = {count}", x, y, point=0, learner="kernel")
        for count, y in enumerate([np.sin(2 * x) / (1 + count) for count in range(9)])
    ]
    several = replace(view, curves=many)
    assert "and 6 more lie between -0.25 and 0.25." in caption(several), "wherever they end"
    assert caption(several, room=Room(60)).startswith("λ = 0, λ = 1, λ = 2 and 6 more lie between -1 and 1")
    alone = caption(replace(view, curves=[far]), room=Room(50))
    assert alone.startswith("far is between -0.8 at "), "in brief, too"


def beside(y: np.ndarray, *marks: Marked, others: tuple[CurveView, ...] = (), **more: object) -> str:
    """The second sentence of the caption of a curve over sizes with some marks and other curves."""
    view = losses(curve("net", SIZES, y, **more), *others)
    picture = msgspec.structs.replace(view.picture, x="size")
    return caption(replace(view, picture=picture, marks=marks)).partition(". ")[2]


SIZES = np.array([16.0, 32, 64, 128])
LEVEL = Marked("guessing", y=(0.5,), kind="guessing")


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([0.49, 0.51, 0.48, 0.5], "net stays within 4 % of “guessing”."),
        ([0.5, 0.5, 0.5, 0.5], "net follows “guessing”."),
        ([0.5 + 1e-7, 0.5, 0.5, 0.5], "net stays within 0.01 % of “guessing”."),
        ([0.1, 0.3, 0.4, 0.49], "net ends within 2 % of “guessing”."),
        ([0.5, 0.3, 0.4, 0.3], "net begins at “guessing”."),
        ([0.51, 0.3, 0.3, 0.5], "net begins within 2 % of “guessing”, net ends at it."),
        ([0.1, 0.3, 0.3, 0.2], "net stays below “guessing”."),
        ([0.8, 0.9, 0.7, 0.7], "net stays above “guessing”."),
        ([0.1, 0.9, 0.3, 0.2], ""),
    ],
)
def test_curves_are_set_beside_the_marks_of_a_picture(y: list[float], said: str):
    assert beside(np.array(y), LEVEL) == said


def test_a_mark_is_set_beside_the_curves_whose_own_it_is():
    other = curve("net, ρ = 2", SIZES, np.full(4, 0.2), learner="net", apart=(1,))
    own = [Marked(f"1 − ρ, ρ = {at}", (), (y,), "1 − ρ", (at,)) for at, y in enumerate((0.5, 0.25))]
    text = beside(np.full(4, 0.51), *own, others=(other,), apart=(0,))
    assert text == "net stays within 2 % of 1 − ρ, ρ = 2 stays below it."
    through = Marked("2d, of old", tuple(SIZES[::-1]), tuple(2 * SIZES[::-1]), "2d, of old")
    assert beside(2 * SIZES, through) == "net follows “2d, of old”."


def test_curves_are_set_beside_reference_learners():
    least = curve("least norm", SIZES, np.array([1.0, 1, 2, 2]), is_reference=True)
    assert (
        beside(np.array([1.5, 1.6, 2.5, 2.01]), others=(least,)) == "net ends within 0.5 % of “least norm”."
    )
    assert beside(SIZES, others=(replace(least, lost=np.ones(4, int)),)) == "", "it is not known"
    tiny = replace(least, y=1e-20 * least.y)
    assert beside(1e-22 * SIZES, others=(tiny,)) == "", "both are 0 but for rounding"


def test_of_the_ends_of_curves_that_are_about_the_same_it_is_not_told_which_is_highest():
    three = [curve(name, K, 1 - K / 256 + at / 1e3) for at, name in enumerate(("GD", "EGU", "net"))]
    assert caption(losses(*three), room=Room(45)) == "GD, EGU and net end at about 0.5 at k = 128."


def test_where_there_is_a_single_place_nothing_goes_along_it_or_ends():
    at_init = [curve(name, K[:1], np.array([y])) for name, y in (("GD", 3.0), ("EGU", 2.0), ("net", 1.0))]
    assert caption(losses(*at_init)) == "At k = 0: GD is 3, EGU 2, net 1."
    *_, other = at_init
    five = [*at_init, *(replace(other, name=name, learner=name) for name in ("least squares", "AdaGrad"))]
    assert caption(losses(*five), room=Room(55)) == "net is lowest, with 1 at k = 0, GD highest, with 3."
    text = caption(losses(*(replace(one, y=one.y * (1 + 0.1 * at)) for at, one in enumerate(five))))
    assert text == "At k = 0: GD is 3, EGU 2.2, net 1.2, and 2 more are between 1.3 and 1.4."


def test_of_a_single_curve_it_is_told_in_brief_too_where_it_turns():
    valley = curve("net", K, 1 + np.abs(K - 40) / 100)
    assert caption(losses(valley), room=Room(50)) == "net goes from 1.4 to 1.88 by way of 1 at 40."


def test_many_curves_that_are_0_are_told_in_a_line_with_their_verb():
    names = [f"a learner with a long name, number {at}" for at in range(6)]
    quiet = losses(*(curve(name, K, np.zeros(D + 1)) for name in names))
    letters = dict(zip(names, "ABCDEF", strict=True))
    assert caption(quiet, letters=letters, room=Room(60)) == "A, B, C and 3 more are 0 but for rounding."
    assert caption(quiet, letters=letters, room=Room(30)) == "6 are 0 but for rounding."


def test_in_brief_the_curve_that_goes_farthest_does_not_stand_for_the_others():
    x = np.array([1.0, 2, 4, 8, 16])
    curves = [
        curve(name, x[:upto], y * x[:upto]) for name, upto, y in (("a", 5, 1), ("b", 4, 2), ("c", 3, 9))
    ]
    assert caption(losses(*curves), room=Room(40)) == "a, b and c lie between 1 and 36."


def test_a_share_that_is_no_more_than_rounding_is_told_as_a_hundredth_of_a_percent():
    near = curve("GD", K, 1 + GD.y + 1e-9)
    assert "GD stays above it by at most 0.01 %" in caption(losses(near, lines=(line(1 + GD.y),)))


def test_who_is_not_drawn_is_named_with_where_the_measure_is_taken():
    where = "the learner says which solution it tends to"
    view = replace(losses(GD, EGU), absences=Absences(learners={"net, 3 layers": where, "perceptron": where}))
    said = "“net, 3 layers” and perceptron are not drawn"
    assert caption(view).endswith(f"; {said}: this is measured only where {where}.")
    brief = caption(view, room=Room(100))
    assert said in brief
    assert "measured" not in brief
    assert "drawn" not in caption(replace(losses(), absences=Absences(learners={"net": where}))), "nobody is"
