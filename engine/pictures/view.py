"""Views: pictures of results as arrays. They are the only input of charts, tables, files and claims.

The module also numbers the curves of a picture whose learners are of the same kind.
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
    """Kind of a curve's learner, and the position of the curve among the curves of this kind."""

    kind: LearnerKind = "other"
    place: int = 0
    """Index of the curve among the curves of this kind."""

    total: int = 1
    """Number of curves of this kind."""


def kind_places(kinds: Sequence[LearnerKind]) -> list[KindPlace]:
    """Return the kind of every curve, with the curve's position among the curves of this kind.

    Args:
        kinds: kind of each curve's learner, in the order of the curves.
    """
    counts, passed = Counter(kinds), Counter[LearnerKind]()
    places = []
    for kind in kinds:
        places.append(KindPlace(kind, passed[kind], counts[kind]))
        passed[kind] += 1
    return places


FROM_BELOW = ("lower", "conjecture")
"""Directions of theory lines that are lower bounds: proved bounds and conjectures."""

DIVERGED, LOST_ACCURACY = "diverged", "lost accuracy"

WHY_INACCURATE = (
    "the curve ends here, because other tolerances change all later weights by more than 0.2 %: "
    "take a smaller rtol, another method or an earlier end"
)
"""Explanation of a loss of accuracy, with remedies."""


def fate(lost: int, inaccurate: int) -> str:
    """Return a verb that says how replicas ended early: they diverged, lost accuracy, or either.

    Args:
        lost: number of replicas that ended early.
        inaccurate: number of those replicas that lost accuracy.
    """
    if not inaccurate:
        return DIVERGED
    return LOST_ACCURACY if inaccurate == lost else f"{DIVERGED} or {LOST_ACCURACY}"


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Apart = tuple[int, ...]
"""Values of the sweep axes that split curves, each as its index on the axis."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""Largest change of a loss by rounding, relative to the initial loss, for each number type."""

QUIET = 1e-11
"""Largest value up to which a whole curve counts as 0, because of rounding."""

ZERO = 1e-12
"""Value up to which a bound counts as 0, so that no loss is stated as a multiple of it."""

NEAR = 1e-9
"""Relative distance up to which two x positions count as equal."""


def _place(places: Floats, x: float) -> int | None:
    """Return the index of the first place that equals x, or None if no place does."""
    matches = np.flatnonzero(np.abs(places - x) <= NEAR * abs(x))
    return int(matches[0]) if len(matches) else None


class Places(msgspec.Struct, frozen=True, eq=False):
    """Properties of the x positions of a curve, which are called places."""

    planned: int = 0
    """Planned number of places."""

    clock: Floats | None = None
    """Clock of the run at every place [N]; None if x does not follow the records of a run."""

    is_ordered: bool = False
    """Whether x is known to increase, as clocks do."""

    is_passed: bool = False
    """Whether x is measured. The place of a given x is then the first record at which x has passed it."""


class Training(msgspec.Struct, frozen=True, eq=False):
    """Properties of the training runs from which a curve was measured."""

    verdict: Verdict | None = None
    """Verdict on the learner's rotation invariance."""

    is_bound: bool = False
    """Whether a proved lower bound applies to the learner."""

    backend: str | None = None
    """Name of the backend; None if the runs of the curve have different backends."""

    rate: float | None = None
    """Rate of the curve, if its learner tries several rates; None for a curve of several sweep points."""

    grid: Mapping[float, float] = msgspec.field(default_factory=dict)
    """Mean along the curve for every tried rate, if this curve has the best of these rates."""

    oracle_tuned: bool = False
    """Whether the curve shows the best of several rates, and appears once this rate is known."""

    point: int | None = None
    """Index of the sweep point; None for a curve that covers several sweep points."""

    is_reference: bool = False
    """Whether the learner is a reference, which is drawn like a theory line."""


