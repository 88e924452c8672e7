"""A view: what a picture shows of results, as arrays. Charts, tables, files and claims read nothing else.

Where the curves of a picture stand among those of the same kind of learner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core.parts import LearnerKind

if TYPE_CHECKING:
    from engine.core.groups import Group
    from engine.core.parts import Verdict
    from engine.pictures.picture import Marked, Picture


class KindPlace(NamedTuple):
    """Kind of the learner of a curve, and the place of the curve among all of this kind."""

    kind: LearnerKind = "other"
    place: int = 0
    total: int = 1


def kind_places(kinds: Sequence[LearnerKind]) -> list[KindPlace]:
    """Return the kind of each curve, given for all curves in their order, with its place."""
    counts, passed = Counter(kinds), Counter[LearnerKind]()
    places = []
    for kind in kinds:
        places.append(KindPlace(kind, passed[kind], counts[kind]))
        passed[kind] += 1
    return places


FROM_BELOW = ("lower", "conjecture")
"""The directions of lines that are bounds from below, proved or not."""

DIVERGED, LOST_ACCURACY = "diverged", "lost accuracy"

WHY_INACCURATE = (
    "from there on the weights change by more than 0.2 % when the tolerances change, so the curve ends: "
    "take a smaller rtol, another method or an earlier end"
)
"""What it means that a learner has lost accuracy, and what helps."""


def fate(lost: int, inaccurate: int) -> str:
    """What happened to so many replicas that ended early, as a verb, if so many of them lost accuracy."""
    if not inaccurate:
        return DIVERGED
    return LOST_ACCURACY if inaccurate == lost else f"{DIVERGED} or {LOST_ACCURACY}"


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

TYPICAL = ("median", "geometric")
"""Summaries that say what a typical replica has, as the mean does not where few replicas carry it."""

Apart = tuple[int, ...]
"""The number of the value of each axis that the curves are split by."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""What arithmetic alone may move a loss, relative to the initial loss."""

QUIET = 1e-11
"""A curve that stays below this is 0 up to rounding."""

ZERO = 1e-12
"""A bound below this is 0 up to rounding, and nothing is a multiple of it."""

NEAR = 1e-9
"""Places that differ by less than this, relatively, are the same."""


def summaries_agree(line: str | None, curve: str) -> bool:
    """Whether a line about one summary of replicas, or None for all, says something of another one."""
    if line is None or curve not in ("mean", *TYPICAL):
        return True
    return (line in TYPICAL) == (curve in TYPICAL)


def _place(places: Floats, x: float) -> int | None:
    """The number of the first place at x; None if there is none."""
    matches = np.flatnonzero(np.abs(places - x) <= NEAR * abs(x))
    return int(matches[0]) if len(matches) else None


class Places(msgspec.Struct, frozen=True, eq=False):
    """The places of a curve on x."""

    planned: int = 0
    """Number of places in the end."""

    clock: Floats | None = None
    """What the clock of its run says at every place [N], where x goes along records; None elsewhere."""

    is_ordered: bool = False
    """Whether x is known to increase, as clocks do."""

    is_passed: bool = False
    """Whether x is measured, so that a curve passes a place: the place is that of the first record beyond."""


class Training(msgspec.Struct, frozen=True, eq=False):
    """The training runs that a curve is made of."""

    verdict: Verdict | None = None
    """Whether the learner is rotation invariant."""

    is_bound: bool = False
    """Whether a proved lower bound binds the learner."""

    backend: str | None = None
    """Name of the backend; None where several computed the curve."""

    rate: float | None = None
    """Rate, if it is one of several or the best of some, and the same all along."""

    grid: Mapping[float, float] = msgspec.field(default_factory=dict)
    """The rates that it is the best of, and the mean of the curve of each."""

    oracle_tuned: bool = False
    """Whether the curve comes once the best of several rates is known."""

    point: int | None = None
    """Number of the point of the axes; None if the curve is of several."""

    is_reference: bool = False
    """Whether the learner is one that others are compared with, drawn as a line of the theory."""


