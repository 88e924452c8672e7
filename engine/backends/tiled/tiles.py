"""Weight vectors cut into segments that lie side by side in tiles, one in each SIMD lane."""

from __future__ import annotations

from math import gcd

from engine.core.lazy import torch

LEAST = 4
"""A segment holds at least so many weights: two for either sign in an example."""

ROWS = 1 << 10
"""A segment holds at most so many weights if there may be more segments: a tile is to stay in the cache."""

MOST_BITS = 6
"""Examples that a pass takes at once: there are 2^b patterns of their signs, and sums for each."""


class Tiling:
    """R replicas of B weight vectors of d = c·m weights, each cut into c segments of m consecutive weights.

    The segments of `lanes`/c members lie side by side in a tile: the first segment of all of them, then the
    second. What is left over in the last tile of a replica is padding, and holds 0 at first.
    """

    def __init__(self, replicas: int, members: int, d: int, lanes: int) -> None:
        """Cut d ≥ `LEAST` weights so that tiles are full where that can be, and small."""
        self.replicas, self.members, self.d = replicas, members, d
        self.count = min(d // LEAST, lanes, max(lanes // gcd(members, lanes), d // ROWS))
        self.rows, self.per_tile = d // self.count, lanes // self.count
        self.tiles = -(-members // self.per_tile)
        self.bits = min(MOST_BITS, self.rows.bit_length() - 2)

    def tiled(self, vectors: torch.Tensor, copies: int = 1) -> torch.Tensor:
        """Vectors [R·B, d], or one for so many members [R·B/copies, d], as tiles [R·G, m, lanes]."""
        each = vectors.view(self.replicas, -1, 1, self.d).expand(-1, -1, copies, -1)
        vectors = each.reshape(self.replicas, -1, self.d)
        if padding := self.tiles * self.per_tile - self.members:
            vectors = torch.nn.functional.pad(vectors, (0, 0, 0, padding))
        segments = vectors.reshape(-1, self.per_tile, self.count, self.rows)
        return segments.permute(0, 3, 2, 1).contiguous().flatten(2)

    def at(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Where in tiles weights of members [R, B, r] are: the numbers of tile, row and lane."""
        replica, member = torch.arange(self.replicas)[:, None, None], torch.arange(self.members)[:, None]
        tile = (replica * self.tiles + member // self.per_tile).expand_as(places)
        lane = places // self.rows * self.per_tile + member % self.per_tile
        return tile, places % self.rows, lane

    def vectors(self, tiles: torch.Tensor) -> torch.Tensor:
        """Tiles [R·G, m, lanes] as vectors [R·B, d], in memory of their own."""
        segments = tiles.view(-1, self.rows, self.count, self.per_tile).permute(0, 3, 2, 1)
        vectors = tiles.new_empty(segments.shape).copy_(segments).view(self.replicas, -1, self.d)
        return vectors[:, : self.members].reshape(-1, self.d)

    def in_lanes(self, values: torch.Tensor) -> torch.Tensor:
        """Values of members [R, B, r] in the lanes of all their segments, [R·G, r, lanes]; 0 for padding."""
        padding = self.tiles * self.per_tile - self.members
        values = torch.nn.functional.pad(values, (0, 0, 0, padding))
        by_tile = values.reshape(-1, self.per_tile, values.shape[2]).mT
        return by_tile.repeat(1, 1, self.count)

    def of_members(self, lanes: torch.Tensor) -> torch.Tensor:
        """Values [R·G, r, lanes] of members, [R, B, r]."""
        by_tile = lanes[:, :, : self.per_tile].mT
        return by_tile.reshape(self.replicas, -1, lanes.shape[1])[:, : self.members]
