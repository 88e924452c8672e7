"""A view: what a picture shows of results, as arrays. Charts, tables, files and claims read nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import Group
from engine.spec.axis import NEAR
from engine.spec.picture import Picture

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Apart = tuple[int, ...]
"""The number of the value of each axis that tells curves apart."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""What arithmetic alone may move a loss, relative to the initial loss."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveView:
    """A curve of a picture."""

    name: str
    """That of the learner, maybe at one of its rates, with the values of the axes that tell curves apart."""

    learner: str
    apart: Apart = ()
    chosen: bool = True
    """Whether it stands for its learner: of several rates the best so far does."""

    x: Floats
    y: Floats
    """The summary over replicas [N], NaN where there is none."""

    stderr: Floats | None
    """Its standard error over replicas [N]; None for a single replica, and where a summary has none."""

    replicas: int
    summary: str = "mean"
    """What it is of the replicas."""

    over: Callable[[Sequence[int]], Floats]
    """The same curve made of some of the replicas alone [N]."""

    lost: Counts
    """How many replicas have diverged at every place, so that y is over the others [N]."""

    diverged: int
    """How many replicas have diverged in the end, wherever on the axes it is."""

    diverged_at: float | None
    """The first place at which a replica has diverged; it may lie behind the last of x."""

    is_reference: bool = False
    """Whether the learner is one that others are compared with, drawn as a line of the theory."""

    complete: bool
    """Whether nothing is still to come, and no replica was lost on the way."""

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Where the summary is over all replicas [N]."""
        return np.asarray(self.lost == 0)

    def place(self, x: float) -> int | None:
        """The number of the place at x; None if nothing is there."""
        found = np.flatnonzero(np.abs(self.x - x) <= NEAR * abs(x))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True, eq=False)
class ContourView:
    """A line of the theory over a heat map, to be drawn where it has a level."""

    name: str
    kind: str
    direction: str
    level: float
    values: Floats
    """The line at every place of the map [M, N], NaN where it has no value."""


@dataclass(frozen=True, eq=False)
class HeatView:
    """A learner over two dimensions."""

    learner: str
    x: Floats
    """Increasing, [N]."""

    y: Floats
    """Increasing, [M]."""

    z: Floats
    """The summary over replicas [M, N], NaN where there is none."""

    stderr: Floats | None
    """Its standard error; None for a single replica."""

    contours: tuple[ContourView, ...] = ()

    def contour(self, kind: str) -> ContourView:
        """The contour of this name, or of the line of this kind. Raises: KeyError."""
        for contour in self.contours:
            if kind in (contour.name, contour.kind):
                return contour
        raise KeyError(kind)


@dataclass(frozen=True, eq=False, kw_only=True)
class LineView:
    """A line of the theory in a picture, after the same steps as the curves."""

    name: str
    kind: str
    apart: Apart = ()
    curve: str = ""
    """The name of the curve whose own it is; empty if it is the same for all."""

    direction: str
    formula: str
    group: Group | None = None
    """The group under which the learners that it binds are invariant, if it binds them for that."""

    in_expectation: bool = True
    """Whether it is about the expectation, from which a single run may stray."""

    applies_to: tuple[str, ...]
    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class View:
    """A picture filled with what there is by now."""

    picture: Picture
    x_label: str
    y_label: str
    x_log: bool
    y_log: bool
    rounding: float
    """What arithmetic alone may move a value, relative to the first one."""

    rows_log: bool = False
    """Whether the y of a heat map is an axis that is logarithmic."""

    curves: list[CurveView] = field(default_factory=list)
    lines: list[LineView] = field(default_factory=list)
    heats: list[HeatView] = field(default_factory=list)
    """One per learner, in place of curves, where the picture has a y."""

    absent: dict[str, str] = field(default_factory=dict)
    """Why a line of the theory is not here, by its kind."""

    def curve(self, name: str) -> CurveView:
        """The curve of this name, or the one that stands for the learner of this name. Raises: KeyError."""
        candidates = [one for one in self.curves if one.learner == name]
        for curve in (*(one for one in self.curves if one.name == name), *candidates):
            if curve.name == name or curve.chosen:
                return curve
        raise KeyError(name)

    def heat(self, learner: str) -> HeatView:
        """The heat map of a learner. Raises: KeyError."""
        for heat in self.heats:
            if heat.learner == learner:
                return heat
        raise KeyError(learner)

    def line(self, kind: str, curve: str) -> LineView:
        """The line of the theory of this name or kind that is about a curve. Raises: KeyError.

        It is at the same values of the axes that tell curves apart.
        """
        apart = next((one.apart for one in self.curves if one.name == curve), ())
        for line in self.lines:
            about = not line.curve or curve == line.curve or curve.startswith(f"{line.curve}, ")
            about = about and line.apart == apart
            if kind == line.name or (kind == line.kind and about):
                return line
        raise KeyError(kind)

    def at(self, apart: Apart) -> View:
        """The curves and lines at one value of the axes that tell curves apart."""
        curves = [curve for curve in self.curves if curve.apart == apart]
        lines = [line for line in self.lines if line.apart == apart]
        return replace(self, curves=curves, lines=lines)
