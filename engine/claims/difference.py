"""The difference of a curve to another, or to a line of the theory."""

from __future__ import annotations

from typing import ClassVar

from engine.claims import ComparingTwo, Floats


class Difference(ComparingTwo, frozen=True, kw_only=True, tag="difference"):
    """A curve minus another one, or minus a line of the theory, at one place or at every one.

    Its standard error is that of paired differences: replica by replica both have the same data, and so has a
    line that is made of them. Of all places the worst one is reported.
    """

    example: ClassVar[str] = '{kind = "difference", curve = "GD", to = "percolation", above = 0}'

    phrase: ClassVar[str] = "{curve} minus {other} is {ends}"

    def made(self, y: Floats, other: Floats) -> Floats:
        return y - other
