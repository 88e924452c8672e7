"""The user's own matrices and labels: what can be read, and what is refused and how."""

import re

import numpy as np
import pyarrow
import pytest
from building import LLS, data_of, experiment, gd, raw
from pyarrow import parquet

from engine import reading
from engine.parts import BadInput
from engine.problems.table import read_table
from engine.run import run

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1e-3], [4.0, 5.0, 6.0], [1e5, 0.0, 7.0]])
Y = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])


def write(path, table, header=None):
    if path.suffix == ".npy":
        np.save(path, table)
    elif path.suffix == ".npz":
        np.savez(path, it=table)
    elif path.suffix == ".csv":
        np.savetxt(path, table, delimiter=",", header=header or "", comments="", fmt="%.17g")
    else:
        columns = {f"c{number}": column for number, column in enumerate(np.atleast_2d(table.T))}
        parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def problem(X_path, y_path, **matrix):
    return {"matrix": {"kind": "file", "path": X_path, **matrix}, "target": {"kind": "file", "path": y_path}}


FORMATS = [("X.npy", None), ("X.npz", None), ("X.csv", None), ("X.csv", "a,b,c"), ("X.parquet", None)]


@pytest.mark.parametrize(("name", "header"), FORMATS)
def test_a_matrix_is_read_as_it_was_written(name, header, tmp_path):
    path = write(tmp_path / name, X, header)
    read = read_table(path, "here")
    assert read.dtype == np.float64
    assert np.array_equal(read, X)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet"])
@pytest.mark.parametrize(
    "labels", [Y, Y[:, 0], np.array([1, -1, 1, -1])], ids=["two", "one", "whole numbers"]
)
def test_labels_are_the_columns_of_their_file(suffix, labels, tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / f"y{suffix}", labels))
    data = data_of(experiment(**words, replicas=2))
    columns = labels.reshape(4, -1)
    assert data.targets == columns.shape[1]
    assert np.array_equal(data.labels.view(2, data.targets, 4)[1].numpy(), columns.T)
    assert np.array_equal(data.instances.rows[1].numpy(), X)


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "a,b\n1,2\n3,4\n",
        "\ufeff1,2\n3,4\n",
        '\ufeff"a","b"\r\n1,2\r\n3,4',
        "\n1, 2\n\n3 ,4\n\n",
    ],
    ids=["plain", "header", "byte order mark", "Excel", "blanks"],
)
def test_a_csv_file_keeps_every_row_of_numbers(text, tmp_path):
    (tmp_path / "it.csv").write_text(text, encoding="utf-8", newline="")
    assert np.array_equal(read_table(str(tmp_path / "it.csv"), ""), [[1, 2], [3, 4]])


@pytest.mark.parametrize("first", ["1,", "1,?", "x,2"])
def test_a_first_row_with_a_gap_is_an_error_and_not_taken_for_a_header(first, tmp_path):
    (tmp_path / "it.csv").write_text(f"{first}\n3,4\n")
    with pytest.raises(BadInput, match="cannot be read as a table of numbers"):
        read_table(str(tmp_path / "it.csv"), "here")


def test_suffixes_are_read_in_any_case(tmp_path):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "X.npy").rename(tmp_path / "X.NPY")
    assert np.array_equal(read_table(str(tmp_path / "X.NPY"), ""), X)


def test_permuted_rows_keep_their_labels(tmp_path):
    n = 50
    rows = np.random.default_rng(0).standard_normal((n, 3))
    labels = np.stack([rows @ [1, 2, 3], np.arange(n)], 1)
    words = problem(write(tmp_path / "X.npy", rows), write(tmp_path / "y.npy", labels), permute=True)
    data = data_of(experiment(**words, replicas=3))
    for replica in range(3):
        order = data.labels.view(3, 2, n)[replica, 1].numpy().astype(int)
        assert sorted(order) == list(range(n))
        assert not np.array_equal(order, np.arange(n))
        assert np.array_equal(data.instances.rows[replica].numpy(), rows[order])
        assert np.array_equal(data.labels.view(3, 2, n)[replica, 0].numpy(), labels[order, 0])
    assert not np.array_equal(data.instances.rows[0], data.instances.rows[1])


