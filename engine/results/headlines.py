"""Headlines: single sentences about a picture, or about the effect of a changed set-up on its curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.claims import Outcome
from engine.core.expressions import number
from engine.core.texts import cut
from engine.pictures import wording
from engine.pictures.bounds import strongest_bound
from engine.pictures.view import CurveView, View
from engine.pictures.wording import laws_in_words
from engine.results import views
from engine.results.outcomes import about
from engine.results.results import Results
from engine.spec.experiment import Experiment, drawn

LEVEL = 0.1
"""Runs are compared by the number of examples after which the loss stays below this level."""


def headline(
    view: View, experiment: Experiment, outcomes: Sequence[Outcome], results: Results | None = None
) -> str:
    """Return the headline of a picture, in at most LONGEST characters.

    If the experiment has a claim about the picture, the headline states the measured result, and says if the
    claim fails or is not judged. Otherwise, it states a scaling law of the curves along a sweep axis. If the
    curves follow no such law, it states when losses fall below LEVEL for good, or the values at the end of
    the curves. The headline is empty if the picture has no values.

    Args:
        results: results of the sweep, which the headline uses in two cases. The first case is a sweep axis
            that changes no run. Unless a claim about the picture is judged, the headline then only states
            this fact. The second case is a picture without a claim and without a scaling law. Suppose that
            this picture has one curve per value of a sweep axis, and that another picture has this axis as
            x. The headline then states the scaling law of the other picture, if there is such a law.
    """
    outcome = headline_of(view, experiment, outcomes)
    is_judged = outcome is not None and outcome.holds is not None
    if results is not None and results.sweep.idle_axes and not is_judged:
        return cut("; ".join(results.sweep.idle_axes), wording.LONGEST)
    if outcome is None:
        law = laws_in_words(view) or _law_of_split(view, experiment, results)
        return law or first_and_last_arrival(view) or ending(view)
    if outcome.holds is None:
        shown = outcome.finding or ending(view)
        why = outcome.detail[:1].upper() + outcome.detail[1:]
        sentence = f"{why} (claims not judged): {shown}"
        short = cut(f"Claims not judged: {shown}", wording.LONGEST)
        return sentence if len(sentence) <= wording.LONGEST else short
    sentence = outcome.finding or outcome.detail
    return cut(sentence if outcome.holds else f"The claim fails: {sentence}", wording.LONGEST)


def _law_of_split(view: View, experiment: Experiment, results: Results | None) -> str:
    if results is None:
        return ""
    along = [picture for picture in drawn(experiment) if picture.x in view.picture.split_by]
    return next(filter(None, (laws_in_words(views.view(picture, results)) for picture in along)), "")


def headline_of(view: View, experiment: Experiment, outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the outcome of the claim that a picture's headline states.

    It is the first claim about the picture with `headline = true`. If no claim about the picture has this
    field, it is the first claim about the picture. Return None if no claim is about the picture.
    """
    candidates = about(view.picture, experiment, outcomes)
    return min(candidates, key=lambda outcome: not outcome.claim.headline, default=None)


def ending(view: View) -> str:
    """Return a sentence with the least and the greatest final value of the curves.

    If lower bounds apply to the curve with the least value, the sentence also states the highest of them.
    For a heat map, the sentence states the least and the greatest value of the map. If the picture has no
    values, the sentence is empty.
    """
    if view.heats:
        z = view.heats[0].z
        if not np.isfinite(z).any():
            return ""
        ends = (wording.value(view, float(of(z))) for of in (np.nanmin, np.nanmax))
        return f"On the map {wording.predicate(view)} between {' and '.join(ends)}"
    chosen = [curve for curve in view.curves if curve.chosen and np.isfinite(curve.y).any()]
    if not chosen:
        return ""
    x = max(float(shown.x[np.isfinite(shown.y)][-1]) for shown in chosen)
    last = [(y, shown.number, shown) for shown in chosen if (y := wording.value_at(shown, x)) is not None]
    curves = [curve for _, _, curve in sorted(last)]
    text = wording.compared(view, x, *wording.named_values(view, x, curves[0], curves[1:][-1:]))
    bound = strongest_bound(view, curves[0], x)
    if bound is None:
        return text
    return wording.shortened(text, f"; {wording.line(view, [bound])} is {wording.value(view, bound.at(x))}")


