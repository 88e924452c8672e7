"""The kinds of learners that the curves of a picture are of."""

from __future__ import annotations

from engine.core.parts import LearnerKind
from engine.pictures.picture import Picture
from engine.pictures.view import Apart, KindPlace, kind_places
from engine.results.steps import PictureSteps
from engine.spec.sweep import Sweep

CurveKey = tuple[str, Apart, int]
"""Learner of a curve, values of the axes that split curves, and number of the rate among the learner's."""


def kinds_in(picture: Picture, sweep: Sweep) -> dict[CurveKey, KindPlace]:
    """Return the kind and place of every curve that a picture may have once all points are computed.

    Curves are in the order of the values that split them, then of the list of learners. References have no
    kind: they are drawn as lines.
    """
    steps = PictureSteps(picture, sweep.axes)
    one_curve = steps.along_rates or steps.over_rates  # whatever the number of rates
    ranks = {name: rank for rank, name in enumerate(sweep.learners)}
    values: dict[Apart, int] = {}
    kinds: dict[CurveKey, LearnerKind] = {}
    for point in sweep.points:
        if not point.is_in(picture):
            continue
        apart = sweep.apart(picture, point)
        values.setdefault(apart, len(values))
        for learner in point.experiment.learners:
            if learner.role == "reference" or learner.name == picture.relative:
                continue
            rates = None if one_curve else learner.rate_choice
            for number in range(len(rates) if isinstance(rates, tuple) else 1):
                if (key := (learner.name, apart, number)) not in kinds:
                    kinds[key] = learner.learner_kind
    keys = sorted(kinds, key=lambda key: (values[key[1]], ranks[key[0]], key[2]))
    return dict(zip(keys, kind_places([kinds[key] for key in keys]), strict=True))
