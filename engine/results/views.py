"""Views: what a picture shows of results, as arrays. Charts, tables, files and claims read nothing else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.protocols import CLOCKS
from engine.results import reductions
from engine.results.results import Results
from engine.results.samples import Samples, of_curve, of_line
from engine.results.steps import Steps
from engine.results.trace import TheoryLine
from engine.spec.expressions import names_in
from engine.spec.picture import Picture
from engine.spec.plan import Plan, Point

Floats = NDArray[np.float64]

Apart = tuple[int, ...]
"""The number of the value of each axis that tells curves apart."""

Key = tuple[str, Apart]
Gathered = dict[Key, list[tuple[Point, Samples]]]
LineKey = tuple[str, str, Apart]
"""The kind of a line, the curve whose own it is if it is not the same for all, and which values of axes."""

Lines = dict[LineKey, list[tuple[Point, Samples, TheoryLine]]]
Estimates = dict[Key, tuple[Floats, Floats]]

NEAR = 1e-9
"""Values of an axis that differ by less than this, relatively, are the same."""


class CurveView(NamedTuple):
    """A curve of a picture."""

    name: str
    """That of the learner, with the values of the axes that tell its curves apart."""

    learner: str
    x: Floats
    y: Floats
    """The summary over replicas [N], NaN where there is none."""

    stderr: Floats | None
    """Its standard error by the delete-one jackknife over replicas [N]; None for a single replica."""

    is_reference: bool = False
    """Whether the learner is one that others are compared with, drawn as a line of the theory."""


class HeatView(NamedTuple):
    """A learner over two dimensions."""

    learner: str
    x: Floats
    """Increasing, [N]."""

    y: Floats
    """Increasing, [M]."""

    z: Floats
    """The summary over replicas [M, N], NaN where there is none."""

    stderr: Floats | None
    """Its standard error; None for a single replica."""


class LineView(NamedTuple):
    """A line of the theory in a picture, after the same steps as the curves."""

    name: str
    kind: str
    direction: str
    applies_to: tuple[str, ...]
    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class View:
    """A picture filled with what there is by now."""

    picture: Picture
    x_label: str
    y_label: str
    x_log: bool
    y_log: bool
    rows_log: bool = False
    """Whether the y of a heat map is an axis that is logarithmic."""

    curves: list[CurveView] = field(default_factory=list)
    lines: list[LineView] = field(default_factory=list)
    heats: list[HeatView] = field(default_factory=list)
    """One per learner, in place of curves, where the picture has a y."""

    def curve(self, name: str) -> CurveView:
        """The curve of this name, or the first one of the learner of this name. Raises: KeyError."""
        for curve in (*(one for one in self.curves if one.name == name), *self.curves):
            if name in (curve.name, curve.learner):
                return curve
        raise KeyError(name)


def view(picture: Picture, results: Results) -> View:
    """A picture of results, as far as these have come.

    Raises: BadInput for a picture that these results do not have.
    """
    logarithmic = _is_logarithmic(picture.x, results.plan)
    found = View(
        picture,
        CLOCKS.get(picture.x, picture.x),
        _label(picture, results),
        logarithmic if picture.x_log is None else picture.x_log,
        bool(picture.y_log),
        picture.y is not None and _is_logarithmic(picture.y, results.plan),
    )
    steps = Steps(picture, results.plan.axes)
    curves, lines = _gathered(picture, results)
    if picture.y is not None:
        found.heats.extend(_heat(steps, learner, taken) for (learner, _), taken in curves.items())
        return found
    references = _references(results)
    estimates = _estimates(steps, curves)
    errors = _errors(steps, curves, estimates)
    for (learner, apart), (x, y) in estimates.items():
        name = _name(learner, picture, results.plan, apart)
        error = errors[learner, apart]
        found.curves.append(CurveView(name, learner, x, y, error, learner in references))
    for (kind, curve, apart), taken in lines.items():
        x, values = steps.curve([(point, samples) for point, samples, _ in taken])
        applies = dict.fromkeys(name for _, _, line in taken for name in line.applies_to)
        name = _name(f"{kind} of {curve}" if curve else kind, picture, results.plan, apart)
        found.lines.append(LineView(name, kind, taken[0][2].direction, tuple(applies), x, values[0]))
    return found


def _is_logarithmic(text: str, plan: Plan) -> bool:
    named = names_in(text)
    return any(axis.log for axis in plan.axes if axis.name in named)


def _references(results: Results) -> set[str]:
    learners = (learner for point in results.plan.points for learner in point.experiment.learners)
    return {learner.name for learner in learners if learner.role == "reference"}


def _heat(steps: Steps, learner: str, taken: list[tuple[Point, Samples]]) -> HeatView:
    """A learner over x and y: every point of the axes is a row of the map, or a cell of it."""
    parts = steps.parts(taken)
    heights = np.array([steps.height(part.point) for part in parts])
    x = np.unique(np.concatenate([part.x for part in parts]))
    y = np.unique(heights)
    z = np.full((len(y), len(x)), np.nan)
    stderr = None if any(len(part.values) == 1 for part in parts) else z.copy()
    for part, height in zip(parts, heights, strict=True):
        row, columns = int(np.searchsorted(y, height)), np.searchsorted(x, part.x)
        z[row, columns] = reductions.summary(steps.picture.summary, part.values)
        if stderr is not None:
            stderr[row, columns] = _jackknife(steps.picture.summary, part.values)
    return HeatView(learner, x, y, z, stderr)


def _jackknife(how: str, values: Floats) -> Floats:
    """The delete-one standard error [N] of a summary of values [R, N]."""
    count = len(values)
    each = np.stack([reductions.summary(how, np.delete(values, one, 0)) for one in range(count)])
    return np.asarray(np.sqrt((count - 1) / count * np.square(each - each.mean(0)).sum(0)))


def _label(picture: Picture, results: Results) -> str:
    """What the y-axis says."""
    how, label = picture.reading, picture.measure.label
    if how is not None and how.is_place:
        sign, threshold = ("<", how.first_below) if how.first_above is None else (">", how.first_above)
        clock = next((trace.x_label for trace in results.traces.values()), how.over)
        label = f"{clock if how.over == 'record' else how.over} until {label} {sign} {threshold:g}"
    if picture.times is not None:
        label = f"{label} × {picture.times}"
    return label if picture.relative is None else f"{label}, relative to {picture.relative}"


def _name(name: str, picture: Picture, plan: Plan, apart: Apart) -> str:
    axes = [plan.axes[plan.number_of(axis)] for axis in picture.told_apart]
    labels = (axis.label(axis.grid[place]) for axis, place in zip(axes, apart, strict=True))
    return ", ".join([name, *labels])


def _gathered(picture: Picture, results: Results) -> tuple[Gathered, Lines]:
    """What there is of every curve and of every line of a picture."""
    curves: Gathered = defaultdict(list)
    lines: Lines = defaultdict(list)
    for number, trace in sorted(results.traces.items()):
        point = results.plan.points[number]
        if not _chosen(picture, point):
            continue
        apart = tuple(point.place[results.plan.number_of(name)] for name in picture.told_apart)
        for curve in trace.curves:
            if (samples := of_curve(curve, picture.measure, point.experiment)) is not None:
                curves[curve.name, apart].append((point, samples))
        for line in trace.lines:
            if line.on_problem.holds and line.measure == picture.measure.name:
                for name, samples in of_line(line, trace).items():
                    lines[line.kind, name, apart].append((point, samples, line))
    return curves, lines


def _chosen(picture: Picture, point: Point) -> bool:
    """Whether a point is where `at` wants it."""
    wanted = ((point.names[name], value) for name, value in picture.at.items() if name in point.names)
    return all(abs(here - value) <= NEAR * abs(value) for here, value in wanted)


def _estimates(steps: Steps, curves: Gathered, without: int | None = None) -> Estimates:
    """x and y of every curve, of all replicas or of all but one."""
    found: Estimates = {}
    for key, taken in curves.items():
        some = [(point, samples.without(without)) for point, samples in taken]
        x, values = steps.curve(some)
        found[key] = x, reductions.summary(steps.picture.summary, values)
    if (reference := steps.picture.relative) is None:
        return found
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            (name, apart): (x, y / np.interp(x, *_reference(found, reference, apart)))
            for (name, apart), (x, y) in found.items()
            if name != reference
        }


def _reference(found: Estimates, name: str, apart: Apart) -> tuple[Floats, Floats]:
    if (name, apart) not in found:
        known = listed(dict.fromkeys(name for name, _ in found))
        raise BadInput("relative", f"there is no curve {name!r} among {known}")
    return found[name, apart]


def _errors(steps: Steps, curves: Gathered, estimates: Estimates) -> dict[Key, Floats | None]:
    """The delete-one jackknife of every curve; of a mean of measured values it is s/√R."""
    errors: dict[Key, Floats | None] = dict.fromkeys(estimates)
    replicas = {key: min(len(samples.values) for _, samples in taken) for key, taken in curves.items()}
    most = max((replicas[key] for key in estimates), default=1)
    each = [_estimates(steps, curves, one) for one in range(most)] if most > 1 else []
    for key in estimates:
        if (count := replicas[key]) > 1:
            values = np.stack([some[key][1] for some in each[:count]])
            with np.errstate(invalid="ignore"):  # infinite places
                spread = np.square(values - values.mean(0)).sum(0)
            errors[key] = np.sqrt((count - 1) / count * spread)
    return errors
