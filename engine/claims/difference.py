"""Claim about the difference of a curve and a second curve, or a theory line."""

from __future__ import annotations

from typing import ClassVar

from engine.claims import ComparingTwo, Floats


class Difference(ComparingTwo, frozen=True, kw_only=True, tag="difference"):
    """A curve minus a second curve, or minus a theory line, at one x position or at every x position.

    Its standard error is that of paired differences: in each replica, both curves have the same data. A
    theory line that is computed from data also uses the data of each replica. The message reports the worst
    position.
    """

    example: ClassVar[str] = '{kind = "difference", curve = "GD", to = "percolation", above = 0}'

    phrase: ClassVar[str] = "{curve} minus {other} is {ends}"

    def combined(self, y: Floats, other: Floats) -> Floats:
        return y - other
