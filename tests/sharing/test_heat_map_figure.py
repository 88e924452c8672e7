"""Content of heat map files."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from hadamard_tui.charts.heat_map import ContourLine, HeatMap, MarkedPoint
from hadamard_tui.colours.palette import colour_map
from hadamard_tui.sharing.svg import heat_map_page

Z = np.array([[1e-6, 1e-3, 1.0], [10.0, 1e3, math.nan]])


def heat(z: np.ndarray = Z, missing: str = "not computed yet") -> HeatMap:
    return HeatMap(
        np.logspace(0, 2, z.shape[1]),
        np.arange(1.0, z.shape[0] + 1),
        z,
        x_label="scale α",
        y_label="depth",
        z_label="variance",
        title="A title",
        x_log=True,
        z_log=True,
        contours=(ContourLine("critical line", np.array([[1.0, 1.0], [100.0, 2.0]]), "dashed"),),
        points=(MarkedPoint("chosen", 10.0, 1.0),),
        missing=missing,
    )


def tags(svg: str) -> set[str]:
    return {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}


def test_a_heat_map_page_is_reproducible_vector_graphics_with_all_words() -> None:
    text = heat_map_page(heat()).written().decode()
    assert text == heat_map_page(heat()).written().decode()
    assert "image" not in tags(text)
    words = (
        "A title",
        "scale α",
        "depth",
        "variance",
        "critical line",
        "chosen",
        "not computed yet",
        "100",
        "1e-6",
    )
    for word in words:
        assert f">{word}<" in text


def test_higher_values_are_darker_on_paper() -> None:
    text = heat_map_page(heat()).written().decode()
    for red, green, blue in colour_map(dark_is_more=True).colours[[0, -1]].tolist():
        assert f"#{red:02x}{green:02x}{blue:02x}" in text


def test_missing_cells_are_hatched_and_named_if_there_are_any() -> None:
    assert "diverged" in (text := heat_map_page(heat(missing="diverged")).written().decode())
    assert "pattern" in tags(text)
    svg_without_gaps = heat_map_page(heat(np.nan_to_num(Z))).written().decode()
    assert "pattern" not in tags(svg_without_gaps)
    assert "not computed yet" not in svg_without_gaps


def test_a_remark_counts_values_outside_the_scale() -> None:
    text = heat_map_page(heat(np.array([[0.0, 1.0, math.inf], [1.0, 2.0, 3.0]]))).written().decode()
    assert "variance (1 infinite, 1 not above 0)" in text


def test_cells_have_the_positions_and_colours_of_their_values() -> None:
    heat_map = HeatMap(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    least, greatest = (
        "#{:02x}{:02x}{:02x}".format(*c) for c in colour_map(dark_is_more=True).colours[[0, -1]]
    )
    root = ElementTree.fromstring(heat_map_page(heat_map).written())
    cells = {path.get("fill"): path.get("d", "") for path in root.iter() if path.tag.endswith("}path")}
    below, beside, above = re.findall(r"M([\d.]+),([\d.]+)h([\d.]+)", cells[least] + cells[greatest])
    assert float(below[2]) == pytest.approx(2 * float(beside[2]), abs=0.02), "two equal cells are one box"
    assert float(below[1]) > float(beside[1]) == float(above[1]), "the first row is at the bottom"
    assert float(above[0]) == pytest.approx(float(beside[0]) + float(beside[2]), abs=0.02)


def test_the_file_size_of_a_large_map_is_bounded_by_its_pixels() -> None:
    z = np.arange(2000.0 * 3).reshape(3, 2000) % 977
    text = heat_map_page(HeatMap(np.arange(2000.0), np.arange(3.0), z)).written()
    assert text.count(b"M") < 3 * 720 + 200
