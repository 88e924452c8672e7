"""A guided tour through presets, for a lecture or for a screen that runs alone."""

from __future__ import annotations

from collections.abc import Sequence

from hadamard_tui.editing.editable_experiment import EditableExperiment

STOPS = (
    "hadamard-128",
    "hadamard-128-weights",
    "dense-128",
    "kernels-128",
    "rotated-128",
    "gaussian-128",
    "zero-one-128",
    "upper-bound-128",
    "sparse-solvers-128",
    "xor-products-128",
)
"""From the one picture that says it all to what it does not depend on, where it ends, and why."""

REST = 6.0
"""Seconds that a finished run stays on the screen when the tour runs alone."""


class Tour:
    """Where a tour stands. Seeds are those of the presets, so that it is the same each time."""

    def __init__(self, stops: Sequence[str] = STOPS, alone: bool = False) -> None:
        """`alone`: the tour goes on by itself, from the end to the start again."""
        self.stops, self.alone = tuple(stops), alone
        self.place = 0

    @property
    def editable(self) -> EditableExperiment:
        """The set-up of this stop."""
        return EditableExperiment.of(self.stops[self.place])

    def move(self, by: int) -> bool:
        """Go on or back; False where there is nothing further, which only a tour alone does not mind."""
        place = self.place + by
        if self.alone:
            place %= len(self.stops)
        if not 0 <= place < len(self.stops):
            return False
        self.place = place
        return True
