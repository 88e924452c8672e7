"""A linear target with weights that are given."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, SELDOM, BadInput, Count, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target

MOST_WEIGHTS = 4096
"""Weights that are given one by one, at most."""


class Weights(Target, frozen=True, tag="weights"):
    """The label is a given combination of the first features, y = Σ_i w_i x_i; all other weights are 0.

    As in the fixed draws of the theory: w = (1, .5, .8), or 1/√5 on the first five features. With `copies` r
    the weights come r times, one after the other. Source: theory-bias.md §§34, 47; theory-symmetry.md §19.
    """

    linear: ClassVar[bool] = True
    has_w_star: ClassVar[bool] = True

    w: Annotated[
        tuple[Annotated[float, Meta(ge=-LARGEST, le=LARGEST)], ...],
        Meta(
            min_length=1,
            max_length=MOST_WEIGHTS,
            title="weights w",
            description="of the first features, as in 1, 0.5, 0.8",
        ),
    ] = (1.0, 0.5, 0.8)
    copies: Annotated[
        Count, Meta(title="copies", description="how often the weights repeat", extra=SELDOM)
    ] = 1

    @property
    def given(self) -> tuple[float, ...]:
        return self._all

    @property
    def unit(self) -> bool:
        return math.isclose(math.hypot(*self._all), 1.0, rel_tol=1e-12)

    @property
    def fixed_feature(self) -> int | None:
        places = [place for place, weight in enumerate(self._all) if weight != 0]
        return places[0] if len(places) == 1 and self._all[places[0]] == 1 else None

    def is_never_zero(self, matrix: Matrix) -> bool:
        """One weight exceeds the sum of all others, or there are oddly many of one size."""
        sizes = [abs(weight) for weight in self._all if weight != 0]
        dominated = bool(sizes) and 2 * max(sizes) > sum(sizes)
        odd = len(sizes) % 2 == 1 and len(set(sizes)) == 1
        return matrix.feature_values == "signs" and (dominated or odd)

    def are_features(self, matrix: Matrix) -> bool:
        return self.fixed_feature is not None

    @property
    def _all(self) -> tuple[float, ...]:
        return self.w * self.copies

    def check(self, matrix: Matrix) -> None:
        if len(self.w) * self.copies > (d := matrix.feature_count()):
            place = "w" if self.copies == 1 else "copies"
            raise BadInput(f"problem.target.{place}", f"there are {d} features; give at most as many weights")

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        copies = len(streams.seeds), 1, 1
        return Combination(np.tile(np.arange(len(self._all)), copies), np.tile(self._all, copies))

    def values(self, matrix: Matrix) -> Values:
        if self.fixed_feature is not None:
            return matrix.feature_values
        negative = [weight for weight in self._all if weight != 0] == [-1.0]
        return "signs" if negative and matrix.feature_values == "signs" else "any"
