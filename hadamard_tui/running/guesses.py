"""What people guess before a run: after how many examples a learner is below a tenth, and how it came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.pictures.view_names import short_name
from hadamard_tui.charts.series_builder import letter_of
from hadamard_tui.charts.view_plot import GUESSED

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View

LEVEL = GUESSED
"""The loss that is guessed about."""

BEST, RIGHT = 100, 50
"""The score of an exact guess, and the least score that counts as right on a path: a factor of two."""


@dataclass
class Guesses:
    """A guess for each learner, one after the other.

    Args:
        places: where on the x-axis there are going to be records; behind the last it is "never".
        learners: whom the guesses are about, in this order.
    """

    places: np.ndarray
    learners: Sequence[str]
    _records: dict[str, int] = field(default_factory=dict)
    guessed: int = 0

    @property
    def learner(self) -> str | None:
        """The learner that is guessed about now; None once all were."""
        return self.learners[self.guessed] if self.guessed < len(self.learners) else None

    def move(self, records: int) -> None:
        """Move the present guess by so many records, at most behind the last."""
        if (name := self.learner) is not None:
            self._records[name] = min(max(self._record(name) + records, 0), len(self.places))

    def take(self) -> None:
        """Keep the guess and go to the next learner."""
        if (name := self.learner) is not None:
            self._records[name] = self._record(name)
            self.guessed += 1

    def x(self, name: str) -> float | None:
        """Where a learner is guessed to be below the level; None for never."""
        record = self._record(name)
        return float(self.places[record]) if record < len(self.places) else None

    @property
    def made(self) -> dict[str, float | None]:
        """The guesses that were kept, by the name of the learner."""
        return {name: self.x(name) for name in self.learners[: self.guessed]}

    def _record(self, name: str) -> int:
        return self._records.get(name, len(self.places) // 2)


def outcome(curve: CurveView) -> float | None:
    """From where on a curve is below the level; None if it is not at its end."""
    places = np.flatnonzero(~np.isnan(curve.y))
    above = np.flatnonzero(curve.y[places] >= LEVEL)
    first = int(above[-1]) + 1 if len(above) else 0
    return float(curve.x[places[first]]) if first < len(places) else None


def score(guess: float | None, came_out: float | None) -> int:
    """100 for a guess that is right, 50 for one that is wrong by a factor of 2, 0 for a false "never"."""
    if guess is None or came_out is None:
        return BEST if guess == came_out else 0
    if guess == came_out:
        return BEST
    low, high = sorted((max(guess, 0.0), max(came_out, 0.0)))
    return round(BEST * low / high)


def scores(guesses: Mapping[str, float | None], view: View) -> list[int]:
    """The score of each guess."""
    return [
        score(guesses[curve.learner], outcome(curve))
        for curve in view.curves
        if curve.learner in guesses and curve.chosen
    ]


def scored(guesses: Mapping[str, float | None], view: View) -> str:
    """Every guess beside what came out, and the mean score."""
    parts = []
    for curve in view.curves:
        if curve.learner in guesses and curve.chosen:
            guess, came_out = guesses[curve.learner], outcome(curve)
            name = f"{letter_of(curve)} ({short_name(view, curve)})"
            parts.append(f"{name} guessed {in_words(guess)}, it was {in_words(came_out)}")
    if not parts:
        return ""
    points = scores(guesses, view)
    return f"Score {round(sum(points) / len(points))} of {BEST}: {'; '.join(parts)}."


def in_words(x: float | None) -> str:
    """A place on the x-axis, or that there is none."""
    return "never" if x is None else f"{x:g}"
