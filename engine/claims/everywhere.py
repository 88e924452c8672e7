"""Claim about the values of a heat map in all of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.claims import Comparing, Outcome, name_of
from engine.pictures import wording
from engine.pictures.view import heat_of

if TYPE_CHECKING:
    from engine.pictures.view import View


class Everywhere(Comparing, frozen=True, kw_only=True, tag="everywhere"):
    """A heat map equals a number, is below or above it, or is between two numbers, wherever it has a value.

    The message reports the worst cell.
    """

    example: ClassVar[str] = '{kind = "everywhere", curve = "net", between = [5, 10]}'
    of_map: ClassVar[bool] = True

    def finding(self, view: View, outcome: Outcome) -> str:
        z = heat_of(view, str(self.curve)).z
        least, greatest = (wording.value(view, float(of(z))) for of in (np.nanmin, np.nanmax))
        return f"On the map {wording.predicate(view)} between {least} and {greatest}"

    def judge(self, view: View) -> Outcome:
        assert self.curve is not None, "a claim about every learner is judged of one after the other"
        heat = heat_of(view, self.curve)
        rows, columns = np.nonzero(np.isfinite(heat.z))
        if not len(rows):
            return self.fails("the map has no values")
        values = heat.z[rows, columns]
        stderr = None if heat.stderr is None else heat.stderr[rows, columns]
        worst = int(self.beyond(values, stderr).argmax())
        x, y = float(heat.x[columns[worst]]), float(heat.y[rows[worst]])
        place = f"{view.picture.x} = {x:g}, {view.picture.y} = {y:g}"
        error = None if stderr is None else float(stderr[worst])
        return self.compared(
            float(values[worst]), error, f"{name_of(view)} at {place} is ", view.picture.summary
        )
