from collections import Counter

import pytest
from looping import looped
from rich.cells import cell_len

from engine.planning.run_plan import plan_run
from engine.spec import presets
from hadamard_tui.charts.drawing.legend import SAME, legend
from hadamard_tui.terminal.ascii_text import to_ascii

from .pictures import curve
from .preset_names import series_of

SERIES = [
    curve([0], name="GD", mark="A"),
    curve([0], name="lower bound", style="dashed"),
    curve([0], name=""),
    curve([0], name="EGU±", style="dotted"),
]


def lines(series, width, row_limit, note="", **more):
    rows = legend(series, width, row_limit, note, **more)
    return ["".join(f"{piece.column}:{piece.text};" for piece in row) for row in rows]


def test_entries_show_mark_sample_and_name_of_named_series():
    assert lines(SERIES, 80, 2) == ["0:A ─── GD;11:╌╌╌ lower bound;29:┄┄┄ EGU±;"]


def test_entries_wrap_before_their_names_are_cut():
    assert lines(SERIES, 30, 2) == ["0:A ─── GD;11:╌╌╌ lower bound;", "0:┄┄┄ EGU±;"]
    assert lines(SERIES, 30, 1) == ["0:A;4:╌╌╌ lower bound;22:┄┄┄ EGU±;"], "tables name curves, and no lines"
    words = ("LayerNorm", "A"), ("standardisation", "B")
    learners = [curve([0], name=f"{word} of the input", mark=mark) for word, mark in words]
    assert lines(learners, 44, 1) == ["0:A Lay… of the inp…;21:B sta… of the inp…;"], "no line needs the room"


def test_words_shared_by_names_are_removed_first():
    alike = [curve([0], name=f"elimination, side = {n}", mark=chr(65 + n)) for n in range(6)]
    (row,) = legend(alike, 78, 1)
    assert [piece.text for piece in row] == [
        "A eli…, side = 0", *(f"{chr(65 + n)} eli…, {n}" for n in range(1, 6))
    ]  # fmt: skip


@pytest.mark.slow
@looped("preset", presets.names())
def test_cut_names_in_a_legend_stay_distinct(preset: str):
    for series in series_of(preset):
        for width, row_limit in ((52, 4), (78, 5), (118, 11)):
            rows = legend(series, width, 2, most_lines=row_limit)
            pieces = [piece for row in rows for piece in row if piece.index >= 0]  # without values of an axis
            assert {piece.index for piece in pieces} == set(range(len(series))), "all are there"
            assert len({piece.text for piece in pieces}) == len(pieces)
            names = Counter(piece.text.removeprefix(f"{series[piece.index].mark} ") for piece in pieces)
            alike = [name for name, count in names.items() if count > 1]
            assert not alike, "nor are they but for letters"


def test_a_legend_of_many_curves_keeps_every_letter():
    many = [curve([0], name=f"a learner with a long name, η = {n}", mark=chr(65 + n)) for n in range(26)]
    for width, row_limit in ((78, 8), (78, 2), (52, 4)):
        rows = legend([*many, PROVED], width, 2, "paused", most_lines=row_limit)
        assert {piece.index for row in rows for piece in row} == set(range(-1, 27))
        assert not any("more" in piece.text for row in rows for piece in row)


def test_the_note_ends_the_last_line():
    assert lines(SERIES, 80, 2, "3 points hidden")[0].endswith("64:3 points hidden;")
    assert lines(SERIES[:1], 20, 2, "3 points hidden") == ["0:A ─── GD;", "4:3 points hidden;"]


@looped("width", range(8, 90))
def test_a_note_leaves_the_last_cell_blank(width: int):
    for row_limit in (1, 2, 4):
        rows = legend(SERIES, width, 1, "3 points hidden · paused", most_lines=row_limit)
        notes = [piece for row in rows for piece in row if piece.index < 0 and piece.text != "…"]
        assert [piece.column + cell_len(piece.text) for piece in notes] == [width - 1]


