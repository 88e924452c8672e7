"""Preview of a preset: its text, and a stored thumbnail, which is a picture made of characters.

The colour of each character is stored as a letter, because themes have different colours. In a chart, a
letter stands for a colour of the palette, and an accented letter for its faded version. In a heat map, a
letter, a digit, "+" or "/" stands for a step of the colour map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from engine.core import files
from hadamard_tui.browsing.preset_list import NEW, OWN_TABLE
from hadamard_tui.charts.drawing.frame import frame
from hadamard_tui.charts.drawing.heat_sheet import BLACK, DIGITS, GROUND, INKS, WHITE, compose
from hadamard_tui.charts.drawing.raster import elided, paint_series, runs, write_text
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import faded, parse_colour
from hadamard_tui.colours.palette import STEPS, colour_map, hex_colour
from hadamard_tui.running.progress import duration_in_words
from hadamard_tui.tours import talks

if TYPE_CHECKING:
    from engine.spec.preset_index import PresetEntry
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.series import Axes, Series
    from hadamard_tui.tours import Talk


WIDTH, HEIGHT = 46, 13
"""Size of a thumbnail in screen cells."""

LEGEND_LINES, GAP = 3, 2
"""Maximum number of rows of a thumbnail's legend, and number of blanks between its entries."""

FRAME, BARE, OVER = ".", " ", "#"
"""Colour letters for the frame of a picture, its background, and curves over a heat map."""

STEP_LETTERS = f"{digits}{ascii_letters}+/"
FADED = 1 << 7
"""Number to add to the character code of a colour letter to get the letter of the faded colour."""

BLANK = ord(" ")


