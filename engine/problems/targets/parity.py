"""The product of some features as the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target, TargetStructure


class Parity(Target, frozen=True, tag="parity"):
    """The label is the product of the features in a random set S, y = ∏_{i ∈ S} x_i, for features ±1.

    S is drawn once per replica, uniformly from all sets of features, or from all sets of `degree` features.
    Source: Abbe, Sandon 2020; theory/parities-and-noise#parities,
    theory/parities-and-noise#one-example-or-a-mean.
    """

    degree: Annotated[
        Count | Literal["any"],
        Meta(
            title="degree k", description="number of features in the product; any: a random set of any size"
        ),
    ] = "any"

    def structure(self, matrix: Matrix) -> TargetStructure:
        # If all features change sign, a product of an even number of features keeps its sign.
        odd = self.degree != "any" and self.degree % 2 == 1
        return TargetStructure("signs", is_any_parity=self.degree == "any", is_odd=odd, is_never_zero=True)

    def check(self, matrix: Matrix) -> None:
        if matrix.structure().feature_values != "signs":
            raise BadInput(
                "problem.target.kind",
                f"a parity needs features ±1, but those of {matrix.kind} have other values; "
                'set [problem.matrix] kind = "rademacher"',
            )
        if self.degree != "any" and self.degree > (d := matrix.feature_count()):
            raise BadInput(
                "problem.target.degree",
                f"there are only {d} features; take at most {d}",
            )

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        draws, d = streams("target"), matrix.feature_count()
        chosen = draws.uniform(d) < 0.5 if self.degree == "any" else draws.permutation(d) < self.degree
        parities: Rows = np.where(chosen[:, None], features(), 1.0).prod(2)[:, None]
        return parities
