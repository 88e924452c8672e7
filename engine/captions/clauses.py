"""What captions are made of: clauses on what the curves and the lines of theory of a view show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.captions.arrivals import Arrivals
from engine.captions.clause import Clause, Named
from engine.captions.coinciding import coinciding
from engine.captions.comparisons import comparisons
from engine.captions.followed import followed, without_line
from engine.captions.pairs import compared, pairs
from engine.captions.shapes import FEW, Shapes
from engine.captions.standing import Standing
from engine.captions.wording import grouped, listed, plural
from engine.core.notation import number
from engine.pictures.view import HeatView, View


def clauses(view: View, letters: Mapping[str, str]) -> Iterator[Clause]:
    """The clauses on a view, the most telling first."""
    if view.heats:
        yield from (_range_of_heat(view, heat) for heat in view.heats)
        return
    names = Named(view, letters)
    arrivals, close = Arrivals(names), list(followed(names))
    standing = Standing(names, arrivals.height)
    seen = list(arrivals)
    bounds_first = standing.binds_all if seen else len(names.learners) > FEW
    if (found := pairs(names)) and not arrivals.all_come:
        seen = list(compared(names, found))
    elif not seen and (
        (others := without_line(names)) or (not names.along_clock and len(names.learners) == 1)
    ):
        shapes = Shapes(names.about(others or names.learners))
        yield from shapes.laws()
        seen = list(shapes.ranges())
    if not found:
        seen += coinciding(names)
    yield from [*standing, *seen] if bounds_first else [*seen, *standing]
    yield from _diverged(names)
    yield from _without_value(names)
    yield from _unmeasured(names)
    yield from close
    yield from comparisons(names)


def _range_of_heat(view: View, heat: HeatView) -> Clause:
    """The least and the greatest value of a heat map, and where they are."""
    if not np.isfinite(heat.z).any():
        said = f"{heat.learner} has no values yet"
        return Clause(said, said)
    z = np.where(np.isfinite(heat.z), heat.z, np.nan)
    least, greatest = (_cell(view, heat, int(one(z))) for one in (np.nanargmin, np.nanargmax))
    ends = f"{number(float(np.nanmin(z)))} and {number(float(np.nanmax(z)))}"
    text, brief = f"{heat.learner} is between {least} and {greatest}", f"{heat.learner} is between {ends}"
    if heat is view.heats[0]:
        return Clause(f"{view.y_label}: {text}", brief, named=False)
    return Clause(text, brief)


def _cell(view: View, heat: HeatView, which: int) -> str:
    """The value of a cell of a heat map, and where it is."""
    row, column = np.unravel_index(which, heat.z.shape)
    across = f"{view.x_name} = {number(float(heat.x[column]))}"
    up = f"{view.y_name} = {number(float(heat.y[row]))}"
    return f"{number(float(heat.z[row, column]))} ({across}, {up})"


def _diverged(names: Named) -> Iterator[Clause]:
    """Who has diverged or lost accuracy, in how many replicas, and where the first of them."""
    gone = [curve for curve in names.view.curves if curve.diverged and curve.chosen]
    if gone:
        said = []
        for curve in gone:
            those = f" in {curve.diverged} of {curve.replicas} replicas" if curve.replicas > 1 else ""
            at = "" if curve.diverged_at is None else f" at {names.at(curve.diverged_at)}"
            said.append(f"{names.name(curve)} {curve.fate}{those}{at}")
        fates = grouped((curve.fate, names.brief(curve)) for curve in gone)
        yield Clause(listed(said), listed([f"{listed(those)} {fate}" for fate, those in fates.items()]))


def _without_value(names: Named) -> Iterator[Clause]:
    """Where along axes curves have ended and have no value of any replica."""
    if names.along_clock or names.view.picture.reading is not None:
        return
    for curve in (one for one in names.learners if one.ended):
        gone = [float(x) for x in curve.x[curve.lost == curve.replicas]]
        if gone:
            said = f"has no value at {names.view.x_name} = {listed(list(map(names.place, gone)))}"
            yield Clause(f"{names.name(curve)} {said}", f"{names.brief(curve)} {said}")


def _unmeasured(names: Named) -> Iterator[Clause]:
    """Who is not drawn beside others since the measure is not taken of them, and where it would be."""
    if not names.learners:
        return
    for where, those in grouped((why, who) for who, why in names.view.unmeasured.items()).items():
        quoted = [f"“{name}”" if "," in name else name for name in those]
        brief = f"{listed(quoted)} {plural('is', quoted)} not drawn"
        yield Clause(f"{brief}: this is measured only where {where}", brief)
