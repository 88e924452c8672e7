"""The command that diagnoses tables of the user."""

import json
import re
import sys

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.diagnosis.answer import examples_to_reach, span_bound
from engine.diagnosis.table_reading import read_table
from engine.problems.data_files import TableSettings
from engine.problems.mixed_columns import Treatment, in_groups
from engine.problems.table import MixedTable, Request, read

NAMES = "size", "age", "rooms", "price"


@pytest.fixture
def csv(tmp_path):
    generator = np.random.default_rng(6)
    features = generator.standard_normal((60, 3))
    price = features[:, 1] + 0.1 * generator.standard_normal(60)
    rows = [",".join(f"{number:.6f}" for number in row) for row in np.column_stack([features, price])]
    file = tmp_path / "houses.csv"
    file.write_text("\n".join([",".join(NAMES), *rows]) + "\n")
    return file


@pytest.mark.slow
def test_diagnose_prints_answers_and_curves_and_writes_a_standalone_page(call, csv, tmp_path):
    page = tmp_path / "report.html"
    arguments = ["diagnose", str(csv), "--label", "price", "--splits", "2"]
    code, out, err = call(*arguments, "--html", str(page))
    assert code == 0
    words = " ".join(out.split())
    assert "L1 against L2:" in words
    assert "extra trees, rotated" in words
    announced = " ".join(err.split())
    assert (
        "learn from 20, 40 rows, and are tested on 18 rows. The verdicts are for 40 training rows"
        in announced
    )
    assert re.search(r"about \d+ \w+ of memory\. Expected time: (a few seconds|about \d+ s)\.", announced)
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") >= 6
    assert "MLP (Adam)" in html
    assert not re.search(r'(src|href)="(?!#)', html), "it loads nothing"


