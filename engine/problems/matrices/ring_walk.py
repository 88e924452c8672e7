"""Positions of a random walk on a ring."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Count
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.problems.matrices import Floats, Matrix, MatrixStructure, Rows

LONG = 2
"""Length, in sites, of steps that start on the second half of the ring. All other steps have length 1."""


class RingWalk(Matrix, frozen=True, tag="ring-walk"):
    """Positions of a random walk on a ring of d sites. Each row is 1 at the walker's site and 0 elsewhere.

    A fair coin decides whether a step goes forwards or backwards. A step that starts on the first half of the
    ring is one site long. A step that starts on the second half is two sites long. The first position is
    drawn from the stationary distribution, so all positions have this distribution. Successive rows are
    `every` steps apart. Source: theory/noise-of-sgd#valleys.
    """

    d: Annotated[
        int,
        Meta(
            ge=2,
            le=256,
            multiple_of=2,
            title="sites d",
            description="number of sites on the ring, which must be even",
        ),
    ] = 60
    n: Annotated[Count, Meta(title="rows n", description="number of positions along the walk")] = 100
    every: Annotated[
        Count, Meta(title="every", description="number of steps of the walk from one row to the next")
    ] = 1

    def size(self) -> tuple[int, int]:
        return self.n, self.d

    def structure(self) -> MatrixStructure:
        as_drawn = self.repeat is None and not self.rotate
        structure = super().structure()
        return structure._replace(feature_means=tuple(stationary(self.d)) if as_drawn else None)

    @property
    def second_moment(self) -> Floats:
        return np.diag(stationary(self.d))

    def rows(self, streams: Streams) -> Rows:
        stream, steps = streams("matrix"), lengths(self.d)
        shares = np.cumsum(stationary(self.d))
        site = np.minimum(np.searchsorted(shares, stream.uniform(1)[:, 0]), self.d - 1)  # [R]
        signs = stream.signs(self.n, self.every)
        sites = np.empty((stream.replicas, self.n), np.int64)
        for number in range(self.n):
            go_on()
            sites[:, number] = site
            for step in range(self.every):
                site = (site + signs[:, number, step] * steps[site]) % self.d
        return np.eye(self.d)[sites]


def lengths(sites: int) -> NDArray[np.int64]:
    """Return the length of a step that starts at each site, in sites, [d]."""
    return np.where(np.arange(sites) < sites // 2, 1, LONG)


def stationary(sites: int) -> NDArray[np.float64]:
    """Return the stationary probabilities p of the sites, [d]: p = pT for the transition matrix T."""
    starts, steps = np.arange(sites), lengths(sites)
    balance = -np.eye(sites)  # (Tᵀ − I) p = 0
    for sign in (1, -1):
        np.add.at(balance, ((starts + sign * steps) % sites, starts), 0.5)
    balance[0] = 1  # Σ p = 1 replaces one equation, which the others imply
    probabilities: NDArray[np.float64] = np.linalg.solve(balance, np.eye(sites)[0])
    return probabilities
