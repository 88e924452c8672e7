"""Eigenvalues of random rows: the Marchenko–Pastur law by integration, and measures against loops."""

import numpy as np
import pytest
from building import data_of, experiment
from scipy.integrate import quad

from engine.formulas.marchenko_pastur import below, edges, mean_density
from engine.runtime.run import run


def density(ratio, x):
    low, high = edges(ratio)
    return np.sqrt(max(0.0, (high - x) * (x - low))) / (2 * np.pi * ratio * x) if x > 0 else 0.0


@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.9, 1.0])
def test_shares_below_match_the_integral_of_the_density(ratio):
    low, high = edges(ratio)
    places = np.concatenate((np.linspace(low, high, 7), [low / 2, high + 1]))
    for place, share in zip(places, below(ratio, places), strict=True):
        expected, _ = quad(lambda x: density(ratio, x), low, min(max(place, low), high), limit=200)
        assert share == pytest.approx(expected, abs=1e-7)
    ends = np.linspace(0, 4.5, 10)
    assert mean_density(ratio, ends).sum() * 0.5 == pytest.approx(1, abs=1e-12)


KINDS = {
    "instance-spectrum": lambda eigenvalues: np.sort(eigenvalues)[::-1],
    "instance-density": lambda eigenvalues: np.histogram(eigenvalues, 40, (0, 4))[0] / len(eigenvalues) * 10,
    "eigenvalue-moment": lambda eigenvalues: np.mean(1 / eigenvalues),
    "spectral-distance": lambda eigenvalues: max(
        max(abs((np.arange(len(eigenvalues)) + step) / len(eigenvalues) - below(0.6, np.sort(eigenvalues))))
        for step in (0, 1)
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalue_measures_match_the_gram_matrix(kind):
    words = {"protocol": "at-init", "replicas": 3, "dtype": "float64", "measures": [{"kind": kind}]}
    described = experiment({"kind": "gaussian", "n": 6, "d": 10}, "coin", d=None, **words)
    curve = run(described).curves[0]
    array = curve.array(kind)
    measured = curve.values(kind) if array is None else array.values
    for replica, rows in enumerate(data_of(described).instances.rows.numpy()):
        eigenvalues = np.linalg.eigvalsh(rows @ rows.T / 10)
        np.testing.assert_allclose(measured[0, replica], KINDS[kind](eigenvalues), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_large_gaussian_matrices_follow_the_marchenko_pastur_law():
    rows = np.random.default_rng(0).standard_normal((600, 1200))
    eigenvalues = np.linalg.eigvalsh(rows @ rows.T / 1200)
    ranks = (np.arange(600) + 0.5) / 600
    assert abs(below(0.5, eigenvalues) - ranks).max() < 0.01
