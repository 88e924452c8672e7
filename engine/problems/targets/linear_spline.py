"""A piecewise linear function through given points as the target."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, BadField
from engine.core.streams import Streams
from engine.formulas.relu_interpolation import spline
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target
from engine.problems.targets.function import of_one_entry

MOST_POINTS = 4096
"""Maximum number of points that a preset may list."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


class LinearSpline(Target, frozen=True, tag="linear-spline"):
    """The label is a piecewise linear function through given points (x, y). Its outer pieces extend to ±∞.

    At least two points are needed, sorted by x. Instances must have a single entry. Source: SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    points: Annotated[
        tuple[tuple[Number, Number], ...],
        Meta(
            min_length=2,
            max_length=MOST_POINTS,
            title="points (x, y)",
            description="points to join by straight lines, such as [-1, 0], [0, 1], [2, 0.5]",
        ),
    ] = ((-2.0, 0.0), (-1.0, 1.0), (-0.4, -0.5), (0.3, 0.2), (1.0, 1.0), (2.0, 0.5))

    def __post_init__(self) -> None:
        super().__post_init__()
        for (x, _), (following, _) in pairwise(self.points):
            if not x < following:
                raise BadField("points", f"the x values must increase, but {following:g} comes after {x:g}")

    def check(self, matrix: Matrix) -> None:
        of_one_entry(matrix)

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        x, y = np.array(self.points).T
        return spline(x, y, features()[:, :, 0].astype(np.float64))[:, None]
