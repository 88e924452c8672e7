"""Names of theory lines stand near the ends of the lines, on empty cells."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.drawing.raster import paint_series

from .pictures import axes, curve, text

X = np.linspace(0, 19, 200)
FALLING = curve(1 - X / 19, X, "ri-signed", style="dashed")


def test_the_name_of_a_line_stands_near_its_end():
    picture = paint_series([FALLING], axes(), 60, 20)
    [(row, line)] = [(row, line) for row, line in enumerate(text(picture)) if "ri-signed" in line]
    column = line.index("ri-signed")
    assert picture.named == {0}
    assert (picture.colours[row, column : column + 9] == 0).all()
    assert not picture.faint[row, column : column + 9].any()
    assert column + 9 > 30
    cells = np.argwhere(picture.glyphs >= 0x2800)
    assert np.abs(cells - (row, column + 8)).sum(1).min() <= 10


def test_a_formula_shorter_than_the_name_replaces_it():
    for formula, shown in (("1 − k/d", "1 − k/d"), ("", "the bound"), ("max(0, 1 − k/d)", "the bound")):
        line = curve(1 - X / 19, X, "the bound", style="dashed", formula=formula)
        painted = "\n".join(text(paint_series([line], axes(), 60, 20)))
        assert [name for name in ("1 − k/d", "the bound", "max") if name in painted] == [shown]


def test_the_name_of_a_line_ending_early_follows_its_end():
    short = curve([0.5, 0.5], [0, 9], "svd", style="dotted")
    [line] = [line for line in text(paint_series([short], axes(), 60, 20)) if "svd" in line]
    assert line.index("svd") in range(29, 33)


def test_a_name_covers_neither_curves_nor_letters_nor_other_names():
    rng = np.random.default_rng(0)
    curves = [curve(rng.uniform(0, 1) * np.exp(-X / n), X, f"c{n}", mark="ABCDE"[n - 1]) for n in range(1, 6)]
    lines = [FALLING, curve(1 - X / 30, X, "near", style="dotted"), curve(X * 0, X, "zero", style="dashed")]
    plain = paint_series(curves + lines, axes(), 60, 20)
    bare = paint_series(curves, axes(), 60, 20)
    assert plain.named >= {5, 6}
    is_painted = bare.colours >= 0
    assert (plain.colours[is_painted] >= 0).all()
    assert all(
        not chr(glyph).isalpha() or glyph in bare.glyphs[is_painted] for glyph in plain.glyphs[is_painted]
    )


def test_only_two_of_several_coinciding_lines_are_named():
    same = [curve(1 - X / 19, X, f"2/{n}", style="dashed") for n in range(4)]
    other = curve(X / 19, X, "other", style="dashed")
    assert paint_series([*same, other], axes(), 60, 20).named == {0, 1, 4}


def test_the_upper_of_two_close_lines_is_named_above_the_lower_below():
    pair = [curve(0.9 - X / 22, X, "lower", style="dashed"), curve(0.94 - X / 22, X, "upper", style="dashed")]
    for lines in (pair, pair[::-1]):
        picture = paint_series(lines, axes(), 60, 14)
        assert picture.named == {0, 1}
        for name, side in (("lower", 1), ("upper", -1)):
            [(row, line)] = [(row, line) for row, line in enumerate(text(picture)) if name in line]
            place = line.index(name) + len(name) - 1
            height = 14 * (1 - (0.92 - 19 / 22 * place / 59))
            assert np.sign(row + 0.5 - height) == side


def test_a_line_names_its_learner_by_letter():
    gd = curve(0 * X + 0.9, X, "GD, η = 1", mark="A")
    painted = "\n".join(
        text(paint_series([gd, curve(0.4 - X / 60, X, "bound of GD, η = 1", style="dashed")], axes(), 60, 20))
    )
    assert "bound of A" in painted


def test_the_name_above_a_falling_line_begins_at_the_line():
    falling = [curve(0.9 - X / 20, X, "upper", style="dashed"), curve(0.5 - X / 20, X, "GD", mark="A")]
    below = curve(np.maximum(0.84 - X / 20, 0), X, "EGU", mark="B")
    picture = paint_series([*falling, below], axes(), 60, 20)
    [(row, line)] = [(row, line) for row, line in enumerate(text(picture)) if "upper" in line]
    assert row + 0.5 < 20 * (1 - (0.9 - 19 / 20 * line.index("upper") / 59))


def test_the_picture_omits_names_of_lettered_curves_and_names_without_room():
    assert not paint_series([curve(1 - X / 19, X, "GD", mark="A")], axes(), 60, 20).named
    assert not paint_series([curve(1 - X / 19, X, "a" * 30, style="dashed")], axes(), 60, 20).named
    assert not paint_series([curve(np.full(200, np.nan), X, "gone", style="dashed")], axes(), 60, 20).named


def far_from(picture, name: str, lines) -> float:
    """Distance in columns from the name to the nearest cell of the lines, drawn without names."""
    [(row, line)] = [(row, line) for row, line in enumerate(text(picture)) if name in line]
    places = np.arange(len(name)) + line.index(name)
    bare = paint_series([replace(drawn_line, name="", style="solid") for drawn_line in lines], axes(), 60, 20)
    cells = np.argwhere(bare.colours >= 0)
    return min(np.hypot(2 * (cells[:, 0] - row), cells[:, 1] - place).min() for place in places)


def is_within_a_row(line, other) -> bool:
    """Whether two lines are about a row apart, of 20 rows for a height of 1, or less."""
    return np.abs(line.y - other.y).max() <= 0.08


def test_a_name_is_nearest_to_its_own_line():
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(40):
        heights, rates = rng.uniform(0.3, 1, 5), rng.uniform(0, 0.4, 5)
        ys = [height * np.exp(-rate * X) for height, rate in zip(heights, rates, strict=True)]
        lines = [curve(y, X, f"line {at}", style="dashed") for at, y in enumerate(ys[:3])]
        curves = [curve(y, X, f"c{at}", mark="AB"[at]) for at, y in enumerate(ys[3:])]
        picture = paint_series([*curves, *lines], axes(), 60, 20)
        for at in picture.named:
            group = next(group for group in picture.groups if at in group)
            series = [*curves, *lines]
            other_series = [one_series for number, one_series in enumerate(series) if number not in group]
            seen += 1
            name = series[at].name
            assert far_from(picture, name, [series[at]]) < far_from(picture, name, other_series)
    assert seen > 40


def test_a_line_between_close_curves_has_no_name_in_the_picture():
    between = [curve(np.full(200, y), X, f"c{y}", style="solid", mark="A") for y in (0.45, 0.55)]
    line = curve(np.full(200, 0.5), X, "ri-signed", style="dashed")
    assert paint_series([line], axes(), 60, 20).named == {0}
    assert not paint_series([*between, line], axes(), 60, 20).named


def test_a_line_hidden_at_its_end_is_named_at_its_separate_part():
    bound, gd = curve(np.maximum(1 - X / 5, 0), X, "bound", style="dashed"), curve(X * 0, X, "GD", mark="A")
    picture = paint_series([gd, bound], axes(), 60, 20)
    assert picture.named == {1}
    [line] = [line for line in text(picture) if "bound" in line]
    assert line.index("bound") < 20
