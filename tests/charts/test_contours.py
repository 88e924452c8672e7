import math

import numpy as np
import pytest
from view_fields import view_of

from engine.core import catalogue
from engine.pictures.picture import Marked, Picture
from engine.pictures.view import ContourView, HeatView
from hadamard_tui.charts.drawing.raster import line_dots
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.plots.level_lines import level_lines
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import heat_map


def test_a_level_line_of_a_plane_is_straight_and_exact():
    x, y = np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0, 3.0])
    path = level_lines(x, y, np.add.outer(y, x), 2.5)
    assert len(path) > 2
    assert path.sum(axis=1) == pytest.approx(np.full(len(path), 2.5))


def test_levels_on_a_log_axis_are_interpolated_in_logarithms():
    x, y = np.array([1.0, 100.0]), np.array([1.0, 10_000.0])
    path = level_lines(x, y, np.array([[0.0, 2.0], [0.0, 2.0]]), 1.0, x_log=True, y_log=True)
    assert (path[:, 1].min(), path[:, 1].max()) == pytest.approx((1.0, 10_000.0))
    assert path[:, 0] == pytest.approx(np.full(len(path), 10.0))


@pytest.mark.parametrize("function", [np.exp, np.tanh, lambda t: 1 / (1 + t * t)])
def test_level_lines_on_a_coarse_grid_agree_with_the_function(function):
    """Linear interpolation errs by .003 or more."""
    y, x, level = np.linspace(0.5, 2.5, 13), np.array([0.0, 1.0, 2.0]), function(1.43)
    path = level_lines(x, y, np.repeat(function(y)[:, None], 3, 1), level)
    assert path[:, 1] == pytest.approx(np.full(len(path), 1.43), abs=5e-4)


def test_values_that_do_not_cross_a_level_have_no_line():
    """A cubic that overshoots would pass it."""
    x = np.arange(6.0)
    steps = np.repeat(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])[:, None], 6, 1)
    assert not len(level_lines(x, x, steps, 1.02))
    assert not len(level_lines(x, x, steps, -0.02))


def test_pieces_of_a_level_line_are_separated_and_rings_are_closed():
    x = np.linspace(-3, 3, 41)
    rings = level_lines(x, x, np.minimum(*(np.hypot(x - at, x[:, None]) for at in (-1.5, 1.5))), 1.0)
    lifted = np.flatnonzero(np.isnan(rings[:, 0]))
    assert len(lifted) == 1
    for ring in np.split(rings, lifted):
        ring = ring[~np.isnan(ring[:, 0])]
        assert ring[0] == pytest.approx(ring[-1])
        assert np.hypot(np.abs(ring[:, 0]) - 1.5, ring[:, 1]) == pytest.approx(np.ones(len(ring)), abs=0.02)


@pytest.mark.parametrize(
    "heights", [np.zeros((3, 3)), np.full((3, 3), math.nan), np.eye(3)[:1], np.eye(3)[:, :1]]
)
def test_a_map_without_crossings_has_no_level_line(heights):
    crossings = level_lines(
        np.arange(1.0, heights.shape[1] + 1), np.arange(1.0, heights.shape[0] + 1), heights, 0.5
    )
    assert crossings.shape == (0, 2)


def test_no_level_line_is_drawn_beside_missing_cells():
    x = np.arange(5.0)
    values = np.tile(x, (5, 1))
    values[2:, :] = math.nan
    assert level_lines(x, x, values, 2.5)[:, 1].max() == 1


@pytest.mark.filterwarnings("error")
def test_infinite_values_count_as_missing_without_a_warning():
    x = np.arange(5.0)
    heights = np.tile(x, (5, 1))
    heights[2:, :] = [math.inf, math.inf, -math.inf, math.inf, math.inf]
    assert level_lines(x, x, heights, 2.5)[:, 1].max() == 1


def naive_line(across, down, wide, high):
    """All dots on a line, by a thousand steps along each segment."""
    dots = set()
    for i in range(len(across) - 1):
        for share in np.linspace(0, 1, 1001):
            x = across[i] + share * (across[i + 1] - across[i])
            y = down[i] + share * (down[i + 1] - down[i])
            if math.isfinite(x) and math.isfinite(y):
                dot = math.floor(y + 0.5), math.floor(x + 0.5)
                if 0 <= dot[0] < high and 0 <= dot[1] < wide:
                    dots.add(dot)
    return dots


