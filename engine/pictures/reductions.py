"""Reductions, which turn a dimension of an array into one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.pictures.picture import Read, ReplicaShare
from engine.pictures.summaries import SPREADS

Floats = NDArray[np.float64]

RESAMPLES = 200
"""Number of bootstrap draws, or of groups of replicas, for standard errors that are accurate to a
twentieth."""

MOST_OMITTED = 1000
"""Largest number of replicas that a jackknife omits one by one, with one estimate each."""


def running(how: str, values: Floats, axis: int) -> Floats:
    """Return the mean, least, largest or sum of all values up to every place of a dimension.

    The result is NaN where the value is NaN, because a diverged replica has no value.
    """
    is_present = ~np.isnan(values)
    if how in ("mean", "sum"):
        reduced = np.add.accumulate(np.where(is_present, values, 0.0), axis)
        if how == "mean":
            # At least 1: before the first value the sum is 0 and stays NaN below.
            reduced = reduced / np.maximum(np.add.accumulate(is_present, axis), 1)
    else:
        reduced = {"min": np.fmin.accumulate, "max": np.fmax.accumulate}[how](values, axis)
    return np.asarray(np.where(is_present, reduced, np.nan))


def read(how: Read, values: Floats, places: Floats, axis: int) -> Floats:
    """Return the reading along a dimension with coordinates `places`.

    A place that is never reached is infinite, or NaN if missing values could hide it.
    """
    if how.take is not None:
        return selected(how.take, values, axis)
    if how.place_of is not None:
        return _place_of(how.place_of, values, places, axis)
    if how.first_below is not None:
        threshold, reached = how.first_below, values < how.first_below
    else:
        assert how.first_above is not None, "a read has exactly one form"
        threshold, reached = how.first_above, values > how.first_above
    first = reached.argmax(axis)
    readings = places[first]
    if how.between != "no":
        readings = _crossing(how.between == "log", threshold, values, places, first, axis)
    readings = np.where(reached.any(axis), readings, np.inf)
    unknown = ~reached.any(axis) & np.isnan(values).any(axis)
    return np.asarray(np.where(unknown, np.nan, readings))


def _place_of(how: str, values: Floats, places: Floats, axis: int) -> Floats:
    """Return the first place of the largest or least value, or before the largest gap; NaN without any."""
    along = np.moveaxis(values, axis, 0)
    if how == "gap":
        pair = np.abs(along[:-1]), np.abs(along[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.maximum(*pair) / np.minimum(*pair)
    if not len(along):
        return np.full(along.shape[1:], np.nan)
    is_defined = ~np.isnan(along)
    sign = -1 if how == "min" else 1
    at = np.where(is_defined, sign * along, -np.inf).argmax(0)
    return np.asarray(np.where(is_defined.any(0), places[at], np.nan))


def holds(share: ReplicaShare, values: Floats) -> Floats:
    """Return 1 where values [R, …] satisfy a share's condition, else 0; NaN if no replica has a value.

    A replica without a value, such as a diverged one, does not satisfy it.
    """
    holding = np.ones(values.shape, bool)
    if share.below is not None:
        holding &= values < share.below
    if share.above is not None:
        holding &= values > share.above
    return np.where(np.isnan(values).all(0), np.nan, holding & ~np.isnan(values))


def held(values: Floats, passed: NDArray[np.bool_]) -> Floats:
    """Return values [R, S, …], held constant from the first record that `passed` marks [R or 1, S].

    Replicas without such a record have NaN.
    """
    first = np.broadcast_to(passed.argmax(1), len(values))
    records = np.minimum(np.arange(values.shape[1]), first[:, None])  # [R, S]
    shaped = records.reshape(*records.shape, *[1] * (values.ndim - 2))
    held_values = np.take_along_axis(values, shaped, 1)
    held_values[np.broadcast_to(~passed.any(1), len(values))] = np.nan
    return held_values


def _crossing(
    log: bool, threshold: float, values: Floats, places: Floats, first: NDArray[np.intp], axis: int
) -> Floats:
    """Return the crossing of a threshold by the line from the previous place to the first place beyond it.

    The line is straight or, with `log`, straight in logarithms. If the crossing is undefined, return the
    first place itself.
    """

    def at(numbers: NDArray[np.intp]) -> Floats:
        return np.take_along_axis(values, np.expand_dims(numbers, axis), axis).squeeze(axis)

    before = np.maximum(first - 1, 0)
    x, y = (places[before], places[first]), (at(before), at(first))
    with np.errstate(divide="ignore", invalid="ignore"):
        if log:
            x, y = (np.log(x[0]), np.log(x[1])), (np.log(y[0]), np.log(y[1]))
            threshold = np.log(threshold)
        crossed = x[0] + (y[0] - threshold) / (y[0] - y[1]) * (x[1] - x[0])
        is_defined = np.isfinite([*x, *y, crossed]).all(0) & (first > 0)
        return np.where(is_defined, np.exp(crossed) if log else crossed, places[first])


def resampled(values: Floats, own_places: Floats, x: Floats) -> Floats:
    """Return values [R, N] at increasing places of each replica [R, N], interpolated at common places x [N].

    Interpolation is linear; values beyond the places are NaN.
    """
    new_values = np.full_like(values, np.nan)
    for replica, (y, places) in enumerate(zip(values, own_places, strict=True)):
        is_defined = np.isfinite(y) & np.isfinite(places)
        if is_defined.any():
            new_values[replica] = np.interp(x, places[is_defined], y[is_defined], left=np.nan, right=np.nan)
    return new_values


def selected(how: str, values: Floats, axis: int) -> Floats:
    """Return the first, last, largest or least of the present values, or their mean."""
    if how in ("first", "last"):
        return np.asarray(values.take(0 if how == "first" else -1, axis))
    return summary(how, np.moveaxis(values, axis, 0))


def summary(how: str, values: Floats) -> Floats:
    """Return one number for the values along the first dimension that are not NaN; NaN for none."""
    if how == "first":
        first: Floats = values[0]
        return first
    if how in ("max", "min"):
        return np.asarray({"max": np.fmax, "min": np.fmin}[how].reduce(values, 0))
    if how in SPREADS:
        return _spread(how, values)
    none = np.isnan(values).all(0)
    # nanmean and nanmedian warn of columns without a value: these are computed on zeros and then set to NaN.
    defined = np.where(none, 0.0, values)
    with np.errstate(invalid="ignore", divide="ignore"):  # infinite places, and logarithms of 0
        if how == "geometric":
            reduced = np.exp(np.nanmean(np.log(defined), 0))
        else:
            reduced = np.nanmedian(defined, 0) if how == "median" else np.nanmean(defined, 0)
    return np.where(none, np.nan, reduced)


def _spread(how: str, samples: Floats) -> Floats:
    """Return the relative variance, or the variance of logarithms; NaN for fewer than two values."""
    is_present = ~np.isnan(samples)
    count = is_present.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):  # infinite places, and logarithms of 0
        numbers = np.log(samples) if how == "log-variance" else samples
        mean = numbers.sum(0, where=is_present) / count
        variance = np.square(numbers - mean).sum(0, where=is_present) / (count - 1)
        reduced = variance if how == "log-variance" else variance / np.square(mean)
    return np.where(count < 2, np.nan, reduced)


def has_error(how: str, count: int) -> bool:
    """Return whether a summary of `count` replicas has a standard error."""
    return count > 1 and how in ("mean", "median", "geometric", *SPREADS)


def standard_error(how: str, count: int, estimate: Callable[[Sequence[int]], Floats]) -> Floats | None:
    """Return the standard error of an estimate from `count` replicas with the summary `how`.

    It is that of the delete-one jackknife, √((R − 1)/R · Σ(θ_r − θ̄)²) for the estimates θ_r without replica
    r. With more than MOST_OMITTED replicas, R = RESAMPLES groups are omitted instead of single replicas. For
    a median, the jackknife does not converge; the error is then the standard deviation of estimates from
    RESAMPLES draws of R replicas with replacement. None for a single replica, and for summaries by the first,
    least or greatest replica, whose error the replicas do not determine. Source: Efron, Tibshirani 1993 ch.
    10–11.
    """
    if not has_error(how, count):
        return None
    if how != "median":
        replicas, groups = np.arange(count), count if count <= MOST_OMITTED else RESAMPLES
        estimates = np.stack(
            [estimate(np.delete(replicas, group).tolist()) for group in np.array_split(replicas, groups)]
        )
    else:
        # A fixed seed: the same results have the same error each time they are drawn.
        drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
        estimates = np.stack([estimate(draw.tolist()) for draw in drawn])
    factor = (groups - 1) / groups if how != "median" else 1 / (RESAMPLES - 1)
    with np.errstate(invalid="ignore"):  # infinite places
        return np.asarray(np.sqrt(factor * np.square(estimates - estimates.mean(0)).sum(0)))