@pytest.mark.slow
def test_standard_output_of_diagnose_with_json_is_only_json_without_nan(call, csv):
    code, out, _ = call("diagnose", str(csv), "--label", "-1", "--splits", "2", "--quick", "--json")
    assert code == 0
    described = json.loads(out, parse_constant=lambda word: pytest.fail(word))
    assert described["features"] == [*NAMES[:3]]
    assert [pair["name"] for pair in described["pairs"]] == ["linear", "trees"]
    assert described["loss"] == "squared error / variance"
    assert len(described["learners"]["l1"]["loss"]["mean"]) == len(described["examples"])


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "name the column of labels"),
        (["--label", "prize"], "there is no column 'prize'"),
        (["--label", "price", "--html", "x.pdf"], "must end in .html"),
        (["--label", "price", "--as", "classes"], "not whole numbers"),
    ],
)
def test_bad_input_is_one_line(call, csv, arguments, fault):
    code, out, err = call("diagnose", str(csv), *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert fault in err


def test_words_and_few_distinct_whole_numbers_are_classes(tmp_path):
    file = tmp_path / "classes.csv"
    rows = [f"{i % 7},{i % 5},{'yes' if i % 2 else 'no'},{i % 3}" for i in range(60)]
    file.write_text("a,b,word,number\n" + "\n".join(rows) + "\n")
    lines = [row.split(",") for row in rows]
    file.write_text("a,b,number\n" + "\n".join(f"{a},{b},{c}" for a, b, _, c in lines) + "\n")
    assert read_table(str(file), "number").classes == ("0", "1", "2")
    assert read_table(str(file), "number", "numbers").classes == ()
    file.write_text("a,b,word\n" + "\n".join(f"{a},{b},{c}" for a, b, c, _ in lines) + "\n")
    table = read_table(str(file), "word")
    assert [table.classes[int(label)] for label in table.labels[:2]] == ["no", "yes"]


def test_bundled_data_sets_equal_those_of_scikit_learn():
    from sklearn.datasets import load_wine

    loaded, table = load_wine(), read_table("wine", None)
    np.testing.assert_array_equal(table.features, loaded.data)
    np.testing.assert_array_equal(table.labels, loaded.target)
    assert table.feature_names == tuple(loaded.feature_names)


def test_the_examples_to_reach_a_loss_are_interpolated_in_logarithms():
    sizes, losses = [10, 40, 160], np.array([0.8, 0.4, 0.2])
    assert examples_to_reach(sizes, losses, 0.8) == 10
    assert examples_to_reach(sizes, losses, 0.4) == pytest.approx(40)
    assert examples_to_reach(sizes, losses, 0.8 * 0.5**0.5) == pytest.approx(20)
    assert examples_to_reach(sizes, losses, 0.1) == np.inf


def test_the_singular_value_bound_equals_the_least_loss_of_rank_k_matrices():
    features = np.random.default_rng(1).standard_normal((30, 4)) @ np.diag([1, 2, 3, 4.0])
    columns = (features - features.mean(0)) / features.std(0)
    u, s, vt = np.linalg.svd(columns, full_matrices=False)
    bound = span_bound(features)
    for k in range(5):
        nearest = (u[:, :k] * s[:k]) @ vt[:k]
        assert bound[k] == pytest.approx(((columns - nearest) ** 2).mean(), abs=1e-12)


def test_words_dates_and_missing_cells_become_numbers_described_in_notes(tmp_path):
    cities = "Bonn", "Ulm", "Kiel"
    rows = [
        f"{'' if i == 4 else i},{cities[i % 3]},2020-01-{i % 28 + 1:02},{'' if i == 7 else i * 0.5}"
        for i in range(60)
    ]
    file = tmp_path / "houses.csv"
    file.write_text("size,city,sold,price\n" + "\n".join(rows) + "\n")
    table = read_table(str(file), "price")
    assert table.features.shape[0] == 59
    assert "left out: 1 row without a label" in table.notes
    by_name = dict(zip(table.feature_names, table.features.T, strict=True))
    numbers = [i for i in range(60) if i != 7]
    np.testing.assert_array_equal(by_name["city_Ulm"], [i % 3 == 1 for i in numbers])
    np.testing.assert_array_equal(by_name["sold_day"], [i % 28 + 1 for i in numbers])
    assert by_name["size"][4] == np.median([i for i in numbers if i != 4])
    np.testing.assert_array_equal(table.labels, [i * 0.5 for i in numbers])
    assert sum(note.startswith("column 'size'") and "1 missing" in note for note in table.notes) == 1


@pytest.mark.slow
def test_encodings_of_columns_are_fitted_to_the_training_rows_alone(tmp_path):
    import pandas as pd
    import skrub

    generator = np.random.default_rng(3)
    cities = ["Bonn", "Ulm", "Kiel", "Bern"]
    streets = [f"{'abcdefgh'[i % 8]}{i} street {generator.integers(1000)}" for i in range(90)]
    rows = [
        f"{'' if i % 9 == 4 else i},{cities[i % 3 if i < 60 else 3]},2020-01-{i % 28 + 1:02},{street},{i / 2}"
        for i, street in enumerate(streets)
    ]
    file = tmp_path / "houses.csv"
    file.write_text("size,city,sold,street,price\n" + "\n".join(rows) + "\n")
    table = read_table(str(file), "price")
    train, tested = np.arange(60), np.arange(60, 90)
    learned, asked = table.rows_of(train, tested)
    frame = pd.read_csv(file)[["size", "city", "sold", "street"]]
    vectorizer = skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))
    expected = [vectorizer.fit_transform(frame[:60]), vectorizer.transform(frame[60:])]
    for name in vectorizer.get_feature_names_out():
        place = table.feature_names.index(name)
        fill = expected[0][name].median()
        np.testing.assert_allclose(learned[:, place], expected[0][name].fillna(fill), atol=1e-6)
        np.testing.assert_allclose(asked[:, place], expected[1][name].fillna(fill), atol=1e-6)
    assert not learned[:, table.feature_names.index("city_Bern")].any(), "no training row has it"
    assert "30 columns that encode the strings" in " ".join(table.notes)


