"""Fewer Gaussian instances than features."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.problems.matrices.gaussian import Gaussian


class Sparse(Gaussian, frozen=True, tag="sparse"):
    """Fewer Gaussian instances than features, as in sparse regression: n = 100 and d = 1000.

    The entries of the instances are drawn as in `gaussian`. The default sizes n and d come from an experiment
    in WGL20. To repeat this experiment, use the target `sparse` with r = 5 non-zeros of size 1/√r, and label
    noise σ = 0.1. To measure generalisation, increase n, and train on the first 100 rows by the protocol
    `epochs` with `train` = 100. Source: WGL20 §4; theory/conventions#matrices.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 1000
    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 100
