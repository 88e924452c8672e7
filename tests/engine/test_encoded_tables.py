"""Words, dates and missing cells as features of an experiment, against skrub and scikit-learn."""

import sys

import numpy as np
import pytest
from building import data_of, experiment
from sklearn.linear_model import Ridge

from engine.core.parts import BadInput
from engine.problems import encoded_table
from engine.runtime.run import run

STEPS = {"kind": "steps", "steps": 3, "train": "training"}
TOWNS = "Bonn", "Ulm", "Kiel", "Bern"


def houses(folder, label="price"):
    """Write a table with gaps, words, dates and strings. Labels are numbers or words; one is missing."""
    generator = np.random.default_rng(3)
    lines = ["size,town,sold,street,price"]
    for row in range(90):
        size = "" if row % 9 == 4 else f"{generator.uniform(40, 90):.2f}"
        town = TOWNS[row % 3 if row < 60 else 3]
        price = f"{row / 2}" if label == "price" else ("high", "low")[row % 2]
        street = f"{'abcdefgh'[row % 8]}{row} street {generator.integers(1000)}"
        lines.append(f"{size},{town},2020-01-{row % 28 + 1:02},{street},{'' if row == 70 else price}")
    file = folder / "houses.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def described(file, target="file", learners=None, measures=(), replicas=2, **matrix):
    words = {"kind": "file", "path": str(file), "label": "price", "encode": True, "test_share": 29 / 89}
    return experiment(
        words | matrix, target, learners, protocol=STEPS, replicas=replicas, measures=[*measures]
    )


def test_encoded_features_equal_skrub_fitted_to_the_training_rows(tmp_path):
    import pandas as pd
    import skrub

    file = houses(tmp_path)
    frame = pd.read_csv(file).dropna(subset="price").reset_index(drop=True)
    drawn = data_of(described(file, permute=True))
    for replica in range(2):
        order = [frame.index[frame["price"] == label][0] for label in drawn.labels[replica].numpy()]
        shuffled = frame.iloc[order].drop(columns="price")
        vectorizer = skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))
        fitted = vectorizer.fit_transform(shuffled[:60])
        expected = pd.concat([fitted, vectorizer.transform(shuffled[60:])])
        expected = expected.fillna(fitted.median())
        rows = drawn.instances.rows[replica].numpy()
        unmatched = [*range(rows.shape[1])]
        for name in expected:
            numbers = expected[name].to_numpy(np.float64)[:, None]
            is_equal = np.isclose(rows, numbers, rtol=1e-6, atol=1e-6).all(0)  # skrub computes in float32
            assert is_equal.any(), name
            unmatched = [place for place in unmatched if not is_equal[place]]
        assert all((rows[:, place] == 0).all() for place in unmatched), "words of no training row"


def test_ridge_on_encoded_rows_has_the_test_loss_of_scikit_learn(tmp_path):
    learners = {"R": {"solver": {"kind": "sklearn", "name": "Ridge", "options": {"alpha": 2.0}}}}
    measures = [{"kind": "loss", "rows": "test"}]
    setup = described(houses(tmp_path), "file", learners, measures, replicas=1, standardise=True)
    drawn = data_of(setup)
    rows, labels = drawn.instances.rows[0].numpy(), drawn.labels[0].numpy()
    np.testing.assert_allclose(rows[:60].mean(0), 0, atol=1e-9)
    model = Ridge(alpha=2.0).fit(rows[:60], labels[:60])
    expected = ((model.predict(rows[60:]) - labels[60:]) ** 2).mean()
    assert run(setup).curves[0].mean("unseen")[-1] == pytest.approx(expected, rel=1e-9)


def test_the_data_report_has_a_note_on_each_column(tmp_path):
    report = described(houses(tmp_path)).problem.matrix.data_report()
    assert (report.rows, report.label) == (89, "column 'price'")
    assert [note.partition(":")[0] for note in report.notes] == [
        f"column {name!r}" for name in ("size", "town", "sold", "street")
    ]
    assert "10 missing cells" in report.notes[0]
    assert report.left_out == (("1 row", "without a label"),)


def test_two_label_words_become_minus_and_plus_one(tmp_path):
    setup = described(houses(tmp_path, "words"), "classes")
    assert setup.problem.label_values == "signs"
    expected = [(-1, 1)[row % 2] for row in range(90) if row != 70]  # high, low: the first word is −1
    np.testing.assert_array_equal(data_of(setup).labels[0], expected)


def test_encoding_leaves_a_table_of_numbers_unchanged(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("a,b,price\n" + "\n".join(f"{row}.5,{row % 7},{row * 3}" for row in range(50)) + "\n")
    plain, encoded = (
        data_of(described(file, encode=encode)).instances.rows.numpy() for encode in (False, True)
    )
    np.testing.assert_array_equal(plain, encoded)


def test_words_without_skrub_and_a_missing_label_are_refused(tmp_path, monkeypatch):
    file = houses(tmp_path)
    with pytest.raises(BadInput, match="missing; name the column of labels"):
        experiment({"kind": "file", "path": str(file), "encode": True}, "constant")
    with pytest.raises(BadInput, match="list only columns of numbers"):
        described(file, encode=False)
    encoded_table._encoded_version.cache_clear()
    monkeypatch.setitem(sys.modules, "skrub", None)
    with pytest.raises(BadInput, match=r"problem.matrix.encode: .*pip install skrub"):
        described(file)


def test_a_date_feature_does_not_replace_a_number_column_of_equal_name(tmp_path):
    file = tmp_path / "houses.csv"
    rows = [f"{7 * row},{2000 + row}-03-{row % 28 + 1:02},{row}" for row in range(60)]
    file.write_text("\n".join(["sold_year,sold,price", *rows]) + "\n")
    drawn = data_of(described(file, permute=False, test_share=0.25))
    features = drawn.instances.rows[0].numpy()
    numbers = np.arange(60)
    assert (features[:, 0] == 7 * numbers).all()
    assert (features[:, 1] == 2000 + numbers).all()
    assert np.isfinite(features).all()
    names = encoded_table.read_encoded(described(file).problem.matrix._table_request(), "data").columns.names
    assert names[:2] == ("sold_year", "sold_year of sold")
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "size",
            ["", "inf", "3"],
            "problem.matrix.path: column 'size' holds inf in row 2; every number must be",
        ),
        ("price", ["1", "-inf", "3"], "problem.matrix.path: column 'price' holds -inf in row 2"),
        ("price", ["", "", ""], "problem.matrix.label: column 'price' has no labels"),
    ],
)
def test_unusable_cells_are_refused(tmp_path, column, cells, message):
    table = {"size": ["1", "2", "3"], "town": ["Ulm", "", "Kiel"], "price": ["1", "2", "4"], column: cells}
    file = tmp_path / "houses.csv"
    lines = [",".join(row) for row in zip(*table.values(), strict=True)]
    file.write_text("\n".join([",".join(table), *lines * 20]) + "\n")
    with pytest.raises(BadInput) as error:
        data_of(described(file))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "price",
            np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]"),
            "label: column 'price' holds dates",
        ),
        ("size", [[1.0, 2.0]] * 60, "path: column 'size' holds lists"),
    ],
)
def test_unusable_parquet_columns_are_refused(tmp_path, column, cells, message):
    import pandas as pd

    table = {"size": np.arange(60.0), "town": ["Ulm", "Kiel"] * 30, "price": np.arange(60.0), column: cells}
    pd.DataFrame(table).to_parquet(tmp_path / "houses.parquet")
    with pytest.raises(BadInput) as error:
        data_of(described(tmp_path / "houses.parquet"))
    assert message in str(error.value)