def test_lines_name_their_learners_by_letter_before_words_are_cut():
    curves = [curve([0], name=f"EGU, η = 1/{n}", mark="AB"[n]) for n in range(2)]
    bounds = [
        curve([n], name=f"low bound of {learner_curve.name}", style="dashed")
        for n, learner_curve in enumerate(curves)
    ]
    assert "╌╌╌ low bound of EGU, η = 1/0;" in "".join(lines([*curves, *bounds], 78, 2))
    assert lines([*curves, *bounds], 48, 2) == [
        "0:A ─── EGU, η = 1/0;21:B ─── EGU, η = 1/1;",
        "0:╌╌╌ low bound of A;21:╌╌╌ of B;",
    ]


def test_lines_lose_values_of_axes_before_names_are_cut():
    kinds = ("gaussian", "rademacher")
    curves = [
        curve([at], name=f"{learner_name}, matrix = {kind}", mark="ABCD"[at])
        for at, (learner_name, kind) in enumerate(
            (learner_name, kind) for kind in kinds for learner_name in ("least squares", "EGU")
        )
    ]
    names = ("bound on isotropic rows", "linear-in-labels bound")
    bounds = [
        curve([9], name=f"{name}, matrix = {kind}", style="dashed")
        for name, kind in zip(names, kinds, strict=True)
    ]
    rows = legend([*curves, *bounds], 78, 2, "not run beyond d = 256", groups=[(4, 5)])
    told = " ".join(piece.text for row in rows for piece in row)
    assert "…" not in told
    assert all(name in told for name in names)


def test_a_line_shared_by_several_learners_is_named_once_without_their_names():
    curves = [curve([9], name=curve_name, mark=mark) for curve_name, mark in (("GD", "A"), ("EGU", "B"))]
    for heights, names in (((1, 1), ["bound"]), ((1, 1.001), ["bound of GD", "bound of EGU"])):
        bounds = [
            curve([height, 2], name=f"bound of {learner_curve.name}", style="dashed")
            for height, learner_curve in zip(heights, curves, strict=True)
        ]
        rows = legend([*curves, *bounds], 90, 2, groups=[(2, 3)])
        assert [piece.text.partition("╌╌╌ ")[2] for row in rows for piece in row if piece.index > 1] == names
    other = curve([5, 7], name="bound of net", style="dashed"), curve([9], name="net", mark="C")
    bounds = [
        curve([1, 2], name=f"bound of {learner_curve.name}", style="dashed") for learner_curve in curves
    ]
    rows = legend([*curves, *bounds, *other], 90, 2, groups=[(2, 3)])
    assert {"╌╌╌ bound of GD", "≡ ╌╌╌ bound of EGU"} <= {piece.text for row in rows for piece in row}


def test_a_note_omits_complete_remarks_before_it_cuts_a_remark():
    two = "not run below 0.1 · ┊ the table: α = 0.1"
    assert lines(SERIES[:1], 41, 2, two)[-1].endswith(f":{two};")
    assert lines(SERIES[:1], 40, 2, two)[-1].endswith(":not run below 0.1;")
    assert lines(SERIES[:1], 13, 2, two)[-1] == "0:not run bel…;"


@looped("width", range(1, 60, 3))
@looped("row_limit", [0, 1, 2, 5])
def test_legend_entries_stay_within_the_width_and_do_not_overlap(width, row_limit):
    rows = legend([curve([0], name=f"curve 数 {n}", mark="A") for n in range(30)], width, row_limit, "paused")
    assert len(rows) <= row_limit
    for row in rows:
        ends = [piece.column + cell_len(piece.text) for piece in row]
        assert all(end <= piece.column for end, piece in zip(ends, row[1:], strict=False))
        assert not ends or max(ends) <= width


PROVED = curve([0], name="ri-signed", formula="c(1 − k/d)", style="dashed")


