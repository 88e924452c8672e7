"""The straight lines between neighbouring training points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.formulas.relu_interpolation import spline
from engine.theory import At, Floats
from engine.theory.interpolation_norm import OfOneNumber, training_points


class LinearSpline(OfOneNumber, frozen=True, tag="linear-spline"):
    """The function f that connects neighbouring training points by straight lines.

    Beyond the outermost points, the first and the last of these lines continue. f minimises ∫|f″| among all
    functions that fit the points. The minimiser is not unique: between two neighbouring bends in the same
    direction, any curve that bends in this direction has the same ∫|f″|. Source: SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    title: ClassVar[str] = "linear spline"
    measure: ClassVar[str] = "function"
    formula: ClassVar[str] = "y_i + s_i (x − x_i), s_i = (y_{i+1} − y_i)/(x_{i+1} − x_i)"

    def value(self, at: At) -> Floats:
        inputs = at.indices["input"]
        return np.stack([spline(x, y, inputs) for x, y in training_points(at)])[:, None]
