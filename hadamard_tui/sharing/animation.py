"""Animation of a chart whose curves grow along the x-axis, as a GIF or as a recording of a terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.drawing.chart_sheet import ChartSheet, compose
from hadamard_tui.charts.drawing.raster import runs, write_text
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import faded, legible, triplet
from hadamard_tui.sharing.rendering import png
from hadamard_tui.sharing.svg import chart, widest_left_margin
from hadamard_tui.sharing.svg_page import GROUND, INK, Tiles

if TYPE_CHECKING:
    from PIL.Image import Image

    from hadamard_tui.charts.series import Axes, Series
    from hadamard_tui.sharing.svg import Chart

FRAMES, PER_SECOND = 40, 10
"""Number of frames in which the curves grow, and frames per second."""

HELD = 3.0
"""Seconds for which the last frame is shown. Only this frame contains the caption."""

GIF_PIXELS = 1.0
"""Number of pixels of the GIF per pixel of the SVG page from which the GIF is made."""

GIF_COLOURS, EXACT_COLOURS = 255, 64
"""Number of colours of a GIF, and number of those colours that are exact: the most frequent ones.

Exact colours suffice for the background, regions and lines. The other colours approximate the rest.
"""

MAXIMUM_COVERAGE = 1
"""Pillow's number of the quantization method `Image.Quantize.MAXCOVERAGE`."""

ROUNDING = 1e-12

COLUMNS, ROWS = 100, 30
"""Size of the chart in a recording, in terminal cells."""

CLEAR, HOME, HIDE, SHOW = "\x1b[2J", "\x1b[H", "\x1b[?25l", "\x1b[?25h"
PLAIN, TO_THE_END = "\x1b[0m", "\x1b[K"


def gif(
    charts: Sequence[Chart], caption: str = "", progress: Callable[[float], None] = lambda share: None
) -> bytes:
    """Return charts, one above the other, as an animated GIF.

    The last frame also has the caption. It is shown for HELD seconds.

    Args:
        progress: function that gets the share of drawn frames after each frame.
    """
    from PIL import Image

    captions, least_left = [*[""] * (len(charts) - 1), caption], widest_left_margin(charts)
    pages = [
        chart(*content, caption=chart_caption, growing=True, least_left=least_left)
        for content, chart_caption in zip(charts, captions, strict=True)
    ]
    sheet, pictures = pages[0] if len(pages) == 1 else Tiles(pages, "", 1), []
    for number in range(FRAMES):
        for page in pages:
            page.grow(number / (FRAMES - 1))
        with Image.open(io.BytesIO(png(sheet, GIF_PIXELS))) as picture:
            pictures.append(picture.convert("RGB"))
        progress((number + 1) / FRAMES)
    colours = _chosen_colours(pictures[-1])
    first, *later_pictures = (_with_nearest_colours(picture, colours) for picture in pictures)
    durations = [1000 // PER_SECOND] * len(later_pictures) + [round(1000 * HELD)]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=later_pictures, duration=durations, loop=0)
    return file.getvalue()


def _chosen_colours(picture: Image) -> np.ndarray:
    """Return the colours [N, 3] of an animation: the most frequent ones, and approximations of the rest.

    Quantization alone would average the white background with the colours at the edges of lines.
    """
    colours, counts = np.unique(np.asarray(picture).reshape(-1, 3), axis=0, return_counts=True)
    exact = colours[np.argsort(-counts, kind="stable")[:EXACT_COLOURS]]
    approximations = picture.quantize(GIF_COLOURS - EXACT_COLOURS, MAXIMUM_COVERAGE).getpalette() or []
    return np.concatenate([exact, np.array(approximations, dtype=np.int64).reshape(-1, 3)])


def _with_nearest_colours(picture: Image, colours: np.ndarray) -> Image:
    """Return the picture with each colour replaced by the nearest of `colours` [N, 3].

    Pillow's own search cannot distinguish colours that differ by less than four levels, such as whites.
    """
    from PIL import Image

    pixels = np.asarray(picture, dtype=np.int64) @ (1 << 16, 1 << 8, 1)
    codes, places = np.unique(pixels, return_inverse=True)
    red_green_blue = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1)
    nearest = ((red_green_blue[:, None] - colours) ** 2).sum(axis=2).argmin(axis=1)
    reduced = Image.fromarray(nearest[places].reshape(pixels.shape).astype(np.uint8), "P")
    reduced.putpalette(colours.ravel().tolist())
    return reduced


