"""What is shown of a preset before it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from hadamard_tui.browsing import thumbnail, thumbnails
from hadamard_tui.running.progress import in_words

if TYPE_CHECKING:
    from engine.spec.preset_index import Entry
    from hadamard_tui.browsing.thumbnail import Thumbnail

NO_CHART = "There is no chart of it yet: it is new, or was changed since the others were drawn."
NO_CHART_OF_YOURS = "Charts are kept of the presets that come with the program."


def preview(entry: Entry, coloured: bool = True) -> Text:
    """Title, cost, chart, story, claims and source of a preset."""
    kept = thumbnails.shipped().get(entry.name)
    current = kept is not None and kept.digest == entry.digest
    text = Text.assemble((entry.title or "No title", "bold"), "\n", (_facts(entry, kept), "dim"), "\n")
    if kept is not None and current:
        text.append_text(thumbnail.shown(kept, coloured)).append("\n\n")
        text.append(f"{kept.caption}\n", "italic")
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


def _facts(entry: Entry, kept: Thumbnail | None) -> str:
    """How much there is, and how long a run takes."""
    counted = [(len(entry.learners), "learner"), (len(entry.claims), "claim")]
    facts = [f"{number} {what}{'s' * (number != 1)}" for number, what in counted if number]
    if kept is not None:
        facts.append(f"takes {takes(kept.seconds)}")
    return " · ".join(facts)


def takes(seconds: float) -> str:
    """How long a run takes on one processor core, in words."""
    return "less than a second" if seconds < 1 else in_words(seconds)
