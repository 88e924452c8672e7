"""The walk on a ring: its steps, its stationary distribution, and the shares of its rows."""

import numpy as np
import pytest
from building import data_of, experiment

from engine.core.parts import BadInput
from engine.problems.matrices.ring_walk import stationary
from engine.runtime.run import run


def walk(parts=None, replicas=2, **words):
    measures = [{"kind": "occupation"} if parts is None else {"kind": "occupation", "parts": parts}]
    matrix = {"kind": "ring-walk", "d": 8, "n": 30, **words}
    settings = {"protocol": "at-init", "measures": measures, "replicas": replicas, "dtype": "float64"}
    return experiment(matrix, "coin", d=None, **settings)


@pytest.mark.parametrize("sites", [4, 8, 20, 60, 100])
def test_the_stationary_share_of_the_short_step_half_follows_the_formula(sites):
    probabilities = stationary(sites)
    assert probabilities[: sites // 2].sum() == pytest.approx(4 * sites / (5 * sites + 4), rel=1e-9)
    assert (probabilities > 0).all()


def test_steps_are_short_on_the_first_half_and_long_on_the_second():
    rows = data_of(walk(replicas=20)).instances.rows.numpy()
    assert (rows.sum(2) == 1).all()
    sites = rows.argmax(2)
    moved = (np.diff(sites, axis=1) + 4) % 8 - 4
    lengths = np.abs(moved)
    assert (lengths == np.where(sites[:, :-1] < 4, 1, 2)).all()
    assert 0.4 < (moved > 0).mean() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("row", [0, 1, 29])
def test_every_row_has_the_stationary_distribution(row):
    rows = data_of(walk(replicas=4000, every=3)).instances.rows.numpy()[:, row]
    expected = stationary(8)
    errors = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(rows.mean(0) - expected) < 4 * errors).all()


@pytest.mark.parametrize("parts", [None, 2, 8])
def test_occupation_is_the_share_of_rows_in_each_part(parts):
    described = walk(parts)
    measured = run(described).curves[0].array(described.run.measures[0].name).values[0]
    for replica, rows in enumerate(data_of(described).instances.rows.numpy()):
        shares = np.bincount(rows.argmax(1) * (parts or 8) // 8, minlength=parts or 8) / 30
        np.testing.assert_allclose(measured[replica], shares, atol=1e-12)


def test_parts_must_be_equal_blocks():
    with pytest.raises(BadInput, match="divide the 8 features evenly"):
        walk(3)
