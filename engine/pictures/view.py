"""Views: a picture of results as arrays, the only input of charts, tables, files and claims.

The module also has the places of a picture's curves among those of the same kind of learner.
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
    """Kind of the learner of a curve, and the place of the curve among all of this kind."""

    kind: LearnerKind = "other"
    place: int = 0
    total: int = 1


def kind_places(kinds: Sequence[LearnerKind]) -> list[KindPlace]:
    """Return the kind of each curve with the curve's place in this kind, from the kinds in order."""
    counts, passed = Counter(kinds), Counter[LearnerKind]()
    places = []
    for kind in kinds:
        places.append(KindPlace(kind, passed[kind], counts[kind]))
        passed[kind] += 1
    return places


FROM_BELOW = ("lower", "conjecture")
"""Directions of lines that bound from below, proved or not."""

DIVERGED, LOST_ACCURACY = "diverged", "lost accuracy"

WHY_INACCURATE = (
    "beyond this place, other tolerances change the weights by more than 0.2 %, so the curve ends: "
    "take a smaller rtol, another method or an earlier end"
)
"""Meaning of a loss of accuracy, with remedies."""


def fate(lost: int, inaccurate: int) -> str:
    """Return the fate of `lost` replicas that ended early, as a verb; `inaccurate` of them lost accuracy."""
    if not inaccurate:
        return DIVERGED
    return LOST_ACCURACY if inaccurate == lost else f"{DIVERGED} or {LOST_ACCURACY}"


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Apart = tuple[int, ...]
"""Index of the value of each axis that splits curves."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""Change of a loss by rounding alone, relative to the initial loss."""

QUIET = 1e-11
"""Level below which a whole curve is 0 up to rounding."""

ZERO = 1e-12
"""Level below which a bound counts as 0, so that nothing is a multiple of it."""

NEAR = 1e-9
"""Relative distance below which places are equal."""


def _place(places: Floats, x: float) -> int | None:
    """Return the index of the first place at x; None without one."""
    matches = np.flatnonzero(np.abs(places - x) <= NEAR * abs(x))
    return int(matches[0]) if len(matches) else None


class Places(msgspec.Struct, frozen=True, eq=False):
    """Places of a curve on x."""

    planned: int = 0
    """Planned number of places."""

    clock: Floats | None = None
    """Clock of its run at every place [N] if x is along records, otherwise None."""

    is_ordered: bool = False
    """Whether x is known to increase, as clocks do."""

    is_passed: bool = False
    """Whether x is measured, so that the place for a value is the first record beyond this value."""


class Training(msgspec.Struct, frozen=True, eq=False):
    """Training runs of a curve."""

    verdict: Verdict | None = None
    """Verdict on the learner's rotation invariance."""

    is_bound: bool = False
    """Whether a proved lower bound binds the learner."""

    backend: str | None = None
    """Name of the backend; None if several computed the curve."""

    rate: float | None = None
    """Rate, if it is one of several rates or the best, and is constant along the curve."""

    grid: Mapping[float, float] = msgspec.field(default_factory=dict)
    """Mean of the curve of every tried rate, if the rate of this curve is the best of them."""

    oracle_tuned: bool = False
    """Whether the curve appears only once the best of several rates is known."""

    point: int | None = None
    """Index of the point of the axes; None for a curve of several points."""

    is_reference: bool = False
    """Whether the learner is a reference, which is drawn like a theory line."""


class Ends(msgspec.Struct, frozen=True, eq=False):
    """Progress of the runs of a curve, and replicas that ended early."""

    lost: Counts
    """Number of diverged replicas at every place, so that y is over the others [N]."""

    diverged: int = 0
    """Number of replicas that diverged by the end, anywhere on the axes."""

    diverged_at: float | None = None
    """First place at which a replica diverged; it may lie beyond the last of x."""

    divergences: Floats = msgspec.field(default_factory=lambda: np.empty(0))
    """Sorted places of divergence on the clock of the run; empty if x does not follow a run."""

    fate: str = DIVERGED
    """Verb for the replicas that ended early."""

    ended: bool = False
    """Whether all runs so far have ended."""

    complete: bool = False
    """Whether all places are there, and no replica was lost."""

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Whether the summary is over all replicas, at every place [N]."""
        return np.asarray(self.lost == 0)


class CurveView(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A curve of a picture."""

    name: str
    """Name of the learner, possibly with a rate, and the values of the axes that split curves."""

    number: int = 0
    """Index among all curves; later curves do not change it."""

    learner: str
    kind_place: KindPlace | None = KindPlace()
    """Kind of its learner, and its place among the curves of this kind; None for a reference."""

    apart: Apart = ()
    chosen: bool = True
    """Whether the curve represents its learner; with several rates, only the best curve so far does."""

    x: Floats
    y: Floats
    """Summary over replicas [N], NaN without a value."""

    stderr: Floats | None
    """Standard error over replicas [N]; None for a single replica, and for summaries without one."""

    replicas: int
    summary: str = "mean"
    """Summary of the replicas."""

    over: Callable[[Sequence[int]], Floats]
    """Function that returns the curve over a subset of the replicas [N]."""

    places: Places = Places()
    training: Training = Training()
    ends: Ends

    def place(self, x: float) -> int | None:
        """Return the index of the place at x, or of the first place that has passed x; None without one."""
        if self.places.is_passed:
            sides = np.sign(self.x - x)
            passed = np.flatnonzero(sides != sides[:1])  # where x starts beyond it nothing passes
            return int(passed[0]) if len(passed) else None
        return _place(self.x, x)