def test_replicas_of_an_unpermuted_file_are_the_same_rows(tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / "y.npy", Y))
    rows = data_of(experiment(**words, replicas=2)).instances.rows
    assert (rows[0] == rows[1]).all()


def test_features_and_the_constant_are_targets_of_a_file_too(tmp_path):
    matrix = {"kind": "file", "path": write(tmp_path / "X.npy", X)}
    data = data_of(experiment(matrix, {"kind": "feature", "index": 2}))
    assert np.array_equal(data.labels[0].numpy(), X[:, 2])
    assert np.array_equal(data_of(experiment(matrix, "all")).labels.numpy(), X.T)
    assert (data_of(experiment(matrix, "constant")).labels == 1).all()


def test_a_run_on_files_learns(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 5))
    words = problem(write(tmp_path / "X.csv", rows), write(tmp_path / "y.parquet", rows @ [1, 0, -2, 0, 3]))
    trace = run(experiment(**words, learners={"GD": gd(0.02), "LLS": LLS}))
    assert trace.curve("LLS").loss[5] < 1e-20
    assert trace.curve("GD").loss[-1] < trace.curve("GD").loss[0]


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4])
def test_losses_in_float32_are_true_where_columns_have_large_means(offset, tmp_path):
    rows = offset + np.round(64 * np.random.default_rng(0).standard_normal((40, 4))) / 64  # exact in float32
    np.save(tmp_path / "X.npy", rows)
    matrix = {"kind": "file", "path": str(tmp_path / "X.npy"), "permute": False}
    words = {"matrix": matrix, "learners": {"R": {"solver": {"kind": "ridge", "lam": 1.0}}}}
    single, double = (run(experiment(**words, dtype=dtype)).curves[0] for dtype in ("float32", "float64"))
    assert (single.loss >= 0).all()
    # Each of four weights is off by half a digit of float32 at most, and a prediction by so much times x.
    rounding = 4 * np.finfo(np.float32).eps / 2 * abs(double.weights).max() * abs(rows).max()
    np.testing.assert_allclose(np.sqrt(single.loss), np.sqrt(double.loss), rtol=1e-6, atol=rounding)


def test_a_changed_file_is_read_again(tmp_path):
    import os

    path = write(tmp_path / "X.npy", X)
    assert np.array_equal(read_table(path, ""), X)
    write(tmp_path / "X.npy", 2 * X)
    os.utime(path, ns=(1, 1))
    assert np.array_equal(read_table(path, ""), 2 * X)


def test_paths_are_relative_to_the_preset_file(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder / "X.npy", X)
    write(folder / "y.npy", Y)
    (folder / "it.toml").write_text(
        '[problem]\nmatrix = { kind = "file", path = "X.npy" }\ntarget = { kind = "file", path = "y.npy" }\n'
        '[protocol]\nkind = "one-pass"\n[[learners]]\nname = "LLS"\nsolver = { kind = "lls" }\n'
    )
    monkeypatch.chdir(tmp_path)
    described = reading.parse(reading.read_raw(folder / "it.toml"))
    assert np.array_equal(data_of(described).instances.rows[0].numpy(), X.astype(np.float32))


def test_paths_are_absolute_once_they_are_read(tmp_path, monkeypatch):
    write(tmp_path / "X.npy", X)
    write(tmp_path / "y.npy", Y)
    monkeypatch.chdir(tmp_path)
    read = reading.parse(raw(**problem("X.npy", "y.npy"))).problem
    assert (read.matrix.path, read.target.path) == (str(tmp_path / "X.npy"), str(tmp_path / "y.npy"))


