"""Views: the curves, theory lines and heat maps of a picture as arrays.

Charts, tables, files and claims read results only through views.

The module also numbers the curves whose learners are of the same kind, for their colours.
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
from engine.pictures.summaries import summaries_agree

if TYPE_CHECKING:
    from engine.core.groups import Group
    from engine.core.parts import Verdict
    from engine.pictures.picture import Marked, Picture


class KindPlace(NamedTuple):
    """Kind of a curve's learner, such as "multiplicative", and the curve's position within this kind.

    Charts show kinds of learners in different hues.
    """

    kind: LearnerKind = "other"
    place: int = 0
    """Index of the curve among the curves of this kind."""

    total: int = 1
    """Number of curves of this kind."""


def kind_places(kinds: Sequence[LearnerKind]) -> list[KindPlace]:
    """Return, for every curve, its learner's kind and its position among the curves of this kind."""
    counts, passed = Counter(kinds), Counter[LearnerKind]()
    places = []
    for kind in kinds:
        places.append(KindPlace(kind, passed[kind], counts[kind]))
        passed[kind] += 1
    return places


FROM_BELOW = ("lower", "conjecture")
"""Values of `LineView.direction` that mean a lower bound, either proved or conjectured."""

DIVERGED, LOST_ACCURACY = "diverged", "lost accuracy"

WHY_INACCURATE = (
    "the curve ends here, because later weights are inaccurate: they change by over 0.2 % if the solver's "
    "tolerances change; take a smaller rtol, another method or an earlier end"
)
"""Explanation why a curve ends where numbers become inaccurate, with remedies."""


def fate(lost: int, inaccurate: int) -> str:
    """Return a verb phrase for replicas that ended early: "diverged", "lost accuracy", or both.

    `lost` is the number of replicas that ended early. `inaccurate` of these replicas lost accuracy.
    """
    if not inaccurate:
        return DIVERGED
    return LOST_ACCURACY if inaccurate == lost else f"{DIVERGED} or {LOST_ACCURACY}"


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Apart = tuple[int, ...]
"""Index of one value of each sweep axis that distinguishes curves."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""Largest change of a loss by rounding errors, relative to the initial loss, by number type."""

QUIET = 1e-11
"""If the values of all curves have at most this size, they count as 0, because rounding can cause them."""

ZERO = 1e-12
"""Largest value of a bound that counts as 0. Losses are not stated as multiples of such a bound."""

NEAR = 1e-9
"""Relative distance up to which two x positions count as equal."""


class Places(msgspec.Struct, frozen=True, eq=False):
    """Properties of the x positions of a curve."""

    planned: int = 0
    """Planned number of x positions."""

    clock: Floats | None = None
    """Clock of the run at every x position [N]; None if the curve does not follow the training of a run."""

    is_ordered: bool = False
    """Whether x is known to increase along the curve, as clocks do."""

    is_passed: bool = False
    """Whether x is a measured quantity, which may pass a given value between two records."""


class Training(msgspec.Struct, frozen=True, eq=False):
    """Properties of the training runs whose results a curve shows."""

    verdict: Verdict | None = None
    """Verdict on the learner's rotation invariance."""

    is_bound: bool = False
    """Whether a proved lower bound applies to the learner."""

    backend: str | None = None
    """Name of the backend that ran the training; None if the runs of the curve used different backends."""

    rate: float | None = None
    """Learning rate, if the learner tries several rates; None for a curve of several sweep points."""

    grid: Mapping[float, float] = msgspec.field(default_factory=dict)
    """Mean along the curve of each rate that the learner tried, by rate.

    The mapping is empty unless the rate of this curve is the best.
    """

    oracle_tuned: bool = False
    """Whether the curve shows only the best of several rates, so that it appears once this rate is known."""

    point: int | None = None
    """Index of the sweep point; None for a curve that covers several sweep points."""

    is_reference: bool = False
    """Whether the learner is a reference, which is drawn like a theory line."""