def increases(curve: CurveView) -> bool:
    """Return whether x increases from place to place."""
    return curve.places.is_ordered or bool((np.diff(curve.x) >= 0).all())


class ContourView(msgspec.Struct, frozen=True, eq=False):
    """Theory line over a heat map, drawn as the contour of a level."""

    name: str
    kind: str
    direction: str
    level: float
    values: Floats
    """Line at every place of the map [M, N], NaN without a value."""


class HeatView(msgspec.Struct, frozen=True, eq=False):
    """A learner over two dimensions."""

    learner: str
    x: Floats
    """Increasing, [N]."""

    y: Floats
    """Increasing, [M]."""

    z: Floats
    """Summary over replicas [M, N], NaN without a value."""

    stderr: Floats | None
    """Standard error; None for a single replica."""

    contours: tuple[ContourView, ...] = ()
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and its place among learners of this kind; None for a reference."""

    def contour(self, kind: str) -> ContourView:
        """Return the contour of this name or kind of line. Raises: KeyError."""
        for contour in self.contours:
            if kind in (contour.name, contour.kind):
                return contour
        raise KeyError(kind)


class LineView(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Theory line in a picture, after the same steps as the curves."""

    name: str
    """Name in presets: kind, owner, and values of axes."""

    kind: str
    title: str = ""
    """Name in charts and captions; empty: its kind."""

    values: str = ""
    """End of its name: the values of the axes that split curves."""

    apart: Apart = ()
    curve: str = ""
    """Name of its curve; empty for a line that all curves share."""

    direction: str
    formula: str
    limit: str = ""
    """Limit of an asymptotic line, in words."""

    group: Group | None = None
    """Group whose invariant learners the line binds; None for a line that binds by other conditions."""

    in_expectation: bool = True
    """Whether the line is about the expectation, so that single runs deviate from it."""

    summary: str | None = "mean"
    """Summary over replicas that the line is about; None if it is about every summary."""

    applies_to: tuple[str, ...]
    x: Floats
    y: Floats
    grows: bool = False
    """Whether the line is computed from measured values, so that it ends where the runs are."""

    of_some: Callable[[Sequence[int]], Floats] | None = None
    """Function that returns the line over a subset of the replicas; None if replicas share the line."""

    @property
    def plain_name(self) -> str:
        """Name without the values of the axes that split curves."""
        return self.name.removesuffix(self.values)

    @property
    def called(self) -> str:
        """Name in words."""
        return self.title or self.kind

    def place(self, x: float) -> int | None:
        """Return the index of the place at x; None without one."""
        return _place(self.x, x)

    def over(self, replicas: Sequence[int]) -> Floats:
        """Return the line over a subset of the replicas."""
        return self.y if self.of_some is None else self.of_some(replicas)

    @cached_property
    def mean(self) -> float:
        """Mean of the line, where it is finite."""
        finite = self.y[np.isfinite(self.y)]
        return float(finite.mean()) if len(finite) else np.nan

    def at(self, x: float) -> float:
        """Return the line at x, interpolated linearly; NaN beyond its points."""
        return float(np.interp(x, self.x, self.y, left=np.nan, right=np.nan)) if len(self.x) else np.nan

    def is_about(self, curve: CurveView) -> bool:
        """Return whether the line is shown for a curve, which it binds or which may beat it."""
        is_of_curve = not self.curve or curve.name == self.curve or curve.name.startswith(f"{self.curve}, ")
        return is_of_curve and self.apart == curve.apart

    def says(self, curve: CurveView) -> bool:
        """Return whether the line applies to a curve.

        Lines about means do not apply to medians, or vice versa.
        """
        return self.is_about(curve) and (curve.replicas == 1 or summaries_agree(self.summary, curve.summary))

    def binds(self, curve: CurveView) -> bool:
        """Return whether the line binds a curve that it is shown for."""
        return bool(self.curve) or curve.learner in self.applies_to


