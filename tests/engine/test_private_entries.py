"""Instances with private entries: the error of steps of equal size along all axes."""

import numpy as np
import pytest
import torch
from building import data_of, experiment
from msgspec import structs

from engine.core import catalogue
from engine.core.streams import Streams
from engine.pictures.picture import Picture
from engine.problems.matrices import drawn_rows
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run

SEEN, UNSEEN = 7, 5


def problem(seed=0, **words):
    return {"matrix": {"kind": "wilson", "n": SEEN + UNSEEN, **words}, "target": "classes", "seed": seed}


def test_rows_contain_the_label_two_ones_and_a_private_block():
    matrix = catalogue.make("matrices", "wilson", n=6, p=0.5)
    streams = Streams([0, 1])
    rows, classes = drawn_rows(matrix, streams), matrix.row_numbers(streams).classes
    assert rows.shape == (2, 6, 33)
    for row, number in zip(rows.reshape(-1, 33), classes.ravel(), strict=True):
        place = int(np.flatnonzero(row[3:])[0])
        block = row[3 + place : 8 + place]
        assert place % 5 == 0
        assert row[:3].tolist() == [1.0 if number == 0 else -1.0, 1.0, 1.0]
        assert block.tolist() == ([1, 0, 0, 0, 0] if number == 0 else [1] * 5)
        assert abs(row).sum() == 3 + block.sum()
    assert not (rows[0][:, 0] == rows[1][:, 0]).all()


def test_the_sign_vector_of_seen_rows_fits_them_and_labels_unseen_rows_plus():
    for seed in range(20):
        data = data_of(experiment(**problem(seed)))
        x, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
        seen, unseen = slice(0, SEEN), slice(SEEN, None)
        if y[seen].sum() <= 0:
            continue
        tau = np.sign(x[seen].T @ y[seen])
        np.testing.assert_allclose(x[seen] @ tau, 4 * y[seen])
        np.testing.assert_allclose(x[unseen] @ tau / 4, (y[unseen] + 2) / 4)


def test_least_squares_has_the_scores_of_the_corrected_formula():
    """n₊ = 26 and n₋ = 24: .98150 and −.90383, by D = 15n₊ + 3n₋ + 8n₊n₋ + 5."""
    plus, minus = 26, 24
    y = np.r_[np.ones(plus), -np.ones(minus)]
    x = np.zeros((50, 3 + 5 * 50))
    x[:, 0], x[:, 1:3] = y, 1
    for row, label in enumerate(y):
        x[row, 3 + 5 * row : 3 + 5 * row + (1 if label > 0 else 5)] = 1
    w = x.T @ np.linalg.solve(x @ x.T, y)
    D = 15 * plus + 3 * minus + 8 * plus * minus + 5
    of_plus, of_minus = (4 * minus + 5) / D, -(4 * plus + 1) / D
    np.testing.assert_allclose(np.linalg.solve(x @ x.T, y), np.where(y > 0, of_plus, of_minus))
    scores = w[:3] @ [1, 1, 1], w[:3] @ [-1, 1, 1]
    expected = 3 * plus * of_plus + minus * of_minus, plus * of_plus + 3 * minus * of_minus
    np.testing.assert_allclose(scores, expected)
    np.testing.assert_allclose(scores, [0.98150, -0.90383], atol=5e-6)


def test_sign_alignment_matches_its_formula_and_the_line_is_the_minus_share():
    measures = [
        catalogue.make("measures", "sign-alignment"),
        catalogue.make("measures", "error", rows="test"),
    ]
    setup = experiment(
        **problem(3),
        learners={
            "GD": {"update": {"kind": "gd", "lr": 0.01}},
            "sign": {"update": {"kind": "sign", "lr": 0.01}},
        },
        protocol={"kind": "steps", "steps": 3, "records": 3, "train": SEEN},
        replicas=2,
    )
    setup = structs.replace(setup, pictures=tuple(Picture(x="step", measure=measure) for measure in measures))
    trace, data = run(setup), data_of(setup)
    of_gd, of_sign = (curve.values("sign-alignment") for curve in trace.curves)
    assert np.isnan(of_gd[0]).all()
    np.testing.assert_allclose(of_sign[1], 1)
    x, y = data.instances.rows[:, :SEEN].numpy(), data.labels.view(2, -1)[:, :SEEN].numpy()
    sums = np.einsum("rnd,rn->rd", x, y)
    first = np.abs(sums).sum(1) / np.linalg.norm(sums, axis=1) / np.sqrt((sums != 0).sum(1))
    np.testing.assert_allclose(of_gd[1], first, rtol=1e-9)
    seen = view(setup.pictures[1], of_one(setup, trace))
    (line,) = (line for line in seen.lines if line.kind == "all-positive")
    share = (data.labels.view(2, -1)[:, SEEN:] < 0).double().mean()
    assert line.y == pytest.approx(float(share))
    assert torch.isfinite(torch.tensor(line.y)).all()


def test_the_first_rows_have_the_given_counts_of_both_signs_in_random_order():
    matrix = catalogue.make("matrices", "wilson", n=12, p=1, shown=(3, 4))
    numbers = matrix.row_numbers(Streams(range(40))).classes
    assert (numbers[:, :7].sum(1) == 4).all()
    assert (numbers[:, 7:] == 0).all()
    assert len({tuple(row) for row in numbers.tolist()}) > 20
    with pytest.raises(ValueError, match="13 rows, but there are only 12"):
        catalogue.make("matrices", "wilson", n=12, shown=(6, 7))


@pytest.mark.parametrize("private", [1, 3, 5])
def test_least_squares_has_the_loss_of_the_line_on_unseen_rows(private):
    """Only unseen rows are measured, also after rotation. The line uses the class counts of each draw."""
    unseen = catalogue.make("measures", "loss", rows="test")
    for rotate in (False, True):
        setup = experiment(
            **problem(1, private=private, rotate=rotate),
            learners={"LLS": {"solver": "lls"}},
            protocol={"kind": "steps", "steps": 3, "records": 3, "train": SEEN},
            replicas=4,
        )
        setup = structs.replace(setup, pictures=(Picture(x="step", measure=unseen),))
        trace, data = run(setup), data_of(setup)
        y = data.labels.view(4, -1).numpy()
        assert len(set((y[:, :SEEN] > 0).sum(1))) > 1
        expected = []
        for x, labels in zip(data.instances.rows.numpy(), y, strict=True):
            w = np.linalg.lstsq(x[:SEEN], labels[:SEEN], rcond=None)[0]
            expected.append(np.square(x[SEEN:] @ w - labels[SEEN:]).mean())
        seen = view(setup.pictures[0], of_one(setup, trace))
        (line,) = (line for line in seen.lines if line.kind == "shortest-private")
        assert seen.curves[0].y[-1] == pytest.approx(np.mean(expected))
        assert line.y == pytest.approx(np.mean(expected))
