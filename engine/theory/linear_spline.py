"""The straight lines between neighbouring training points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.formulas.relu_interpolation import spline
from engine.theory import At, Floats
from engine.theory.interpolation_norm import OfOneNumber, training_points


class LinearSpline(OfOneNumber, frozen=True, tag="linear-spline"):
    """f(x) on the straight lines between neighbouring training points; the first and the last line continue.

    f minimises ∫|f″| among all functions that fit. The minimiser is not unique: between two bends to the same
    side, any curve bent to that side costs the same. Source: SESS19; theory/implicit-bias#relu-interpolation.
    """

    title: ClassVar[str] = "linear spline"
    measure: ClassVar[str] = "function"
    formula: ClassVar[str] = "y_i + s_i (x − x_i), s_i = (y_{i+1} − y_i)/(x_{i+1} − x_i)"

    def value(self, at: At) -> Floats:
        inputs = at.indices["input"]
        return np.stack([spline(x, y, inputs) for x, y in training_points(at)])[:, None]
