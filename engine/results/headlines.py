"""Headlines: what a picture shows, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.claims import Outcome
from engine.core.texts import cut
from engine.pictures import wording
from engine.pictures.bounds import strongest_bound
from engine.pictures.view import View
from engine.pictures.wording import laws_in_words
from engine.results import views
from engine.results.outcomes import about
from engine.results.results import Results
from engine.spec.experiment import Experiment
from engine.spec.pictures import drawn


def headline(
    view: View, experiment: Experiment, outcomes: Sequence[Outcome], results: Results | None = None
) -> str:
    """The finding of the claim that a picture is about, in at most LONGEST characters.

    It says so where the claim fails. Where it is not judged, or there are no claims, it says by which law
    what is read off grows along an axis, or how the picture ends. Nothing while the picture is empty.

    Args:
        results: those of all pictures; the law along an axis that splits curves is that of another picture.
    """
    outcome = headline_of(view, experiment, outcomes)
    if outcome is None:
        return laws_in_words(view) or _law_of_split(view, experiment, results) or ending(view)
    if outcome.holds is None:
        return cut(f"Not judged, as {outcome.detail}: {ending(view)}", wording.LONGEST)
    said = outcome.finding or outcome.detail
    return cut(said if outcome.holds else f"Its claim fails: {said}", wording.LONGEST)


def _law_of_split(view: View, experiment: Experiment, results: Results | None) -> str:
    """The law along an axis by which the curves of a picture are split; empty where no picture has one."""
    if results is None:
        return ""
    along = [picture for picture in drawn(experiment) if picture.x in view.picture.split_by]
    return next(filter(None, (laws_in_words(views.view(picture, results)) for picture in along)), "")


def headline_of(view: View, experiment: Experiment, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome of the claim that a picture is about; None if there are no claims.

    It is the one with `headline = true`, else the first about the picture, else that of all claims.
    """
    candidates = about(view.picture, experiment, outcomes)
    return min(candidates, key=lambda outcome: not outcome.claim.headline, default=None)


def ending(view: View) -> str:
    """The least and the greatest value at the end of a picture, and the bound there."""
    if view.heats:
        z = view.heats[0].z
        if not np.isfinite(z).any():
            return ""
        ends = (wording.value(view, float(of(z))) for of in (np.nanmin, np.nanmax))
        return f"On the map {wording.predicate(view)} between {' and '.join(ends)}"
    chosen = [one for one in view.curves if one.chosen and np.isfinite(one.y).any()]
    if not chosen:
        return ""
    x = max(float(one.x[np.isfinite(one.y)][-1]) for one in chosen)
    last = [(y, one.number, one) for one in chosen if (y := wording.value_at(one, x)) is not None]
    curves = [curve for _, _, curve in sorted(last)]
    text = wording.compared(view, x, *wording.named_values(view, x, curves[0], curves[1:][-1:]))
    bound = strongest_bound(view, curves[0], x)
    if bound is None:
        return text
    return wording.shortened(text, f"; {wording.line(view, [bound])} is {wording.value(view, bound.at(x))}")
