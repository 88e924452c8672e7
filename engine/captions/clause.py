"""A part of a caption's sentence, and what captions call the curves and the places of a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from engine.captions.ranges import known
from engine.core.notation import number
from engine.pictures.view import CurveView, View
from engine.pictures.view_names import short_name, x_name
from engine.protocols import CLOCKS

MARK = "\N{INVISIBLE SEPARATOR}"
"""What stands around a name without its letter, until a caption decides how it calls its curves."""


class Clause(NamedTuple):
    """A part of a sentence, at length and in brief."""

    long: str
    brief: str
    of_theory: bool = False
    """Whether it is for the second sentence, on what theory and claims say."""

    named: bool = True
    """Whether it begins with a name, which no capital changes."""

    brief_named: bool = True
    """The same of the brief form."""

    briefer: tuple[str, ...] = ()
    """Ever shorter forms, all with a name first, for where not even the brief one has room."""

    @property
    def in_brief(self) -> Clause:
        """The brief form."""
        return self._replace(long=self.brief, named=self.brief_named)


class Named:
    """A view with what captions call its curves and places."""

    def __init__(self, view: View, letters: Mapping[str, str]) -> None:
        self.view, self._letters = view, letters
        drawn = [curve for curve in view.curves if known(curve).any() and not curve.training.is_reference]
        self.learners = [curve for curve in drawn if curve.chosen]
        """The curves of learners that have values; of several rates that of the best so far."""
        names = [short_name(view, curve) for curve in self.learners]
        self._is_by_letters = any("," in name or "=" in name for name in names)

    def about(self, learners: Sequence[CurveView]) -> Named:
        """The same of some of the curves."""
        some = copy(self)
        some.learners = [*learners]
        return some

    def name(self, curve: CurveView) -> str:
        """The name of a curve with its letter; without that of its learner where there is no other."""
        letter, name = self._letters.get(curve.name), short_name(self.view, curve)
        return f"{letter} ({name})" if letter else name

    def brief(self, curve: CurveView) -> str:
        """The name alone; the letter where commas or signs in one of the names would be taken for the
        sentence's."""
        return self.letter(curve) if self._is_by_letters else f"{MARK}{short_name(self.view, curve)}{MARK}"

    def letter(self, curve: CurveView) -> str:
        """What is least to be said of which curve is meant."""
        return self._letters.get(curve.name) or short_name(self.view, curve)

    def at(self, x: float) -> str:
        """A place on the x-axis, in words."""
        return f"{x_name(self.view)} = {self.place(x)}"

    def place(self, x: float) -> str:
        """The same without the name of the axis."""
        return self.view.axes.names.get(x) or number(x)

    @property
    def along_clock(self) -> bool:
        """Whether x is the clock of a run."""
        return self.view.picture.x in CLOCKS and self.view.picture.reading is None

    def follows(self, x: float, before: float) -> bool:
        """Whether nothing lies between a place and the one before, since x counts."""
        return self.view.picture.x != "time" and x <= before + 1

    @property
    def rounding(self) -> float:
        """What arithmetic may move a value, relative to where the curves start."""
        starts = [abs(float(curve.y[0])) for curve in self.learners if np.isfinite(curve.y[0])]
        return self.view.quantity.rounding * max(starts, default=0.0)
