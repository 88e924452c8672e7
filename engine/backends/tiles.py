"""Weight vectors cut into strands that lie side by side, as compiled passes take them."""

from __future__ import annotations

from math import gcd

from engine.core.lazy import torch
from engine.problems.sylvester import Sylvester

LEAST = 4
"""A strand holds at least so many weights: two for either sign in an example."""

ROWS = 1 << 10
"""A strand holds at most so many weights if there may be more strands: bundles are to stay in the cache."""

MOST_BITS = 5
"""Examples that a pass takes at once: there are 2^b patterns of their signs, and sums for each."""


class Strands:
    """R replicas of B weight vectors of d = c·m weights, each cut into c strands of m consecutive weights.

    The strands of `lanes`/c members lie side by side in a bundle: the first strand of all of them, then the
    second. Lanes left over in the last bundle of a replica are nobody's, and hold 0 at first.
    """

    def __init__(self, replicas: int, members: int, d: int, lanes: int) -> None:
        """Cut d ≥ `LEAST` weights so that bundles are full where that can be, and small."""
        self.replicas, self.members, self.d = replicas, members, d
        self.count = min(d // LEAST, lanes, max(lanes // gcd(members, lanes), d // ROWS))
        self.rows, self.per_bundle = d // self.count, lanes // self.count
        self.bundles = -(-members // self.per_bundle)
        self.bits = min(MOST_BITS, self.rows.bit_length() - 2)

    def bundle(self, vectors: torch.Tensor) -> torch.Tensor:
        """Vectors [R·B, d] as bundles [R·G, m, lanes]."""
        nobody = self.bundles * self.per_bundle - self.members
        vectors = vectors.view(self.replicas, self.members, self.d)
        if nobody:
            vectors = torch.nn.functional.pad(vectors, (0, 0, 0, nobody))
        strands = vectors.view(-1, self.per_bundle, self.count, self.rows)
        return strands.permute(0, 3, 2, 1).contiguous().flatten(2)

    def at(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Where in bundles weights of members [R, B, r] are: the numbers of bundle, row and lane."""
        replica, member = torch.arange(self.replicas)[:, None, None], torch.arange(self.members)[:, None]
        bundle = (replica * self.bundles + member // self.per_bundle).expand_as(places)
        lane = places // self.rows * self.per_bundle + member % self.per_bundle
        return bundle, places % self.rows, lane

    def vectors(self, bundles: torch.Tensor) -> torch.Tensor:
        """Bundles [R·G, m, lanes] as vectors [R·B, d], in memory of their own."""
        strands = bundles.view(-1, self.rows, self.count, self.per_bundle).permute(0, 3, 2, 1)
        vectors = bundles.new_empty(strands.shape).copy_(strands).view(self.replicas, -1, self.d)
        return vectors[:, : self.members].reshape(-1, self.d)

    def signs(self, examples: Sylvester, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The signs of K examples from number `first` on, in blocks of b, and of the block after them.

        They are products of the signs of strands, [R, K, c], and those inside strands, all of which have the
        same. There the signs of a block make a pattern for every weight, [R, K/b + 1, m]: the first example
        is the highest bit, 1 where it is −1.
        """
        whole = -(-count // self.bits) * self.bits
        numbers = torch.cat([torch.arange(first, first + whole), first + count + torch.arange(self.bits)])
        high, low = examples.factors(numbers.clamp_(max=examples.n - 1))
        width = low.shape[2]
        begins = torch.arange(self.count) * self.rows
        turns = high[..., begins // width] * low[..., begins % width]
        high, low = high[..., : -(-self.rows // width)] * turns[..., :1], low[..., : self.rows]
        patterns = self._packed(high < 0)[..., :, None] ^ self._packed(low < 0)[..., None, :]
        return turns[:, :count].to(torch.int8), patterns.flatten(2)

    def _packed(self, negative: torch.Tensor) -> torch.Tensor:
        """Truth [R, K, l] as numbers of b bits, [R, K/b, l]."""
        bits = negative.view(torch.uint8).view(len(negative), -1, self.bits, negative.shape[2])
        packed = bits[:, :, 0].clone()
        for j in range(1, self.bits):
            packed.mul_(2).add_(bits[:, :, j])
        return packed
