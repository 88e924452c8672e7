"""Names of curves, lines and axes of a view in words."""

from __future__ import annotations

from engine.core.expressions import briefer, values_written, written
from engine.pictures.view import CurveView, LineView, View


def x_name(view: View) -> str:
    """Return the name before a place on x, as in "k = 3"."""
    return written(view.picture.x, view.axes.words)


def y_name(view: View) -> str:
    """Return the name of the y of a heat map; empty where there is none."""
    return "" if view.picture.y is None else written(view.picture.y, view.axes.words)


def measure_name(view: View) -> str:
    """Return the name of the measure where its label has it as a word, else the label."""
    measure = view.picture.measure
    return measure.name if measure.name in measure.label.split() else measure.label


def curve_name(view: View, curve: CurveView) -> str:
    """Return the name of a curve with the values of axes in words and symbols."""
    name, learner = curve.name, curve.learner
    if not curve.apart or not name.startswith(learner):
        return name
    return learner + values_written(name.removeprefix(learner), view.axes.words)


def short_name(view: View, curve: CurveView) -> str:
    """Return the name of a curve, without that of its learner where there is no other learner."""
    name = curve_name(view, curve)
    return name.removeprefix(f"{curve.learner}, ") if _only_learner(view) == curve.learner else name


def line_name(view: View, line: LineView) -> str:
    """Return the name of a line in words, without that of the only learner whose own it may be."""
    owner = "" if line.curve in ("", _only_learner(view)) else f" of {line.curve}"
    return f"{line.called}{owner}{values_written(line.values, view.axes.words)}"


def line_in_brief(view: View, line: LineView) -> str:
    """Return the formula of a line where it says all and is shorter than the name, else the name."""
    name = line_name(view, line)
    says_all = view.quantity.as_measured and not (line.curve or line.apart)
    return briefer(name, line.formula) if says_all else name


def _only_learner(view: View) -> str | None:
    """The only learner that has curves, or is going to have some; None where there are others."""
    learners = {curve.learner for curve in view.curves if not curve.training.is_reference}
    learners.update(line.curve for line in view.lines if line.curve)
    return learners.pop() if len(learners) == 1 else None
