"""Data: exact matrices, moments of random ones, and streams that never disturb one another."""

import tracemalloc
import zlib

import numpy as np
import pytest
from building import LLS, data_of, experiment, gd
from discovery import LEARNERS, in_turns, name_of, ready, targets_of, variants
from looping import looped
from naive import sylvester

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import PIECE, Stream, Streams
from engine.problems.data import draw
from engine.problems.matrices import drawn_rows
from engine.training.descent import TrainingInputs, begin

PLAIN = {"kind": "hadamard", "permute": False, "row_signs": False}
ERRORS = 4


def rows_of(matrix, target="feature", **words):
    """Instances [R, n, d] and labels [R, m, n] of a problem."""
    data = data_of(experiment(matrix, target, **words))
    return data.instances.rows.numpy(), data.labels.view(data.replicas, data.targets, -1).numpy()


@pytest.mark.parametrize("d", [2, 4, 64])
def test_sylvester_has_orthogonal_rows_and_the_entries_of_popcount(d):
    (H,), _ = rows_of({**PLAIN, "d": d}, {"kind": "feature", "index": 1})
    assert np.array_equal(H.T @ H, d * np.eye(d))
    assert np.array_equal(H, sylvester(d))
    for i in range(d):
        for j in range(d):
            assert H[i, j] == (-1) ** bin(i & j).count("1")


def test_permuted_rows_are_the_same_rows_in_another_order():
    rows, _ = rows_of({**PLAIN, "d": 16, "permute": True}, replicas=3)
    for H in rows:
        assert sorted(map(tuple, H)) == sorted(map(tuple, sylvester(16)))
        assert not np.array_equal(H, sylvester(16))
    assert not np.array_equal(rows[0], rows[1])


def test_row_signs_flip_instance_and_label_together():
    plain, labels = rows_of({**PLAIN, "d": 16}, "all", replicas=3)
    signed, flipped = rows_of({**PLAIN, "d": 16, "row_signs": True}, "all", replicas=3)
    signs = signed[:, :, 0]
    assert set(np.unique(signs)) == {-1, 1}
    assert np.array_equal(signed, signs[:, :, None] * plain)
    assert np.array_equal(flipped, signs[:, None] * labels)
    assert not np.array_equal(signs[0], signs[1])


def test_row_signs_and_row_order_use_separate_streams():
    both, _ = rows_of({**PLAIN, "d": 16, "permute": True, "row_signs": True}, seed=4)
    permuted, _ = rows_of({**PLAIN, "d": 16, "permute": True}, seed=4)
    signed, _ = rows_of({**PLAIN, "d": 16, "row_signs": True}, seed=4)
    assert np.array_equal(both, permuted * signed[:, :, :1])


def test_the_constant_target_is_hadamard_feature_0_and_all_ones_on_gaussian_rows():
    rows, labels = rows_of({**PLAIN, "d": 8, "row_signs": True}, "constant")
    assert np.array_equal(labels[0, 0], rows[0, :, 0])
    _, labels = rows_of({"kind": "gaussian", "d": 8}, "constant")
    assert np.array_equal(labels, np.ones((1, 1, 8)))


@pytest.mark.parametrize("family", ["hadamard", "gaussian", "rademacher"])
def test_feature_targets_are_the_columns_of_the_matrix(family):
    rows, labels = rows_of({"kind": family, "d": 8}, "all", replicas=2)
    assert np.array_equal(labels, rows.swapaxes(1, 2))
    for index in range(8):
        _, feature_labels = rows_of({"kind": family, "d": 8}, {"kind": "feature", "index": index}, replicas=2)
        assert np.array_equal(feature_labels[:, 0], rows[:, :, index])


def off(sample, mean):
    """How many standard errors a sample's mean is away from `mean`."""
    return abs(sample.mean() - mean) / (sample.std(ddof=1) / np.sqrt(sample.size))


def test_gaussian_entries_are_standard_normal_and_uncorrelated():
    rows, _ = rows_of({"kind": "gaussian", "d": 32, "n": 20}, replicas=100, seed=9)
    assert rows.shape == (100, 20, 32)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert off(rows**power, moment) < ERRORS
    assert off(rows[:, :, 0] * rows[:, :, 1], 0) < ERRORS
    assert off(rows[:, 0] * rows[:, 1], 0) < ERRORS
    assert off(rows[:-1] * rows[1:], 0) < ERRORS, "replicas are independent"


