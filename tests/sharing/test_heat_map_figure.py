"""The heat map as a figure: what is in the file."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from hadamard_tui.charts.colour_map import colour_map
from hadamard_tui.charts.heat_map import Contour, HeatMap, Point
from hadamard_tui.sharing import figure
from hadamard_tui.sharing.figure import heat_map_figure

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
        contours=(Contour("critical line", np.array([[1.0, 1.0], [100.0, 2.0]]), "dashed"),),
        points=(Point("chosen", 10.0, 1.0),),
        missing=missing,
    )


def tags(svg: str) -> set[str]:
    return {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}


def test_it_is_vector_graphics_with_all_words_and_the_same_each_time() -> None:
    text = heat_map_figure(heat(), "svg").decode()
    assert text == heat_map_figure(heat(), "svg").decode()
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
        "1e−06",
    )
    for word in words:
        assert f"<!-- {word} -->" in text, "matplotlib writes every text as a comment beside its outlines"


def test_more_is_darker_on_paper() -> None:
    text = heat_map_figure(heat(), "svg").decode()
    for red, green, blue in colour_map(dark_is_more=True).colours[[0, -1]].tolist():
        assert f"#{red:02x}{green:02x}{blue:02x}" in text


def test_what_is_missing_is_hatched_and_named_only_where_something_is() -> None:
    assert "diverged" in (text := heat_map_figure(heat(missing="diverged"), "svg").decode())
    assert "pattern" in tags(text)
    whole = heat_map_figure(heat(np.nan_to_num(Z)), "svg").decode()
    assert "pattern" not in tags(whole)
    assert "not computed yet" not in whole


def test_values_that_the_scale_cannot_show_are_announced() -> None:
    text = heat_map_figure(heat(np.array([[0.0, 1.0, math.inf], [1.0, 2.0, 3.0]])), "svg").decode()
    assert "variance (1 infinite, 1 not above 0)" in text


def test_very_many_cells_are_a_picture_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "MOST_CELLS", Z.size - 1)
    assert "image" in tags(heat_map_figure(heat(), "svg").decode())


@pytest.mark.parametrize(("kind", "begins"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_the_other_figures_are_what_their_names_say(kind: str, begins: bytes) -> None:
    assert heat_map_figure(heat(), kind).startswith(begins)
