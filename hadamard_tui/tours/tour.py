"""A guided tour through presets, for a lecture, for a screen that runs alone, or for somebody who learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from engine.spec import presets

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment

REST = 6.0
"""Seconds that a finished run stays on the screen in a tour that runs alone."""


class Break(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A change that takes the theorem of a stop away.

    Args:
        set: the change, such as `problem.matrix.d=256`.
        claim: what a run with it shows, as presets state claims. Its text is what people read.
    """

    set: Annotated[tuple[str, ...], Meta(min_length=1)]
    claim: dict[str, Any]

    @property
    def text(self) -> str:
        """Result of a run with the change, in words."""
        return str(self.claim.get("text", ""))


class Stop(NamedTuple):
    """A preset, and what is shown of it.

    Args:
        panel: the panel that is spoken of; none where the chart says it all.
        line: what the speaker says, or why the run came out as it did; nothing for the story of the preset.
        changes: of the preset, such as `problem.matrix.d=256`.
        predict: a question to answer before the run.
        breaks: the change that takes its theorem away, if any.
    """

    preset: str
    panel: str | None = None
    line: str = ""
    changes: tuple[str, ...] = ()
    predict: str = ""
    breaks: Break | None = None


def broken(stop: Stop, change: Break) -> Raw:
    """Return the document of a stop with its break, whose claim is the only one. Raises: BadInput."""
    from engine.spec import documents

    document = presets.document(stop.preset, (*stop.changes, *change.set, "claims=[]"))
    document["claims"] = [change.claim]
    documents.sweep_of(document)
    return document


class Tour:
    """The position of a tour. Its seeds are those of the presets, so that each tour is the same."""

    def __init__(self, stops: Sequence[Stop], alone: bool = False) -> None:
        """`alone`: the tour goes on by itself, and starts again at its end."""
        self.stops, self.alone = tuple(stops), alone
        self.place = 0
        self.scores: dict[int, Sequence[bool]] = {}
        """Whether the guesses of each stop were right."""

    @property
    def stop(self) -> Stop:
        """Present stop."""
        return self.stops[self.place]

    @property
    def editable(self) -> EditableExperiment:
        """Set-up of this stop."""
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        return EditableExperiment.of(self.stop.preset, self.stop.changes)

    @property
    def score(self) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        guesses = [is_right for stop in self.scores.values() for is_right in stop]
        return sum(guesses), len(guesses)

    def move(self, by: int) -> bool:
        """Go on or back. Return False at the end; a tour alone starts again there."""
        place = self.place + by
        if self.alone:
            place %= len(self.stops)
        if not 0 <= place < len(self.stops):
            return False
        self.place = place
        return True
