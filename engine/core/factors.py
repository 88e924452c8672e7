"""The sizes of factors: a list, or a size and a count."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from engine.core.parts import BadField, Count, Dimension

MOST_FACTORS = 24
"""Factors at most: this many of size 2 exceed the entries of an instance."""

Factors = Annotated[
    Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=MOST_FACTORS)] | None,
    Meta(title="factors", description="the size of each, as in 16, 16; none: side and count say it"),
]
Side = Annotated[Dimension | None, Meta(title="side", description="the size of all factors, of one size")]
Several = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_FACTORS)] | None,
    Meta(title="count r", description="how many factors of one size there are"),
]


def check_factors(factors: tuple[int, ...] | None, side: int | None, count: int | None) -> None:
    """Check that sizes are given exactly once and completely. Raises: BadField."""
    if factors is not None:
        for name, size in (("side", side), ("count", count)):
            if size is not None:
                raise BadField(name, "factors says this too; give factors, or side and count")
    elif (side is None) != (count is None):
        missing, given_name = ("count", "side") if count is None else ("side", "count")
        raise BadField(missing, f"missing; {given_name} needs it beside it")


def sizes_of(factors: tuple[int, ...] | None, side: int | None, count: int | None) -> tuple[int, ...] | None:
    """Return the size of every factor; None if no field sets it."""
    if side is not None and count is not None:
        return (side,) * count
    return factors


Pair = Annotated[
    Annotated[tuple[Count, ...], Meta(min_length=2, max_length=2)] | None,
    Meta(title="factors", description="rows and columns of W, as in 16, 16; none: as square as can be"),
]


def pair_of(factors: tuple[int, ...] | None, d: int) -> tuple[int, int]:
    """Return rows and columns of a matrix with d entries: as given, or nearly square with fewer rows."""
    if factors is not None:
        rows, columns = factors
        return rows, columns
    rows = next(rows for rows in range(math.isqrt(d), 0, -1) if d % rows == 0)
    return rows, d // rows


def no_pair(factors: tuple[int, ...] | None, d: int) -> str | None:
    """Return why these rows and columns do not make d entries, in one sentence; None if they do."""
    rows, columns = pair_of(factors, d)
    if rows * columns == d:
        return None
    return f"a matrix of {rows} × {columns} has {rows * columns} entries, and instances have {d} features"