class Ends(msgspec.Struct, frozen=True, eq=False):
    """How far the runs of a curve have advanced, and which replicas ended early."""

    lost: Counts
    """Number of diverged replicas at every x position [N]. The summary y leaves them out."""

    diverged: int = 0
    """Number of replicas that diverged in the run.

    If the curve does not follow a run, this is the least number of diverged replicas at any x position.
    """

    diverged_at: float | None = None
    """x position at which the first replica diverged, or None. The position may be beyond the curve's end."""

    divergences: Floats = msgspec.field(default_factory=lambda: np.empty(0))
    """Sorted clock values at which replicas diverged; empty if the curve does not follow a run."""

    fate: str = DIVERGED
    """Verb phrase for the replicas that ended early, such as "diverged" or "lost accuracy"."""

    ended: bool = False
    """Whether all started runs of the curve have ended."""

    complete: bool = False
    """Whether the curve has all planned values, and, if it follows a run, no replica has diverged."""

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Whether the summary y includes all replicas, at every x position [N]."""
        return np.asarray(self.lost == 0)


class CurveView(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A curve of a picture as arrays."""

    name: str
    """Name of the learner, possibly with its rate, then the values of the sweep axes that distinguish curves.
    """

    number: int = 0
    """Index of the curve among all curves of the picture, including curves that have no values yet."""

    learner: str
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and position among the curves of this kind; None for a reference."""

    apart: Apart = ()
    chosen: bool = True
    """Whether the curve represents its learner. If a learner tries several rates, only the best curve does.
    """

    x: Floats
    y: Floats
    """Summary over replicas at every x [N]; NaN where there is no value."""

    stderr: Floats | None
    """Standard error of y [N]; None for a single replica, or if the summary has no standard error."""

    replicas: int
    summary: str = "mean"
    """Name of the summary over replicas."""

    over: Callable[[Sequence[int]], Floats]
    """Function that computes y [N] from a subset of the replicas."""

    places: Places = Places()
    training: Training = Training()
    ends: Ends


def increases(curve: CurveView) -> bool:
    """Return whether the x positions of a curve are in increasing order."""
    return curve.places.is_ordered or bool((np.diff(curve.x) >= 0).all())


class ContourView(msgspec.Struct, frozen=True, eq=False):
    """Contour line on a heat map, along which a theory line has the value `level`."""

    name: str
    kind: str
    """Kind of the theory line."""

    direction: str
    level: float
    values: Floats
    """Value of the theory line in every cell of the heat map [M, N]; NaN where it has no value."""


class HeatView(msgspec.Struct, frozen=True, eq=False):
    """Heat map of a learner: the values of a measure as a function of two quantities."""

    learner: str
    x: Floats
    """Increasing x positions [N]."""

    y: Floats
    """Increasing y positions [M]."""

    z: Floats
    """Summary over replicas in every cell [M, N]; NaN where there is no value."""

    stderr: Floats | None
    """Standard error of z [M, N]; None for a single replica, or if the summary has no standard error."""

    contours: tuple[ContourView, ...] = ()
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and position among the curves of this kind; None for a reference."""

    def contour(self, kind: str) -> ContourView:
        """Return the contour whose name or kind is `kind`. Raises: KeyError."""
        for contour in self.contours:
            if kind in (contour.name, contour.kind):
                return contour
        raise KeyError(kind)