def test_rademacher_entries_are_fair_signs_and_uncorrelated():
    rows, _ = rows_of({"kind": "rademacher", "d": 32, "n": 20}, replicas=100, seed=9)
    assert rows.shape == (100, 20, 32)
    assert set(np.unique(rows)) == {-1, 1}
    assert off(rows, 0) < ERRORS
    assert off(rows[:, :, 0] * rows[:, :, 1], 0) < ERRORS
    assert off(rows[:-1] * rows[1:], 0) < ERRORS


def test_hadamard_signs_and_orders_are_uniform():
    rows, _ = rows_of({"kind": "hadamard", "d": 8, "permute": False}, replicas=2000)
    assert off(rows[:, :, 0], 0) < ERRORS
    rows, _ = rows_of({**PLAIN, "d": 8, "permute": True}, replicas=2000)
    number = (rows[:, :, [1, 2, 4]] < 0) @ np.array([1, 2, 4])
    for place in range(8):
        for row in range(8):
            assert off((number[:, place] == row).astype(float), 1 / 8) < 4.5


def test_label_noise_has_mean_zero_and_the_configured_standard_deviation():
    _, clean = rows_of({"kind": "hadamard", "d": 16}, "all", replicas=100)
    rows, noisy = rows_of({"kind": "hadamard", "d": 16}, "all", replicas=100, noise=0.3)
    noise = noisy - clean
    assert off(noise, 0) < ERRORS
    assert off(noise**2, 0.09) < ERRORS
    assert off(noise[:, 0] * noise[:, 1], 0) < ERRORS
    assert np.array_equal(rows, rows_of({"kind": "hadamard", "d": 16}, "all", replicas=100)[0])


@pytest.mark.parametrize("family", ["hadamard", "gaussian", "rademacher"])
@pytest.mark.slow
def test_instances_do_not_depend_on_learner_noise_or_target(family):
    base = rows_of({"kind": family, "d": 8}, seed=3)
    for learners in (*in_turns(LEARNERS), {"LLS": LLS}):
        rows, labels = rows_of({"kind": family, "d": 8}, seed=3, learners=learners)
        assert np.array_equal(rows, base[0])
        assert np.array_equal(labels, base[1])
    for words in ({"target": "all"}, {"noise": 1.0}, {"target": "constant"}):
        assert np.array_equal(rows_of({"kind": family, "d": 8}, seed=3, **words)[0], base[0])


def test_changing_the_problem_leaves_the_start_of_a_net_unchanged():
    net = {"net": gd(0.01, kind="dense", widths=[4])}
    starts = []
    for matrix in ("hadamard", "gaussian", "rademacher"):
        (learner,) = experiment(matrix, learners=net, d=8).learners
        starts.append(learner.architecture.start(Streams([5])("init"), 8)["W1"])
    assert np.array_equal(starts[0], starts[1])
    assert np.array_equal(starts[0], starts[2])


KINDS = [kind for kind in catalogue.members("matrices") if kind != "file"]
PAIRS = [
    (kind, target["kind"], target)
    for kind in KINDS
    for target in targets_of(ready("matrices", kind, "", 8), "absent.npy")
    if target["kind"] != "file"
]
"""Every matrix with every target that it admits."""

each_pair = looped(
    ("kind", "target"),
    [(kind, words) for kind, _, words in PAIRS],
    ids=[f"{kind}-{name}" for kind, name, _ in PAIRS],
)


@pytest.mark.parametrize("kind", KINDS)
def test_replica_r_has_the_data_of_seed_plus_r(kind):
    words = {"matrix": ready("matrices", kind, "", 8), "target": "all", "noise": 0.1}
    rows, labels = rows_of(seed=70, replicas=3, **words)
    for number in range(3):
        alone = rows_of(seed=70 + number, **words)
        assert np.array_equal(alone[0][0], rows[number])
        assert np.array_equal(alone[1][0], labels[number])


@pytest.mark.parametrize("kind", KINDS)
def test_float32_data_is_float64_data_rounded(kind):
    words = {"matrix": ready("matrices", kind, "", 8), "target": "all", "noise": 0.0}
    single, double = (rows_of(dtype=dtype, **words) for dtype in ("float32", "float64"))
    assert single[0].dtype == single[1].dtype == np.float32
    assert np.array_equal(single[0], double[0].astype(np.float32))
    assert np.array_equal(single[1], double[1].astype(np.float32))


def test_streams_of_different_names_or_seeds_are_independent():
    names = ("matrix", "matrices", "signs", "order", "init", "noise", "rotation")
    drawn = np.stack([Stream([seed], name).normal(1000)[0] for name in names for seed in (0, 1)])
    # a correlation of two independent columns of 1000 has standard deviation 1/√1000
    between = np.corrcoef(drawn)[~np.eye(len(drawn), dtype=bool)]
    assert abs(between).max() < 4.5 / np.sqrt(1000)