class Ends(msgspec.Struct, frozen=True, eq=False):
    """Progress of the runs of a curve, and the replicas that ended early."""

    lost: Counts
    """Number of diverged replicas at every place [N]. They do not count in the summary y."""

    diverged: int = 0
    """Number of replicas that diverged in the run.

    If x does not follow a run, it is the least number of diverged replicas at any place.
    """

    diverged_at: float | None = None
    """x position at which the first replica diverged. It may lie beyond the last x of the curve."""

    divergences: Floats = msgspec.field(default_factory=lambda: np.empty(0))
    """Sorted values of the run's clock at which replicas diverged; empty if x does not follow a run."""

    fate: str = DIVERGED
    """Verb that says how replicas ended early."""

    ended: bool = False
    """Whether all runs that have begun have ended."""

    complete: bool = False
    """Whether the curve has all planned values. A curve along records must also have lost no replica."""

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Whether the summary covers all replicas, at every place [N]."""
        return np.asarray(self.lost == 0)


class CurveView(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A curve of a picture."""

    name: str
    """Name of the learner, possibly with a rate, followed by the values of the axes that split curves."""

    number: int = 0
    """Index among all curves of the picture, including curves that have no values yet."""

    learner: str
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and position among the curves of this kind; None for a reference."""

    apart: Apart = ()
    chosen: bool = True
    """Whether the curve represents its learner. If a learner has several rates, only its best curve does."""

    x: Floats
    y: Floats
    """Summary over replicas [N]; NaN where there is no value."""

    stderr: Floats | None
    """Standard error of the summary [N]; None for a single replica, and for summaries that have none."""

    replicas: int
    summary: str = "mean"
    """Name of the summary over replicas."""

    over: Callable[[Sequence[int]], Floats]
    """Function that returns y [N] over a subset of the replicas."""

    places: Places = Places()
    training: Training = Training()
    ends: Ends


def index_at(curve: CurveView, x: float) -> int | None:
    """Return the index of the place of a curve at x, or None if there is no such place.

    If the x of the curve is measured, return the index of the first place that has reached or passed x.
    """
    if curve.places.is_passed:
        sides = np.sign(curve.x - x)
        passed = np.flatnonzero(sides != sides[:1])  # on the other side of x than the first place
        return int(passed[0]) if len(passed) else None
    return _place(curve.x, x)


def increases(curve: CurveView) -> bool:
    """Return whether the x positions of a curve never decrease."""
    return curve.places.is_ordered or bool((np.diff(curve.x) >= 0).all())


class ContourView(msgspec.Struct, frozen=True, eq=False):
    """Theory line over a heat map, drawn as the contour at which it has the value `level`."""

    name: str
    kind: str
    """Kind of the theory line."""

    direction: str
    level: float
    values: Floats
    """Values of the theory line at every place of the map [M, N]; NaN where it has no value."""


class HeatView(msgspec.Struct, frozen=True, eq=False):
    """Heat map of a learner: the values of a measure over two dimensions."""

    learner: str
    x: Floats
    """Increasing x positions [N]."""

    y: Floats
    """Increasing y positions [M]."""

    z: Floats
    """Summary over replicas [M, N]; NaN where there is no value."""

    stderr: Floats | None
    """Standard error of the summary [M, N]; None for a single replica, and for summaries that have none."""

    contours: tuple[ContourView, ...] = ()
    kind_place: KindPlace | None = KindPlace()
    """Kind of the learner, and position among the curves of this kind; None for a reference."""

    def contour(self, kind: str) -> ContourView:
        """Return the contour called `kind`, or the contour of the theory line of this kind.

        Raises: KeyError.
        """
        for contour in self.contours:
            if kind in (contour.name, contour.kind):
                return contour
        raise KeyError(kind)


class LineView(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Theory line in a picture, after the same steps as the curves."""

    name: str
    """Name in presets: the kind, the curve that the line belongs to, and the values of sweep axes."""

    kind: str
    title: str = ""
    """Name in charts and captions; if empty, the kind is shown."""

    values: str = ""
    """End of the name: the values of the axes that split curves."""

    apart: Apart = ()
    curve: str = ""
    """Name of the curve that the line belongs to; empty for a line that all curves share."""

    direction: str
    formula: str
    limit: str = ""
    """Limit that an asymptotic line assumes, in words."""

    group: Group | None = None
    """Symmetry group under which a learner must be invariant for the line to apply to it.

    It is None for a line with other conditions.
    """

    in_expectation: bool = True
    """Whether the line is about the expectation, so that single runs deviate from it."""

    summary: str | None = "mean"
    """Summary over replicas that the line describes; None for a line that describes every summary."""

    applies_to: tuple[str, ...]
    """Names of the learners that the line applies to; or the name of its curve, if it belongs to one."""

    x: Floats
    y: Floats
    grows: bool = False
    """Whether the line is computed from measured values, so that it grows with the runs."""

    of_some: Callable[[Sequence[int]], Floats] | None = None
    """Function that returns y over a subset of the replicas; None if all replicas share the line."""

    @property
    def plain_name(self) -> str:
        """Name without the values of the axes that split curves."""
        return self.name.removesuffix(self.values)

    @property
    def called(self) -> str:
        """Name in charts and captions."""
        return self.title or self.kind

    def place(self, x: float) -> int | None:
        """Return the index of the place at x, or None if there is no such place."""
        return _place(self.x, x)

    def over(self, replicas: Sequence[int]) -> Floats:
        """Return y [N] over a subset of the replicas."""
        return self.y if self.of_some is None else self.of_some(replicas)

    @cached_property
    def mean(self) -> float:
        """Mean of the finite values of the line; NaN if there are none."""
        finite = self.y[np.isfinite(self.y)]
        return float(finite.mean()) if len(finite) else np.nan

    def at(self, x: float) -> float:
        """Return the value of the line at x, interpolated linearly; NaN beyond the ends of the line."""
        return float(np.interp(x, self.x, self.y, left=np.nan, right=np.nan)) if len(self.x) else np.nan

    def is_about(self, curve: CurveView) -> bool:
        """Return whether the line is shown for a curve.

        The line may not apply to the curve's learner; the curve may then beat it.
        """
        is_of_curve = not self.curve or curve.name == self.curve or curve.name.startswith(f"{self.curve}, ")
        return is_of_curve and self.apart == curve.apart

    def says(self, curve: CurveView) -> bool:
        """Return whether the line is shown for a curve and is about the curve's summary over replicas.

        For example, a line about means is not about medians. With a single replica, all summaries agree.
        """
        return self.is_about(curve) and (curve.replicas == 1 or summaries_agree(self.summary, curve.summary))

    def binds(self, curve: CurveView) -> bool:
        """Return whether the line applies to the learner of a curve for which it is shown."""
        return bool(self.curve) or curve.learner in self.applies_to