def test_lines_differing_only_in_values_are_named_once_instead_of_cut():
    curves = [curve([n], name=f"net, n = {n}", mark=chr(65 + n)) for n in range(9)]
    span_bounds = [curve([9 + n], name=f"span bound, n = {n}", style="dashed") for n in range(9)]
    other = curve([20], name="doubling bound", style="dashed")
    rows = legend([*curves, *span_bounds, other], 50, 2, most_lines=2)
    assert [piece.text for row in rows for piece in row] == [
        *"ABCDEFGHI",
        "╌╌╌ span bound",
        "╌╌╌ doubling bound",
    ]


def test_a_legend_names_each_learner_of_a_sweep_once():
    learners = ("GD", "least squares", "EGU", "EGU±, slow", "spindly")
    names = [f"{learner}, d = {d}" for d in (32, 64, 128, 256, 512) for learner in learners]
    curves = [curve([n], name=curve_name, mark=chr(65 + n)) for n, curve_name in enumerate(names)]
    bounds = [curve([n], name=f"invariant bound, d = {n}", style="dashed") for n in range(5)]
    rows = legend([*curves, *bounds], 78, 2, most_lines=2)
    assert [" ".join(piece.text for piece in row) for row in rows] == [
        "GD A F K P U least squares B G L Q V EGU C H M R W EGU±, slow D I N S X",
        "spindly E J O T Y in order: d = 32, 64, 128, 256, 512 ╌╌╌ invariant bound",
    ]
    rows = legend([*curves, *bounds], 60, 2, most_lines=2)
    assert not any("in order" in piece.text for row in rows for piece in row), "there is no room"
    letters = [piece for row in rows for piece in row if len(piece.text) == 1]
    assert all(curves[piece.index].mark == piece.text for piece in letters)


def test_coinciding_curves_keep_their_sign_in_a_legend_by_learner():
    names = [f"{learner}, d = {d}" for learner in ("least squares", "spindly") for d in (32, 64, 128)]
    curves = [curve([n], name=curve_name, mark=chr(65 + n)) for n, curve_name in enumerate(names)]
    curves[4:] = [curve([3], name=names[n], mark=chr(65 + n)) for n in (4, 5)]
    curves[2] = curve([0.999], name=names[2], mark="C")
    bounds = [curve([9], name=f"bound of {names[n]}", style="dashed") for n in (0, 3, 4)]
    rows = legend([*curves, *bounds], 60, 2, most_lines=2, groups=[(3, 4, 5), (1, 2), (7, 8)])
    assert [" ".join(piece.text for piece in row) for row in rows] == [
        "least squares A B ≈ C spindly D ≡ E ≡ F",
        "in order: d = 32, 64, 128 ╌╌╌ bound of A ╌╌╌ of D ≡ of E",
    ]
    rows = legend(curves, 34, 2, most_lines=2, groups=[(0, 3, 4, 5)])
    texts = [piece.text for row in rows for piece in row]
    assert "spindly" in texts
    assert texts[-3:] == ["D", "E", "F"], "the lead belongs to another learner"


def test_the_last_remark_of_a_note_is_omitted_before_names_of_curves():
    names = ("GD, standardised", "GD, LayerNorm of the input", "Adam, cosine", "Adam, rates by layer",
             "GD, clipped by value", "GD, L1 decay")  # fmt: skip
    curves = [curve([n], name=curve_name, mark=chr(65 + n)) for n, curve_name in enumerate(names)]
    note = "stored · r computes it · 4 points not drawn (0 up to rounding)"
    pieces = [piece for row in legend(curves, 78, 2, note) for piece in row]
    assert pieces[-1].text == "stored · r computes it"
    assert sum(len(piece.text) > 1 for piece in pieces[:-1]) == len(names)