def bad_files(folder):
    """Name, content and what must be said of it."""
    infinite, missing = X.copy(), X.copy()
    infinite[2, 1], missing[1, 0] = np.inf, np.nan
    np.savez(folder / "two.npz", a=X, b=Y)
    np.save(folder / "objects.npy", np.array([{}, "a"], dtype=object), allow_pickle=True)
    np.save(folder / "text.npy", np.array([["a", "b"]]))
    np.save(folder / "complex.npy", X * 1j)
    (folder / "words.csv").write_text("a,b\n1,2\n3,four\n")
    (folder / "ragged.csv").write_text("1,2\n3\n")
    (folder / "header.csv").write_text("a,b,c\n")
    (folder / "empty.csv").write_text("")
    (folder / "broken.npy").write_bytes(b"no array at all")
    (folder / "broken.parquet").write_bytes(b"no table at all")
    (folder / "broken.npz").write_bytes(b"no archive at all")
    (folder / "X.txt").write_text("1 2\n")
    (folder / "folder.npy").mkdir()
    write(folder / "inf.npy", infinite)
    write(folder / "nan.csv", missing)
    write(folder / "cube.npy", np.ones((2, 2, 2)))
    write(folder / "scalar.npy", np.array(3.0))
    write(folder / "none.npy", np.empty((0, 3)))
    return {
        "absent.npy": "there is no file",
        "folder.npy": "there is no file",
        "inf.npy": "inf at row 2, column 1",
        "nan.csv": "nan at row 1, column 0",
        "cube.npy": "shape (2, 2, 2)",
        "scalar.npy": "shape ()",
        "none.npy": "shape (0, 3)",
        "two.npz": "the arrays a, b; it must hold one",
        "objects.npy": "cannot be read as a table of numbers",
        "text.npy": "cannot be read as a table of numbers",
        "complex.npy": "complex numbers",
        "words.csv": "cannot be read as a table of numbers",
        "ragged.csv": "cannot be read as a table of numbers",
        "header.csv": "shape",
        "empty.csv": "shape",
        "broken.npy": "cannot be read as a table of numbers",
        "broken.npz": "cannot be read as a table of numbers",
        "broken.parquet": "cannot be read as a table of numbers",
        "X.txt": ".npy, .npz, .csv, .parquet",
    }


BAD = ["absent.npy", "folder.npy", "inf.npy", "nan.csv", "cube.npy", "scalar.npy", "none.npy", "two.npz",
       "objects.npy", "text.npy", "complex.npy", "words.csv", "ragged.csv", "header.csv", "empty.csv",
       "broken.npy", "broken.npz", "broken.parquet", "X.txt"]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", ["matrix", "target"])
def test_a_bad_file_is_named_with_what_is_wrong_in_one_line(name, place, tmp_path):
    said = bad_files(tmp_path)[name]
    good = write(tmp_path / "good.npy", X)
    paths = {"matrix": good, "target": good, place: str(tmp_path / name)}
    with pytest.raises(BadInput) as caught:
        reading.parse(raw(**problem(paths["matrix"], paths["target"])))
    error = caught.value
    assert error.where == f"problem.{place}.path"
    assert name in error.what
    assert said in error.what
    assert "\n" not in str(error)
    assert not re.search("pickle|usecols|keyword|dtype", error.what), "advice is for programmers"


def test_a_missing_file_is_named_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(f"there is no file {tmp_path / 'absent.npy'}")):
        reading.parse(raw(**problem("absent.npy", "absent.npy")))


def test_as_many_labels_as_instances_are_needed(tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / "y.npy", Y[:3]))
    with pytest.raises(BadInput, match=r"target\.path: .*3 rows of labels, the matrix has 4 instances"):
        experiment(**words)


def test_a_row_vector_of_labels_is_not_taken_for_a_column(tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / "y.npy", np.ones((1, 4))))
    with pytest.raises(BadInput, match="1 rows of labels"):
        experiment(**words)


def test_labels_from_a_file_need_instances_from_a_file(tmp_path):
    path = write(tmp_path / "y.npy", Y)
    with pytest.raises(BadInput, match=r"problem\.target\.kind: .*the matrix is gaussian; take"):
        experiment("gaussian", {"kind": "file", "path": path})


def test_logistic_loss_takes_files_of_signs_only(tmp_path):
    matrix, signs = write(tmp_path / "X.npy", X), write(tmp_path / "s.npy", np.array([1, -1, -1, 1]))
    assert (
        run(experiment(**problem(matrix, signs), loss="logistic", learners={"GD": gd(1e-6)}))
        .curves[0]
        .complete
    )
    with pytest.raises(BadInput, match=r"protocol\.loss"):
        experiment(**problem(matrix, write(tmp_path / "y.npy", Y)), loss="logistic")
