"""Claims: statements that a preset makes about its curves, which a run proves or refutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.catalogue import MemberOf
from engine.core.expressions import number
from engine.core.parts import LARGEST, MOST_WORDS, BadField, Part
from engine.learners.learner import Name
from engine.measures import Measure
from engine.pictures import reductions, wording
from engine.pictures.view import index_at, line_of
from engine.pictures.wording import curve_name, line_name, measure_name, x_name

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, LineView, View

Floats = NDArray[np.float64]

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Tolerance = Annotated[float, Meta(ge=0, le=LARGEST)]

AT = Meta(title="place", description="position on the x-axis of the picture, such as d/2")
Place = Annotated[Number, AT]
MaybePlace = Annotated[Number | None, AT]
Within = Annotated[Tolerance | None, Meta(title="tolerance", description="largest deviation that is allowed")]
StandardErrors = Annotated[
    Tolerance | None,
    Meta(title="standard errors", description="allowed deviation, in measured standard errors"),
]
LeastShare = Annotated[
    float,
    Meta(gt=0, le=1, title="share", description="least share of the replicas for which the claim must hold"),
]

DIGITS, MOST_DIGITS = 6, 15
"""Minimum and maximum number of digits in a claim's message. The tolerance decides between them."""

OPPOSITE = {"<": "≥", ">": "≤", "=": "≠", "in": "not in"}


class Outcome(NamedTuple):
    """Outcome of a claim: whether the claim holds, and the measured number that decides this."""

    claim: Claim
    holds: bool | None
    """Whether the claim holds. None means that it was not judged; `detail` gives the reason."""

    measured: float | None
    detail: str
    stderr: float | None = None
    """Standard error of `measured` over replicas; None for a single replica."""

    finding: str = ""
    """Sentence that states the result for the picture; empty if nothing was measured."""

    @property
    def word(self) -> str:
        return "not judged" if self.holds is None else "holds" if self.holds else "fails"


class Claim(Part, frozen=True, kw_only=True):
    """A statement about a picture, which a run proves or refutes.

    The field `picture` names the picture; by default, it is the first picture. The field `measure` names a
    measure that replaces the picture's own measure for this claim. The field `curve` names a curve of the
    picture; by default, the claim is about every curve.
    """

    example: ClassVar[str]
    """Example of such a claim in a preset, as TOML without the field `text`."""

    curve_fields: ClassVar[tuple[str, ...]] = ("curve",)
    """Names of the claim's fields that hold the name of a curve."""

    line_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the claim's fields that hold the name of a theory line.

    A field that is also in `curve_fields` may hold either name.
    """

    of_map: ClassVar[bool] = False
    """Whether the claim is about a heat map instead of a curve; `curve` then names the map's learner."""

    text: Annotated[
        str, Meta(min_length=1, max_length=MOST_WORDS, title="text", description="the claim in words")
    ]
    picture: Annotated[
        Name | None, Meta(title="picture", description="name of the picture; if not set, the first picture")
    ] = None
    curve: Annotated[
        Name | None, Meta(title="curve", description="name of a learner; if not set, every learner")
    ] = None
    measure: Annotated[
        MemberOf[Measure] | None,
        Meta(title="measure", description="measure to judge, if not that of the picture"),
    ] = None
    headline: Annotated[
        bool,
        Meta(
            title="headline",
            description="whether this claim, and not the first one, is the headline of the picture",
        ),
    ] = False

    def judge(self, view: View) -> Outcome:
        """Return the outcome of the claim for its curve in a view."""
        raise NotImplementedError

    def finding(self, view: View, outcome: Outcome) -> str:
        """Return one true sentence about the claim, computed from a view.

        The sentence has at most three numbers, where a pair of compared numbers counts as one.
        """
        raise NotImplementedError

    def of(self, view: View) -> CurveView:
        """Return the curve that the claim is about."""
        assert self.curve is not None, "a claim about every curve is judged of one after the other"
        return view.curve(self.curve)

    def fails(self, why: str) -> Outcome:
        """Return the outcome "the claim fails", for the reason `why`, without a measurement."""
        return Outcome(self, False, None, why)

    def one_of(self, *names: str) -> None:
        """Check that a claim sets exactly one of several fields. Raises: BadField."""
        if sum(getattr(self, name) is not None for name in names) != 1:
            raise BadField(names[0], f"a claim of this kind needs exactly one of {', '.join(names)}")