class Ends(msgspec.Struct, frozen=True, eq=False):
    """How far the runs of a curve have come, and the replicas that ended early."""

    lost: Counts
    """Number of replicas that have diverged at every place, so that y is over the others [N]."""

    diverged: int = 0
    """Number of replicas that have diverged in the end, wherever on the axes."""

    diverged_at: float | None = None
    """The first place at which a replica has diverged; it may lie behind the last of x."""

    divergences: Floats = msgspec.field(default_factory=lambda: np.empty(0))
    """Where replicas have diverged on the clock of the run, in order; none where x is no place of a run."""

    fate: str = DIVERGED
    """Verb for the replicas that ended early."""

    ended: bool = False
    """Whether all runs so far have come to their end."""

    complete: bool = False
    """Whether nothing is still to come, and no replica was lost on the way."""

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Where the summary is over all replicas [N]."""
        return np.asarray(self.lost == 0)


class CurveView(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A curve of a picture."""

    name: str
    """That of the learner, maybe at one of its rates, with the values of the axes that split curves."""

    number: int = 0
    """Which of all curves it is, counted from 0; curves that come later do not change it."""

    learner: str
    kind_place: KindPlace | None = KindPlace()
    """Kind of its learner, and its place among the curves of this kind; None for a reference."""

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

    places: Places = Places()
    training: Training = Training()
    ends: Ends

    def place(self, x: float) -> int | None:
        """The number of the place at x, or of the first that has passed it; None if nothing is there."""
        if self.places.is_passed:
            sides = np.sign(self.x - x)
            passed = np.flatnonzero(sides != sides[:1])  # where x starts beyond it nothing passes
            return int(passed[0]) if len(passed) else None
        return _place(self.x, x)


def increases(curve: CurveView) -> bool:
    """Whether x increases from place to place."""
    return curve.places.is_ordered or bool((np.diff(curve.x) >= 0).all())


class ContourView(msgspec.Struct, frozen=True, eq=False):
    """A line of the theory over a heat map, to be drawn where it has a level."""

    name: str
    kind: str
    direction: str
    level: float
    values: Floats
    """The line at every place of the map [M, N], NaN where it has no value."""


class HeatView(msgspec.Struct, frozen=True, eq=False):
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
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and its place among those of this kind; None for a reference."""

    def contour(self, kind: str) -> ContourView:
        """The contour of this name, or of the line of this kind. Raises: KeyError."""
        for contour in self.contours:
            if kind in (contour.name, contour.kind):
                return contour
        raise KeyError(kind)


class LineView(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A line of the theory in a picture, after the same steps as the curves."""

    name: str
    """What presets call it: its kind, whose own it is, and the values of axes."""

    kind: str
    title: str = ""
    """What charts and captions call it; empty: its kind."""

    values: str = ""
    """How its name ends: the values of the axes that curves are split by."""

    apart: Apart = ()
    curve: str = ""
    """The name of the curve whose own it is; empty if it is the same for all."""

    direction: str
    formula: str
    limit: str = ""
    """Of an asymptotic line where its limit is, in words."""

    group: Group | None = None
    """The group under which the learners that it binds are invariant, if it binds them for that."""

    in_expectation: bool = True
    """Whether it is about the expectation, from which a single run may stray."""

    summary: str | None = "mean"
    """What it is about of many replicas; None for a line that goes with every summary."""

    applies_to: tuple[str, ...]
    x: Floats
    y: Floats
    grows: bool = False
    """Whether it is made of what is measured, and ends where runs have come to."""

    of_some: Callable[[Sequence[int]], Floats] | None = None
    """The same line made of some of the replicas alone; None where it is the same for all."""

    @property
    def plain_name(self) -> str:
        """Its name without the values of the axes that curves are split by."""
        return self.name.removesuffix(self.values)

    @property
    def called(self) -> str:
        """What it is called in words."""
        return self.title or self.kind

    def place(self, x: float) -> int | None:
        """The number of the place at x; None if nothing is there."""
        return _place(self.x, x)

    def over(self, replicas: Sequence[int]) -> Floats:
        """The line of some of the replicas."""
        return self.y if self.of_some is None else self.of_some(replicas)

    @cached_property
    def mean(self) -> float:
        """The mean of the line, where it is finite."""
        finite = self.y[np.isfinite(self.y)]
        return float(finite.mean()) if len(finite) else np.nan

    def at(self, x: float) -> float:
        """The line at x, linear between its points; NaN where it is not."""
        return float(np.interp(x, self.x, self.y, left=np.nan, right=np.nan)) if len(self.x) else np.nan

    def is_about(self, curve: CurveView) -> bool:
        """Whether it is there for a curve, be it that it binds it or that the curve may beat it."""
        is_of_curve = not self.curve or curve.name == self.curve or curve.name.startswith(f"{self.curve}, ")
        return is_of_curve and self.apart == curve.apart

    def says(self, curve: CurveView) -> bool:
        """Whether it says something of a curve: of a median one about the mean does not, and vice versa."""
        return self.is_about(curve) and (curve.replicas == 1 or summaries_agree(self.summary, curve.summary))

    def binds(self, curve: CurveView) -> bool:
        """Whether it binds a curve that it speaks of."""
        return bool(self.curve) or curve.learner in self.applies_to