class LineView(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Theory line in a picture: a predicted curve, after the same steps of `Picture` as measured curves."""

    name: str
    """Name in presets, composed of the kind, the curve that the line belongs to, and values of sweep axes."""

    kind: str
    title: str = ""
    """Name in charts and captions; if empty, the kind is shown."""

    values: str = ""
    """End of the name, with the values of the sweep axes that distinguish curves."""

    apart: Apart = ()
    curve: str = ""
    """Name of the curve that the line belongs to; empty for a line that all curves share."""

    direction: str
    formula: str
    limit: str = ""
    """Description of the limit in which an asymptotic line holds."""

    group: Group | None = None
    """Symmetry group under which a learner must be invariant for the line to apply to it.

    It is None for a line with other conditions.
    """

    in_expectation: bool = True
    """Whether the line is about an expectation, from which single runs may deviate."""

    summary: str | None = "mean"
    """Summary over replicas that the line is about; None for a line about every summary."""

    applies_to: tuple[str, ...]
    """Names of the learners that the line applies to. For a line of one curve, the name of this curve."""

    x: Floats
    y: Floats
    grows: bool = False
    """Whether the line is computed from measured values, and so becomes longer during the runs."""

    of_some: Callable[[Sequence[int]], Floats] | None = None
    """Function that computes y from a subset of the replicas; None if all replicas share the line."""

    @property
    def plain_name(self) -> str:
        """Name of the theory line without the values of sweep axes that distinguish curves."""
        return self.name.removesuffix(self.values)

    @property
    def called(self) -> str:
        return self.title or self.kind

    def over(self, replicas: Sequence[int]) -> Floats:
        return self.y if self.of_some is None else self.of_some(replicas)

    @cached_property
    def mean(self) -> float:
        finite = self.y[np.isfinite(self.y)]
        return float(finite.mean()) if len(finite) else np.nan

    def at(self, x: float) -> float:
        """Return the value of the theory line at x, interpolated linearly; NaN beyond its ends."""
        return float(np.interp(x, self.x, self.y, left=np.nan, right=np.nan)) if len(self.x) else np.nan

    def is_about(self, curve: CurveView) -> bool:
        """Return whether a picture shows this theory line together with a curve.

        The line need not apply to the curve's learner. A lower bound, for example, is also shown for learners
        that may fall below it.
        """
        is_of_curve = not self.curve or curve.name == self.curve or curve.name.startswith(f"{self.curve}, ")
        return is_of_curve and self.apart == curve.apart

    def says(self, curve: CurveView) -> bool:
        """Return whether the theory line is shown for a curve, and describes the same summary of replicas.

        For example, a line about the mean over replicas does not describe a median. With a single replica,
        all summaries agree.
        """
        return self.is_about(curve) and (curve.replicas == 1 or summaries_agree(self.summary, curve.summary))

    def binds(self, curve: CurveView) -> bool:
        """Return whether the theorem of the line applies to a curve's learner.

        The curve must be one for which the line is shown; see `is_about`.
        """
        return bool(self.curve) or curve.learner in self.applies_to


def index_at(curve: CurveView | LineView, x: float) -> int | None:
    """Return the index of the point of a curve or theory line at position x, or None without such a point.

    If x is a measured quantity, return the index of the first point at which this quantity has reached or
    passed the given x.
    """
    if isinstance(curve, CurveView) and curve.places.is_passed:
        sides = np.sign(curve.x - x)
        passed = np.flatnonzero((sides != sides[:1]) | (sides == 0))  # not on the side of the first point
        return int(passed[0]) if len(passed) else None
    matches = np.flatnonzero(np.abs(curve.x - x) <= NEAR * abs(x))
    return int(matches[0]) if len(matches) else None


class ViewAxes(msgspec.Struct, frozen=True, eq=False):
    """Axes of a view: labels, scales and marks."""

    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    rows_log: bool = False
    """Whether the y-axis of a heat map is logarithmic."""

    words: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Short names or symbols that charts show for sweep axes and measures, by their full names."""

    names: Mapping[float, str] = msgspec.field(default_factory=dict)
    """Names of x positions. Positions without a name are left out."""

    marks: Sequence[Marked] = ()
    """Straight lines and curves that mark values of interest."""

    clock: str = ""
    """Name of the quantity that measures training progress, such as `k` or `step`."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """Properties of the quantity that a view shows: on the y-axis, or in the cells of a heat map."""

    rounding: float
    """Largest change of a value that counts as a rounding error, relative to the first value of its curve."""

    as_measured: bool = True
    """Whether the quantity is the measure itself, which the picture does not divide, rescale or change."""

    divisor: str = ""
    """Name or formula of the divisor of the values; empty if they are not divided."""


class Absences(msgspec.Struct, frozen=True, eq=False):
    """Theory lines and learners that a view does not show, each with the reason."""

    lines: dict[str, str] = msgspec.field(default_factory=dict)
    """Reason why each theory line is left out, by kind of line."""

    learners: dict[str, str] = msgspec.field(default_factory=dict)
    """Unmet condition of the measure for each learner without a curve, by learner name."""


class View(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All data that a picture shows so far: curves and theory lines, or heat maps."""

    picture: Picture
    axes: ViewAxes
    quantity: Quantity
    absences: Absences = msgspec.field(default_factory=Absences)
    curves: list[CurveView] = msgspec.field(default_factory=list)
    lines: list[LineView] = msgspec.field(default_factory=list)
    heats: list[HeatView] = msgspec.field(default_factory=list)
    """One heat map for each learner; empty unless the picture sets `y`."""

    points: tuple[Floats, Floats] | None = None
    """Inputs and labels of the examples that are shown beside the curves; None if none are shown."""

    places_of: Callable[[View], Floats] = lambda view: known_places(view)
    """Function that returns the x positions of all present and planned values of a view."""

    x_of: Callable[[int, float], float | None] = lambda point, clock: None
    """Function of a sweep point's index and a clock value of its run.

    The function returns the x position at this clock value, or None without such a position.
    """

    beneath_of: Callable[[], View | None] = lambda: None
    """Function that computes the view to show below this one, or returns None if there is none."""

    y_of: Callable[[int], float | None] = lambda point: None
    """Function of a sweep point's index. It returns the point's y position on a heat map, or None."""

    def curve(self, name: str) -> CurveView:
        """Return the curve called `name`, or else a curve of the learner called `name`. Raises: KeyError.

        Of the learner's curves, return the first that represents the learner (see `CurveView.chosen`).
        """
        candidates = [candidate for candidate in self.curves if candidate.learner == name]
        for curve in (*(candidate for candidate in self.curves if candidate.name == name), *candidates):
            if curve.name == name or curve.chosen:
                return curve
        raise KeyError(name)

    @cached_property
    def beneath(self) -> View | None:
        return self.beneath_of()

    @cached_property
    def places(self) -> Floats:
        return self.places_of(self)


def at_values(view: View, apart: Apart) -> View:
    """Return a view with only the curves and theory lines at one value of each sweep axis.

    For each sweep axis that distinguishes curves, `apart` contains the index of this value.
    """
    curves = [curve for curve in view.curves if curve.apart == apart]
    lines = [line for line in view.lines if line.apart == apart]
    return msgspec.structs.replace(view, curves=curves, lines=lines)


def known_places(view: View) -> Floats:
    """Return the sorted x positions at which some curve or heat map already has a value."""
    parts = [curve.x[~np.isnan(curve.y)] for curve in view.curves]
    parts += [heat.x[~np.isnan(heat.z).all(0)] for heat in view.heats]
    places = np.unique(np.concatenate([*parts, np.empty(0)]))
    return np.asarray(places[np.isfinite(places)])


def line_of(view: View, kind: str, curve: str) -> LineView:
    """Return a theory line of a curve, given the name of the curve.

    `kind` is the kind of the theory line, or its full name. With a full name, the curve does not matter.

    Raises: KeyError.
    """
    about = next((candidate for candidate in view.curves if candidate.name == curve), None)
    for line in view.lines:
        if kind == line.name or (kind == line.kind and about is not None and line.is_about(about)):
            return line
    raise KeyError(kind)


def heat_of(view: View, learner_name: str) -> HeatView:
    """Return the heat map of a learner. Raises: KeyError."""
    for heat in view.heats:
        if heat.learner == learner_name:
            return heat
    raise KeyError(learner_name)


def negligible(view: View) -> float:
    """Return the absolute value up to which values of this view count as 0.

    The measure declares this number. If the picture multiplies or divides the measure, the number is 0. If no
    curve exceeds QUIET in absolute value, the number is at least QUIET.
    """
    as_it_stands = view.picture.times is None and view.picture.relative is None
    least = view.picture.measure.structure().negligible if as_it_stands else 0.0
    highest = [np.nanmax(np.abs(curve.y), initial=0.0) for curve in view.curves]
    return max(least, QUIET) if highest and max(highest) <= QUIET else least


def is_risk(view: View) -> bool:
    """Return whether the picture shows an expected loss itself, not a ratio or another function of it."""
    return view.quantity.as_measured and view.picture.measure.structure().is_risk


def along_records(view: View) -> bool:
    """Return whether x is the progress of training, so that curves become longer during a run."""
    return any(curve.places.clock is not None for curve in view.curves)
