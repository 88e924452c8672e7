"""The law by which what a picture reads off grows along an axis: a power of x, or its logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.pictures import wording
from engine.pictures.view import CurveView, Floats, View
from engine.pictures.view_names import x_name

LEAST_PLACES = 4
"""Two numbers are fitted, so fewer places say nothing about the law."""

LEAST_EXPONENT = 1 / 3
"""Over a few doublings of x, smaller powers and logarithms differ by less than replicas do."""

NEARLY_ONE = 0.03
"""An exponent that differs from 1 by less is called a share of x, too."""

WORST = 0.2
"""Root mean square of the relative residuals from which on neither law is said."""


class Law(NamedTuple):
    """y ∝ x^exponent, or y = c + slope · log₂ x; one of the two is None.

    `error` is the relative residual, and `share` the mean of y/x.
    """

    exponent: float | None
    slope: float | None
    error: float
    share: float


def fitted_law(x: Floats, y: Floats) -> Law | None:
    """The law of two parameters that fits y(x) [N], by the root mean square of ŷ/y − 1.

    Both are least squares: log y against log x, and y against log₂ x. None where there are too few positive
    places, or neither law fits.
    """
    fits = np.isfinite(y) & (y > 0) & (x > 0)
    if fits.sum() < LEAST_PLACES:
        return None
    x, y = x[fits], y[fits]
    exponent, constant = np.polyfit(np.log(x), np.log(y), 1)
    share = float(np.mean(y / x))
    power = Law(float(exponent), None, _error(np.exp(constant) * x**exponent, y), share)
    slope, constant = np.polyfit(np.log2(x), y, 1)
    logarithm = Law(None, float(slope), _error(constant + slope * np.log2(x), y), share)
    law = power if abs(exponent) >= LEAST_EXPONENT and power.error < logarithm.error else logarithm
    return law if law.error <= WORST else None


def _error(fitted: Floats, y: Floats) -> float:
    return float(np.sqrt(np.mean((fitted / y - 1) ** 2)))


def laws_in_words(view: View) -> str:
    """The laws of the curves of a picture along an axis, as a sentence; nothing where none can be told.

    For example "GD ∝ d^1.00 (0.90 d); EGU ∝ log d: 2.4 more examples per doubling of d".
    """
    reading, axes = view.picture.reading, view.axes
    if reading is None or not reading.is_threshold or view.heats or axes.names:
        return ""
    curves = [curve for curve in view.curves if curve.chosen and not curve.training.is_reference]
    laws = [(curve, law) for curve in curves if (law := fitted_law(curve.x, curve.y)) is not None]
    powers = [(curve, law.exponent) for curve, law in laws if law.exponent is not None]
    logarithms = [(curve, law.slope) for curve, law in laws if law.slope is not None]
    clauses = []
    if powers:
        shares = [(curve, law.share) for curve, law in laws if law.exponent is not None]
        is_share = all(abs(exponent - 1) < NEARLY_ONE for _, exponent in powers)
        share = f" ({_ends(shares, '.2f')} {x_name(view)})" if is_share else ""
        clauses.append(f"{_names(view, powers)} ∝ {x_name(view)}^{_ends(powers, '.2f')}{share}")
    if logarithms:
        unit = f"{wording.UNITS[axes.clock]}s" if axes.clock in wording.UNITS else "more"
        more = f"{_ends(logarithms, '.2g')} more {unit}".replace("more more", "more")
        growth = f"∝ log {x_name(view)}: {more} per doubling of {x_name(view)}"
        clauses.append(f"{_names(view, logarithms)} {growth}")
    return wording.shortened(clauses[0], *(f"; {clause}" for clause in clauses[1:])) if clauses else ""


def _names(view: View, numbered: Sequence[tuple[CurveView, float]]) -> str:
    return wording.listed([wording.called(view, curve) for curve, _ in numbered])


def _ends(numbered: Sequence[tuple[CurveView, float]], form: str) -> str:
    """The least and the greatest number, or one where both are written alike."""
    return wording.ends([number for _, number in numbered], lambda number: format(number, form))
