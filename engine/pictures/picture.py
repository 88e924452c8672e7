"""Pictures: the part of a preset that describes how its results are shown."""

from __future__ import annotations

import re
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
"""Largest number of marks in a picture, and of contours. Each mark or contour takes one line of the legend.
"""

RATE = "rate"
"""Name by which pictures refer to the learning rates that a learner tries side by side.

If a sweep axis has this name, the name refers to the sweep axis.
"""

MOST_TEXT = 200
"""Largest number of characters of an expression or a title."""

Text = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


Taken = Literal["last", "first", "max", "min", "mean"]

Extreme = Literal["max", "min", "gap"]
PLACES: dict[Extreme, str] = {"max": "largest", "min": "least", "gap": "largest jump in"}
"""Words for the extreme values whose place a reading can return."""


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Description of a reading: how one number is read from measured values along a dimension.

    `over` names the dimension: `record` (the progress of training), a sweep axis, an index of the measure, or
    the `rate` if a learner tries several rates. Over rates, `take = "min"` reads the least value of all
    rates, separately for every replica and x. Below, a place is a coordinate along the dimension, such as a
    number of examples.

    `take` reads the last, first, largest or least value of the measure along the dimension, or their mean.
    `first_below` and `first_above` read the first place at which the measure is below or above a threshold.
    They read this place for every replica, or with `of = "mean"` for the mean over replicas. With `between =
    "no"`, the reading is the first place with a measured value beyond the threshold. Other values of
    `between` interpolate the crossing of the threshold between this place and the previous one. `linear`
    interpolates linearly, and `log` linearly in the logarithms of place and measure. If a logarithm is
    undefined, nothing is interpolated. `place_of` reads the first place of the largest or least value, or the
    place before the largest gap. A gap between two neighbouring values is the ratio of the larger to the
    smaller.

    `until` is a condition on a clock or on another measure. Every replica is read only up to the first
    evaluation point that meets the condition; later evaluation points count as having the value of this
    evaluation point. A replica that never meets the condition has no reading.
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
            raise BadField("take", "set exactly one of `take`, `first_below`, `first_above` and `place_of`")
        if self.between != "no" and not self.is_threshold:
            raise BadField("between", "this option is only for `first_below` and `first_above`; leave it out")
        if self.until is not None and self.over != "record":
            raise BadField(
                "until",
                'this option selects evaluation points; set over = "record", or leave `until` out',
            )

    @property
    def is_place(self) -> bool:
        """Whether the reading is a position along the dimension, such as a step, instead of a value."""
        return self.take is None

    @property
    def is_threshold(self) -> bool:
        """Whether the reading is the first position at which the measure passes a threshold.

        Values of the measure after this position cannot change the reading.
        """
        return self.first_below is not None or self.first_above is not None

    def in_words(self, label: str, over: str) -> str:
        """Return the label of a y-axis that shows positions, such as "k until loss < 0.1".

        `label` is the label of the measure. `over` is the label of the dimension along which the measure is
        read, "k" in the example.
        """
        if self.place_of is not None:
            return f"{over} of the {PLACES[self.place_of]} {label}"
        sign, threshold = ("<", self.first_below) if self.first_above is None else (">", self.first_above)
        return f"{over} until {label} {sign} {threshold:g}"


class ReplicaShare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Share of the replicas whose value is below a number, above a number, or between two numbers.

    If both `below` and `above` are given, both conditions must hold. Diverged replicas satisfy neither
    condition.
    """

    below: Number | None = None
    above: Number | None = None

    def __post_init__(self) -> None:
        if self.below is None and self.above is None:
            raise BadField(
                "below", "a share counts values below or above a number; give `below`, `above` or both"
            )
        if self.below is not None and self.above is not None and self.below <= self.above:
            raise BadField("below", f"no value is below {self.below:g} and above {self.above:g}")

    def in_words(self, label: str) -> str:
        """Return the label of a y-axis with this share, such as "share of replicas with loss < 0.1"."""
        if self.below is None:
            assert self.above is not None, "one of both is given"
            return f"share of replicas with {label} > {_short_number(self.above)}"
        above = "" if self.above is None else f"{_short_number(self.above)} < "
        return f"share of replicas with {above}{label} < {_short_number(self.below)}"


def _short_number(number: float) -> str:
    """Write a number as the ticks of a log axis do: 1e-8 instead of 1e-08."""
    return re.sub(r"e([+-])0+", r"e\1", f"{number:g}")


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Line at one value of x or of y in a picture, which marks this value for the viewer.

    The value may be an expression of sweep axes. If the picture has one curve for each value of such an axis,
    it also has one line for each value. If the axis is the picture's x, a mark at y, such as y = "2/eta", is
    a curve over x. If the axis is the y of a heat map, a mark at x is a curve over y.
    """

    name: Text | None = None
    """Name in the legend; None to show the marked value instead."""

    x: Number | None = None
    y: Number | None = None

    @property
    def title(self) -> str:
        return self.name or (f"y = {self.y:g}" if self.x is None else f"x = {self.x:g}")

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise BadField("x", "set exactly one of `x` and `y`")


