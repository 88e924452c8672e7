"""Pictures: what is drawn of a result, against what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from engine.core import catalogue
from engine.core.parts import LARGEST, SELDOM, BadField
from engine.learners.learner import MOST_NAME, Name
from engine.protocols import Until

if TYPE_CHECKING:
    from engine.measures import Measure as AnyMeasure
else:
    AnyMeasure = catalogue.union("measures")

MOST_MARKS = 20
"""Marks of a picture at most, and contours: each has its line in the legend."""

RATE = "rate"
"""What pictures call the rates that learners try side by side, if no axis has that name."""

MOST_TEXT = 200
"""Letters of an expression, or of a title, at most."""

Text = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


Taken = Literal["last", "first", "max", "min", "mean"]

Extreme = Literal["max", "min", "gap"]
PLACES: dict[Extreme, str] = {"max": "largest", "min": "least", "gap": "largest gap of"}
"""What the places of values are called."""


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a dimension becomes one number: what is read off along it.

    `over` is `record` (how far training has come), an axis, an index of the measure, or the `rate` where a
    learner tries several, of which `take = "min"` is the best. `first_below` and
    `first_above` are the place along it at which the measure first is, of every replica, or with
    `of = "mean"` of their mean: the first of those measured, or with `between` a place before it, where a
    straight line from the one before crosses the threshold (linear), or one in the logarithms of place and
    measure (log). Where a logarithm is missing, it is the place measured. `place_of` is the first place of
    the largest or least value, or the one after which the largest gap is: the greatest ratio, up or down,
    of neighbouring values. `until` ends the records of every replica where a clock or another measure first
    passes a value: after that it stays what it was there, and a replica that never gets there has nothing
    to read off.
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
            raise BadField("between", "it is for first_below and first_above; leave it out")
        if self.until is not None and self.over != "record":
            raise BadField("until", "it ends the evaluation points of a run; read over record")

    @property
    def is_place(self) -> bool:
        """Whether what is read is a place along the dimension, and no value of the measure."""
        return self.take is None

    @property
    def is_threshold(self) -> bool:
        """Whether it is the first place that is below or above a number: others change nothing of that."""
        return self.first_below is not None or self.first_above is not None

    def in_words(self, label: str, over: str) -> str:
        """What a place is called that is read off along `over`, of a measure with this label."""
        if self.place_of is not None:
            return f"{over} of the {PLACES[self.place_of]} {label}"
        sign, threshold = ("<", self.first_below) if self.first_above is None else (">", self.first_above)
        return f"{over} until {label} {sign} {threshold:g}"


class ReplicaShare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which share of the replicas something holds: that a value is below a number, above it, or between.

    A replica that has diverged is none of them. With two bounds both must hold.
    """

    below: Number | None = None
    above: Number | None = None

    def __post_init__(self) -> None:
        if self.below is None and self.above is None:
            raise BadField("below", "a share is of values below or above a number; give one of them, or both")
        if self.below is not None and self.above is not None and self.below <= self.above:
            raise BadField("below", f"no value is below {self.below:g} and above {self.above:g}")

    def in_words(self, label: str) -> str:
        """What is counted, of a measure with this label."""
        if self.below is None:
            return f"share of replicas with {label} > {self.above:g}"
        above = "" if self.above is None else f"{self.above:g} < "
        return f"share of replicas with {above}{label} < {self.below:g}"


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place that a picture marks by a straight line, at x or at y.

    An expression may name the axes that the curves are split by, for a line each, and those that x names (a
    mark at y) or y (a mark at x of a heat map), for a line along them, as y = "2/eta".
    """

    name: Text | None = None
    """What the legend calls it; None for its place."""

    x: Number | None = None
    y: Number | None = None

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or (f"y = {self.y:g}" if self.x is None else f"x = {self.x:g}")

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise BadField("x", "a mark is at one place, x or y; give one of them")


class Marked(NamedTuple):
    """A line to be drawn: straight at one x or one y, or through the places that both have."""

    name: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    kind: str = ""
    """Its name without the values of the axes that the curves are split by."""

    apart: tuple[int, ...] | None = None
    """Which values these are, where it is that of the curves there; None if it is the same for all."""

    def between(self, x: Iterable[float], y: Iterable[float]) -> tuple[tuple[float, ...], ...]:
        """x and y of its places, of a straight one from end to end of all that there is."""
        if not self.x:
            return tuple(x), self.y * 2
        return self.x * (1 if self.y else 2), self.y or tuple(y)


class Contour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a line of the theory has a level, over the places of a heat map.

    The line may be one of another measure, as long as the x and y of the picture are dimensions of it too. It
    is taken as it is at the record that the picture shows: factors and what is read off are for the measure.
    """

    line: Text
    level: Number
    name: Text | None = None
    """What the picture calls it; None for the line and its level."""


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A measure against something: curves, or with `y` a heat map. Claims call it by its name.

    `x` is a clock (k, step, time …), an axis, an index of the measure, the `rate` where a learner tries
    several, a measure that is a number (loss, functional_margin …: its mean over replicas), or an expression
    of these. Every learner has a curve of its own, and `curves` may name axes to split them by. What is
    neither drawn along nor split by is set by `at`, or read off by `read`; of how far training has come the
    end is taken. In this order: `at`, then `running` along the records, `times` a factor, `read`, `relative`
    to a learner's curve or to a line of the theory, and over replicas the `summary`, or the `share` for which
    something holds. Theory lines of the measure take the same steps, all of them, or those that `lines`
    names; they say nothing of shares and of places of extremes. `marks` are places worth a straight line, and
    `contours` of a heat map are where a line of the theory has a level. A function over inputs has with
    `points = "train"` the examples beside it that it was learned from, those of the first replica.
    With `draw = "bars"` there is a bar at every place of x, which may be an axis of words: its values then
    stand at 1, 2, 3, …
    """

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MOST_NAME)] | None,
        Meta(title="name", description="what claims call it; none: the first is theirs", extra=SELDOM),
    ] = None
    x: Annotated[
        Text, Meta(title="x", description="what it is drawn along, as k, step, eta, or eta*step")
    ] = "k"
    y: Annotated[
        Text | None,
        Meta(title="y", description="the other axis of a heat map; none: curves", extra=SELDOM),
    ] = None
    measure: AnyMeasure
    curves: Annotated[
        Text | tuple[Text, ...],
        Meta(title="curves", description="the axes that tell curves apart, beside the learner"),
    ] = "learner"
    at: Annotated[
        dict[Text, Number],
        Meta(title="at", description="where on other dimensions, as in cw = 2, layer = 30", extra=SELDOM),
    ] = {}
    running: Annotated[
        Literal["mean", "min", "max", "sum"] | None,
        Meta(title="running", description="of all evaluation points so far", extra=SELDOM),
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
            description="divided by this learner's curve, or by this line of the theory",
            extra=SELDOM,
        ),
    ] = None
    summary: Annotated[
        Literal["mean", "median", "geometric", "first", "max", "min"],
        Meta(title="summary", description="over replicas; geometric: e to the mean logarithm", extra=SELDOM),
    ] = "mean"
    share: Annotated[
        ReplicaShare | None,
        Meta(title="share", description="of replicas, for which it is so: {below = 0.1}", extra=SELDOM),
    ] = None
    lines: Annotated[
        tuple[Text, ...] | None,
        Meta(title="theory", description="the lines of it; none: all of the measure", extra=SELDOM),
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
    title: Annotated[
        str,
        Meta(max_length=MOST_TEXT, title="title", description="above the picture; none: made of its axes"),
    ] = ""
    x_log: Annotated[
        bool | None, Meta(title="logarithmic x", description="auto: as the axis that x names")
    ] = None
    y_log: Annotated[bool | None, Meta(title="logarithmic y", description="auto: no")] = None

    def __post_init__(self) -> None:
        if self.share is not None and self.summary != "mean":
            raise BadField("summary", "a share is a mean over replicas; leave summary out")

    @property
    def split_by(self) -> tuple[str, ...]:
        """The axes that the curves are split by, beside the learner."""
        named = (self.curves,) if isinstance(self.curves, str) else self.curves
        return tuple(name for name in named if name != "learner")

    @property
    def read_by_replica(self) -> tuple[str, ...]:
        """Names of the measures whose values of every replica the reductions read."""
        until = None if self.reading is None else self.reading.until
        ends = () if until is None or until.measure is None else (until.measure,)
        return (self.measure.name, *ends)

    @property
    def reads_places(self) -> bool:
        """Whether it reads off how far training had come when something was reached."""
        how = self.reading
        return how is not None and how.is_threshold and how.over == "record"

    @property
    def reading(self) -> Read | None:
        """What is read off, in full."""
        return Read(take=self.read) if isinstance(self.read, str) else self.read
