"""The chart as it grows along its x-axis: as a moving picture, or as a recording of a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.colour import triplet
from hadamard_tui.charts.layers import drawable
from hadamard_tui.charts.printed import printed
from hadamard_tui.sharing import figure
from hadamard_tui.sharing.svg_page import GROUND, INK

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series

FRAMES, PER_SECOND, HELD = 40, 10, 15
"""Pictures while curves grow, how many a second, and for how many the last stays before it begins anew."""

DOTS_PER_INCH = 110

ROUNDING = 1e-12

COLUMNS, ROWS = 100, 30
"""The terminal of a recording."""

CLEAR, HOME, HIDE, SHOW = "\x1b[2J", "\x1b[H", "\x1b[?25l", "\x1b[?25h"
PLAIN, TO_THE_END = "\x1b[0m", "\x1b[K"


def growing(series: Sequence[Series], axes: Axes, count: int) -> Iterator[list[Series]]:
    """The chart in so many steps along its x-axis: curves that have a letter as far as they have come.

    Lines and regions of the theory are there from the start, errors and what is faint are left out.
    """
    low, high = axes.x_limits
    ends = np.geomspace(low, high, count) if axes.x_log else np.linspace(low, high, count)
    kept = [
        replace(one, band=one.band if one.is_region else None)
        for one in series
        if not one.faint or one.is_region
    ]
    for end in ends.tolist():
        yield [one if one.mark is None else _until(one, end) for one in kept]


def _until(one: Series, end: float) -> Series:
    there = one.x <= end * (1 + ROUNDING)
    return replace(one, x=one.x[there], y=one.y[there])


def gif(series: Sequence[Series], axes: Axes, caption: str = "") -> bytes:
    """The chart as a moving picture, by the writer of matplotlib."""
    frames = list(growing(series, axes, FRAMES))
    with figure.settings(figure.text_of_chart(series, axes, caption)), TemporaryDirectory() as folder:
        from matplotlib.animation import PillowWriter  # below the settings, which silence matplotlib

        sheet, curves = figure.drawn(frames[-1], axes, caption)
        file, writer = Path(folder) / "chart.gif", PillowWriter(fps=PER_SECOND)
        with writer.saving(sheet, str(file), DOTS_PER_INCH):
            sheet.draw_without_rendering()  # lays it out, once for all
            sheet.set_layout_engine("none")
            for frame in [*frames, *[frames[-1]] * HELD]:
                for one, line in zip(frame, curves, strict=True):
                    if line is not None and one.mark is not None:
                        line.set_data(one.x, drawable(one.y, axes))
                writer.grab_frame()
        return file.read_bytes()


def asciicast(series: Sequence[Series], axes: Axes, caption: str = "") -> bytes:
    """The chart as a recording in asciicast v2, which asciinema plays. Source: docs.asciinema.org.

    It is on its own ground: terminals that play it keep their colours, in which lines might be lost.
    """
    words = wrap(caption, COLUMNS, break_on_hyphens=False)
    header: dict[str, Any] = {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS + len(words),
        "title": axes.title,
        "env": {"TERM": "xterm-256color"},
        "theme": {"fg": INK, "bg": GROUND, "palette": ":".join([INK, *[GROUND] * 7])},
    }
    lines = [json.dumps(header, ensure_ascii=False)]
    for number, frame in enumerate(growing(series, axes, FRAMES)):
        rows = [*printed(frame, axes, COLUMNS, ROWS, colour=True).split("\n"), *words]
        text = HOME + "\r\n".join(_on_ground(row) for row in rows) + PLAIN
        lines.append(_event(number / PER_SECOND, f"{HIDE}{CLEAR}{text}" if number == 0 else text))
    lines.append(_event((FRAMES + HELD) / PER_SECOND, SHOW))
    return ("\n".join(lines) + "\n").encode()


def _on_ground(row: str) -> str:
    """A row in the colours of a page, to the end of its line whatever was there before."""
    (ink, ground) = (";".join(map(str, triplet(colour))) for colour in (INK, GROUND))
    page = f"\x1b[38;2;{ink};48;2;{ground}m"
    return f"{page}{row.replace(PLAIN, PLAIN + page)}{TO_THE_END}"


def _event(seconds: float, output: str) -> str:
    return json.dumps([round(seconds, 3), "o", output], ensure_ascii=False)