class Marked(NamedTuple):
    """A mark in the form in which it is drawn: a line at one x or at one y, or a line through points."""

    name: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    kind: str = ""
    """Name without the values of the sweep axes that distinguish curves."""

    apart: tuple[int, ...] | None = None
    """Index of the value of each sweep axis that distinguishes curves; None if all curves share the mark."""

    def between(self, x: Iterable[float], y: Iterable[float]) -> tuple[tuple[float, ...], ...]:
        """Return the x and y coordinates of the mark's points.

        A straight line has two points, at both ends of an axis. `x` and `y` are the ends of the axes.
        """
        if not self.x:
            return tuple(x), self.y * 2
        return self.x * (1 if self.y else 2), self.y or tuple(y)


class Contour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Contour line in a heat map: the points at which a theory line has the value `level`.

    The theory line may be about another measure than that of the picture. The other measure must also have
    the picture's dimensions x and y. The values of the theory line are those at the evaluation point that the
    picture shows. The fields `running`, `times`, `read` and `relative` of the picture do not change these
    values.
    """

    line: Text
    """Kind of the theory line."""

    level: Number
    name: Text | None = None
    """Name in the picture; None to show the kind of the theory line, and the level."""


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A chart of a measure: curves along x, or a heat map if `y` is given. Claims refer to a picture by name.

    `x` is one of the following, or an expression of them: a clock (k, step, time …), a sweep axis, an index
    of the measure, the `rate` if a learner tries several rates, or the mean over replicas of a measure that
    is a single number (loss, functional_margin …). Every learner has a curve. If `curves` names sweep axes,
    every learner has one curve for each combination of their values. `at` fixes the value of another
    dimension, and `read` reduces a dimension to one number. If x contains no clock and no measure, the value
    at the last evaluation point is shown, unless `at` or `read` selects another.

    The measured values go through these steps, in this order. `at` selects values. `running` replaces each
    value by a statistic of all evaluation points so far; with `burn_in`, the statistic begins at this value
    of the run's clock, and earlier values are not shown. `times` multiplies by a factor. `read` reduces a
    dimension to one number. `relative` divides by the curve of a learner or by a theory line. Last, `summary`
    summarises the replicas, or `share` counts the share of replicas that meet a condition. The summary
    `relative-variance` is the variance divided by the squared mean, and `log-variance` is the variance of the
    logarithms. Both need at least two replicas. Theory lines of the measure go through the same steps. The
    picture shows all these lines, or only those that `lines` names. It shows no theory lines if `share` is
    set, or if `read` has the field `place_of`.

    `marks` are straight lines at values of interest. `contours` show where a theory line has a given value in
    a heat map. With `points = "train"`, the curve shows a function of the input, together with the training
    examples of the first replica. With `draw = "bars"`, there is a bar for every value of x. x may then be a
    sweep axis whose values are words; these are drawn at x = 1, 2, 3, …. `beneath` names another picture with
    the same x and curves, which is drawn below this one with its own y-axis, theory lines and claims.
    """

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MOST_NAME)] | None,
        Meta(
            title="name",
            description="name by which claims refer to the picture; not needed for the first picture",
            extra=SELDOM,
        ),
    ] = None
    x: Annotated[
        Text, Meta(title="x", description="quantity on the x-axis, such as k, step, eta, or eta*step")
    ] = "k"
    y: Annotated[
        Text | None,
        Meta(title="y", description="quantity on the y-axis of a heat map; none: draw curves", extra=SELDOM),
    ] = None
    measure: MemberOf[Measure]
    curves: Annotated[
        Text | tuple[Text, ...],
        Meta(
            title="curves",
            description="sweep axes; a learner has one curve for each combination of axis values",
        ),
    ] = "learner"
    at: Annotated[
        dict[Text, Number],
        Meta(
            title="at",
            description="fixed values of other axes or indices, such as cw = 2, layer = 30",
            extra=SELDOM,
        ),
    ] = {}
    running: Annotated[
        Literal["mean", "min", "max", "sum"] | None,
        Meta(
            title="running",
            description="replaces each value by a statistic of all values up to it",
            extra=SELDOM,
        ),
    ] = None
    burn_in: Annotated[
        Number | None,
        Meta(
            title="burn-in",
            description="value of the run's clock, such as a step, at which `running` begins",
            extra=SELDOM,
        ),
    ] = None
    times: Annotated[
        Text | None,
        Meta(
            title="times",
            description="factor by which values are multiplied, such as 1/sqrt(n)",
            extra=SELDOM,
        ),
    ] = None
    read: Annotated[
        Read | Taken | None,
        Meta(
            title="read off",
            description='reduces a curve to one number: last, max, …, or {first_below = 0.1, over = "rows"}',
            extra=SELDOM,
        ),
    ] = None
    relative: Annotated[
        Name | None,
        Meta(
            title="relative to",
            description="values are divided by the curve of this learner, or by this theory line",
            extra=SELDOM,
        ),
    ] = None
    summary: Annotated[
        Summary,
        Meta(
            title="summary",
            description="statistic over replicas; geometric: the geometric mean",
            extra=SELDOM,
        ),
    ] = "mean"
    share: Annotated[
        ReplicaShare | None,
        Meta(
            title="share",
            description="show the share of replicas that meet a condition, such as {below = 0.1}",
            extra=SELDOM,
        ),
    ] = None
    lines: Annotated[
        tuple[Text, ...] | None,
        Meta(
            title="theory",
            description="theory lines to draw; none: all lines about the measure",
            extra=SELDOM,
        ),
    ] = None
    marks: Annotated[
        Annotated[tuple[Mark, ...], Meta(max_length=MOST_MARKS)],
        Meta(
            title="marks",
            description='straight lines at values of interest, such as {name = "2", y = 2}',
            extra=SELDOM,
        ),
    ] = ()
    draw: Annotated[
        Literal["curves", "bars"],
        Meta(title="drawn as", description="curves, or one bar for each value of x", extra=SELDOM),
    ] = "curves"
    points: Annotated[
        Literal["train"] | None,
        Meta(
            title="points",
            description="train: also draw the training examples of the first replica",
            extra=SELDOM,
        ),
    ] = None
    contours: Annotated[
        Annotated[tuple[Contour, ...], Meta(max_length=MOST_MARKS)],
        Meta(
            title="contours",
            description='curves on which a theory line has a given level: {line = "chi-perp", level = 1}',
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
            description="title above the picture; none: made from the names of its axes",
        ),
    ] = ""
    x_log: Annotated[
        bool | None,
        Meta(title="logarithmic x", description="auto: yes if the values of x are spaced logarithmically"),
    ] = None
    y_log: Annotated[bool | None, Meta(title="logarithmic y", description="auto: linear y-axis")] = None

    def __post_init__(self) -> None:
        if self.share is not None and self.summary != "mean":
            raise BadField("summary", "a share is a mean over replicas; leave `summary` out")
        if self.burn_in is not None and self.running is None:
            raise BadField("burn_in", "only a running statistic has a burn-in; set `running`, too")
        if self.summary in SPREADS:
            for step in ("times", "relative", "running"):
                if getattr(self, step) is not None:
                    raise BadField(
                        step,
                        f"the summary {self.summary} cannot be combined with `{step}`; leave `{step}` out",
                    )

    @property
    def split_by(self) -> tuple[str, ...]:
        named = (self.curves,) if isinstance(self.curves, str) else self.curves
        return tuple(axis_name for axis_name in named if axis_name != "learner")

    @property
    def read_by_replica(self) -> tuple[str, ...]:
        """Names of the measures that the picture needs for every single replica."""
        until = None if self.reading is None else self.reading.until
        ends = () if until is None or until.measure is None else (until.measure,)
        return (self.measure.name, *ends)

    @property
    def reads_places(self) -> bool:
        """Whether the picture shows the time during training at which a measure passes a threshold."""
        how = self.reading
        return how is not None and how.is_threshold and how.over == "record"

    @property
    def reading(self) -> Read | None:
        """The field `read` as an object, even if it is only a word such as "last"."""
        return Read(take=self.read) if isinstance(self.read, str) else self.read
