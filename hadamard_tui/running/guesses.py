"""Guesses and their scores. Before a run, the user guesses at which x each learner's loss falls below 0.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.pictures.wording import short_name
from hadamard_tui.charts.plots.series_builder import letter_of
from hadamard_tui.charts.plots.view_plot import GUESSED

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View

LEVEL = GUESSED
"""Level of the loss in guesses: the user guesses at which x the loss of a learner falls below this level."""

RIGHT_FACTOR = 2
"""Largest ratio between the guessed and the measured x of a guess that counts as right."""


@dataclass
class Guesses:
    """Guesses in progress: the user makes one guess per learner, one learner after the other.

    Args:
        places: the value of x at each evaluation point of the coming run. A guess after the last evaluation
            point means "never".
        learners: names of the learners, in the order of the guesses.
        guessed: number of confirmed guesses.
    """

    places: np.ndarray
    learners: Sequence[str]
    _records: dict[str, int] = field(default_factory=dict)
    guessed: int = 0

    @property
    def learner(self) -> str | None:
        """Name of the learner that the current guess is about; None if all guesses are confirmed."""
        return self.learners[self.guessed] if self.guessed < len(self.learners) else None

    def move(self, records: int) -> None:
        """Move the current guess by a number of evaluation points.

        It moves at most to one position after the last evaluation point, which means "never".
        """
        if (learner_name := self.learner) is not None:
            self._records[learner_name] = min(max(self._record(learner_name) + records, 0), len(self.places))

    def take(self) -> None:
        """Confirm the current guess, and go to the next learner."""
        if (learner_name := self.learner) is not None:
            self._records[learner_name] = self._record(learner_name)
            self.guessed += 1

    def x(self, name: str) -> float | None:
        """Return the x at which the user guesses that a learner's loss falls below 0.1; None for "never"."""
        record = self._record(name)
        return float(self.places[record]) if record < len(self.places) else None

    @property
    def confirmed(self) -> dict[str, float | None]:
        """Confirmed guesses, by learner name; None for "never"."""
        return {learner_name: self.x(learner_name) for learner_name in self.learners[: self.guessed]}

    def _record(self, learner_name: str) -> int:
        return self._records.get(learner_name, len(self.places) // 2)


def outcome(curve: CurveView) -> float | None:
    """Return the first x from which a curve stays below LEVEL, or None if the curve does not end below it."""
    places = np.flatnonzero(~np.isnan(curve.y))
    above = np.flatnonzero(curve.y[places] >= LEVEL)
    first = int(above[-1]) + 1 if len(above) else 0
    return float(curve.x[places[first]]) if first < len(places) else None


def is_right(guess: float | None, came_out: float | None) -> bool:
    """Return whether a guessed x and the measured x differ by a factor of two at most.

    If one of guess and outcome is None ("never"), the other must be None, too.
    """
    if guess is None or came_out is None:
        return guess == came_out
    low, high = sorted((guess, came_out))
    return high <= RIGHT_FACTOR * low


def judged(guesses: Mapping[str, float | None], view: View) -> list[bool]:
    """Return for each guess of a user on when a learner's loss falls below 0.1 whether it is right."""
    return [
        is_right(guesses[curve.learner], outcome(curve))
        for curve in view.curves
        if curve.learner in guesses and curve.chosen
    ]


def scored(guesses: Mapping[str, float | None], view: View) -> str:
    """Return a sentence with the score, every guess and every outcome; empty if there are no guesses.

    The score is the number of right guesses, as on a guided path.
    """
    parts = []
    for curve in view.curves:
        if curve.learner in guesses and curve.chosen:
            guess, came_out = guesses[curve.learner], outcome(curve)
            learner_name = f"{letter_of(curve)} ({short_name(view, curve)})"
            parts.append(f"{learner_name}: guess {in_words(guess)}, result {in_words(came_out)}")
    if not parts:
        return ""
    right = judged(guesses, view)
    return f"Score {sum(right)}/{len(right)} within a factor of two: {'; '.join(parts)}."


def in_words(x: float | None) -> str:
    """Return a guessed or measured x as text."""
    return "never" if x is None else f"{x:g}"