def first_and_last_arrival(view: View) -> str:
    """Return a sentence with the first and the last x from which on a learner's loss stays below LEVEL.

    The sentence is empty if the picture does not show losses during training, if no loss stays below LEVEL,
    or if a loss is below LEVEL throughout.
    """
    picture = view.picture
    if picture.measure.name != "loss" or picture.x != view.axes.clock or picture.reading is not None:
        return ""
    curves = [curve for curve in view.curves if curve.chosen and len(curve.x)]
    names_by_arrival: dict[float, list[str]] = {}
    for curve in curves:
        names_by_arrival.setdefault(wording.arrival(curve, LEVEL), []).append(wording.called(view, curve))
    earliest = min(names_by_arrival, default=math.inf)
    if math.isinf(earliest) or any(curve.y[0] < LEVEL for curve in curves):
        return ""
    latest = max(names_by_arrival)
    early_names = names_by_arrival[earliest]
    verb = wording.agree(early_names, "stay")
    is_counted = picture.x in wording.UNITS
    when = (
        wording.place(view, earliest)
        if is_counted
        else f"from {wording.x_name(view)} = {number(earliest)} on"
    )
    text = f"{wording.listed(early_names)} {verb} below {wording.level(view, LEVEL)} {when}"
    if latest == earliest:
        return wording.shortened(text)
    later = " never" if math.isinf(latest) else f" only {'after' if is_counted else 'from'} {number(latest)}"
    return wording.shortened(text, f", {wording.listed(names_by_arrival[latest])}{later}")


class _Move(NamedTuple):
    """A number that belongs to one curve, such as its last loss, before and after a change of the set-up.

    The number may be the x from which the loss stays below a level. Infinity then means "never".
    """

    name: str
    called: str
    before: float
    after: float

    def written(self, unit: str = "") -> str:
        """Return the numbers before and after the change as text, such as "116 → 231 examples"."""
        if math.isinf(self.after):
            return f"{number(self.before)}{unit} → never"
        return f"{'never' if math.isinf(self.before) else number(self.before)} → {number(self.after)}{unit}"


def comparison(change: str, earlier: View, view: View, claimed: str | None = None) -> str:
    """Return a sentence about the effect of a change of the set-up on two curves of a picture.

    Each curve has a number before and after the change: the x from which its loss stays below LEVEL. If no
    loss stays below LEVEL, or the picture shows something else, the numbers are the last values of the
    curves. The first curve is the one with the highest number after the change. The second curve is that of
    the picture's claim, or otherwise the one with the lowest number. The text is empty if there is nothing to
    compare.

    Args:
        change: change of the set-up, as in "d 128 → 256".
        earlier: view of the picture before the change.
        view: view of the picture after the change.
        claimed: name of the curve of the picture's claim, if there is one.
    """
    before = {curve.name: curve for curve in earlier.curves if not curve.training.is_reference}
    pairs = [(before[curve.name], curve) for curve in view.curves if curve.chosen and curve.name in before]
    if arrivals := _two_moves(_moves_of_arrivals(view, pairs), claimed):
        units = [f" {wording.UNITS[view.axes.clock]}s" if view.axes.clock in wording.UNITS else "", ""]
        moves = [
            f"{arrival.called} {arrival.written(unit)}"
            for arrival, unit in zip(arrivals, units, strict=False)
        ]
        clause = f" until loss stays below {wording.level(view, LEVEL)}"
        return wording.shortened(f"{change}: {', '.join(moves)}", clause)
    if last_values := _two_moves(_moves_of_last_values(view, pairs), claimed):
        moves = [f"{move.written()} for {move.called}" for move in last_values]
        return f"{change}: at the end, {wording.predicate(view)} {wording.listed(moves)}"
    return ""


def _two_moves(moves: Sequence[_Move], claimed: str | None) -> list[_Move]:
    """Choose two curves from `moves`: the one with the highest number after the change, and `claimed`.

    If `claimed` is missing or has the highest number itself, the second curve is the one with the lowest
    number after the change.
    """
    if len(moves) < 2:
        return list(moves)
    highest = max(moves, key=lambda move: move.after)
    rest = [move for move in moves if move is not highest]
    return [highest, min(rest, key=lambda move: (move.name != claimed, move.after))]


def _moves_of_arrivals(view: View, pairs: Sequence[tuple[CurveView, CurveView]]) -> list[_Move]:
    """Return, for each curve, the x from which its loss stays below LEVEL, before and after a change.

    `pairs` contains the earlier and the new view of each curve; a change of the set-up lies between them.
    Curves whose loss stays below LEVEL neither before nor after the change are left out.
    """
    if view.picture.x != view.axes.clock or view.picture.measure.name != "loss":
        return []
    moves = [
        _Move(
            curve.name,
            wording.called(view, curve),
            *(wording.arrival(run, LEVEL) for run in (earlier, curve)),
        )
        for earlier, curve in pairs
    ]
    return [move for move in moves if not math.isinf(min(move.before, move.after))]


def _moves_of_last_values(view: View, pairs: Sequence[tuple[CurveView, CurveView]]) -> list[_Move]:
    finite_values = [[run.y[np.isfinite(run.y)] for run in pair] for pair in pairs]
    return [
        _Move(curve.name, wording.called(view, curve), *(float(y[-1]) for y in ys))
        for (_, curve), ys in zip(pairs, finite_values, strict=True)
        if all(map(len, ys))
    ]
