"""Weight vectors as bundles of strands, and the signs of examples in them, against the vectors and rows."""

import numpy as np
import pytest
import torch

from engine.backends.compiled import LANES
from engine.backends.tiles import MOST_BITS, Strands
from engine.problems.sylvester import Sylvester
from engine.problems.walsh import Walsh
from engine.runtime import memory_estimate

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
def test_bundles_hold_strand_by_strand_what_the_vectors_do(replicas, members, d):
    strands = Strands(replicas, members, d, LANES)
    vectors = torch.arange(1.0, replicas * members * d + 1).view(-1, d)
    bundles = strands.bundle(vectors)
    assert bundles.shape == (replicas * strands.bundles, strands.rows, LANES)
    assert strands.count * strands.rows == d
    assert torch.equal(strands.vectors(bundles), vectors)
    assert strands.vectors(bundles).data_ptr() != bundles.data_ptr()
    for i in (0, d // 3, d - 1):
        places = torch.full((replicas, members, 1), i)
        assert torch.equal(bundles[strands.at(places)].flatten(), vectors[:, i])
    replica, member, i = replicas - 1, members // 2, d - 2
    strand, row = divmod(i, strands.rows)
    bundle, place = divmod(member, strands.per_bundle)
    held = bundles[replica * strands.bundles + bundle, row, strand * strands.per_bundle + place]
    assert held == vectors[replica * members + member, i]
    assert int((bundles == 0).sum()) == bundles.numel() - vectors.numel()


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
@pytest.mark.parametrize(("first", "count"), [(0, 0), (0, 1), (1, 3), (2, 2 * MOST_BITS)])
def test_turns_and_patterns_are_the_signs_of_the_examples(replicas, members, d, first, count):
    seen = examples(replicas, d, min(d, 13))
    strands = Strands(replicas, members, d, LANES)
    turns, patterns = strands.signs(seen, first, count)
    assert turns.shape == (replicas, count, strands.count)
    blocks = -(-count // strands.bits)
    assert patterns.shape == (replicas, blocks + 1, strands.rows)
    rows = seen.rows.numpy().reshape(replicas, seen.n, strands.count, strands.rows)

    def within(block, j):
        """The signs inside strands that the patterns of a block hold for its example j."""
        bit = patterns[:, block].numpy() >> (strands.bits - 1 - j) & 1
        return 1.0 - 2.0 * bit

    for step in range(min(count, seen.n - first)):
        product = turns[:, step].numpy()[:, :, None] * within(*divmod(step, strands.bits))[:, None]
        np.testing.assert_array_equal(product, rows[:, first + step])
    for j in range(min(strands.bits, seen.n - first - count)):
        expected = rows[:, first + count + j] * rows[:, first + count + j, :, :1]
        np.testing.assert_array_equal(within(blocks, j) * within(blocks, j)[:, :1], expected[:, 0])


@pytest.mark.parametrize(("replicas", "members", "d"), SHAPES)
def test_places_sorted_by_pattern_come_in_pairs(replicas, members, d):
    """The passes take two at a time, which must be of one pattern."""
    strands = Strands(replicas, members, d, LANES)
    _, patterns = strands.signs(examples(replicas, d, min(d, 13)), 0, 2 * strands.bits)
    pairs = np.sort(patterns.numpy(), -1).reshape(replicas, -1, strands.rows // 2, 2)
    assert np.array_equal(pairs[..., 0], pairs[..., 1])


@pytest.mark.parametrize("members", [1, 2, 96, 128, 1024])
@pytest.mark.parametrize("d", [512, 1024, 4096, 1 << 20])
def test_sums_take_no_more_memory_than_is_said(members, d):
    strands = Strands(1, members, d, LANES)
    sums = 5 * ((1 << strands.bits) + 1) * LANES * strands.bundles
    assert sums <= memory_estimate.SUMS * members * d