class ViewAxes(msgspec.Struct, frozen=True, eq=False):
    """Axes of a view: labels, scales, and lines at places."""

    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    rows_log: bool = False
    """Whether the y of a heat map is a logarithmic axis."""

    words: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names of axes and measures in charts, if they differ from their own."""

    names: Mapping[float, str] = msgspec.field(default_factory=dict)
    """Names of places on x, if they have names."""

    marks: Sequence[Marked] = ()
    """Marks of the picture; a mark may follow axes."""

    clock: str = ""
    """Clock of the protocol."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """Quantity on y."""

    rounding: float
    """Largest change of a value that counts as rounding, relative to the first value of its curve."""

    as_measured: bool = True
    """Whether y is the measure itself."""

    divisor: str = ""
    """Text for the divisor of y; empty without a divisor."""


class Absences(msgspec.Struct, frozen=True, eq=False):
    """Lines and learners that are not in a view, with the reasons."""

    lines: dict[str, str] = msgspec.field(default_factory=dict)
    """Reasons why theory lines are absent, by kind."""

    learners: dict[str, str] = msgspec.field(default_factory=dict)
    """Learners without a curve, with the condition that they do not meet: "the learner …"."""


class View(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A picture with all results so far."""

    picture: Picture
    axes: ViewAxes
    quantity: Quantity
    absences: Absences = msgspec.field(default_factory=Absences)
    curves: list[CurveView] = msgspec.field(default_factory=list)
    lines: list[LineView] = msgspec.field(default_factory=list)
    heats: list[HeatView] = msgspec.field(default_factory=list)
    """Heat maps, one per learner, if the picture has a y."""

    points: tuple[Floats, Floats] | None = None
    """Examples shown beside the curves, x and label; None without any."""

    places_of: Callable[[View], Floats] = lambda view: view.known_places
    """Function that returns all places on x of a view, present and planned."""

    x_of: Callable[[int, float], float | None] = lambda point, clock: None
    """Function that returns the x of a run at a reading of its clock; None if x does not follow a clock."""

    beneath_of: Callable[[], View | None] = lambda: None
    """Function that returns the view that the picture shows beneath it; None for most pictures."""

    y_of: Callable[[int], float | None] = lambda point: None
    """Function that returns the y of a point on a heat map; None for other pictures."""

    def curve(self, name: str) -> CurveView:
        """Return the curve called `name`, or the curve of the learner called `name`. Raises: KeyError."""
        candidates = [candidate for candidate in self.curves if candidate.learner == name]
        for curve in (*(candidate for candidate in self.curves if candidate.name == name), *candidates):
            if curve.name == name or curve.chosen:
                return curve
        raise KeyError(name)

    def line(self, kind: str, curve: str) -> LineView:
        """Return the theory line of this name or kind that is about a curve. Raises: KeyError.

        The line has the curve's values of the axes that split curves.
        """
        about = next((candidate for candidate in self.curves if candidate.name == curve), None)
        for line in self.lines:
            if kind == line.name or (kind == line.kind and about is not None and line.is_about(about)):
                return line
        raise KeyError(kind)

    @cached_property
    def known_places(self) -> Floats:
        """Places on x with a value, increasing."""
        parts = [curve.x[~np.isnan(curve.y)] for curve in self.curves]
        parts += [heat.x[~np.isnan(heat.z).all(0)] for heat in self.heats]
        places = np.unique(np.concatenate([*parts, np.empty(0)]))
        return np.asarray(places[np.isfinite(places)])

    @cached_property
    def beneath(self) -> View | None:
        """View of the picture beneath, computed when it is first drawn."""
        return self.beneath_of()

    @cached_property
    def places(self) -> Floats:
        """Places on x, present and planned, increasing."""
        return self.places_of(self)


def at_values(view: View, apart: Apart) -> View:
    """Return the view with only the curves and lines at the values `apart` of the splitting axes."""
    curves = [curve for curve in view.curves if curve.apart == apart]
    lines = [line for line in view.lines if line.apart == apart]
    return msgspec.structs.replace(view, curves=curves, lines=lines)


def heat_of(view: View, learner_name: str) -> HeatView:
    """Return the heat map of a learner. Raises: KeyError."""
    for heat in view.heats:
        if heat.learner == learner_name:
            return heat
    raise KeyError(learner_name)


def negligible(view: View) -> float:
    """Return the largest value that counts as 0, even if all values are small.

    A measure without further steps declares this value. If all curves are below QUIET, it is at least QUIET.
    """
    as_it_stands = view.picture.times is None and view.picture.relative is None
    least = view.picture.measure.structure().negligible if as_it_stands else 0.0
    highest = [np.nanmax(np.abs(curve.y), initial=0.0) for curve in view.curves]
    return max(least, QUIET) if highest and max(highest) <= QUIET else least


def is_risk(view: View) -> bool:
    """Return whether y is a risk, without further steps."""
    return view.quantity.as_measured and view.picture.measure.structure().is_risk


def along_records(view: View) -> bool:
    """Return whether x follows the progress of runs."""
    return any(curve.places.clock is not None for curve in view.curves)
