"""Sweep axes: values that vary between the runs of an experiment."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, TypeGuard

import msgspec
import numpy as np
from msgspec import Meta

from engine.core.expressions import number
from engine.core.parts import LARGEST, SELDOM, BadField

MOST_POINTS = 10_000
"""Largest number of values of a sweep axis; every value needs at least one run."""

FEW = 9
"""Default number of values in a range, unless the range is logarithmic and one of FACTORS fits its ends."""

FACTORS = (2.0, 10.0)
"""Factors between neighbouring values of a logarithmic range without `points`, tried in this order."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Word = Annotated[str, Meta(min_length=1, max_length=200)]
Value = int | Number | bool | Word | dict[Word, int | Number]
AxisName = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=20)]


@lru_cache(maxsize=256)
def _spaced_numbers(first: float, last: float, count: int, log: bool) -> tuple[float, ...]:
    """Return the numbers of a range. They are cached, because every frame of a sweep asks for them often."""
    spaced = np.geomspace if log else np.linspace
    rounded = [float(f"{number:.12g}") for number in spaced(first, last, count).tolist()]  # 0.3, not 0.30…04
    return tuple(map(int, rounded)) if all(map(float.is_integer, rounded)) else tuple(rounded)


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sweep axis: a name for expressions of the preset, and the values that it takes in turn.

    A value is a number, or a table that assigns numbers to several names. With `set`, each value replaces the
    field of the preset that `set` names. The value may then also be a word, or the table of a part such as an
    update rule. A range runs from `from` to `to` in equal steps. With `log`, it runs in equal factors.
    Without `points`, a range has 9 values. With `log`, however, its values differ by the factor 2 or 10 if
    such factors lead exactly to `to`. Charts label the values with `names` if `names` is set. Otherwise,
    charts show the numbers themselves.

    With `until = "read"`, a learner runs at the values of this axis in increasing order, and stops early.
    This happens separately for each combination of values on the other axes. Pictures with `read` compute one
    number from all values along this axis, such as the first value at which the loss is small. The learner
    stops as soon as larger values of the axis cannot change these numbers and their standard errors.
    """

    name: Annotated[
        AxisName,
        Meta(title="name", description="name in expressions, made of letters and digits, such as eta"),
    ]
    values: Annotated[
        Annotated[tuple[Value, ...], Meta(min_length=1, max_length=MOST_POINTS)] | None,
        Meta(
            title="values",
            description="such as 0.1, 0.2. A table, such as {K = 2, C = 3}, gives each of its names a value",
        ),
    ] = None
    from_: Annotated[Number | None, Meta(title="from", description="first value of a range")] = msgspec.field(
        default=None, name="from"
    )
    to: Annotated[Number | None, Meta(title="to", description="last value of a range")] = None
    points: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_POINTS)] | None,
        Meta(
            title="points",
            description="number of values; if not set, 9. On a logarithmic axis, if not set, values differ "
            "by the factor 2, or else 10, if this factor leads exactly to the last value",
        ),
    ] = None
    log: Annotated[
        bool,
        Meta(
            title="logarithmic",
            description="neighbouring values differ by equal factors, and charts have a logarithmic axis",
        ),
    ] = False
    names: Annotated[
        tuple[Word, ...] | None,
        Meta(
            title="names",
            description="one name for each value; if not set, charts show the numbers",
            extra=SELDOM,
        ),
    ] = None
    symbol: Annotated[
        Word | None,
        Meta(
            title="symbol",
            description="symbol in charts, such as d or C_w; if not set, the name, with η for eta",
            extra=SELDOM,
        ),
    ] = None
    set: Annotated[
        Word | None,
        Meta(
            title="sets",
            description="field that each value sets, such as problem.target.degree; "
            "if empty, the values appear only in expressions that contain the axis's name",
        ),
    ] = None

    until: Annotated[
        Literal["read"] | None,
        Meta(
            title="until",
            description="read: a learner runs at increasing values of the axis, and stops when larger values "
            "cannot change the result of `read`",
            extra=SELDOM,
        ),
    ] = None

    def __post_init__(self) -> None:
        self._check_values()
        if self.names is not None and len(set(self.names)) != len(self.grid):
            fault = f"{len(self.grid)} values have {len(set(self.names))} different names"
            raise BadField("names", f"{fault}; give each value a different name")
        if self.until is not None and any(
            number >= other for number, other in pairwise(self._numeric_values)
        ):
            raise BadField(
                "until",
                "the values of the axis are not in increasing order; sort them, or leave `until` out",
            )

    @property
    def _numeric_values(self) -> list[float]:
        return [number for number in self.grid if _is_number(number)]

    def _check_values(self) -> None:
        if self.values is None:
            self._check_range()
        elif self.from_ is not None or self.to is not None or self.points is not None:
            raise BadField("values", "an axis has values, or a range from … to …; leave one of them out")
        elif self.set is None and not all(map(_binds_numbers, self.values)):
            raise BadField("values", 'only an axis with set = "FIELD" may have words as values; take numbers')
        elif self.log and not all(isinstance(value, int | float) and value > 0 for value in self.values):
            raise BadField("log", "a logarithmic axis needs positive numbers; leave `log` out")

    def _check_range(self) -> None:
        if self.from_ is None and self.to is None and self.points is None:
            raise BadField("values", "missing; an axis has values = […], or from = … and to = …")
        for name, end in (("from", self.from_), ("to", self.to)):
            if end is None:
                raise BadField(name, "missing; an axis has values = […], or from = … and to = …")
            if self.log and end <= 0:
                raise BadField(
                    name, f"the ends of a logarithmic axis must be positive, but this end is {end:g}"
                )

    @property
    def grid(self) -> tuple[Value, ...]:
        """All values in order. In a range with only whole numbers, they have the type int."""
        if self.values is not None:
            return self.values
        assert self.from_ is not None, "the range was checked"
        assert self.to is not None, "the range was checked"
        count = self.points or self._count_of_points(self.from_, self.to)
        return _spaced_numbers(self.from_, self.to, count, self.log)

    def _count_of_points(self, first: float, last: float) -> int:
        if first == last:
            return 1
        if self.log:
            for factor in FACTORS:
                steps = abs(math.log(last / first) / math.log(factor))
                # Logarithms are rounded: log(1000) / log(10) is 2.9999999999999996.
                if abs(steps - round(steps)) < 1e-9:
                    return round(steps) + 1
        return FEW

    @property
    def has_words(self) -> bool:
        """Whether some values are neither numbers nor tables of numbers, such as words."""
        return not all(self.bound(axis_value) for axis_value in self.grid)

    def bound(self, value: Value) -> dict[str, float]:
        """Return the numbers that a value of the axis assigns to names, by name.

        A number has the name of the axis. A table assigns a number to each of its keys. For a word, the
        result is empty.
        """
        if isinstance(value, dict):
            return {str(name): float(number) for name, number in value.items()}
        return {self.name: float(value)} if _is_number(value) else {}

    def names_along(self, x: str) -> dict[float, str]:
        """Return the names of the axis's values, by their position on the x-axis of a picture.

        Words are at the positions 1, 2, …. The result is empty if the values have no names.
        """
        if self.has_words:
            words = self.names or tuple(map(str, self.grid))
            return {float(place): word for place, word in enumerate(words, 1)} if x == self.name else {}
        pairs = zip(self.grid, self.names or (), strict=self.names is not None)
        return {self.bound(axis_value)[x]: name for axis_value, name in pairs if x in self.bound(axis_value)}

    def label(self, value: Value) -> str:
        """Return a value as text, such as "eta = 0.1", or "K = 2, C = 3" for a table."""
        if self.names is not None:
            return f"{self.name} = {self.names[self.grid.index(value)]}"
        if isinstance(value, dict):
            return ", ".join(f"{name} = {number(component, 6)}" for name, component in value.items())
        return f"{self.name} = {number(value, 6)}" if _is_number(value) else f"{self.name} = {value}"


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _binds_numbers(value: Value) -> bool:
    return isinstance(value, dict) or _is_number(value)