class Thumbnail(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Stored picture of a preset's run.

    Args:
        digest: digest of the preset's text at the time of the run, as in `preset_index.PresetEntry`.
        seconds: duration of the run on one processor core.
        caption: sentence that states the finding of the picture.
        text: rows of characters.
        inks: for each row, the colour letters of its characters.
        grounds: for each row, the colour letters of the backgrounds; empty for a chart.
    """

    digest: str
    seconds: float
    caption: str
    text: tuple[str, ...]
    inks: tuple[str, ...]
    grounds: tuple[str, ...] = ()


def of_chart(series: Sequence[Series], axes: Axes) -> dict[str, tuple[str, ...]]:
    """Return the fields `text` and `inks` for the thumbnail of a chart, without its title.

    The series must have colours of the current palette.
    """
    names = _legend_entries(series)
    rows = HEIGHT - 1 - max((row for row, _, _, _ in names), default=-1)
    surround = frame(replace(axes, title=""), WIDTH, rows)
    picture = paint_series(series, axes, surround.columns, surround.rows)
    glyphs = np.full((HEIGHT, WIDTH), BLANK, dtype=np.uint32)
    inks = np.full(glyphs.shape, ord(FRAME), dtype=np.uint32)
    for row, line in enumerate(surround.lines):
        write_text(glyphs, row, 0, line)
    plain = np.array(
        [*map(_colour_letter, series), ord(FRAME)], dtype=np.uint32
    )  # −1 (no series) selects the last
    area = np.s_[
        surround.top : surround.top + surround.rows, surround.left : surround.left + surround.columns
    ]
    glyphs[area] = picture.glyphs
    inks[area] = plain[picture.colours] + FADED * picture.faint
    for row, column, text, ink in names:
        if (span := write_text(glyphs, rows + row, column, text)) is not None:
            inks[rows + row, span] = ink
    return {"text": _text_lines(glyphs), "inks": _text_lines(np.where(glyphs == BLANK, ord(FRAME), inks))}


def _legend_entries(series: Sequence[Series]) -> list[tuple[int, int, str, int]]:
    """Return row, column, text and colour letter of each legend entry. A full legend ends in an ellipsis.

    The legend lists the curves that have both a letter and a name.
    """
    entries: list[tuple[int, int, str, int]] = []
    row, column = 0, 0
    for curve in series:
        if not (curve.mark and curve.name):
            continue
        text = elided(f"{curve.mark} {curve.name}", WIDTH)
        if column and column + cell_len(text) > WIDTH:
            row, column = row + 1, 0
        if row == LEGEND_LINES:
            return _ending_in_ellipsis(entries)
        entries.append((row, column, text, _colour_letter(curve)))
        column += cell_len(text) + GAP
    return entries


def _ending_in_ellipsis(entries: Sequence[tuple[int, int, str, int]]) -> list[tuple[int, int, str, int]]:
    row, column, text, _ = entries[-1]
    end = column + cell_len(text) + 1
    if end < WIDTH:
        return [*entries, (row, end, "…", ord(FRAME))]
    return [*entries[:-1], (row, column, "…", ord(FRAME))]


def _colour_letter(series: Series) -> int:
    return ord(ascii_letters[palette.current().of_charts.index(series.colour)])


def of_heat_map(heat: HeatMap) -> dict[str, tuple[str, ...]]:
    """Return the fields `text`, `inks` and `grounds` for the thumbnail of a heat map, without its title."""
    cells = compose(replace(heat, title=""), WIDTH, HEIGHT, colour_map(dark_is_more=False)).cells
    letters = np.full(INKS, ord(FRAME), dtype=np.uint32)
    letters[:STEPS] = [ord(letter) for letter in STEP_LETTERS]
    letters[GROUND], letters[[BLACK, WHITE]] = ord(BARE), ord(OVER)
    return {
        "text": _text_lines(cells.glyphs),
        "inks": _text_lines(letters[cells.fore]),
        "grounds": _text_lines(letters[cells.back]),
    }


def shown(thumbnail: Thumbnail, coloured: bool = True) -> Text:
    """Return a thumbnail in the colours of the current palette.

    Unless `coloured`, a heat map shows its values as digits.
    """
    heat = bool(thumbnail.grounds)
    style = _heat_map_style if heat else _chart_style
    grounds = thumbnail.grounds or tuple(BARE * len(line) for line in thumbnail.inks)
    text = Text(no_wrap=True, end="")
    for line, inks, behind in zip(thumbnail.text, thumbnail.inks, grounds, strict=True):
        if heat and not coloured:
            text.append("".join(map(_tenths_digit, line, inks, behind)))
        else:
            pairs = np.array([ord(ink) << 8 | ord(ground) for ink, ground in zip(inks, behind, strict=True)])
            for part, pair in runs(np.array([*map(ord, line)], dtype=np.uint32), pairs):
                text.append(part, style(chr(pair >> 8), chr(pair & 255)))
        text.append("\n")
    text.rstrip()
    return text


def _chart_style(ink: str, ground: str) -> Style:
    if ink == FRAME:
        return Style(dim=True)
    is_faded = ord(ink) >= FADED
    colour = palette.current().of_charts[ascii_letters.index(chr(ord(ink) - FADED * is_faded))]
    return Style(color=parse_colour(faded(colour) if is_faded else colour))


def _heat_map_style(ink: str, ground: str) -> Style:
    colours = colour_map(palette.current().dark_is_more)
    behind = STEP_LETTERS.find(ground)
    if ink == OVER:
        colour = "#000000" if colours.light[behind] else "#ffffff"
    elif (step := STEP_LETTERS.find(ink)) >= 0:
        colour = hex_colour(colours.colours[step])
    else:
        return Style(dim=True)
    return Style(
        color=parse_colour(colour),
        bgcolor=parse_colour(hex_colour(colours.colours[behind])) if behind >= 0 else None,
    )


def _tenths_digit(character: str, ink: str, ground: str) -> str:
    step = STEP_LETTERS.find(ink)
    return character if step < 0 else str(step * DIGITS // STEPS)


def _text_lines(cells: np.ndarray) -> tuple[str, ...]:
    return tuple("".join(map(chr, row)) for row in cells.tolist())


NO_CHART = "No chart is stored: the preset is new, or has changed since the charts were drawn."
NO_CHART_OF_YOURS = "Only built-in presets have stored charts."


FILE = Path(__file__).with_name("thumbnails.json")


def preview(entry: PresetEntry, coloured: bool = True) -> Text:
    if entry.name in (NEW, OWN_TABLE):
        return Text.assemble((entry.title, "bold"), f"\n\n{entry.story}")
    if (path := talks().get(entry.name)) is not None:
        return _stop_list(path)
    stored = shipped().get(entry.name)
    current = stored is not None and stored.digest == entry.digest
    text = Text.assemble(
        (entry.title or "No title", "bold"), "\n", (_entry_facts(entry, stored), "dim"), "\n"
    )
    if stored is not None and current:
        text.append_text(shown(stored, coloured)).append("\n\n")
        text.append(f"{stored.caption}\n", "italic")
    else:
        text.append(f"\n{NO_CHART_OF_YOURS if entry.name.endswith('.toml') else NO_CHART}\n", "italic")
    if story := " ".join(entry.story.split()):
        text.append(f"\n{story}\n")
    if entry.learners:
        text.append("\nLearners: ", "bold").append(f"{', '.join(entry.learners)}\n")
    if entry.claims:
        text.append("\nIt claims\n", "bold").append("".join(f"· {claim}\n" for claim in entry.claims))
    if entry.source:
        text.append(f"\nSource: {entry.source}", "dim")
    return text


def _stop_list(path: Talk) -> Text:
    about = f"{len(path.stops)} presets. For each preset: predict, run, read the explanation."
    text = Text.assemble((path.title, "bold"), "\n", (about, "dim"), "\n")
    for number, stop in enumerate(path.stops, 1):
        text.append(f"\n{number}. {stop.preset}\n", "bold").append(f"{stop.predict}\n")
    return text


def _entry_facts(entry: PresetEntry, stored: Thumbnail | None) -> str:
    counted = [(len(entry.learners), "learner"), (len(entry.claims), "claim")]
    facts = [f"{number} {noun}{'s' * (number != 1)}" for number, noun in counted if number]
    if stored is not None:
        facts.append(f"takes {takes(stored.seconds)}")
    return " · ".join(facts)


def takes(seconds: float) -> str:
    return "less than a second" if seconds < 1 else duration_in_words(seconds)


@cache
def shipped() -> Mapping[str, Thumbnail]:
    return read_file(FILE)


def read_file(file: Path) -> dict[str, Thumbnail]:
    """Return the thumbnails in a file by preset name; none if the file does not exist.

    Raises: OSError; msgspec.ValidationError for a file with other content.
    """
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Thumbnail]) if file.exists() else {}


def write_file(file: Path, thumbnails: Mapping[str, Thumbnail]) -> None:
    """Write thumbnails to a file, one line per preset to keep diffs readable. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f"{encode(preset_name).decode()}: {encode(thumbnail).decode()}"
        for preset_name, thumbnail in sorted(thumbnails.items())
    ]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "thumbnails")
