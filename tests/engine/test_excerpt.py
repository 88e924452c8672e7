"""Excerpts have the entries that learners see, and `rows_seen` the rows that they were shown."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.streams import Streams
from engine.problems.data import draw
from engine.problems.examples import can_excerpt, excerpt
from engine.spec import presets


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("hadamard-128", ["problem.matrix.d=32"]),
        ("hadamard-128", ["problem.matrix.d=12"]),
        ("hadamard-128", ["problem.matrix.d=16", "problem.matrix.rotate=true"]),
        ("doubled-128", ["problem.matrix.d=16", "problem.matrix.repeat=2"]),
        ("zero-one-128", ["problem.matrix.d=16"]),
        ("gaussian-128", ["problem.matrix.d=16"]),
    ],
)
def test_an_excerpt_equals_the_entries_of_a_run(preset: str, settings: list[str]):
    problem = presets.load(preset, ["claims=[]", "run.seed=5", *settings]).problem
    all_rows = draw(problem, Streams([5]), "float64", "cpu").instances.rows[0].numpy()
    rows, features = slice(2, 9), slice(3, 11)
    entries = excerpt(problem.matrix, 5, rows, features)
    np.testing.assert_allclose(entries, all_rows[rows, features], atol=1e-6)


def test_an_excerpt_of_a_million_features_has_the_requested_shape():
    matrix = presets.load("hadamard-million").problem.matrix
    assert matrix.shape()[1] == 1 << 20
    assert can_excerpt(matrix)
    entries = excerpt(matrix, 0, slice(500_000, 500_004), slice(1_000_000, 1_000_006))
    assert entries.shape == (4, 6)
    assert set(np.unique(entries)) <= {-1.0, 1.0}


def test_a_large_unstructured_matrix_has_no_excerpt():
    large = presets.load("gaussian-128", ["problem.matrix.d=4096", "claims=[]"]).problem.matrix
    assert not can_excerpt(large)


@pytest.mark.parametrize(
    ("protocol", "k", "seen"),
    [
        ('{kind="one-pass"}', 5, 5),
        ('{kind="one-pass", replacement=true}', 16, None),
        ('{kind="epochs", train=6}', 6, 6),
        ('{kind="steps", steps=3}', 32, 16),
        ('{kind="steps", steps=20, batch=4}', 8, 8),
        ('{kind="steps", steps=20, batch=4}', 40, 16),
        ('{kind="steps", steps=20, batch=4, replacement=true}', 12, None),
    ],
)
def test_rows_seen_marks_the_rows_shown_by_the_protocol(protocol: str, k: int, seen: int | None):
    experiment = presets.load(
        "hadamard-128",
        ["problem.matrix.d=16", "claims=[]", f"protocol={protocol}", "learners.GD.update.lr=0.01"],
    )
    is_seen = experiment.protocol.rows_seen(16, k, Streams([0]))
    assert is_seen.shape == (16,)
    assert not experiment.protocol.rows_seen(16, 0, Streams([0])).any()
    if seen is not None:
        assert np.count_nonzero(is_seen) == seen
    else:
        draws = Streams([0])("draws" if "one-pass" in protocol else "batches")
        drawn = (
            draws.integers(16, 16)
            if "one-pass" in protocol
            else np.concatenate([draws.integers(16, 4) for _ in range(3)], 1)
        )
        assert set(np.flatnonzero(is_seen)) == set(drawn[0, :k])
