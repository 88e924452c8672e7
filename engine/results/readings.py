"""Readings along axes: whether what pictures read off is known before all points of an axis are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from engine.pictures import reductions
from engine.pictures.picture import Picture
from engine.results.gathering import Replicas, gathered
from engine.results.results import Results
from engine.results.steps import PictureSteps
from engine.spec.sweep import Point

WHY = "the reading is known"
"""Why learners are skipped at a point."""


def known_at(results: Results, number: int) -> frozenset[str]:
    """The learners of a point whose readings are known from others: nothing that they did there would count.

    Those are the readings of all pictures along axes that go on only until then, each with its error.
    """
    sweep = results.sweep
    point = sweep.points[number]
    reading = [
        (picture, number_of_axis)
        for number_of_axis, axis in enumerate(sweep.axes)
        if axis.until is not None
        for picture in sweep.experiment.pictures
        if picture.reading is not None and picture.reading.over == axis.name and point.is_in(picture)
    ]
    names = frozenset(learner.name for learner in point.experiment.learners)
    for picture, number_of_axis in reading:
        names &= _known(picture, _along(results, point, number_of_axis))
    return names if reading else frozenset()


def _along(results: Results, point: Point, axis: int) -> Results:
    """The results at the points that differ from one along an axis alone."""
    sweep = results.sweep

    def elsewhere(one: Point) -> tuple[int, ...]:
        return one.place[:axis] + one.place[axis + 1 :]

    there = [
        (sweep.points[number], trace)
        for number, trace in sorted(results.traces.items())
        if elsewhere(sweep.points[number]) == elsewhere(point)
    ]
    if not there:
        return Results(sweep)
    points, traces = zip(*there, strict=True)
    return Results(replace(sweep, points=points), dict(enumerate(traces)))


def _known(picture: Picture, results: Results) -> frozenset[str]:
    """The learners of whom a picture has all readings, of every replica and of all but one, finite.

    The least value of all, say, is not known before the last one.
    """
    if picture.reading is None or not picture.reading.is_threshold:
        return frozenset()
    plain = structs.replace(picture, y=None, lines=(), marks=(), contours=(), relative=None)
    steps = PictureSteps(plain, results.sweep.axes)
    known: dict[str, bool] = {}
    for taken in gathered(plain, results, steps).curves.values():
        replicas = Replicas(steps, [(one.point, one.samples) for one in taken])
        learner, count = taken[0].curve.learner, len(taken[0].samples.values)
        known[learner] = known.get(learner, True) and _is_known(replicas, count)
    return frozenset(name for name, whole in known.items() if whole)


def _is_known(replicas: Replicas, count: int) -> bool:
    """Whether readings are finite, and their standard error is."""
    if not np.isfinite(replicas.whole[1]).all():
        return False
    error = reductions.standard_error(replicas.how, count, lambda some: replicas.summary(some)[1])
    return error is None or bool(np.isfinite(error).all())