@pytest.mark.parametrize("cell", ["", "red", "2020-01-02"])
def test_missing_cells_words_and_dates_raise_the_mixed_table_error(tmp_path, cell):
    def refusal(cell):
        rows = [f"{i * 0.5},{cell if cell or i == 7 else i * i},{i}" for i in range(20)]
        (tmp_path / "mixed.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
        with pytest.raises(BadInput) as raised:
            read(Request(str(tmp_path / "mixed.csv"), label="y"), "data")
        return raised.value

    assert isinstance(refusal(cell), MixedTable)
    assert not isinstance(refusal("inf"), MixedTable)


def test_a_table_of_words_without_skrub_names_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skrub", None)
    file = tmp_path / "words.csv"
    file.write_text("a,b,y\n" + "\n".join(f"{i},{'uv'[i % 2]},{i * 0.5}" for i in range(60)) + "\n")
    with pytest.raises(BadInput, match="run pip install skrub"):
        read_table(str(file), "y")


def words_and_decimal_commas(tmp_path):
    """A table without header, with a counter, words, a date, gaps, and cells that no program can read."""
    generator = np.random.default_rng(9)
    lines = []
    for row in range(60):
        size = f"{generator.uniform(40, 90):.2f}".replace(".", ",")
        price = f"{generator.normal():.3f}".replace(".", ",")
        town = ("Bonn", "Ulm", "Kiel")[row % 3]
        lines.append(
            f"{row + 1};{town};{'' if row % 9 == 4 else size};{row % 28 + 1}.02.2020;{price};{row % 5}"
        )
    file = tmp_path / "flats.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


SETTINGS = TableSettings(header=False, index=True, separator=";", decimal=",")


def test_settings_and_omitted_columns_apply_to_words_and_missing_cells(tmp_path):
    file = words_and_decimal_commas(tmp_path)
    table = read_table(str(file), 4, settings=SETTINGS, omitted=["3"])
    assert table.label == "column 4"
    assert table.feature_names == ("column 1_Bonn", "column 1_Kiel", "column 1_Ulm", "column 2", "column 5")
    cells = [line.split(";") for line in file.read_text().splitlines()]
    size, price = ([float(row[at].replace(",", ".") or "nan") for row in cells] for at in (2, 4))
    np.testing.assert_array_equal(table.labels, price)
    np.testing.assert_array_equal(table.features[:, 3], np.nan_to_num(size, nan=np.nanmedian(size)))
    assert any(note.startswith("columns 0, 3: left out") for note in table.notes)
    every_column = read_table(str(file), 4, settings=SETTINGS)
    assert {"column 3_day", "column 3_month"} & {*every_column.feature_names}
    assert "column 0" not in every_column.feature_names


def test_settings_and_omitted_columns_apply_to_numbers(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text(
        "\n".join(f"{row};{row * 0.5:.1f};{row % 7};{row % 4}" for row in range(50)).replace(".", ",")
    )
    settings = TableSettings(header=False, index=False, separator=";", decimal=",")
    table = read_table(str(file), "-1", settings=settings, omitted=["2"])
    np.testing.assert_array_equal(table.features, [[row, row * 0.5] for row in range(50)])
    with pytest.raises(BadInput, match="--leave-out: there is no column 'area'"):
        read_table(str(file), "-1", settings=settings, omitted=["area"])
    with pytest.raises(BadInput, match="'3' is the label"):
        read_table(str(file), "-1", settings=settings, omitted=["3"])
    with pytest.raises(BadInput, match="no column remains"):
        read_table(str(file), "-1", settings=settings, omitted=["0", "1", "2"])


def test_a_column_named_by_a_number_is_found_by_its_name(tmp_path):
    file = tmp_path / "years.csv"
    file.write_text("2019,2020,1\n" + "\n".join(f"{row}.5,{row * row},{row % 9}.25" for row in range(50)))
    table = read_table(str(file), "1", settings=TableSettings(header=True, index=False))
    np.testing.assert_array_equal(table.labels, [row % 9 + 0.25 for row in range(50)])


def test_missing_numbers_alone_do_not_require_skrub(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skrub", None)
    file = tmp_path / "gaps.csv"
    file.write_text(
        "a,b,y\n" + "\n".join(f"{'' if i == 3 else i},{i % 7},{i * 0.5}" for i in range(60)) + "\n"
    )
    table = read_table(str(file), "y")
    train, tested = np.arange(10), np.arange(10, 60)
    assert table.rows_of(train, tested)[0][3, 0] == np.median([0, 1, 2, 4, 5, 6, 7, 8, 9])
    assert "1 missing cell)" in " ".join(table.notes)


def test_a_parquet_file_with_words_and_gaps_equals_its_csv_file(tmp_path):
    import pandas as pd

    rows = [f"{'' if i == 3 else i},{'uvw'[i % 3]},{i % 7},{i * 0.5}" for i in range(60)]
    text = tmp_path / "table.csv"
    text.write_text("size,town,floor,price\n" + "\n".join(rows) + "\n")
    frame = pd.read_csv(text)
    frame["town"] = frame["town"].astype("category")
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    of_text, of_parquet = (
        read_table(str(tmp_path / f"table.{suffix}"), "price", omitted=["floor"])
        for suffix in ("csv", "parquet")
    )
    assert of_parquet.feature_names == of_text.feature_names == ("size", "town_u", "town_v", "town_w")
    np.testing.assert_array_equal(of_parquet.features, of_text.features)


@pytest.mark.slow
def test_diagnose_accepts_the_settings_of_the_reader(call, tmp_path):
    file = words_and_decimal_commas(tmp_path)
    settings = ["--header", "false", "--index", "true", "--separator", ";", "--decimal", ","]
    arguments = ["diagnose", str(file), "--label", "4", "--leave-out", "3, 5", "--quick", "--splits", "2"]
    code, out, err = call(*arguments, *settings, "--json")
    assert code == 0
    described = json.loads(out)
    assert described["features"] == ["column 1_Bonn", "column 1_Kiel", "column 1_Ulm", "column 2"]
    assert "left out" in err


def test_equally_treated_columns_share_a_note():
    many = [Treatment(f"x{place}", "numeric, as it is", 0, place % 2) for place in range(9)]
    notes = [*in_groups([*many, Treatment("town", "words", 3), Treatment("street", "words", 4)])]
    assert notes[0].startswith("9 columns, x0, x1")
    assert "(4 missing cells)" in notes[0]
    assert notes[1:] == ["column 'town': words (3 features)", "column 'street': words (4 features)"]