class Recorded(Streams):
    """Streams that remember which names they were asked for."""

    def __init__(self, seeds):
        super().__init__(seeds)
        self.names = []

    def __call__(self, name):
        self.names.append(name)
        return super().__call__(name)


@each_pair
@pytest.mark.slow
def test_no_two_purposes_share_a_stream(kind, target):
    matrix = ready("matrices", kind, "", 8)
    described = experiment(matrix, target, noise=0.1, learners={"net": gd(0.01, kind="dense")})
    streams = Recorded([3])
    data = draw(described.problem, streams, "float64", "cpu")
    loss = catalogue.make("losses", described.protocol.loss)
    begin(TrainingInputs(described.learners[0], data, loss, streams))
    assert {"noise", "init"} <= set(streams.names)
    in_clusters = described.problem.matrix.structure().in_clusters
    if in_clusters or kind == "outer":  # drawn with the rows, in the order of these
        once = {"order", "classes"} & set(streams.names)
        streams.names = [*once, *(name for name in streams.names if name not in once)]
    assert len(set(streams.names)) == len(streams.names)


def test_a_stream_is_reproducible_after_draws_from_another_stream():
    streams = Streams([3, 4])
    first = streams("signs").normal(5)
    streams("order").permutation(9)
    assert np.array_equal(streams("signs").normal(5), first)
    assert first.shape == (2, 5)


def test_a_stream_draws_permutations_and_fair_signs():
    stream = Stream(range(500), "order")
    orders = stream.permutation(6)
    assert orders.shape == (500, 6)
    assert (np.sort(orders, 1) == np.arange(6)).all()
    signs = stream.signs(7)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert off(signs, 0) < ERRORS


def test_signs_and_permutations_equal_single_numpy_draws():
    n, name = 3 * PIECE + 7, "signs"
    generators = [np.random.default_rng([seed, zlib.crc32(name.encode())]) for seed in (3, 4)]
    drawn = Stream([3, 4], name)
    assert np.array_equal(drawn.signs(n), [2 * generator.integers(0, 2, n) - 1 for generator in generators])
    assert np.array_equal(drawn.permutation(n), [generator.permutation(n) for generator in generators])
    assert np.array_equal(
        drawn.signs(5, 2), [2 * generator.integers(0, 2, (5, 2)) - 1 for generator in generators]
    )


