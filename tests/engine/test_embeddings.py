"""Distances under a random linear map and coverings of points, against loops, and the lines about both."""

from itertools import combinations
from math import dist, log, log2, pi, sin, sqrt

import numpy as np
import pytest
from building import data_of, experiment, gd

from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.runtime.run import run

DISTORTION = {"protocol": "at-init", "measures": [{"kind": "distance-distortion"}]}


def naive_distortion(rows, images):
    """Worst relative change of a distance from rows to images, over pairs of different rows."""
    pairs = [(a, b) for a, b in combinations(range(len(rows)), 2) if dist(rows[a], rows[b]) > 0]
    return max(abs(dist(images[a], images[b]) / dist(rows[a], rows[b]) - 1) for a, b in pairs)


@pytest.mark.parametrize("words", [
    {"widths": [6], "activation": "identity"},
    {"widths": [6, 3], "activation": "tanh", "cw": 2.5, "cb": 0.5},
    {"widths": [6], "parametrisation": "ntk", "cw": [4.0, 1.0]},
])  # fmt: skip
@pytest.mark.parametrize("matrix", ["gaussian", {"kind": "gaussian", "n": 3, "repeat": 2}])
def test_the_distortion_equals_naive_loops_over_pairs(words, matrix):
    words_of_run = {**DISTORTION, "replicas": 2, "dtype": "float64"}
    described = experiment(matrix, "coin", {"it": gd(0.1, kind="dense", **words)}, d=5, **words_of_run)
    measured = run(described).curves[0].values("distance-distortion")[0]
    net = described.learners[0].architecture
    start, cw = net.start(Streams([0, 1])("init"), 5), net.structure().signals.cw[0]
    factor = sqrt(cw / 5) if words.get("parametrisation") == "ntk" else 1.0
    for replica, rows in enumerate(data_of(described).instances.rows.numpy()):
        images = factor * rows @ start["W1"][replica].T * sqrt(5 / (6 * cw))
        assert measured[replica] == pytest.approx(naive_distortion(rows, images), rel=1e-9)


@pytest.mark.slow
def test_the_mean_distortion_of_gaussian_pairs_is_sqrt_1_over_pi_m():
    described = experiment(
        {"kind": "gaussian", "n": 2, "d": 50},
        "coin",
        {"it": gd(0.1, kind="dense", widths=[200])},
        replicas=4000,
        **DISTORTION,
    )
    changes = run(described).curves[0].values("distance-distortion")[0]
    error = changes.std() / sqrt(len(changes))
    assert abs(changes.mean() - sqrt(1 / (np.pi * 200))) < 4 * error + 1 / 200


@pytest.mark.parametrize(("matrix", "net", "reason"), [
    ({"kind": "sphere", "n": 1}, {"kind": "dense", "widths": [3]}, "the matrix has two rows or more"),
    ("gaussian", {"kind": "layer-by-layer", "inputs": 2}, "all rows pass through one map"),
    ("gaussian", {"kind": "spindly"}, "a dense net"),
])  # fmt: skip
def test_the_distortion_is_refused_without_several_rows_and_a_random_map(matrix, net, reason):
    with pytest.raises(BadInput, match=reason):
        experiment(matrix, "coin", {"it": gd(0.1, **net)}, d=4, **DISTORTION)


@pytest.mark.parametrize("units", [1, 2, 5, 50, 5000])
def test_the_union_bound_over_pairs_is_below_the_line(units):
    """√(2 ln(2N)/m) + 1/m for N pairs; a pair alone changes by at most √(1/m)."""
    assert sqrt(1 / units) < sqrt(8 * log(2) / units)
    for points in range(3, 200):
        union = sqrt(2 * log(points * (points - 1)) / units) + 1 / units
        assert union < sqrt(8 * log(points) / units)


def naive_radii(rows, bits):
    """Radii of coverings by 1, 2, 4, … of the rows, each the farthest from those before it."""
    centres, radii = [0], []
    for count in range(1, 2**bits + 1):
        nearest = [min(dist(row, rows[centre]) for centre in centres) for row in rows]
        if count & (count - 1) == 0:
            radii.append(max(nearest))
        centres.append(int(np.argmax(nearest)))
    return radii


def covering(d, n, bits, replicas=2, **words):
    measures = [{"kind": "covering-radius", "bits": bits}]
    matrix = {"kind": "ball", "d": d, "n": n}
    words = {"protocol": "at-init", "measures": measures, "replicas": replicas, "dtype": "float64", **words}
    return experiment(matrix, "coin", {"it": {"update": "gd"}}, d=None, **words)


@pytest.mark.parametrize(("d", "n", "bits"), [(2, 40, 4), (3, 8, 5)])
def test_the_covering_radius_equals_naive_loops_over_rows_and_centres(d, n, bits):
    described = covering(d, n, bits)
    (curve,) = run(described).curves
    measured = curve.array(described.run.measures[0].name).values[0]
    for radii, rows in zip(measured, data_of(described).instances.rows.numpy(), strict=True):
        expected = naive_radii(rows, min(bits, int(log2(n))))
        assert radii == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_points_of_a_ball_are_uniform_in_volume():
    rows = data_of(covering(3, 20000, 0, replicas=1)).instances.rows.numpy()[0]
    shares = np.sort(np.linalg.norm(rows, axis=1) ** 3)
    assert np.abs(shares - np.linspace(0, 1, len(shares))).max() < 1.95 / sqrt(len(shares))
    octants = np.unique(rows > 0, axis=0, return_counts=True)[1]
    assert np.abs(octants - 2500).max() < 4 * sqrt(20000 * 7 / 64)


def test_the_covering_line_of_a_disc_is_above_the_packing_bounds():
    assert 3 / sqrt(1) >= 2
    assert 3 / sqrt(2) >= sqrt(3)
    assert 3 / sqrt(4) >= 2 * sin(pi / 5)
    for centres in (8, 16, 1024, 2**20):
        assert 3 / sqrt(centres) >= 2 / (sqrt(centres + 1) - 1)