class Comparing(Claim, frozen=True, kw_only=True):
    """A claim that compares a measured number with an expected one."""

    equals: Annotated[Number | None, Meta(title="equals", description="the value, within the tolerance")] = (
        None
    )
    below: Annotated[Number | None, Meta(title="below", description="upper limit of the value")] = None
    above: Annotated[Number | None, Meta(title="above", description="lower limit of the value")] = None
    between: Annotated[
        Annotated[tuple[Number, ...], Meta(min_length=2, max_length=2)] | None,
        Meta(title="between", description="lower and upper limit of the value"),
    ] = None
    within: Within = None
    standard_errors: StandardErrors = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.one_of("equals", "below", "above", "between")
        exact = self.measure is not None and self.measure.structure().is_integer
        if self.equals is not None and not exact and self.within is None and self.standard_errors is None:
            raise BadField("equals", "needs a tolerance: within = …, or standard_errors = …")
        if self.between is not None and not all(map(math.isfinite, self.between)):
            raise BadField("between", f"{list(self.between)} are not finite numbers")
        if self.between is not None and self.between[0] > self.between[1]:
            raise BadField("between", f"{list(self.between)} is an empty interval; put the lower end first")

    def beyond(self, measured: Floats, stderr: Floats | None) -> Floats:
        """Return how far numbers are outside the range that the claim allows; at most 0 inside it."""
        if self.below is not None:
            beyond = measured - self.below
        elif self.above is not None:
            beyond = self.above - measured
        elif self.equals is not None:
            beyond = np.abs(measured - self.equals)
        else:
            assert self.between is not None, "a claim that compares has exactly one form"
            beyond = np.maximum(self.between[0] - measured, measured - self.between[1])
        return np.asarray(beyond - self.tolerance(stderr))

    @property
    def expected(self) -> str:
        """The condition that the claim states, as text such as "below 0.1"."""
        for word, bound in (
            ("below", self.below),
            ("above", self.above),
            ("within tolerance of", self.equals),
        ):
            if bound is not None:
                return f"{word} {number(bound)}"
        assert self.between is not None, "a claim that compares has exactly one form"
        return f"between {' and '.join(map(number, self.between))}"

    def tolerance(self, stderr: Floats | float | None) -> Floats | float:
        """Return how far a measured number may deviate: `within` plus `standard_errors` standard errors."""
        within = self.within or 0.0
        return within if stderr is None else within + (self.standard_errors or 0.0) * stderr

    def compared(
        self, measured: float, stderr: float | None = None, subject: str = "", summary: str = "mean"
    ) -> Outcome:
        """Compare a measured number with the expected one.

        Args:
            subject: begin of the outcome's message.
            summary: summary of the replicas from which the number was computed.
        """
        tolerance = float(self.tolerance(stderr))
        has_tolerance = self.within is not None or self.standard_errors is not None
        allowed = f" ± {number(tolerance, 2)}" if has_tolerance else ""

        def written(value: float) -> str:
            return f"{value:.{digits(value, tolerance)}g}"

        if self.below is not None:
            holds, sign, other = measured < self.below + tolerance, "<", f"{written(self.below)}{allowed}"
        elif self.above is not None:
            holds, sign, other = measured > self.above - tolerance, ">", f"{written(self.above)}{allowed}"
        elif self.equals is not None:
            holds = abs(measured - self.equals) <= tolerance
            sign, other = "=", f"{written(self.equals)}{allowed}"
        else:
            assert self.between is not None, "a claim that compares has exactly one form"
            low, high = self.between
            holds = low - tolerance <= measured <= high + tolerance
            sign, other = "in", f"[{written(low)}, {written(high)}]{allowed}"
        error = f" ({_stderr_in_words(stderr, summary)})" if subject and stderr is not None else ""
        detail = f"{subject}{written(measured)}{error} {sign if holds else OPPOSITE[sign]} {other}"
        return Outcome(self, bool(holds), measured, detail, stderr)