def test_lines_differing_only_in_values_are_merged_before_words_are_cut():
    curves = [curve([n], name=f"ηS = {n}.5", mark=chr(65 + n)) for n in range(7)]
    recursions = [curve([9 + n], name=f"sharpness recursion, ηS = {n}.5", style="dashed") for n in range(7)]
    rows = legend([*curves, *recursions], 78, 2, most_lines=3)
    assert " ".join(piece.text for row in rows for piece in row) == (
        "A ηS = 0.5 B ηS = 1.5 C ηS = 2.5 D ηS = 3.5 E ηS = 4.5 F ηS = 5.5 G ηS = 6.5 ╌╌╌ sharpness recursion"
    )
    (row,) = legend([*curves, *recursions], 98, 1)
    assert " ".join(piece.text for piece in row) == (
        "A ηS = 0.5 B 1.5 C 2.5 D 3.5 E 4.5 F 5.5 G 6.5 ╌╌╌ sharpness recursion"
    )


def test_a_formula_replaces_a_longer_name_if_room_is_short():
    bound = curve([0], name="rotation-invariant bound", formula="1 − k/d", style="dashed")
    assert lines([bound], 40, 1) == ["0:╌╌╌ rotation-invariant bound 1 − k/d;"]
    assert lines([bound], 30, 1) == ["0:╌╌╌ 1 − k/d;"]


def test_formulas_are_omitted_first_if_room_is_short():
    series = [*SERIES[:1], PROVED]
    assert lines(series, 40, 1) == ["0:A ─── GD;11:╌╌╌ ri-signed c(1 − k/d);"]
    assert lines(series, 30, 1) == ["0:A ─── GD;11:╌╌╌ ri-signed;"]


def test_names_shown_in_the_picture_are_omitted_before_the_legend_grows():
    series = [*SERIES[:1], PROVED]
    texts = [[piece.text for piece in row] for row in legend(series, 20, 1, most_lines=2, named={1})]
    assert texts == [["A ─── GD"]]
    texts = [[piece.text for piece in row] for row in legend(series, 20, 1, most_lines=2)]
    assert texts == [["A ─── GD"], ["╌╌╌ ri-signed"]]
    assert lines(series, 20, 1) == ["0:A GD;7:╌╌╌ ri-signed;"]
    assert lines(series, 9, 1) == ["0:A;2:…;"], "where nothing helps there is an ellipsis"


def test_coinciding_series_share_a_legend_entry():
    series = [PROVED, curve([0], name="GD", mark="A"), curve([0], name="EGU", mark="C")]
    assert lines(series, 60, 1, groups=[(1, 0)]) == ["0:A ─── GD;9:≡ ╌╌╌ ri-signed c(1 − k/d);38:C ─── EGU;"]
    assert lines(series, 24, 3, groups=[(1, 0)]) == ["0:A ─── GD;9:≡ ╌╌╌ ri-signed;", "0:C ─── EGU;"]
    assert lines(series, 17, 3, groups=[(1, 0)], named={0}) == [
        "0:A ─── GD;",
        "0:≡ ╌╌╌ ri-signed;",
        "0:C ─── EGU;",
    ], "what a learner follows is said, wherever else its name stands"


@pytest.mark.parametrize("preset", ["rates-128", "all-targets-128", "noise-64"])
@pytest.mark.parametrize("width", [52, 78])
def test_the_legend_names_every_bound_of_a_preset(preset, width):
    experiment = presets.load(preset)
    bounds = [planned.line for planned in plan_run(experiment).lines if planned.on_problem.holds]
    series = [
        *(curve([0], name=learner.name, mark=chr(65 + at)) for at, learner in enumerate(experiment.learners)),
        *(curve([0], name=line.kind, formula=line.formula, style="dashed") for line in bounds),
    ]
    rows = legend(series, width, 2, most_lines=6)
    assert not any("more" in piece.text for row in rows for piece in row)
    assert {piece.index for row in rows for piece in row} == set(range(len(series)))


