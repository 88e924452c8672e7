"""Preview of a preset before it is opened: its text and its stored picture."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from engine.core import files
from hadamard_tui.browsing import thumbnail
from hadamard_tui.browsing.catalogue import NEW
from hadamard_tui.browsing.thumbnail import Thumbnail
from hadamard_tui.running.progress import in_words
from hadamard_tui.tours import talks

if TYPE_CHECKING:
    from engine.spec.preset_index import Entry
    from hadamard_tui.tours import Talk

NO_CHART = "No chart is stored: the preset is new, or has changed since the charts were drawn."
NO_CHART_OF_YOURS = "Only the shipped presets have stored charts."


FILE = Path(__file__).with_name("thumbnails.json")


def preview(entry: Entry, coloured: bool = True) -> Text:
    """Return title, cost, chart, story, claims and source of a preset, or the stops of a path."""
    if entry.name == NEW:
        return Text.assemble((entry.title, "bold"), f"\n\n{entry.story}")
    if (path := talks().get(entry.name)) is not None:
        return _stops(path)
    stored = shipped().get(entry.name)
    current = stored is not None and stored.digest == entry.digest
    text = Text.assemble((entry.title or "No title", "bold"), "\n", (_facts(entry, stored), "dim"), "\n")
    if stored is not None and current:
        text.append_text(thumbnail.shown(stored, coloured)).append("\n\n")
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


def _stops(path: Talk) -> Text:
    """Return the title of a path, and the question of each stop."""
    about = f"{len(path.stops)} stops: predict, run, why, break it"
    text = Text.assemble((path.title, "bold"), "\n", (about, "dim"), "\n")
    for number, stop in enumerate(path.stops, 1):
        text.append(f"\n{number}. {stop.preset}\n", "bold").append(f"{stop.predict}\n")
    return text


def _facts(entry: Entry, stored: Thumbnail | None) -> str:
    """Return the numbers of learners and claims, and the time of a run."""
    counted = [(len(entry.learners), "learner"), (len(entry.claims), "claim")]
    facts = [f"{number} {noun}{'s' * (number != 1)}" for number, noun in counted if number]
    if stored is not None:
        facts.append(f"takes {takes(stored.seconds)}")
    return " · ".join(facts)


def takes(seconds: float) -> str:
    """Return the time of a run on one processor core, in words."""
    return "less than a second" if seconds < 1 else in_words(seconds)


@cache
def shipped() -> Mapping[str, Thumbnail]:
    """Return the shipped thumbnails, by preset."""
    return read(FILE)


def read(file: Path) -> dict[str, Thumbnail]:
    """Return the thumbnails of a file, by preset; none if there is no file.

    Raises: OSError; msgspec.ValidationError for a file with other content.
    """
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Thumbnail]) if file.exists() else {}


def write(file: Path, thumbnails: Mapping[str, Thumbnail]) -> None:
    """Write a file with one line per preset, so that differences are readable. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f"{encode(name).decode()}: {encode(thumbnail).decode()}"
        for name, thumbnail in sorted(thumbnails.items())
    ]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "thumbnails")
