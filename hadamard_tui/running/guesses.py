"""Guesses before a run: at which x does each learner's loss fall below 0.1? The run shows which are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hadamard_tui.charts.plots.series_builder import letter_of
from hadamard_tui.charts.plots.view_plot import GUESSED

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View

LEVEL = GUESSED
"""Level of the loss in guesses. The user guesses the x at which a learner's loss falls below this level."""

RIGHT_FACTOR = 2
"""Largest factor between the guessed x and the measured x for which the guess counts as right."""


@dataclass
class Guesses:
    """The user's guesses, one per learner.

    Args:
        places: value of x at each evaluation point of the coming run. A guess after the last evaluation point
            means "never".
        learners: names of the learners to guess about.
    """

    places: np.ndarray
    learners: Sequence[str]
    _records: dict[str, int] = field(default_factory=dict)
    _confirmed: list[str] = field(default_factory=list)
    """Names of the learners with a confirmed guess, the latest last."""
    _current: int = 0

    @property
    def learner(self) -> str | None:
        """Name of the learner whose guess is being made; None if all guesses are confirmed."""
        is_complete = len(self._confirmed) == len(self.learners)
        return None if is_complete else self.learners[self._current]

    @property
    def last_confirmed(self) -> str | None:
        return self._confirmed[-1] if self._confirmed else None

    @property
    def remaining(self) -> int:
        """Number of learners without a confirmed guess."""
        return len(self.learners) - len(self._confirmed)

    def move(self, records: int) -> None:
        """Move the current guess by a number of evaluation points.

        The guess stops one position after the last evaluation point. This position means "never".
        """
        if (learner_name := self.learner) is not None:
            self._records[learner_name] = min(
                max(self._place_of_guess(learner_name) + records, 0), len(self.places)
            )

    def move_to(self, x: float) -> None:
        """Move the current guess to the evaluation point nearest to `x`."""
        if (learner_name := self.learner) is not None:
            self._records[learner_name] = int(np.abs(self.places - x).argmin())

    def take(self) -> None:
        """Confirm the current guess, and go to the next learner without a confirmed guess."""
        if (learner_name := self.learner) is not None:
            self._records[learner_name] = self._place_of_guess(learner_name)
            self._confirmed.append(learner_name)
            self.skip(1)

    def skip(self, by: int) -> None:
        """Go to the next (`by` = 1) or previous (-1) learner without a confirmed guess, if there is one."""
        for _ in self.learners:
            self._current = (self._current + by) % len(self.learners)
            if self.learners[self._current] not in self._confirmed:
                return

    def take_back(self) -> bool:
        """Go back to the guess that was confirmed last. Return False if no guess is confirmed."""
        if not self._confirmed:
            return False
        self._current = self.learners.index(self._confirmed.pop())
        return True

    def x(self, name: str) -> float | None:
        record = self._place_of_guess(name)
        return float(self.places[record]) if record < len(self.places) else None

    @property
    def confirmed(self) -> dict[str, float | None]:
        return {
            learner_name: self.x(learner_name)
            for learner_name in self.learners
            if learner_name in self._confirmed
        }

    def _place_of_guess(self, learner_name: str) -> int:
        return self._records.get(learner_name, len(self.places) // 2)


def outcome(curve: CurveView) -> float | None:
    """Return the first x from which a curve stays below LEVEL, or None if its last value is not below it."""
    places = np.flatnonzero(~np.isnan(curve.y))
    above = np.flatnonzero(curve.y[places] >= LEVEL)
    first = int(above[-1]) + 1 if len(above) else 0
    return float(curve.x[places[first]]) if first < len(places) else None


def is_right(guess: float | None, came_out: float | None) -> bool:
    """Return whether guess and outcome differ by at most the factor RIGHT_FACTOR.

    None means "never". If both are None, the guess is right. If only one of them is None, it is wrong.
    """
    if guess is None or came_out is None:
        return guess == came_out
    low, high = sorted((guess, came_out))
    return high <= RIGHT_FACTOR * low


def judged(guesses: Mapping[str, float | None], view: View) -> list[bool]:
    return [
        is_right(guesses[curve.learner], outcome(curve))
        for curve in view.curves
        if curve.learner in guesses and curve.chosen
    ]


def scored(guesses: Mapping[str, float | None], view: View) -> str:
    """Return a sentence with each guess, its outcome and whether it is right; "" without guesses.

    An example is "Guess → result (1/2 within a factor of two): A 61 → 116 ✓, C 64 → 30 ✗."
    """
    parts = []
    for curve in view.curves:
        if curve.learner in guesses and curve.chosen:
            guess, came_out = guesses[curve.learner], outcome(curve)
            sign = "✓" if is_right(guess, came_out) else "✗"
            parts.append(f"{letter_of(curve)} {in_words(guess)} → {in_words(came_out)} {sign}")
    if not parts:
        return ""
    right = judged(guesses, view)
    return f"Guess → result ({sum(right)}/{len(right)} within a factor of two): {', '.join(parts)}."


def in_words(x: float | None) -> str:
    return "never" if x is None else f"{x:g}"
