"""Small multiples: one chart per curve of a picture, all on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine.pictures.wording import short_name
from hadamard_tui.charts.series_builder import Plot, letter_of
from hadamard_tui.charts.view_plot import plot

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.look import Look
    from hadamard_tui.charts.series import Axes


def has_multiples(look: Look) -> bool:
    """Whether a picture has several curves, references not counted."""
    return len(_curves(look)) > 1


def multiples(look: Look, most_charts: int, learner: str) -> tuple[list[Plot], int]:
    """Return at most `most_charts` charts, one of them of `learner`, and the number of charts left out."""
    curves = _curves(look)
    chosen = curves[:most_charts]
    learner_curve = next((curve for curve in curves if curve.learner == learner), None)
    if learner_curve is not None and learner_curve not in chosen:
        chosen[-1] = learner_curve
    axes = plot(look).axes
    return [_alone(look, curve, axes) for curve in chosen], len(curves) - len(chosen)


def _curves(look: Look) -> list[CurveView]:
    return [curve for curve in look.view.curves if not curve.training.is_reference]


def _alone(look: Look, curve: CurveView, axes: Axes) -> Plot:
    pinned = [run._replace(view=_only(run.view, [curve.name])) for run in look.pinned]
    view = look.view
    references = [reference for reference in view.curves if reference.training.is_reference]
    lines = [line for line in view.lines if line.is_about(curve)]
    alone = replace(view, curves=[curve, *references], lines=lines)
    drawn = plot(replace(look, view=alone, pinned=pinned))
    title = f"{letter_of(curve)} {short_name(view, curve)}".strip()
    return drawn._replace(axes=replace(axes, title=title))


def _only(view: View, names: Sequence[str]) -> View:
    return replace(view, curves=[curve for curve in view.curves if curve.name in names], lines=[])
