"""A guided tour through presets, for a lecture or for a screen that runs alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class Stop(NamedTuple):
    """A preset, and what is shown of it.

    Args:
        panel: the panel that is spoken of; none where the chart says it all.
        line: what the speaker says; nothing for the story of the preset.
        changes: of the preset, such as `problem.matrix.d=256`.
    """

    preset: str
    panel: str | None = None
    line: str = ""
    changes: tuple[str, ...] = ()


STOPS = (
    Stop("hadamard-128"),
    Stop("hadamard-128-weights", "weights"),
    Stop("dense-128"),
    Stop("kernels-128"),
    Stop("rotated-128"),
    Stop("gaussian-128"),
    Stop("zero-one-128"),
    Stop("upper-bound-128"),
    Stop("sparse-solvers-128"),
    Stop("xor-products-128"),
)
"""From the one picture that says it all to what it does not depend on, where it ends, and why."""

REST = 6.0
"""Seconds that a finished run stays on the screen when the tour runs alone."""


def stop_at(preset: str) -> Stop:
    """The stop at a preset, with its panel if it is one of those above."""
    return next((stop for stop in STOPS if stop.preset == preset), Stop(preset))


class Tour:
    """Where a tour stands. Seeds are those of the presets, so that it is the same each time."""

    def __init__(self, stops: Sequence[Stop] = STOPS, alone: bool = False) -> None:
        """`alone`: the tour goes on by itself, from the end to the start again."""
        self.stops, self.alone = tuple(stops), alone
        self.place = 0

    @property
    def stop(self) -> Stop:
        """Where the tour stands."""
        return self.stops[self.place]

    @property
    def editable(self) -> EditableExperiment:
        """The set-up of this stop."""
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        return EditableExperiment.of(self.stop.preset, self.stop.changes)

    def move(self, by: int) -> bool:
        """Go on or back; False where there is nothing further, which only a tour alone does not mind."""
        place = self.place + by
        if self.alone:
            place %= len(self.stops)
        if not 0 <= place < len(self.stops):
            return False
        self.place = place
        return True
