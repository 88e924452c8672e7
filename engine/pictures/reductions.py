"""Functions that reduce a dimension of an array to one number, such as the last or the largest value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.pictures.picture import Read, ReplicaShare
from engine.pictures.summaries import SPREADS

Floats = NDArray[np.float64]

RESAMPLES = 200
"""Number of bootstrap draws, or of jackknife groups of replicas, from which a standard error is computed.

Standard errors then have a relative accuracy of about 1/20.
"""

MOST_OMITTED = 1000
"""Largest number of replicas for which the jackknife omits each replica separately."""

MOST_TOGETHER = 1 << 22
"""Largest number of drawn values whose medians are computed together."""


def running(how: str, values: Floats, axis: int) -> Floats:
    """Compute a running statistic: the mean, minimum, maximum or sum of all values up to each position.

    Where the value itself is NaN, as for a diverged replica, the result is also NaN.

    Args:
        how: "mean", "min", "max" or "sum".
        values: array with NaN for missing values.
        axis: dimension of the array along which the statistic is computed.
    """
    is_present = ~np.isnan(values)
    if how in ("mean", "sum"):
        reduced = np.add.accumulate(np.where(is_present, values, 0.0), axis)
        if how == "mean":
            # At least 1, to avoid 0/0 before the first value. These entries become NaN below.
            reduced = reduced / np.maximum(np.add.accumulate(is_present, axis), 1)
    else:
        reduced = {"min": np.fmin.accumulate, "max": np.fmax.accumulate}[how](values, axis)
    return np.asarray(np.where(is_present, reduced, np.nan))


def from_time(start: float | None, times: Floats, measured: Floats) -> Floats:
    """Return measured values [R, S, …] with NaN at the evaluation points [S] whose time is below `start`."""
    if start is None:
        return measured
    is_before = (times < start).reshape(-1, *[1] * (measured.ndim - 2))
    return np.where(is_before, np.nan, measured)


def read(how: Read, values: Floats, places: Floats, axis: int) -> Floats:
    """Reduce a dimension of an array to one number, such as the last value or the first position below 0.1.

    If the values never pass the threshold of `how`, the result is infinite. But the result is NaN if a
    missing value might have passed the threshold.

    Args:
        how: description of the number.
        places: coordinates along the dimension.
        axis: index of the dimension.
    """
    if how.take is not None:
        return selected(how.take, values, axis)
    if how.place_of is not None:
        return _place_of_extremum(how.place_of, values, places, axis)
    if how.first_below is not None:
        threshold, reached = how.first_below, values < how.first_below
    else:
        assert how.first_above is not None, "a read has exactly one form"
        threshold, reached = how.first_above, values > how.first_above
    first = reached.argmax(axis)
    readings = places[first]
    if how.between != "no":
        readings = _crossing_of_threshold(how.between == "log", threshold, values, places, first, axis)
    is_reached = np.take_along_axis(reached, np.expand_dims(first, axis), axis).squeeze(axis)
    if is_reached.all():  # without a search for NaN in theory lines of a million values
        return np.asarray(readings)
    unknown = ~is_reached & np.isnan(values).any(axis)
    return np.asarray(np.where(unknown, np.nan, np.where(is_reached, readings, np.inf)))


def _place_of_extremum(how: str, values: Floats, places: Floats, axis: int) -> Floats:
    """Return the place of the first largest or least value, or the place before the largest gap.

    A gap is the ratio of the larger to the smaller of two neighbouring values. The result is NaN if there are
    no values.
    """
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
    """Return 1 where values [R, …] satisfy the condition of a `ReplicaShare`, and 0 elsewhere.

    A replica without a value, such as a diverged replica, does not satisfy the condition. If no replica has a
    value, the result is NaN.
    """
    holding = np.ones(values.shape, bool)
    if share.below is not None:
        holding &= values < share.below
    if share.above is not None:
        holding &= values > share.above
    return np.where(np.isnan(values).all(0), np.nan, holding & ~np.isnan(values))


def held(values: Floats, passed: NDArray[np.bool_]) -> Floats:
    """Return values [R, S, …] that stay constant from the first evaluation point at which `passed` is True.

    `passed` has the shape [R or 1, S]. The values of a replica without such an evaluation point are all NaN.
    """
    first = np.broadcast_to(passed.argmax(1), len(values))
    records = np.minimum(np.arange(values.shape[1]), first[:, None])  # [R, S]
    shaped = records.reshape(*records.shape, *[1] * (values.ndim - 2))
    held_values = np.take_along_axis(values, shaped, 1)
    held_values[np.broadcast_to(~passed.any(1), len(values))] = np.nan
    return held_values


def _crossing_of_threshold(
    log: bool, threshold: float, values: Floats, places: Floats, first: NDArray[np.intp], axis: int
) -> Floats:
    """Return the interpolated coordinate at which values cross a threshold.

    The first value beyond the threshold has index `first`. The crossing is interpolated between this value
    and the previous one, linearly or, with `log`, linearly in the logarithms of coordinate and value. If the
    crossing is undefined, the result is the coordinate of the first value beyond the threshold.
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
    """Interpolate the values of each replica linearly at positions x [N] that all replicas share.

    Before the first and after the last position of a replica, its values are NaN.

    Args:
        values: values [R, N] at the positions of each replica.
        own_places: increasing positions [R, N] of each replica.
    """
    new_values = np.full_like(values, np.nan)
    for replica, (y, places) in enumerate(zip(values, own_places, strict=True)):
        is_defined = np.isfinite(y) & np.isfinite(places)
        if is_defined.any():
            new_values[replica] = np.interp(x, places[is_defined], y[is_defined], left=np.nan, right=np.nan)
    return new_values


