"""Weight vectors as tiles of segments, and the signs of examples in them, against the vectors and rows."""

import numpy as np
import pytest
import torch
from looping import looped
from numba import njit

from engine.backends.compiled import LEARNING, STARTING
from engine.backends.tiled.blocked_pass import arranged
from engine.backends.tiled.kernels import KINDS
from engine.backends.tiled.tiles import MOST_BITS, Tiling
from engine.backends.tiled.vectors import LANES, exp, load, store
from engine.problems.sylvester import Sylvester, Walsh

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
def test_patterns_are_the_signs_of_the_examples(replicas, members, d, first, count):
    seen = examples(replicas, d, min(d, 13))
    tiling = Tiling(replicas, members, d, LANES)
    found = arranged(seen, tiling, first, count)
    within = (found.parts[..., None] ^ found.patterns[:, :, None]).reshape(replicas, -1, 1, tiling.rows)
    patterns = (found.segments[..., None] ^ within).reshape(replicas, -1, d)
    blocks = -(-count // tiling.bits)
    assert patterns.shape == (replicas, blocks + 1, d)
    rows = seen.rows.numpy()

    def signs(block, j):
        """The signs that the patterns of a block hold for its example j."""
        return 1.0 - 2.0 * (patterns[:, block] >> (tiling.bits - 1 - j) & 1)

    for step in range(min(count, seen.n - first)):
        np.testing.assert_array_equal(signs(*divmod(step, tiling.bits)), rows[:, first + step])
    for j in range(min(tiling.bits, seen.n - first - count)):
        np.testing.assert_array_equal(signs(blocks, j), rows[:, first + count + j])


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
def test_places_sorted_by_pattern_come_in_pairs(replicas, members, d):
    """The passes take two at a time, which must be of one pattern."""
    tiling = Tiling(replicas, members, d, LANES)
    found = arranged(examples(replicas, d, min(d, 13)), tiling, 0, 2 * tiling.bits)
    places = found.patterns.shape[2]
    assert np.array_equal(np.sort(found.order, -1), np.broadcast_to(np.arange(places), found.order.shape))
    in_order = np.take_along_axis(found.patterns, found.order, -1)
    assert np.array_equal(in_order, np.sort(found.patterns, -1))
    counts = (in_order[..., None] < np.arange((1 << tiling.bits) + 1)).sum(-2)
    assert np.array_equal(found.begins, counts)
    assert not (found.begins % 2).any()


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
def test_values_of_members_are_in_the_lanes_of_all_their_segments(replicas, members, d):
    tiling = Tiling(replicas, members, d, LANES)
    values = torch.arange(1.0, replicas * members * 3 + 1).view(replicas, members, 3)
    lanes = tiling.in_lanes(values)
    assert torch.equal(tiling.of_members(lanes), values)
    assert lanes.shape == (replicas * tiling.tiles, 3, LANES)
    assert torch.equal(
        lanes.view(-1, tiling.per_tile),
        lanes[..., : tiling.per_tile].repeat(1, 1, tiling.count).view(-1, tiling.per_tile),
    )
    assert int((lanes == 0).sum()) == lanes.numel() - values.numel() * tiling.count


def test_exponentials_are_those_of_the_library():
    numbers = np.concatenate([np.linspace(-708, 708, 4096), np.linspace(-1, 1, 4094), [0.0, -0.0]])
    found = np.empty_like(numbers)
    exponentials(numbers.reshape(-1, LANES), found.reshape(-1, LANES))
    np.testing.assert_allclose(found, np.exp(numbers), rtol=2 * np.finfo(float).eps, atol=0)
    beyond = np.resize([np.nan, np.inf, -np.inf, 1e300, -1e300], LANES)
    exponentials(beyond.reshape(1, LANES), beyond.reshape(1, LANES))
    most = np.exp(708.0)
    np.testing.assert_allclose(beyond[:5], [np.nan, most, 1 / most, most, 1 / most], rtol=1e-12)


@njit
def exponentials(numbers, found):
    """e^x for rows of numbers."""
    for row in range(len(numbers)):
        store(found, row, exp(load(numbers, row)))


@pytest.mark.parametrize("members", [1, 2, 96, 128, 1024])
@pytest.mark.parametrize("d", [512, 1024, 4096, 1 << 20])
def test_sums_take_no_more_memory_than_is_said(members, d):
    tiling = Tiling(1, members, d, LANES)
    sums = KINDS * LANES * tiling.tiles << tiling.bits
    assert 2 * members * d + sums <= (LEARNING * members + STARTING) * d