@pytest.mark.parametrize("seed", range(12))
def test_dots_of_a_line_follow_its_path_without_gaps(seed):
    rng = np.random.default_rng(seed)
    across, down = rng.uniform(-15, 55, 6), rng.uniform(-15, 39, 6)
    across[3] = math.nan if seed % 3 == 0 else across[3]
    dots = {(int(row), int(column)) for row, column in np.argwhere(line_dots(across, down, "solid", 40, 24))}
    passed = naive_line(across, down, 40, 24)
    near = {(row + i, column + j) for row, column in dots for i in (-1, 0, 1) for j in (-1, 0, 1)}
    assert dots <= passed | {
        (row + i, column + j) for row, column in passed for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))
    }
    assert passed <= near


def test_lines_through_corners_and_along_borders_are_drawn():
    assert np.argwhere(line_dots(np.array([0.0, 9.0]), np.array([0.0, 9.0]), "solid", 10, 10)).tolist() == [
        [at, at] for at in range(10)
    ]
    assert line_dots(np.array([-1e9, 1e9]), np.array([3.0, 3.0]), "solid", 10, 5).sum(axis=1).tolist() == [
        0,
        0,
        0,
        10,
        0,
    ]
    assert line_dots(np.array([4.0, 4.0]), np.array([-1e9, 1e9]), "solid", 10, 5).sum() == 5
    assert not line_dots(np.array([20.0, 30.0]), np.array([1.0, 2.0]), "solid", 10, 5).any()
    for few in ([], [3.0], [math.nan] * 3):
        assert not line_dots(np.array(few), np.array(few), "solid", 10, 5).any()


@pytest.mark.parametrize("steep", [False, True])
def test_dashes_have_gaps_along_steep_and_flat_lines(steep):
    along, still = np.array([0.0, 29.0]), np.array([2.0, 2.0])
    dots = line_dots(*((still, along) if steep else (along, still)), "dashed", 30, 30)
    assert dots.sum() == 20


def seen(contour: ContourView | None, marks: tuple[Marked, ...] = (), **picture) -> HeatMap:
    """The chart of a learner's map with a contour, over x = 1 … 100 and y = 0 … 2."""
    x, y = np.array([1.0, 10.0, 100.0]), np.array([0.0, 1.0, 2.0])
    heat = HeatView("net", x, y, np.ones((3, 3)), None, () if contour is None else (contour,))
    measure = catalogue.make("measures", "loss")
    map_view = view_of(
        Picture(x="k", y="cw", measure=measure, **picture), "k", "loss", True, False, 1e-5, marks=marks
    )
    map_view.heats.append(heat)
    return heat_map(Look(map_view), heat)


def test_a_line_of_theory_is_drawn_at_its_level_beside_the_marks():
    values = np.add.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])  # log₁₀ x + y
    contour = ContourView("critical", "chi-perp", "exact", 1.5, values)
    line, mark = seen(contour, marks=(Marked("here", (), (1.0,)),)).contours
    assert (line.name, line.style, mark.name) == ("critical", "dashed", "here")
    assert len(line.path) > 2
    assert np.log10(line.path[:, 0]) + line.path[:, 1] == pytest.approx(np.full(len(line.path), 1.5))


def test_an_unproved_line_has_another_style_and_an_absent_line_is_omitted():
    values = np.add.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    (line,) = seen(ContourView("limit", "chi-perp", "asymptotic", 1.5, values)).contours
    assert line.style == "sparse"
    assert seen(ContourView("nowhere", "chi-perp", "exact", 9.0, values)).contours == ()


def test_a_map_names_its_learner_if_several_learners_exist():
    assert seen(None, title="Map").title == "Map"
    map_view = view_of(
        Picture(x="k", y="cw", measure=catalogue.make("measures", "loss"), title="Map"),
        "k",
        "loss",
        *[False] * 2,
        1e-5,
    )
    heats = [
        HeatView(learner_name, np.array([1.0]), np.array([1.0]), np.ones((1, 1)), None)
        for learner_name in ("a", "b")
    ]
    map_view.heats.extend(heats)
    assert [heat_map(Look(map_view), heat).title for heat in heats] == ["Map: a", "Map: b"]