class ComparingTwo(Comparing, frozen=True, kw_only=True):
    """A claim about a number computed from two curves, or from a curve and a theory line.

    The number is computed at one x position, or at every x position. In the second case, the position with
    the worst value decides the outcome. The standard error is computed from subsets of the replicas. Both
    curves, and a line computed from data, use the same subset, because a replica has the same data for all of
    them.
    """

    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "to")
    line_fields: ClassVar[tuple[str, ...]] = ("to",)
    phrase: ClassVar[str]
    """Template of the sentence about all places. {curve} and {other} are the names of the two compared
    curves; {ends} is the least and the greatest number.
    """

    to: Annotated[Name, Meta(title="to", description="the name of a learner or of a theory line")]
    at: MaybePlace = None

    def combined(self, y: Floats, other: Floats) -> Floats:
        """Return the claim's number (such as a ratio) at every x, or NaN where it is undefined."""
        raise NotImplementedError

    @property
    def needs(self) -> str:
        """Message for a claim that applies to no x. {name} stands for the second curve or theory line."""
        return "there is no x at which both the curve and {name} have a value"

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        name, other = other_at(view, self.to, curve)
        name = wording.quoted(name)
        if self.at is not None:
            place = index_at(curve, self.at) or 0
            first = wording.called(view, curve), float(curve.y[place])
            return wording.compared(view, float(curve.x[place]), first, [(name, float(other(whole)[place]))])
        numbers = self.combined(curve.y, other(whole))
        usable = np.isfinite(numbers) & curve.ends.sound
        ends, span = wording.ends(numbers[usable]), wording.span(view, curve.x[usable])
        return f"{span}, {self.phrase.format(curve=wording.called(view, curve), other=name, ends=ends)}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        name, other = other_at(view, self.to, curve)
        if self.at is None and (why := unfinished(view, curve)):
            return self.fails(why)
        numbers = self.combined(curve.y, other(whole))
        # From the first divergence on, means would be over the remaining replicas only.
        is_defined = curve.ends.sound & np.isfinite(curve.y) & np.isfinite(other(whole)) & ~np.isnan(numbers)
        places = places_of(curve, is_defined, self.at)
        if not len(places):
            return self.fails(self.needs.format(name=name))
        errors = reductions.standard_error(
            curve.summary,
            curve.replicas,
            lambda replicas: self.combined(curve.over(replicas), other(lambda shown: shown.over(replicas))),
        )
        allowed = errors[places] if errors is not None and self.standard_errors else None
        worst = int(places[np.argmax(self.beyond(numbers[places], allowed))])
        subject = f"at {where(view, curve.x[worst])} the {self.kind} to {name} is "
        return self.compared(
            float(numbers[worst]),
            None if errors is None else float(errors[worst]),
            subject,
            view.picture.summary,
        )


def _stderr_in_words(stderr: float, summary: str) -> str:
    """Return a standard error over replicas as text.

    The standard error of a mean is 0 only if all replicas have the same number. That of a median is also 0 if
    a few replicas differ.
    """
    is_same = stderr == 0 and summary in ("mean", "geometric")
    return "the same in every replica" if is_same else f"standard error {number(stderr, 2)}"


def digits(value: float, tolerance: float) -> int:
    """Return how many digits of `value` to print, so that a tenth of the tolerance is visible.

    The result is between DIGITS and MOST_DIGITS.
    """
    if not (value and tolerance and math.isfinite(value) and math.isfinite(tolerance)):
        return DIGITS
    needed = math.floor(math.log10(abs(value))) - math.floor(math.log10(tolerance)) + 2
    return min(max(needed, DIGITS), MOST_DIGITS)


