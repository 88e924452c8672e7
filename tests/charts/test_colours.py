"""Colours tell learners apart in every theme, also for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from looping import looped

from engine.pictures.view import KindPlace, kind_places
from engine.results.gathering import kinds_in
from engine.spec import presets
from engine.spec.experiment import drawn, of_run
from hadamard_tui.charts.plots.series_builder import LETTERS, mark
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import faded, legible
from hadamard_tui.colours.palette import SHADES, Palette
from hadamard_tui.colours.themes import COLOUR_THEMES

from .preset_names import sweep_of

NOTICED = 0.02
"""Just noticeable distance in OKLab of two adjacent areas (CSS Color 4, 13.4)."""

LEAST = 0.044
"""Least distance between two curves of a picture: well above NOTICED, because lines are thin and apart."""

DISTINCT_BY_COLOUR = 6
"""Most curves of a picture that colours distinguish; more curves are distinguished by letters only."""

# Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}

# Degrees of hue in OKLab, from the first to the second.
HUES = {
    "gradient": (245, 270),
    "exact": (175, 205),
    "multiplicative": (20, 65),
    "sparse": (325, 360),
    "coordinate": (85, 112),
    "spectral": (285, 310),
    "other": (125, 165),
}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Lightness, green to red, and blue to yellow of linear RGB (Ottosson 2020)."""
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(cones @ np.clip(rgb, 0, 1))


def contrast(colour_a: str, other: str) -> float:
    """Contrast ratio of WCAG 2."""
    low, high = sorted(float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (colour_a, other))
    return (high + 0.05) / (low + 0.05)


def distance(colour_a: str, other: str, sight: str) -> float:
    seen = [oklab(SIGHTS[sight] @ linear(colour)) for colour in (colour_a, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def hue(colour: str) -> float:
    _, a, b = oklab(linear(colour))
    return float(np.degrees(np.arctan2(b, a)) % 360)


def shipped_pictures() -> Iterator[tuple[str, list[KindPlace]]]:
    """Curves of all pictures of all presets, except heat maps."""
    for preset_name in presets.names():
        sweep = sweep_of(preset_name)
        pictures = list(drawn(sweep.experiment)) or [of_run(sweep.experiment)]
        for number, picture in enumerate(pictures):
            if picture.y is None:
                yield f"{preset_name}, picture {number + 1}", list(kinds_in(picture, sweep).values())


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ("#ffffff", (1.0, 0.0, 0.0)),
        ("#ff0000", (0.62796, 0.22486, 0.12585)),
        ("#00ff00", (0.86644, -0.23389, 0.17950)),
        ("#0000ff", (0.45201, -0.03246, -0.31153)),
    ],
)
def test_oklab_values_equal_those_of_css_color_4(colour: str, expected: tuple[float, float, float]) -> None:
    np.testing.assert_allclose(oklab(linear(colour)), expected, atol=1e-4)


@looped("sight", SIGHTS)
def test_colour_vision_deficiencies_leave_greys_unchanged(sight: str) -> None:
    np.testing.assert_allclose(SIGHTS[sight] @ np.ones(3), 1.0, atol=1e-5)


@pytest.mark.slow
def test_curves_of_shipped_pictures_differ_by_colour_or_letter_for_every_colour_vision() -> None:
    pairs: dict[frozenset[KindPlace], str] = {}
    for title, curves in shipped_pictures():
        if len(curves) > DISTINCT_BY_COLOUR:
            letters = {mark(number) for number in range(len(curves))}
            assert len(letters) == len(curves) <= len(LETTERS), title
            continue
        for pair in combinations(curves, 2):
            pairs.setdefault(frozenset(pair), title)
    assert len(pairs) > 100
    for look in COLOUR_THEMES.values():
        near = {
            (title, *pair, sight): apart
            for pair, title in pairs.items()
            for sight in SIGHTS
            if (apart := distance(*map(look.palette.of, pair), sight)) < LEAST
        }
        assert not near, look.theme.name


@looped("theme_name", COLOUR_THEMES)
@looped("sight", SIGHTS)
def test_colours_of_single_curves_and_lines_of_theory_are_distinguishable(
    theme_name: str, sight: str
) -> None:
    look = COLOUR_THEMES[theme_name].palette
    alone = [look.of(KindPlace(kind)) for kind in look.kinds]
    assert min(distance(*pair, sight) for pair in combinations(alone, 2)) > LEAST
    for line in (look.theory, look.unproved):
        assert min(distance(line, colour, sight) for colour in look.of_learners) > NOTICED


@looped("theme_name", COLOUR_THEMES)
@looped("kind", HUES)
def test_each_kind_has_six_shades_of_its_hue_ordered_by_contrast(theme_name: str, kind: str) -> None:
    look: Palette = COLOUR_THEMES[theme_name].palette
    low, high = HUES[kind]
    shades = look.kinds[kind]  # type: ignore[index]
    assert len({*shades}) == SHADES
    for shade in shades:
        assert low <= hue(shade) <= high, shade
    ratios = [contrast(shade, look.ground) for shade in shades]
    assert ratios == sorted(ratios)


@looped("theme_name", COLOUR_THEMES)
def test_coloured_lines_and_text_contrast_with_the_background(theme_name: str) -> None:
    look = COLOUR_THEMES[theme_name]
    assert look.theme.background == look.palette.ground
    assert look.theme.surface is not None
    before = palette.current()
    palette.use(look.palette)
    try:
        for colour in (*look.palette.of_learners, look.palette.theory, look.palette.unproved):
            full = contrast(colour, look.palette.ground)
            assert 3 <= contrast(faded(colour), look.palette.ground) <= full  # WCAG 1.4.11, graphical objects
            for ground in (look.palette.ground, look.theme.surface):
                assert contrast(legible(colour), ground) >= 4.5  # WCAG 1.4.3, text
    finally:
        palette.use(before)


def test_curves_of_a_kind_use_its_shades_in_order() -> None:
    look = COLOUR_THEMES["dark"].palette
    for total in range(2, SHADES + 1):
        shades = [look.of(place) for place in kind_places(["exact"] * total)]
        places = [look.kinds["exact"].index(shade) for shade in shades]
        assert places == sorted({*places})
        assert (places[0], places[-1]) == (0, SHADES - 1)
    many = [look.of(place) for place in kind_places(["exact"] * 20)]
    assert list(dict.fromkeys(many)) == list(look.kinds["exact"])


def test_places_are_counted_within_each_kind() -> None:
    assert kind_places(["exact", "sparse", "exact"]) == [
        KindPlace("exact", 0, 2),
        KindPlace("sparse", 0, 1),
        KindPlace("exact", 1, 2),
    ]
