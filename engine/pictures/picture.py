"""Pictures: the presentation of results, as a preset describes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from engine.core.catalogue import MemberOf
from engine.core.parts import LARGEST, SELDOM, BadField
from engine.learners.learner import MOST_NAME, Name
from engine.measures import Measure
from engine.pictures.summaries import SPREADS, Summary
from engine.protocols import Until

MOST_MARKS = 20
"""Largest number of marks, and of contours, of a picture: each has its line in the legend."""

RATE = "rate"
"""Name in pictures for the rates that learners try side by side, unless an axis has that name."""

MOST_TEXT = 200
"""Largest number of characters of an expression or a title."""

Text = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


Taken = Literal["last", "first", "max", "min", "mean"]

Extreme = Literal["max", "min", "gap"]
PLACES: dict[Extreme, str] = {"max": "largest", "min": "least", "gap": "largest gap of"}
"""Names of the places of extreme values."""


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reading along a dimension, which turns the dimension into one number.

    `over` is `record` (progress of training), an axis, an index of the measure, or the `rate` if a learner
    tries several; `take = "min"` then reads the best rate. `first_below` and `first_above` are the first
    place at which the measure passes a threshold, for every replica or, with `of = "mean"`, for their mean.
    This is a measured place. With `between`, it is the crossing of the threshold by a line from the previous
    place, which is straight (linear), or straight in the logarithms of place and measure (log). If a
    logarithm is undefined, it is the measured place. `place_of` is the first place of the largest or least
    value, or the place before the largest gap: the greatest ratio, up or down, of neighbouring values.
    `until` ends the records of every replica where a clock or another measure first passes a value. The
    measure keeps its value from there on; a replica that never passes the value has no reading.
    """

    over: Text = "record"
    take: Taken | None = None
    first_below: Number | None = None
    first_above: Number | None = None
    place_of: Extreme | None = None
    of: Literal["replica", "mean"] = "replica"
    between: Literal["no", "linear", "log"] = "no"
    until: Until | None = None

    def __post_init__(self) -> None:
        forms = [self.take, self.first_below, self.first_above, self.place_of]
        if sum(form is not None for form in forms) != 1:
            raise BadField("take", "a read needs exactly one of take, first_below, first_above, place_of")
        if self.between != "no" and not self.is_threshold:
            raise BadField("between", "only first_below and first_above use it; leave it out")
        if self.until is not None and self.over != "record":
            raise BadField("until", "it ends the evaluation points of a run; read over record")

    @property
    def is_place(self) -> bool:
        """Whether the reading is a place along the dimension, not a value of the measure."""
        return self.take is None

    @property
    def is_threshold(self) -> bool:
        """Whether the reading is the first place below or above a number; later places cannot change it."""
        return self.first_below is not None or self.first_above is not None

    def in_words(self, label: str, over: str) -> str:
        """Return the name of a place read along `over`, of a measure with this label."""
        if self.place_of is not None:
            return f"{over} of the {PLACES[self.place_of]} {label}"
        sign, threshold = ("<", self.first_below) if self.first_above is None else (">", self.first_above)
        return f"{over} until {label} {sign} {threshold:g}"


class ReplicaShare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Share of the replicas whose value is below a number, above a number, or between two.

    Diverged replicas do not satisfy the condition. With two bounds, both must hold.
    """

    below: Number | None = None
    above: Number | None = None

    def __post_init__(self) -> None:
        if self.below is None and self.above is None:
            raise BadField(
                "below", "a share counts values below or above a number; give below, above or both"
            )
        if self.below is not None and self.above is not None and self.below <= self.above:
            raise BadField("below", f"no value is below {self.below:g} and above {self.above:g}")

    def in_words(self, label: str) -> str:
        """Return the condition as text, for a measure with this label."""
        if self.below is None:
            return f"share of replicas with {label} > {self.above:g}"
        above = "" if self.above is None else f"{self.above:g} < "
        return f"share of replicas with {above}{label} < {self.below:g}"


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place that a picture marks by a straight line, at x or at y.

    An expression may use the axes that split curves, which gives a line for each of their values. It may also
    use the axes in x (for a mark at y) or in y (for a mark at x of a heat map), which gives a line along
    them, such as y = "2/eta".
    """

    name: Text | None = None
    """Name in the legend; None: the place of the mark."""

    x: Number | None = None
    y: Number | None = None

    @property
    def title(self) -> str:
        """Name of the mark."""
        return self.name or (f"y = {self.y:g}" if self.x is None else f"x = {self.x:g}")

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise BadField("x", "a mark is at one place; give x or y")


