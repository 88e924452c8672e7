"""Which claims of a preset are not judged, because what the preset runs was changed."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.spec import documents
from engine.spec.experiment import Experiment
from engine.spec.pictures import picture_of
from engine.spec.reading import Raw
from engine.spec.sweep import Sweep

SET_UP, PICTURE = "the set-up was changed", "its picture was changed"
FEWER, COARSER = "the run has fewer replicas than the preset", "the run has less precision than the preset"

PARTS = ("problem", "protocol", "learners", "axes", "pictures", "run")
"""The parts of a document that decide what claims are about."""


def unjudged(sweep: Sweep, document: Raw, origin: Raw) -> dict[int, str]:
    """Reasons why claims are not judged, by their place in `document`.

    A claim with the text of one of the preset's claims is about the preset's own runs. Another claim is the
    user's own, and is judged. A different seed, more replicas and new titles leave what a claim means.

    Args:
        sweep: the sweep of `document`.
        origin: the preset that `document` was made from, with its defaults.
    """
    if all(document.get(part) == origin.get(part) for part in PARTS):
        return {}
    texts = [claim["text"] for claim in origin["claims"]]
    places = {
        number: texts.index(claim["text"])
        for number, claim in enumerate(document.get("claims", ()))
        if claim["text"] in texts
    }
    if not places:
        return {}
    now, before = sweep.experiment, documents.first(origin)
    if _computes(now) != _computes(before):  # which is seen without a look at all points
        return dict.fromkeys(places, SET_UP)
    try:
        shipped = documents.sweep_of(origin)
    except BadInput:  # a file whose later points cannot run has no runs that its claims could be about
        return dict.fromkeys(places, SET_UP)
    if [_computes(one.experiment) for one in sweep.points] != [
        _computes(one.experiment) for one in shipped.points
    ]:
        return dict.fromkeys(places, SET_UP)
    if now.run.replicas < before.run.replicas:
        return dict.fromkeys(places, FEWER)
    if (now.dtype, before.dtype) == ("float32", "float64"):
        return dict.fromkeys(places, COARSER)
    pairs = {number: (sweep.claims[number], shipped.claims[place]) for number, place in places.items()}
    return {
        number: PICTURE
        for number, (claim, of_preset) in pairs.items()
        if _shows(picture_of(now, claim.picture)) != _shows(picture_of(before, of_preset.picture))
    }


def _computes(experiment: Experiment) -> tuple[Any, ...]:
    """What a run computes, whatever its seed, replicas and precision."""
    return experiment.problem, experiment.protocol, experiment.learners


def _shows(picture: Picture) -> Picture:
    """A picture without its words, and without what only its looks depend on."""
    return structs.replace(picture, name=None, title="", marks=(), draw="curves", x_log=None, y_log=None)
