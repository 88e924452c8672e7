"""Weight vectors as tiles of segments, and the signs of examples in them, against the vectors and rows."""

import numpy as np
import pytest
import torch
from looping import looped

from engine.backends.compiled import SUMS
from engine.backends.tiled.kernels import LANES
from engine.backends.tiled.tiles import MOST_BITS, Tiling
from engine.problems.sylvester import Sylvester
from engine.problems.walsh import Walsh

SHAPES = [
    (1, 1, 4),
    (1, 128, 128),
    (2, 3, 8),
    (3, 128, 16),
    (1, 200, 64),
    (2, 7, 512),
    (1, 96, 4096),
    (1, 256, 4096),
]


def examples(replicas, d, n):
    generator = torch.Generator().manual_seed(d)
    order = torch.stack([torch.randperm(d, generator=generator)[:n] for _ in range(replicas)])
    signs = torch.randint(0, 2, order.shape, generator=generator).double() * 2 - 1
    return Sylvester(Walsh(d, torch.float64, "cpu"), d, order, signs)


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
def test_tiles_hold_segment_by_segment_what_the_vectors_do(replicas, members, d):
    tiling = Tiling(replicas, members, d, LANES)
    vectors = torch.arange(1.0, replicas * members * d + 1).view(-1, d)
    tiles = tiling.tiled(vectors)
    assert tiles.shape == (replicas * tiling.tiles, tiling.rows, LANES)
    assert tiling.count * tiling.rows == d
    assert torch.equal(tiling.vectors(tiles), vectors)
    assert tiling.vectors(tiles).data_ptr() != tiles.data_ptr()
    for i in (0, d // 3, d - 1):
        places = torch.full((replicas, members, 1), i)
        assert torch.equal(tiles[tiling.at(places)].flatten(), vectors[:, i])
    replica, member, i = replicas - 1, members // 2, d - 2
    segment, row = divmod(i, tiling.rows)
    tile, place = divmod(member, tiling.per_tile)
    held = tiles[replica * tiling.tiles + tile, row, segment * tiling.per_tile + place]
    assert held == vectors[replica * members + member, i]
    assert int((tiles == 0).sum()) == tiles.numel() - vectors.numel()


@looped(("replicas", "members", "d"), SHAPES)
@looped(("first", "count"), [(0, 0), (0, 1), (1, 3), (2, 2 * MOST_BITS)])
def test_segment_signs_and_patterns_are_the_signs_of_the_examples(replicas, members, d, first, count):
    seen = examples(replicas, d, min(d, 13))
    tiling = Tiling(replicas, members, d, LANES)
    segment_signs, patterns = tiling.signs(seen, first, count)
    assert segment_signs.shape == (replicas, count, tiling.count)
    blocks = -(-count // tiling.bits)
    assert patterns.shape == (replicas, blocks + 1, tiling.rows)
    rows = seen.rows.numpy().reshape(replicas, seen.n, tiling.count, tiling.rows)

    def within(block, j):
        """The signs inside segments that the patterns of a block hold for its example j."""
        bit = patterns[:, block].numpy() >> (tiling.bits - 1 - j) & 1
        return 1.0 - 2.0 * bit

    for step in range(min(count, seen.n - first)):
        product = segment_signs[:, step].numpy()[:, :, None] * within(*divmod(step, tiling.bits))[:, None]
        np.testing.assert_array_equal(product, rows[:, first + step])
    for j in range(min(tiling.bits, seen.n - first - count)):
        expected = rows[:, first + count + j] * rows[:, first + count + j, :, :1]
        np.testing.assert_array_equal(within(blocks, j) * within(blocks, j)[:, :1], expected[:, 0])


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
def test_places_sorted_by_pattern_come_in_pairs(replicas, members, d):
    """The passes take two at a time, which must be of one pattern."""
    tiling = Tiling(replicas, members, d, LANES)
    _, patterns = tiling.signs(examples(replicas, d, min(d, 13)), 0, 2 * tiling.bits)
    pairs = np.sort(patterns.numpy(), -1).reshape(replicas, -1, tiling.rows // 2, 2)
    assert np.array_equal(pairs[..., 0], pairs[..., 1])


@pytest.mark.parametrize("members", [1, 2, 96, 128, 1024])
@pytest.mark.parametrize("d", [512, 1024, 4096, 1 << 20])
def test_sums_take_no_more_memory_than_is_said(members, d):
    tiling = Tiling(1, members, d, LANES)
    sums = 5 * ((1 << tiling.bits) + 1) * LANES * tiling.tiles
    assert sums <= SUMS * members * d