def selected(how: str, values: Floats, axis: int) -> Floats:
    """Reduce a dimension to its first, last, largest, least or mean value.

    The largest, least and mean values ignore NaN.

    Args:
        how: "first", "last", "max", "min" or "mean".
    """
    if how in ("first", "last"):
        return np.asarray(values.take(0 if how == "first" else -1, axis))
    return summary(how, np.moveaxis(values, axis, 0))


def summary(how: str, values: Floats) -> Floats:
    """Summarise the replicas, along the first dimension, by the statistic `how`. NaN values are ignored.

    The result is NaN where all values are NaN. The summary "first" is the first value, even if it is NaN.
    """
    if how == "first":
        first: Floats = values[0]
        return first
    if how in ("max", "min"):
        return np.asarray({"max": np.fmax, "min": np.fmin}[how].reduce(values, 0))
    if how in SPREADS:
        return _relative_spread(how, values)
    none = np.isnan(values).all(0)
    # nanmean and nanmedian warn about columns that are all NaN. So these are set to 0 here, and to NaN below.
    defined = np.where(none, 0.0, values)
    with np.errstate(invalid="ignore", divide="ignore"):  # infinite places, and logarithms of 0
        if how == "geometric":
            reduced = np.exp(np.nanmean(np.log(defined), 0))
        else:
            reduced = np.nanmedian(defined, 0) if how == "median" else np.nanmean(defined, 0)
    return np.where(none, np.nan, reduced)


def _relative_spread(how: str, samples: Floats) -> Floats:
    """Return the relative variance of values over the first dimension, or the variance of their logarithms.

    The result is NaN where there are fewer than two values.
    """
    is_present = ~np.isnan(samples)
    count = is_present.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):  # infinite places, and logarithms of 0
        numbers = np.log(samples) if how == "log-variance" else samples
        mean = numbers.sum(0, where=is_present) / count
        variance = np.square(numbers - mean).sum(0, where=is_present) / (count - 1)
        reduced = variance if how == "log-variance" else variance / np.square(mean)
    return np.where(count < 2, np.nan, reduced)


def has_error(how: str, count: int) -> bool:
    """Return whether the summary `how` of `count` replicas has a standard error."""
    return count > 1 and how in ("mean", "median", "geometric", *SPREADS)


def standard_error(
    how: str, count: int, estimate: Callable[[Sequence[int]], Floats], samples: Floats | None = None
) -> Floats | None:
    """Return the standard error of an estimate that is computed from `count` replicas.

    It is computed by the delete-one jackknife, as √((R − 1)/R · Σ(θ_r − θ̄)²). Here, θ_r is the estimate
    without replica r. With more than MOST_OMITTED replicas, R = RESAMPLES groups of replicas are omitted
    instead of single replicas. For a median, the jackknife does not converge. So the standard error of a
    median is the standard deviation of RESAMPLES bootstrap estimates, each from `count` replicas drawn with
    replacement.

    The result is None for a single replica. It is also None for the summaries "first", "min" and "max",
    because their errors cannot be estimated from the replicas.

    Args:
        how: name of the summary of replicas that the estimate uses, such as "median".
        estimate: function that returns the estimate from a subset of the replicas.
        samples: values [count, N], if the estimate is their summary `how`. The summaries of all subsets can
            then be computed together.

    Source: Efron, Tibshirani 1993 ch. 10–11.
    """
    if not has_error(how, count):
        return None
    if how != "median":
        replicas, groups = np.arange(count), count if count <= MOST_OMITTED else RESAMPLES
        omitted = np.array_split(replicas, groups)
        estimates = None if samples is None else _summaries_without(how, samples, omitted)
        if estimates is None:
            estimates = np.stack([estimate(np.delete(replicas, group).tolist()) for group in omitted])
    else:
        # The seed is fixed, so that the same results always have the same standard error.
        drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
        if samples is None or RESAMPLES * samples.size > MOST_TOGETHER or np.isnan(samples).any():
            estimates = np.stack([estimate(draw.tolist()) for draw in drawn])
        else:
            estimates = np.median(samples[drawn], 1)
    factor = (groups - 1) / groups if how != "median" else 1 / (RESAMPLES - 1)
    with np.errstate(invalid="ignore"):  # infinite places
        return np.asarray(np.sqrt(factor * np.square(estimates - estimates.mean(0)).sum(0)))


def _summaries_without(how: str, samples: Floats, omitted: Sequence[NDArray[np.intp]]) -> Floats | None:
    """Return the summary of samples [R, N] without each of G groups of replicas, [G, N], or None.

    The groups divide the replicas in order. The sum over the remaining replicas is the sum over all replicas
    minus the sum over the group. To keep rounding errors small, the terms are deviations from the mean. The
    result is None if a number is infinite or has no logarithm, because such sums cannot be subtracted.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        numbers = np.log(samples) if how in ("geometric", "log-variance") else samples
    is_present = ~np.isnan(numbers)
    if np.isinf(numbers).any() or not np.array_equal(is_present, ~np.isnan(samples)):
        return None
    starts = [int(group[0]) for group in omitted]

    def without(terms: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(terms.sum(0) - np.add.reduceat(terms, starts))

    counts = without(is_present.astype(np.int64))
    with np.errstate(invalid="ignore", divide="ignore"):  # no value remains
        centre = np.where(is_present, numbers, 0.0).sum(0) / is_present.sum(0)
        deviations = np.where(is_present, numbers - centre, 0.0)
        shifts = without(deviations) / counts
        if how not in SPREADS:
            return np.asarray(np.exp(centre + shifts) if how == "geometric" else centre + shifts)
        variances = (without(np.square(deviations)) - counts * np.square(shifts)) / (counts - 1)
        if how == "relative-variance":
            variances = variances / np.square(centre + shifts)
        return np.where(counts < 2, np.nan, variances)
