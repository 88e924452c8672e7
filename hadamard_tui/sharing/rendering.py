"""Rendering of SVG pages to PNG (by resvg) and to PDF (by matplotlib), with a search for fonts."""

from __future__ import annotations

import io
import logging
import re
import unicodedata
import warnings
from collections.abc import Set
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.core.texts import listed

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from matplotlib.artist import Artist
    from matplotlib.transforms import Bbox

    from hadamard_tui.sharing.svg_page import SvgSheet


TALKATIVE = "matplotlib", "fontTools"
"""Libraries that print warnings about fonts on standard error."""

PLACEHOLDERS = "lastresort", "adobeblank"
"""Beginnings of the names of fonts that claim to have every character, but draw a box or nothing."""


REGULAR, BOLD = (Path(__file__).parent / "dejavu" / f"DejaVuSans{weight}.ttf" for weight in ("", "-Bold"))
"""Paths of the font files that come with the program."""


class Fonts(NamedTuple):
    """Installed fonts that a text needs in addition to the fonts that come with the program.

    Args:
        families: font families. The first family that has a character draws it.
        files: the font file of each family.
        missing: characters that no installed font has, in the order of the text.
    """

    families: tuple[str, ...]
    files: tuple[str, ...]
    missing: str


def fonts_for(text: str) -> Fonts:
    """Return the fonts that `text` needs, and silence the libraries that search for fonts."""
    for library in TALKATIVE:
        logging.getLogger(library).setLevel(logging.CRITICAL)
    return _fonts_for("".join(dict.fromkeys(filter(_needs_font, text))))


def boxes(text: str) -> str:
    """Return a message about characters of `text` that are drawn as boxes, or "" if there are none."""
    missing = fonts_for(text).missing
    if not missing:
        return ""
    letters = listed(f"◌{letter}" if unicodedata.category(letter)[0] == "M" else letter for letter in missing)
    return f"shows boxes for {letters}: no font on this machine has {'them' if len(missing) > 1 else 'it'}"


def _needs_font(letter: str) -> bool:
    """Return whether a character needs a font, because it is visible and not ASCII.

    If no font has the character, matplotlib draws a box. Control characters, wide blanks and variation
    selectors are invisible.
    """
    is_selector = unicodedata.name(letter, "").startswith("VARIATION SELECTOR")
    return letter.isprintable() and not letter.isascii() and not is_selector


@cache
def _fonts_for(letters: str) -> Fonts:
    missing = set(letters) - shipped_letters() if letters else set()
    families: list[str] = []
    offers = _letters_by_family(missing) if missing else {}
    while any(offer & missing for offer in offers.values()):
        families.append(max(offers, key=lambda name: len(offers[name] & missing)))
        missing -= offers[families[-1]]
    files = tuple(_font_file_of(family) for family in families)
    return Fonts(tuple(families), files, "".join(letter for letter in letters if letter in missing))


@cache
def shipped_letters() -> frozenset[str]:
    from fontTools.ttLib import TTFont

    with TTFont(REGULAR, lazy=True) as font:
        return frozenset(map(chr, font.getBestCmap()))


def _letters_by_family(letters: Set[str]) -> dict[str, Set[str]]:
    """Return the subset of `letters` that each installed font family has; sans-serif families come first."""
    from matplotlib.font_manager import fontManager

    _add_new_fonts()
    families = {font.name for font in fontManager.ttflist}
    families = {family for family in families if not family.lower().replace(" ", "").startswith(PLACEHOLDERS)}
    ordered = sorted(families, key=lambda family: ("Sans" not in family, family))
    return {family: letters & _letters_of(family) for family in ordered}