class ViewAxes(msgspec.Struct, frozen=True, eq=False):
    """Axes of a view: labels, scales and marks."""

    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    rows_log: bool = False
    """Whether the y-axis of a heat map is logarithmic."""

    words: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names or symbols for charts, by the name of the sweep axis or measure."""

    names: Mapping[float, str] = msgspec.field(default_factory=dict)
    """Names of x positions, for positions that have a name."""

    marks: Sequence[Marked] = ()
    """Marks of the picture."""

    clock: str = ""
    """Name of the protocol's clock."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """Properties of the quantity on the y-axis, or of the values of a heat map."""

    rounding: float
    """Largest change of a value that counts as rounding, relative to the first value of its curve."""

    as_measured: bool = True
    """Whether the quantity is the measure itself, not changed by a step of the picture."""

    divisor: str = ""
    """Name or formula by which values are divided; empty if they are not divided."""


class Absences(msgspec.Struct, frozen=True, eq=False):
    """Theory lines and learners that are not in a view, with the reasons."""

    lines: dict[str, str] = msgspec.field(default_factory=dict)
    """Reasons why theory lines are absent, by kind of line."""

    learners: dict[str, str] = msgspec.field(default_factory=dict)
    """Condition that a learner without a curve does not meet, by learner name."""


class View(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A picture with all results so far: its curves and theory lines, or its heat maps."""

    picture: Picture
    axes: ViewAxes
    quantity: Quantity
    absences: Absences = msgspec.field(default_factory=Absences)
    curves: list[CurveView] = msgspec.field(default_factory=list)
    lines: list[LineView] = msgspec.field(default_factory=list)
    heats: list[HeatView] = msgspec.field(default_factory=list)
    """Heat maps, one for each learner, if the picture has a y."""

    points: tuple[Floats, Floats] | None = None
    """Inputs and labels of the examples that are shown beside the curves; None if none are shown."""

    places_of: Callable[[View], Floats] = lambda view: known_places(view)
    """Function that returns all x positions of a view, of present and of planned values."""

    x_of: Callable[[int, float], float | None] = lambda point, clock: None
    """Function that returns the x position of a run at a value of its clock, or None if it has none.

    The arguments are the index of the sweep point and the value of the clock.
    """

    beneath_of: Callable[[], View | None] = lambda: None
    """Function that returns the view to show beneath this one, or None if there is none."""

    y_of: Callable[[int], float | None] = lambda point: None
    """Function that returns the y position of a sweep point on a heat map, or None if it has none.

    The argument is the index of the sweep point.
    """

    def curve(self, name: str) -> CurveView:
        """Return the curve called `name`, or the chosen curve of the learner called `name`.

        Raises: KeyError.
        """
        candidates = [candidate for candidate in self.curves if candidate.learner == name]
        for curve in (*(candidate for candidate in self.curves if candidate.name == name), *candidates):
            if curve.name == name or curve.chosen:
                return curve
        raise KeyError(name)

    @cached_property
    def beneath(self) -> View | None:
        """View to show beneath this one, or None. It is computed when it is first needed."""
        return self.beneath_of()

    @cached_property
    def places(self) -> Floats:
        """Positions on the x-axis of present and of planned values, in increasing order."""
        return self.places_of(self)


def at_values(view: View, apart: Apart) -> View:
    """Return the view with only the curves and theory lines at these values of the axes that split curves."""
    curves = [curve for curve in view.curves if curve.apart == apart]
    lines = [line for line in view.lines if line.apart == apart]
    return msgspec.structs.replace(view, curves=curves, lines=lines)


def known_places(view: View) -> Floats:
    """Return the positions on the x-axis that have a value, in increasing order."""
    parts = [curve.x[~np.isnan(curve.y)] for curve in view.curves]
    parts += [heat.x[~np.isnan(heat.z).all(0)] for heat in view.heats]
    places = np.unique(np.concatenate([*parts, np.empty(0)]))
    return np.asarray(places[np.isfinite(places)])


def line_of(view: View, kind: str, curve: str) -> LineView:
    """Return the theory line called `kind`, or the theory line of this kind that is shown for a curve.

    Args:
        kind: name or kind of the theory line.
        curve: name of the curve.

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
    """Return the largest value that counts as 0.

    It is the value that the measure specifies, or 0 if a factor or divisor changes the measure. If all curves
    are at most QUIET, it is at least QUIET.
    """
    as_it_stands = view.picture.times is None and view.picture.relative is None
    least = view.picture.measure.structure().negligible if as_it_stands else 0.0
    highest = [np.nanmax(np.abs(curve.y), initial=0.0) for curve in view.curves]
    return max(least, QUIET) if highest and max(highest) <= QUIET else least


def is_risk(view: View) -> bool:
    """Return whether the picture shows a risk that no step of the picture changes."""
    return view.quantity.as_measured and view.picture.measure.structure().is_risk


def along_records(view: View) -> bool:
    """Return whether x follows the progress of training runs."""
    return any(curve.places.clock is not None for curve in view.curves)