def standard_error(
    statistic: Callable[[Callable[[CurveView | LineView], Floats]], float], curve: CurveView
) -> float | None:
    """Return the standard error, over replicas, of a number that is computed from curves.

    `statistic(values)` computes the number, where `values(curve)` returns the y values of a curve over a
    subset of the replicas. `statistic` is called for several subsets. In one call, the subset is the same for
    all curves, because a replica has the same data for all learners. Return None if the error cannot be
    computed, for example from a single replica.
    """

    def of(replicas: Sequence[int]) -> Floats:
        return np.array(statistic(lambda shown: shown.over(replicas)))

    error = reductions.standard_error(curve.summary, curve.replicas, of)
    return None if error is None else float(error)


def in_replicas(claim: Claim, holding: list[bool], least: float) -> Outcome:
    """Return the outcome of a claim that must hold in at least the share `least` of the replicas."""
    share = sum(holding) / len(holding)
    detail = f"it holds for {sum(holding)} of {len(holding)} replicas; {100 * least:.4g} % are needed"
    stderr = math.sqrt(share * (1 - share) / (len(holding) - 1)) if len(holding) > 1 else None
    return Outcome(claim, share >= least, share, detail, stderr)


def name_of(view: View) -> str:
    """Return the name of a picture's quantity in messages about claims.

    Usually, the result is the name of the measure. A picture may instead show the x positions at which its
    measure reaches a threshold or an extreme value. In this case, the result is the label of the y-axis.
    """
    reading = view.picture.reading
    return view.axes.y_label if reading is not None and reading.is_place else measure_name(view)


def where(view: View, x: float) -> str:
    """Return an x position as text, such as "k = 16"."""
    return f"{x_name(view)} = {view.axes.names.get(x) or format(x, 'g')}"


def divergence(view: View, curve: CurveView) -> str:
    """Return a phrase that says at which x a curve diverged or lost accuracy.

    With several replicas, the phrase gives the number of these replicas, and the first x. The phrase is empty
    if no replica diverged or lost accuracy.
    """
    if curve.ends.diverged_at is None:
        return ""
    if curve.replicas == 1:
        return f"it {curve.ends.fate} at {where(view, curve.ends.diverged_at)}"
    count = max(curve.ends.diverged, int(curve.ends.lost.max(initial=0)))
    summary = f"{count} of {curve.replicas} replicas {curve.ends.fate}"
    return f"{summary}, the first at {where(view, curve.ends.diverged_at)}"


def unfinished(view: View, curve: CurveView) -> str:
    """Return the reason why a curve lacks planned evaluation points or replicas; empty if it is complete."""
    if curve.ends.complete:
        return ""
    if curve.ends.diverged_at is not None:
        return divergence(view, curve)
    return (
        f"the curve ends at {where(view, curve.x[-1])}"
        if len(curve.x)
        else "the curve has no evaluation points"
    )


def places_of(curve: CurveView, is_defined: NDArray[np.bool_], at: float | None) -> NDArray[np.int64]:
    """Return the indices [S] of the x positions at which the curve has a defined value.

    If `at` is given, only the x position `at` counts.
    """
    if at is None:
        return np.flatnonzero(is_defined)
    place = index_at(curve, at)
    return np.flatnonzero(is_defined & (np.arange(len(curve.x)) == (-1 if place is None else place)))


def other_at(view: View, name: str, curve: CurveView) -> tuple[str, Callable[..., Floats]]:
    """Find the curve or line called `name`. Return its displayed name, and a function f for its values.

    The argument of f is a function `take` that chooses values of a curve or line. For example, `whole` takes
    the values over all replicas. f interpolates these values linearly at the x positions of `curve`.
    """
    try:
        line = line_of(view, name, curve.name)
    except KeyError:
        other = view.curve(name)
        return curve_name(view, other), lambda take: _interpolated(curve.x, other.x, take(other))
    return line_name(view, line), lambda take: _interpolated(curve.x, line.x, take(line))


def _interpolated(x: Floats, places: Floats, values: Floats) -> Floats:
    """Interpolate `values` at `places` linearly at the positions x. If `places` is empty, return NaN."""
    return np.interp(x, places, values) if len(places) else np.full(x.shape, np.nan)


def whole(curve: CurveView | LineView) -> Floats:
    """Return the values of a curve or theory line over all its replicas."""
    return curve.y
