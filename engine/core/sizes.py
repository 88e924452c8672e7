"""How large a training run is: by these numbers its parts say how many bytes they take."""

from __future__ import annotations

from typing import NamedTuple

CELLS = 1 << 18
"""At most so many predictions are held at once while losses are computed."""

DERIVED = 8
"""Bytes of a number in float64, as solvers, second-order rules and measures of derivatives compute them."""


class Sizes(NamedTuple):
    """One learner on its problem."""

    n: int
    """Instances."""

    d: int
    """Features of an instance."""

    item: int
    """Bytes of a number in the run's dtype."""

    replicas: int
    batch: int
    """Weight vectors that learn side by side: one for every replica, rate and target."""

    targets: int = 1
    """Of these so many, one for every target, are the same at the start."""

    examples: int = 0
    """Examples that solvers are given at most."""

    one_hot: bool = False
    """Whether all labels of an instance are predicted together."""

    models: int = 1
    """How many times all of these are trained side by side, for as many numbers of examples."""

    outputs: int = 1
    """Weight vectors that one net has together."""

    parameters: int = 0
    """Numbers of a net, trained or fixed."""

    units: int = 0
    """Hidden units of a net."""

    @property
    def nets(self) -> int:
        """How many nets there are."""
        return self.models * self.batch // self.outputs

    @property
    def signals(self) -> int:
        """Numbers that a net's predictions of all instances are made of, and these."""
        return self.n * (self.outputs + self.units)

    @property
    def predicted(self) -> int:
        """Predictions that are held at once while losses are computed."""
        return max(CELLS, self.batch * self.n)