def growing(series: Sequence[Series], axes: Axes, count: int) -> Iterator[list[Series]]:
    """Yield the series of a chart `count` times, while the curves of learners grow along x.

    Theory lines and regions are complete from the start. Error bands and faint series are left out.
    """
    low, high = axes.x_limits
    ends = np.geomspace(low, high, count) if axes.x_log else np.linspace(low, high, count)
    shown_series = [
        replace(curve, band=curve.band if curve.is_region else None)
        for curve in series
        if not curve.faint or curve.is_region
    ]
    for end in ends.tolist():
        yield [curve if curve.mark is None else _curve_until(curve, end) for curve in shown_series]


def _curve_until(curve: Series, end: float) -> Series:
    is_past = curve.x <= end * (1 + ROUNDING)
    return replace(curve, x=curve.x[is_past], y=curve.y[is_past])


def asciicast(
    charts: Sequence[Chart], caption: str = "", progress: Callable[[float], None] = lambda share: None
) -> bytes:
    """Return charts, one above the other, as a recording in asciicast v2 for asciinema.

    The recording sets the background colour, because a curve might be invisible on the player's background.
    The last frame has the caption below it. Source: docs.asciinema.org.

    Args:
        progress: function that gets the share of drawn frames after each frame.
    """
    words = wrap(caption, COLUMNS, break_on_hyphens=False)
    header: dict[str, Any] = {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS * len(charts) + len(words),
        "title": charts[0].axes.title,
        "env": {"TERM": "xterm-256color"},
        "theme": {"fg": INK, "bg": GROUND, "palette": ":".join([INK, *[GROUND] * 7])},
    }
    lines = [json.dumps(header, ensure_ascii=False)]
    frames = list(
        zip(*(growing(shown_chart.series, shown_chart.axes, FRAMES) for shown_chart in charts), strict=True)
    )
    for number, frame in enumerate(frames, start=1):
        below = words if number == len(frames) else [""] * len(words)
        with palette.on_paper():
            rows = [
                row
                for series, shown_chart in zip(frame, charts, strict=True)
                for row in _terminal_rows(
                    series, compose(series, shown_chart.axes, COLUMNS, ROWS, shown_chart.note)
                )
            ]
            rows += below
        text = HOME + "\r\n".join(_on_ground(row) for row in rows) + PLAIN
        lines.append(
            _output_event((number - 1) / PER_SECOND, f"{HIDE}{CLEAR}{text}" if number == 1 else text)
        )
        progress(number / len(frames))
    lines.append(_output_event((FRAMES - 1) / PER_SECOND + HELD, SHOW))
    return ("\n".join(lines) + "\n").encode()


def _terminal_rows(series: Sequence[Series], sheet: ChartSheet) -> Iterator[str]:
    surround, picture, legend_rows, legend_lines = sheet
    glyphs = np.full((ROWS, COLUMNS), ord(" "), dtype=np.uint32)
    inks = np.full(glyphs.shape, -1)
    for row, line in enumerate(surround.lines):
        write_text(glyphs, row, 0, line)
    area = np.s_[
        surround.top : surround.top + surround.rows, surround.left : surround.left + surround.columns
    ]
    glyphs[area] = picture.glyphs
    inks[area] = np.where(picture.colours >= 0, 3 * picture.colours + picture.faint, -1)
    for row, legend_row in enumerate(legend_rows, start=ROWS - legend_lines):
        for piece in legend_row:
            if (span := write_text(glyphs, row, piece.column, piece.text)) is not None and piece.index >= 0:
                inks[row, span] = 3 * piece.index + 2
    looks = (str, faded, legible)
    for row_glyphs, row_inks in zip(glyphs, inks, strict=True):
        yield "".join(
            text if ink < 0 else _in_colour(text, looks[ink % 3](series[ink // 3].colour))
            for text, ink in runs(row_glyphs, row_inks)
        )


def _in_colour(text: str, colour: str) -> str:
    return f"\x1b[38;2;{';'.join(map(str, triplet(colour)))}m{text}{PLAIN}"


def _on_ground(row: str) -> str:
    (ink, ground) = (";".join(map(str, triplet(colour))) for colour in (INK, GROUND))
    page = f"\x1b[38;2;{ink};48;2;{ground}m"
    return f"{page}{row.replace(PLAIN, PLAIN + page)}{TO_THE_END}"


def _output_event(seconds: float, output: str) -> str:
    return json.dumps([round(seconds, 3), "o", output], ensure_ascii=False)