def test_drawing_an_arrangement_needs_less_than_twice_its_memory():
    matrix = experiment(d=1 << 18).problem.matrix
    tracemalloc.start()
    try:
        arrangement = matrix.arrangement(Streams([0]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    held = arrangement.order.nbytes + arrangement.signs.nbytes
    assert held <= peak < 2 * held


@pytest.mark.parametrize("seed", [0, 2**62 - 1])
def test_the_smallest_and_largest_seeds_draw_finite_rows(seed):
    rows, _ = rows_of({"kind": "gaussian", "d": 4}, seed=seed)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("d", [12, 36, 52])
def test_paley_rows_come_permuted_and_signed_like_sylvester_rows(d):
    rows, labels = rows_of({"kind": "hadamard", "d": d}, {"kind": "feature", "index": 5}, replicas=2, seed=3)
    plain, _ = rows_of({**PLAIN, "d": d}, replicas=2, seed=3)
    for number in range(2):
        unsigned = rows[number] * rows[number][:, :1]
        assert sorted(map(tuple, unsigned)) == sorted(map(tuple, plain[number]))
        assert not np.array_equal(unsigned, plain[number])
    assert np.array_equal(labels[:, 0], rows[:, :, 5])


@pytest.mark.parametrize("d", [2, 8, 12, 16])
def test_hadamard01_is_the_shifted_matrix_without_its_constant_row(d):
    (X,), (labels,) = rows_of({"kind": "hadamard01", "d": d, "permute": False}, "all", seed=5)
    (plain,), _ = rows_of({"kind": "hadamard01", "d": d, "permute": False, "row_signs": False}, "all", seed=5)
    (H,), _ = rows_of({**PLAIN, "d": d}, "constant")
    assert np.array_equal(plain, (H[1:] + 1) / 2)
    assert set(np.unique(X)) <= {0.0, 1.0}
    assert np.array_equal(labels, X.T)
    signs = 2 * X[:, :1] - 1
    assert np.array_equal(2 * X - 1, signs * (2 * plain - 1))
    assert np.array_equal(X @ X.T, d / 4 * (np.eye(d - 1) + 1)), "whatever the signs"


@pytest.mark.slow
def test_hadamard01_signs_are_fair_and_its_orders_vary():
    rows, _ = rows_of({"kind": "hadamard01", "d": 8, "permute": False}, replicas=2000)
    assert off(rows[:, :, 0], 0.5) < ERRORS
    first, second = rows_of({"kind": "hadamard01", "d": 8, "row_signs": False}, replicas=2)[0]
    assert not np.array_equal(first, second)
    assert sorted(map(tuple, first)) == sorted(map(tuple, second))


@pytest.mark.parametrize("d", [2, 8, 32])
def test_xor_targets_are_products_of_the_bits_in_either_form(d):
    (bits,), (labels,) = rows_of({"kind": "xor", "d": d}, "all", seed=2)
    (products,), _ = rows_of({"kind": "xor", "d": d, "features": "products"}, "all", seed=2)
    assert bits.shape == (d, d.bit_length() - 1)
    assert np.array_equal(products, labels.T)
    for number in range(d):
        chosen = [bit for bit in range(bits.shape[1]) if number >> bit & 1]
        assert np.array_equal(labels[number], bits[:, chosen].prod(1))
    for bit in range(bits.shape[1]):
        assert np.array_equal(bits[:, bit], labels[1 << bit])
    assert len(set(map(tuple, bits))) == d, "every vector of bits comes once"


@looped("rotate", [False, True])
@looped(
    "words",
    [
        words
        for kind, part in catalogue.members("matrices").items()
        if kind != "file"
        for words in variants(part)
    ],
    ids=name_of,
)
def test_every_matrix_declares_correctly_whether_features_are_seen(words, rotate):
    matrix = catalogue.make("matrices", **{**ready("matrices", words["kind"], ""), **words, "rotate": rotate})
    streams = Streams(range(8))  # a rotation of one entry is none in half of the replicas
    rows = drawn_rows(matrix, streams)
    are_seen = np.array_equal(matrix.named(rows), matrix.instances(rows, streams))
    assert matrix.structure().features_are_seen == are_seen


def test_xor_without_permutation_expands_to_sylvesters_matrix():
    (products,), _ = rows_of({"kind": "xor", "d": 16, "permute": False, "features": "products"})
    assert np.array_equal(products, sylvester(16))
    (permuted,), _ = rows_of({"kind": "xor", "d": 16, "features": "products"}, seed=3)
    (hadamard,), _ = rows_of({**PLAIN, "d": 16, "permute": True}, seed=3)
    assert np.array_equal(permuted, hadamard)


def test_the_xor_kernel_equals_inner_products_of_the_expanded_bits():
    (bits,), _ = rows_of({"kind": "xor", "d": 16}, seed=1)
    (products,), _ = rows_of({"kind": "xor", "d": 16, "features": "products"}, seed=1)
    kernel = np.prod(1 + bits[:, None] * bits, axis=2)
    assert np.array_equal(kernel, products @ products.T)
    assert np.array_equal(kernel, 16 * np.eye(16))


def test_repeated_bits_have_the_parities_of_their_negatives():
    (bits,), (labels,) = rows_of({"kind": "xor", "d": 8, "repeat": 1}, "all")
    assert np.array_equal(bits[0::2], -bits[1::2])
    ones = np.array([bin(number).count("1") for number in range(8)])
    assert np.array_equal(labels[:, 1::2], labels[:, 0::2] * (-1.0) ** ones[:, None])
    with pytest.raises(BadInput, match="16 or 32"):
        experiment({"kind": "xor", "d": 20})


def test_orthogonal_rows_are_scaled_unit_vectors():
    plain = {"kind": "orthogonal", "d": 9, "permute": False, "row_signs": False}
    (X,), _ = rows_of(plain)
    assert np.array_equal(X, 3 * np.eye(9))
    rows, labels = rows_of({"kind": "orthogonal", "d": 9}, {"kind": "feature", "index": 4}, replicas=2)
    for X in rows:
        np.testing.assert_allclose(X @ X.T, 9 * np.eye(9), atol=1e-12)
        assert not np.array_equal(abs(X), 3 * np.eye(9))
        assert set(np.unique(X)) == {-3, 0, 3}
    assert np.array_equal(labels[:, 0], rows[:, :, 4])
    (X,), _ = rows_of({**plain, "rotate": True})
    np.testing.assert_allclose(X @ X.T, 9 * np.eye(9), atol=1e-12)
    assert abs(X).max() < 3


def test_the_sparse_matrix_is_gaussian_with_fewer_rows_than_features():
    sparse = experiment("sparse", "sparse").problem.matrix
    assert sparse.shape() == (100, 1000)
    same = rows_of({"kind": "gaussian", "d": 30, "n": 5}, "all", seed=4)
    for array, other in zip(rows_of({"kind": "sparse", "d": 30, "n": 5}, "all", seed=4), same, strict=True):
        assert np.array_equal(array, other)


@pytest.mark.parametrize("t", [0.0, 0.7])
def test_threshold_targets_compare_one_gaussian_entry(t):
    matrix = {"kind": "threshold", "d": 6, "n": 2000, "t": t}
    rows, labels = rows_of(matrix, "all")
    gaussian, _ = rows_of({"kind": "gaussian", "d": 6, "n": 2000})
    assert np.array_equal(rows, gaussian), "the learner sees x"
    assert np.array_equal(labels, (rows >= t).swapaxes(1, 2).astype(float))
    assert off(labels, {0.0: 0.5, 0.7: 0.24196365}[t]) < ERRORS
    _, signs = rows_of({**matrix, "values": "signs"}, "all")
    assert np.array_equal(signs, 2 * labels - 1)


@pytest.mark.parametrize("signs", [False, True])
def test_sparse_targets_have_r_random_weights_of_equal_size(signs):
    matrix, target = {**PLAIN, "d": 16}, {"kind": "sparse", "r": 3, "signs": signs}
    rows, labels = rows_of(matrix, target, replicas=400)
    weights = np.einsum("rnd,rn->rd", rows, labels[:, 0]) / 16  # the rows are orthogonal
    np.testing.assert_allclose(np.sort(abs(weights), 1)[:, -3:], 1 / np.sqrt(3), atol=1e-12)
    np.testing.assert_allclose(np.sort(abs(weights), 1)[:, :-3], 0, atol=1e-12)
    assert np.array_equal((weights < -0.1).any(), signs)
    chosen = abs(weights) > 0.1
    for place in range(16):
        assert off(chosen[:, place].astype(float), 3 / 16) < 4.5
    if signs:
        assert off(np.sign(weights[chosen]), 0) < ERRORS


def test_a_sparse_target_with_more_weights_than_features_is_refused():
    with pytest.raises(BadInput) as caught:
        experiment("hadamard", {"kind": "sparse", "r": 9}, d=8)
    assert caught.value.where == "problem.target.r"
    assert "take at most 8" in caught.value.fault


@pytest.mark.parametrize("kind", ["hadamard", "gaussian", "hadamard01", "xor"])
def test_doubled_targets_are_all_features_and_their_negatives(kind):
    rows, features = rows_of({"kind": kind, "d": 8}, "all", replicas=2)
    same, labels = rows_of({"kind": kind, "d": 8}, "doubled", replicas=2)
    assert np.array_equal(rows, same)
    assert np.array_equal(labels, np.concatenate((features, -features), axis=1))


@each_pair
@looped("repeat", [None, 1])
@pytest.mark.slow
def test_drawn_values_match_the_declared_label_and_entry_values(kind, target, repeat):
    if target["kind"] == "classes" and repeat:
        with pytest.raises(BadInput, match="belong to no class"):
            experiment({**ready("matrices", kind, "", 8), "repeat": repeat}, target)
        return
    described = experiment({**ready("matrices", kind, "", 8), "repeat": repeat}, target, replicas=4)
    data = data_of(described)
    among = {"signs": {-1.0, 1.0}, "bits": {0.0, 1.0}}
    label_values = described.problem.label_values
    assert label_values == "any" or set(data.labels.unique().tolist()) <= among[label_values]
    if described.problem.matrix.structure().entries_are_signs:
        assert set(data.instances.rows.unique().tolist()) <= {-1.0, 1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_rows_alternate_in_sign(kind):
    matrix = ready("matrices", kind, "", 8)
    once, _ = rows_of(matrix, "all", seed=6)
    rows, labels = rows_of({**matrix, "repeat": 2}, "all", seed=6)
    assert rows.shape[1] == labels.shape[2] == 4 * once.shape[1]
    for copy, sign in enumerate((1, -1, 1, -1)):
        assert np.array_equal(rows[:, copy::4], sign * once)
    assert np.array_equal(labels[:, :, 0::4], labels[:, :, 2::4])


@pytest.mark.parametrize("kind", KINDS)
def test_rotated_rows_keep_inner_products_and_labels(kind):
    matrix = ready("matrices", kind, "", 8)
    rows, labels = rows_of(matrix, "all", replicas=8, seed=6)
    turned, same = rows_of({**matrix, "rotate": True}, "all", replicas=8, seed=6)
    assert np.array_equal(labels, same)
    np.testing.assert_allclose(turned @ turned.swapaxes(1, 2), rows @ rows.swapaxes(1, 2), atol=1e-9)
    assert abs(turned - rows).max() > 0.1