class Marked(NamedTuple):
    """A line to draw: straight at one x or one y, or through points (x, y)."""

    name: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    kind: str = ""
    """Name without the values of the axes that split curves."""

    apart: tuple[int, ...] | None = None
    """Values of the axes that split curves, by index; None if the mark is the same for all."""

    def between(self, x: Iterable[float], y: Iterable[float]) -> tuple[tuple[float, ...], ...]:
        """Return x and y of the mark's points; a straight line has one at each end of the given range."""
        if not self.x:
            return tuple(x), self.y * 2
        return self.x * (1 if self.y else 2), self.y or tuple(y)


class Contour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Contour at which a theory line has a level, over the places of a heat map.

    The line may be about another measure with the dimensions x and y of the picture. It is taken at the
    record that the picture shows; factors and readings apply only to the measure.
    """

    line: Text
    level: Number
    name: Text | None = None
    """Name in the picture; None for the line and its level."""


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A measure along a dimension: curves, or with `y` a heat map. Claims refer to it by name.

    `x` is a clock (k, step, time …), an axis, an index of the measure, the `rate` if a learner tries several,
    a measure that is a number (loss, functional_margin …: its mean over replicas), or an expression of these.
    Every learner has a curve, and `curves` may name axes that split the curves. `at` sets other dimensions,
    or `read` reads them off; along the records, the default is the end. The steps are, in this order: `at`;
    `running` along the records; `times` a factor; `read`; `relative` to a learner's curve or to a theory
    line; and over replicas the `summary`, or the `share` that satisfies a condition. Theory lines of the
    measure (all, or those that `lines` names) take the same steps; they do not apply to shares and to places
    of extremes. The summary `relative-variance` is the variance over the squared mean, and `log-variance`
    that of logarithms; both need two replicas. `marks` are places of interest, drawn as straight lines.
    `contours` of a heat map are the places where a theory line has a level. With `points = "train"`, a
    function over inputs is shown with the examples from which it was learned, those of the first replica.
    With `draw = "bars"`, every place of x has a bar; x may be an axis of words, whose values are at 1, 2, 3,
    …. `beneath` names another picture with the same x and curves; the two are shown as one, each with its own
    y-axis, lines and claims.
    """

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MOST_NAME)] | None,
        Meta(
            title="name", description="name that claims use; none: claims use the first picture", extra=SELDOM
        ),
    ] = None
    x: Annotated[
        Text, Meta(title="x", description="quantity on the x-axis, as in k, step, eta, or eta*step")
    ] = "k"
    y: Annotated[
        Text | None,
        Meta(title="y", description="the other axis of a heat map; none: curves", extra=SELDOM),
    ] = None
    measure: MemberOf[Measure]
    curves: Annotated[
        Text | tuple[Text, ...],
        Meta(title="curves", description="axes that have a curve for each value, besides the learner"),
    ] = "learner"
    at: Annotated[
        dict[Text, Number],
        Meta(
            title="at", description="values on the other dimensions, as in cw = 2, layer = 30", extra=SELDOM
        ),
    ] = {}
    running: Annotated[
        Literal["mean", "min", "max", "sum"] | None,
        Meta(title="running", description="statistic of all evaluation points so far", extra=SELDOM),
    ] = None
    times: Annotated[
        Text | None, Meta(title="times", description="a factor, as in 1/sqrt(n)", extra=SELDOM)
    ] = None
    read: Annotated[
        Read | Taken | None,
        Meta(
            title="read off",
            description="last, max, …, or as in first_below = 0.1, over = rows",
            extra=SELDOM,
        ),
    ] = None
    relative: Annotated[
        Name | None,
        Meta(
            title="relative to",
            description="divided by the curve of this learner, or by this theory line",
            extra=SELDOM,
        ),
    ] = None
    summary: Annotated[
        Summary,
        Meta(title="summary", description="over replicas; geometric: e to the mean logarithm", extra=SELDOM),
    ] = "mean"
    share: Annotated[
        ReplicaShare | None,
        Meta(
            title="share",
            description="share of replicas for which a condition holds, as in {below = 0.1}",
            extra=SELDOM,
        ),
    ] = None
    lines: Annotated[
        tuple[Text, ...] | None,
        Meta(title="theory", description="theory lines to draw; none: all of the measure", extra=SELDOM),
    ] = None
    marks: Annotated[
        Annotated[tuple[Mark, ...], Meta(max_length=MOST_MARKS)],
        Meta(title="marks", description='straight lines, as in {name = "2", y = 2}', extra=SELDOM),
    ] = ()
    draw: Annotated[
        Literal["curves", "bars"],
        Meta(title="drawn as", description="curves, or bars over the values of an axis", extra=SELDOM),
    ] = "curves"
    points: Annotated[
        Literal["train"] | None,
        Meta(
            title="points",
            description="train: the examples of the first replica beside its function",
            extra=SELDOM,
        ),
    ] = None
    contours: Annotated[
        Annotated[tuple[Contour, ...], Meta(max_length=MOST_MARKS)],
        Meta(
            title="contours",
            description='of a heat map, as in {line = "chi-perp", level = 1}',
            extra=SELDOM,
        ),
    ] = ()
    beneath: Annotated[
        Text | None,
        Meta(
            title="beneath",
            description="name of a picture with the same x and curves, shown beneath this one",
            extra=SELDOM,
        ),
    ] = None
    title: Annotated[
        str,
        Meta(
            max_length=MOST_TEXT,
            title="title",
            description="title above the picture; none: made from its axes",
        ),
    ] = ""
    x_log: Annotated[
        bool | None, Meta(title="logarithmic x", description="auto: as the axis that x names")
    ] = None
    y_log: Annotated[bool | None, Meta(title="logarithmic y", description="auto: no")] = None

    def __post_init__(self) -> None:
        if self.share is not None and self.summary != "mean":
            raise BadField("summary", "a share is a mean over replicas; leave summary out")
        if self.summary in SPREADS:
            for step in ("times", "relative", "running"):
                if getattr(self, step) is not None:
                    raise BadField(
                        step, f"the {self.summary} is that of the measure itself; leave {step} out"
                    )

    @property
    def split_by(self) -> tuple[str, ...]:
        """Axes that split the curves, besides the learner."""
        named = (self.curves,) if isinstance(self.curves, str) else self.curves
        return tuple(axis_name for axis_name in named if axis_name != "learner")

    @property
    def read_by_replica(self) -> tuple[str, ...]:
        """Names of the measures for which the reductions read the values of every replica."""
        until = None if self.reading is None else self.reading.until
        ends = () if until is None or until.measure is None else (until.measure,)
        return (self.measure.name, *ends)

    @property
    def reads_places(self) -> bool:
        """Whether the picture shows the record at which a threshold was passed."""
        how = self.reading
        return how is not None and how.is_threshold and how.over == "record"

    @property
    def reading(self) -> Read | None:
        """The reading, with all its fields."""
        return Read(take=self.read) if isinstance(self.read, str) else self.read