def test_the_line_of_a_coinciding_curve_omits_the_name_of_the_curve():
    series = [
        curve([1.0, 2.0], name="net, cw = 1", mark="A"),
        curve([1.0, 2.0], name="recursion of net, cw = 1", style="dashed"),
        curve([1.0, 2.0], name="limit, net, cw = 1", style="dashed"),
        curve([5.0, 9.0], name="recursion of other, cw = 1", style="dashed"),
    ]
    (row,) = legend(series, 120, 1, groups=[(0, 1, 2), (3,)])
    assert [piece.text for piece in row] == [
        "A ─── net, cw = 1", "≡ ╌╌╌ recursion", "≡ ╌╌╌ limit", "╌╌╌ recursion of other, cw = 1"
    ]  # fmt: skip


def test_lines_coinciding_with_several_curves_are_named_once():
    names = [f"net, cw = {number}" for number in range(4)]
    series = [
        curve([number], name=curve_name, mark=chr(65 + number)) for number, curve_name in enumerate(names)
    ]
    series += [
        curve([number], name=f"recursion of {curve_name}", style="dashed")
        for number, curve_name in enumerate(names)
    ]
    groups = [(0, 4), (1, 5), (2, 3, 6, 7)]
    rows = legend(series, 120, 3, groups=groups)
    assert [[piece.text for piece in row] for row in rows] == [
        ["A ─── net, cw = 0", "≡ ╌╌╌ recursion", "B ─── net, cw = 1", "≡ ╌╌╌ recursion"],
        ["C ─── net, cw = 2", "≈ D ─── net, cw = 3", "≡ ╌╌╌ recursion"],
    ]
    (row,) = legend(series, 80, 1, groups=groups)
    assert " ".join(piece.text for piece in row) == (
        "A net, cw = 0 ≡ ╌╌╌ recursion B net, 1 ≡ ╌╌╌ C net, 2 ≈ D net, 3 ≡ ╌╌╌"
    )


def test_the_longest_formulas_are_omitted_first():
    series = [
        curve([0], name="GD", mark="A"),
        curve([0], name="ri", formula="1 − k/d", style="dashed"),
        curve([0], name="svd", formula="(1/nm) Σ_{i>k} s_i(Y)²", style="dashed"),
    ]
    assert "s_i" in lines(series, 80, 1)[0]
    (row,) = lines(series, 50, 1)
    assert "1 − k/d" in row
    assert "s_i" not in row


def test_a_line_beside_its_coinciding_curve_omits_repeated_values():
    series = [
        curve([1.0, 2.0], name="elimination, r = 3, side = 16", mark="E"),
        curve([1.0, 2.0], name="ladder, r = 3, side = 16", style="dashed"),
        curve([5.0, 9.0], name="ladder, r = 4, side = 16", style="dashed"),
    ]
    (row,) = legend(series, 120, 1, groups=[(0, 1), (2,)])
    assert [piece.text for piece in row] == [
        "E ─── elimination, r = 3, side = 16", "≡ ╌╌╌ ladder", "╌╌╌ ladder, r = 4, side = 16"
    ]  # fmt: skip


def test_names_of_curves_have_priority_over_repeated_names_of_lines():
    curves = [curve([n, n], name=f"net number {n}, C_w = {n}", mark="ABCDEFG"[n]) for n in range(7)]
    recursions = [
        curve([n, n], name=f"recursion of {learner_curve.name}", style="dotted")
        for n, learner_curve in enumerate(curves)
    ]
    rows = legend([*curves, *recursions], 78, 2, groups=[(n, 7 + n) for n in range(7)])
    told = " ".join(piece.text for row in rows for piece in row)
    assert len(rows) == 2
    assert all(f"{mark} net" in told for mark in "ABCDEFG"), told
    assert told.count("┄┄┄ recur") == 1


def test_equal_curves_and_equal_numbers_have_different_signs_also_in_ascii():
    assert SAME == "≡ "
    assert to_ascii("A ─── GD, r = 1 ≡ B ─── net") == "A --- GD, r = 1 ==B --- net"
