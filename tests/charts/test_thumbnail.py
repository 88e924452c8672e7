"""Charts in a few lines of characters, in the colours of every theme."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from engine.pictures.view import KindPlace
from hadamard_tui.browsing.preview import FRAME, HEIGHT, WIDTH, Thumbnail, of_chart, of_heat_map, shown
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours import palette
from hadamard_tui.colours.palette import CONTRAST, DARK, LIGHT


def thumbnail(**parts) -> Thumbnail:
    return Thumbnail("digest", 1.0, "A caption.", **parts)


def chart() -> Thumbnail:
    x = np.arange(20.0)
    tints = palette.current()
    series = [
        Series("GD", x, 1 - x / 20, tints.of(KindPlace("gradient")), mark="A"),
        Series("EGU", x, np.exp(-x), tints.of(KindPlace("multiplicative")), mark="B"),
        Series("ri-signed", x, 1 - x / 20, tints.theory, style="dashed"),
    ]
    return thumbnail(**of_chart(series, Axes("A title", "examples k", "loss", (0, 20), (0, 1))))


def heat() -> Thumbnail:
    z = np.arange(24.0).reshape(4, 6)
    return thumbnail(
        **of_heat_map(
            HeatMap(
                np.arange(6.0),
                np.arange(4.0),
                z,
                None,
                x_label="layer",
                y_label="cw",
                z_label="variance",
                title="A title",
            )
        )
    )


@pytest.mark.parametrize("make", [chart, heat])
def test_a_thumbnail_fits_the_preview_and_survives_a_round_trip(make):
    thumbnail = make()
    assert len(thumbnail.text) <= HEIGHT
    for rows in (thumbnail.text, thumbnail.inks, *([thumbnail.grounds] if thumbnail.grounds else [])):
        assert {len(row) for row in rows} == {WIDTH}
        assert len(rows) == len(thumbnail.text)
    assert msgspec.json.decode(msgspec.json.encode(thumbnail), type=Thumbnail) == thumbnail
    assert "A title" not in "".join(thumbnail.text)


@pytest.mark.parametrize("length", [5, 18, 19, 20, 21, 60])
@pytest.mark.parametrize("count", [2, 6, 30])
def test_a_legend_without_room_for_all_curves_ends_in_an_ellipsis(length: int, count: int):
    x = np.arange(20.0)
    names = [f"{number}".ljust(length, "n") for number in range(count)]
    tint = palette.current().of(KindPlace("gradient"))
    series = [Series(name, x, x, tint, mark=chr(65 + number)) for number, name in enumerate(names)]
    legend = "\n".join(of_chart(series, Axes("", "k", "loss", (0, 20), (0, 20)))["text"][-3:])
    shown = [name for number, name in enumerate(names) if f"{chr(65 + number)} {name[:40]}" in legend]
    assert shown == names[: len(shown)]
    assert len(shown) == count or legend.rstrip().endswith("…")


def test_a_thumbnail_names_its_curves_in_their_colours():
    thumbnail = chart()
    assert thumbnail.text[-1].strip() == "A GD  B EGU"
    name = thumbnail.text[-1].index("EGU")
    for colours in (DARK, LIGHT, CONTRAST):
        palette.use(colours)
        try:
            text = shown(thumbnail)
        finally:
            palette.use(DARK)
        place = text.plain.rindex("EGU")
        [style] = [span.style for span in text.spans if span.start <= place < span.end]
        assert style.color.name == colours.of(KindPlace("multiplicative"))
    assert thumbnail.inks[-1][name] != FRAME


def test_a_thumbnail_is_independent_of_the_paper_palette():
    with palette.on_paper():
        paper = chart()
    assert paper == chart()


def test_a_heat_map_thumbnail_uses_colours_or_digits_without_colour():
    thumbnail = heat()
    text = shown(thumbnail)
    blocks = {span.style.bgcolor for span in text.spans if span.style.bgcolor is not None}
    assert len(blocks) > 5
    plain = shown(thumbnail, coloured=False)
    assert not plain.spans
    first, last = plain.plain.splitlines()[1], plain.plain.splitlines()[-4]
    assert "9" in first
    assert "0" in last
    assert "▀" not in plain.plain