class ViewAxes(msgspec.Struct, frozen=True, eq=False):
    """The axes of a view: their words, their scales, and the lines at places."""

    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    rows_log: bool = False
    """Whether the y of a heat map is an axis that is logarithmic."""

    words: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What charts call axes and measures, where it is not their name."""

    names: Mapping[float, str] = msgspec.field(default_factory=dict)
    """What places on x are called, where they have names."""

    marks: Sequence[Marked] = ()
    """Lines at places that the picture marks, along axes where it says so."""

    clock: str = ""
    """The clock of the protocol."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """The quantity on y."""

    rounding: float
    """What arithmetic alone may move a value, relative to the first one."""

    as_measured: bool = True
    """Whether y is the measure itself, and nothing made of it."""

    divisor: str = ""
    """What y is relative to, in words; nothing where it is not."""


class Absences(msgspec.Struct, frozen=True, eq=False):
    """The lines and learners without a place in a view, with the reasons."""

    lines: dict[str, str] = msgspec.field(default_factory=dict)
    """Why a line of the theory is not here, by its kind."""

    learners: dict[str, str] = msgspec.field(default_factory=dict)
    """Learners without a curve, and where the measure is taken that is not taken of them: "the learner …"."""


class View(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A picture filled with what there is by now."""

    picture: Picture
    axes: ViewAxes
    quantity: Quantity
    absences: Absences = msgspec.field(default_factory=Absences)
    curves: list[CurveView] = msgspec.field(default_factory=list)
    lines: list[LineView] = msgspec.field(default_factory=list)
    heats: list[HeatView] = msgspec.field(default_factory=list)
    """One per learner, in place of curves, where the picture has a y."""

    points: tuple[Floats, Floats] | None = None
    """Examples that the picture shows beside its curves: x and label; None if it shows none."""

    places_of: Callable[[View], Floats] = lambda view: view.known_places
    """Where on the x of such a view there is something, or is going to be."""

    x_of: Callable[[int, float], float | None] = lambda point, clock: None
    """Where on x the run at a point is when its clock says this; None where x is made of something else."""

    y_of: Callable[[int], float | None] = lambda point: None
    """Where on the y of a heat map a point is; None elsewhere."""

    def curve(self, name: str) -> CurveView:
        """The curve of this name, or the one that stands for the learner of this name. Raises: KeyError."""
        candidates = [candidate for candidate in self.curves if candidate.learner == name]
        for curve in (*(candidate for candidate in self.curves if candidate.name == name), *candidates):
            if curve.name == name or curve.chosen:
                return curve
        raise KeyError(name)

    def line(self, kind: str, curve: str) -> LineView:
        """The line of the theory of this name or kind that is about a curve. Raises: KeyError.

        It is at the same values of the axes that curves are split by.
        """
        about = next((candidate for candidate in self.curves if candidate.name == curve), None)
        for line in self.lines:
            if kind == line.name or (kind == line.kind and about is not None and line.is_about(about)):
                return line
        raise KeyError(kind)

    @cached_property
    def known_places(self) -> Floats:
        """Where on x there is something by now, increasing."""
        parts = [curve.x[~np.isnan(curve.y)] for curve in self.curves]
        parts += [heat.x[~np.isnan(heat.z).all(0)] for heat in self.heats]
        places = np.unique(np.concatenate([*parts, np.empty(0)]))
        return np.asarray(places[np.isfinite(places)])

    @cached_property
    def places(self) -> Floats:
        """Where on x there is something, or is going to be, increasing."""
        return self.places_of(self)


def at_values(view: View, apart: Apart) -> View:
    """Return the curves and lines at one value of the axes that curves are split by."""
    curves = [curve for curve in view.curves if curve.apart == apart]
    lines = [line for line in view.lines if line.apart == apart]
    return msgspec.structs.replace(view, curves=curves, lines=lines)


def heat_of(view: View, learner: str) -> HeatView:
    """Return the heat map of a learner. Raises: KeyError."""
    for heat in view.heats:
        if heat.learner == learner:
            return heat
    raise KeyError(learner)


def negligible(view: View) -> float:
    """Return the largest value that counts as 0, however small all others are.

    A measure as it stands says it of itself. Where all curves are QUIET, it is at least that.
    """
    as_it_stands = view.picture.times is None and view.picture.relative is None
    least = view.picture.measure.structure().negligible if as_it_stands else 0.0
    highest = [np.nanmax(np.abs(curve.y), initial=0.0) for curve in view.curves]
    return max(least, QUIET) if highest and max(highest) <= QUIET else least


def is_risk(view: View) -> bool:
    """Whether y is a risk itself."""
    return view.quantity.as_measured and view.picture.measure.structure().is_risk


def along_records(view: View) -> bool:
    """Whether x goes along how far runs have come."""
    return any(curve.places.clock is not None for curve in view.curves)