def _add_new_fonts() -> None:
    """Register new fonts with matplotlib, which never updates its list of installed fonts."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed_files = {font.fname for font in fontManager.ttflist}
    for file in findSystemFonts():
        if file not in listed_files:
            with suppress(Exception):  # readers of fonts raise many types of errors for broken fonts
                fontManager.addfont(file)


def _letters_of(family: str) -> Set[str]:
    """Return the characters of the font that matplotlib uses for a family.

    If the font cannot be read, the result is empty.
    """
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(_font_file_of(family)).get_charmap()))
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def _font_file_of(family: str) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    properties = FontProperties(family=[family])
    return str(findfont(properties, fallback_to_default=False, rebuild_if_missing=False))


FINE = 2.0
"""Number of pixels of a PNG file per pixel of its SVG page."""


def png(page: SvgSheet, pixels: float = FINE) -> bytes:
    """Return an SVG page as a PNG file. One pixel of the page becomes `pixels` pixels of the file."""
    from resvg_py import svg_to_bytes

    fonts = [str(REGULAR), str(BOLD), *fonts_for(page.text).files]
    return svg_to_bytes(
        page.written().decode(),
        zoom=pixels,
        skip_system_fonts=True,
        font_files=fonts,
        sans_serif_family="DejaVu Sans",
    )


POINTS = 0.75
"""Number of typographic points in a PDF file per pixel of its SVG page."""

INCH = 72

STEPS = re.compile(r"([MLHVlhvz])([^A-Za-z]*)")
TRANSFORMS = re.compile(r"(translate|rotate)\(([^)]*)\)")

INHERITED = "fill", "stroke", "stroke-width"


def pdf(page: SvgSheet) -> bytes:
    """Return the page as a PDF file with selectable text. It has no date: equal pages give equal files.

    All fonts are embedded as type 42, unless the page needs installed fonts. An installed font may have
    PostScript outlines, and some PDF readers do not show such a font as type 42. All fonts are then embedded
    as type 3.
    """
    families = fonts_for(page.text).families
    page.written()  # sets the size of the page
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "text.parse_math": False,
        "lines.scale_dashes": False,
        "hatch.linewidth": 0.5,
        "font.family": ["DejaVu Sans", *families],
        "pdf.fonttype": 3 if families else 42,
    }
    width, height = (float(page.root.attrib[side]) for side in ("width", "height"))
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = Figure((width * POINTS / INCH, height * POINTS / INCH))
        plot = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        plot.set_axis_off()
        _Painter(plot, page.root).paint(page.root, np.eye(3), {"fill": "#000000", "stroke-width": "1"}, None)
        file = io.BytesIO()
        figure.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()


class _Painter:
    """Draws SVG elements on matplotlib axes whose unit is the pixel of the page."""

    def __init__(self, plot: Any, root: Element) -> None:
        self._plot = plot
        self._by_id = {element.attrib["id"]: element for element in root.iter() if "id" in element.attrib}
        self._order = 0

    def paint(
        self, element: Element, matrix: np.ndarray, inherited: dict[str, str], area: Bbox | None
    ) -> None:
        """Draw an SVG element and its children, clipped to `area` if it is not None."""
        tag, attributes = element.tag.rpartition("}")[2], dict(element.attrib)
        if tag == "defs" or attributes.get("opacity") == "0":
            return
        matrix = matrix @ _transform_matrix(attributes.get("transform", ""))
        style = inherited | attributes
        area = self._clipped_area(area, attributes.get("clip-path", ""), matrix)
        if tag == "text":
            self._add_artist(self._text_artist(element.text or "", matrix, style), area)
        elif (path := _path_of_element(tag, attributes)) is not None:
            self._add_artist(self._patch_artist(path, matrix, style), area)
        passed_on = {attribute: style[attribute] for attribute in INHERITED if attribute in style}
        for part in element:
            self.paint(part, matrix, passed_on, area)

    def _clipped_area(self, area: Bbox | None, clip_name: str, matrix: np.ndarray) -> Bbox | None:
        """Return the part of `area` inside the clip rectangle `clip_name`.

        If the name is empty, return `area` unchanged. If `area` is None, return the rectangle.
        """
        from matplotlib.transforms import Bbox

        if not clip_name:
            return area
        (rectangle,) = self._by_id[clip_name.removeprefix("url(#").removesuffix(")")]
        place = [float(rectangle.attrib[side]) for side in ("x", "y", "width", "height")]
        cut = Bbox.from_bounds(*place).translated(*matrix[:2, 2])
        return cut if area is None else Bbox.intersection(area, cut) or Bbox.null()

    def _patch_artist(self, path: Any, matrix: np.ndarray, style: dict[str, str]) -> Artist:
        from matplotlib.patches import PathPatch
        from matplotlib.transforms import Affine2D

        pattern = style["fill"].startswith("url")
        dashes = [float(number) * POINTS for number in style.get("stroke-dasharray", "").split()]
        offset = float(style.get("stroke-dashoffset", 0)) * POINTS
        scale = float(np.hypot(*matrix[:2, 0]))
        patch = PathPatch(
            path,
            facecolor=_colour_with_opacity("none" if pattern else style["fill"], style.get("fill-opacity")),
            edgecolor="#8a929a"
            if pattern
            else _colour_with_opacity(style.get("stroke", "none"), style.get("stroke-opacity")),
            linewidth=0 if pattern else float(style["stroke-width"]) * POINTS * scale,
            linestyle=(offset % (2 * sum(dashes)), dashes) if dashes else "solid",
            hatch="...." if pattern else None,
            capstyle="butt",
            joinstyle="round",
        )
        patch.set_transform(Affine2D(matrix) + self._plot.transData)
        return patch

    def _text_artist(self, text: str, matrix: np.ndarray, style: dict[str, str]) -> Artist:
        from matplotlib.patheffects import withStroke
        from matplotlib.text import Text

        x, y, _ = matrix @ (float(style["x"]), float(style["y"]), 1)
        words = Text(
            x,
            y,
            text,
            color=style["fill"],
            fontsize=float(style["font-size"]) * POINTS,
            fontweight=style.get("font-weight", "normal"),
            ha={"middle": "center", "end": "right"}.get(style.get("text-anchor", ""), "left"),
            va="baseline",
            rotation=-np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])),
            rotation_mode="anchor",
            transform=self._plot.transData,
        )
        if "paint-order" in style:
            halo = withStroke(linewidth=float(style["stroke-width"]) * POINTS, foreground=style["stroke"])
            words.set_path_effects([halo])
        return words

    def _add_artist(self, artist: Artist, area: Bbox | None) -> None:
        """Add a matplotlib artist on top of all earlier ones, clipped to `area` if it is not None."""
        from matplotlib.transforms import TransformedBbox

        self._order += 1
        artist.set_zorder(self._order)
        self._plot.add_artist(artist)
        artist.set_clip_on(area is not None)
        if area is not None:
            artist.set_clip_box(TransformedBbox(area, self._plot.transData))
            artist.set_clip_path(None)


def _colour_with_opacity(colour: str, opacity: str | None) -> Any:
    return "none" if colour == "none" else (colour, float(opacity or 1))


def _transform_matrix(words: str) -> np.ndarray:
    """Return the matrix [3, 3] of a `transform` attribute with translations and rotations."""
    matrix = np.eye(3)
    for kind, numbers in TRANSFORMS.findall(words):
        values = [float(number) for number in numbers.replace(",", " ").split()]
        step = np.eye(3)
        if kind == "translate":
            step[:2, 2] = values
        else:
            turn = np.radians(values[0])
            step[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
        matrix = matrix @ step
    return matrix


def _path_of_element(tag: str, attributes: dict[str, str]) -> Any:
    from matplotlib.path import Path

    if tag == "path":
        return _path_of_commands(attributes["d"])
    if tag == "circle":
        return Path.circle((float(attributes["cx"]), float(attributes["cy"])), float(attributes["r"]))
    if tag == "rect" and "%" not in attributes["width"]:
        x, y, width, height = (float(attributes[side]) for side in ("x", "y", "width", "height"))
        return Path([(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)], closed=True)
    return None


def _path_of_commands(words: str) -> Any:
    """Return the path of SVG commands. Only the commands that the program writes are supported."""
    from matplotlib.path import Path

    places: list[tuple[float, float]] = []
    codes: list[Any] = []
    x = y = 0.0
    for command, numbers in STEPS.findall(words):
        values = [float(number) for number in numbers.replace(",", " ").split()]
        match command:
            case "M" | "L":
                x, y = values
            case "l":
                x, y = x + values[0], y + values[1]
            case "H":
                (x,) = values
            case "h":
                x += values[0]
            case "V":
                (y,) = values
            case "v":
                y += values[0]
        places.append((x, y))
        codes.append({"M": Path.MOVETO, "z": Path.CLOSEPOLY}.get(command, Path.LINETO))
    return Path(places, codes)
