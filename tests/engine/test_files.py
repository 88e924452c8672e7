"""Files of matrices and labels: which are read, and which are refused with which reason."""

import errno
import gzip
import os
import pathlib
import re
import socket
import tracemalloc

import numpy as np
import pyarrow
import pytest
from building import LLS, data_of, experiment, gd, raw
from pyarrow import parquet

from engine.core.parts import BadInput
from engine.problems import table
from engine.problems.formats import of_file, text
from engine.problems.table import Request, read
from engine.runtime.run import run
from engine.spec import reading


def read_table(path, where="problem.matrix", **more):
    return read(Request(path, **more), where).numbers


X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1e-3], [4.0, 5.0, 6.0], [1e5, 0.0, 7.0]])
Y = np.array([[1.5, 10.0], [2.5, 20.0], [3.5, 30.0], [4.5, 40.0]])
SUFFIXES = [".npy", ".npz", ".csv", ".parquet"]


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
def test_a_written_matrix_is_read_back_unchanged(name, header, tmp_path):
    path = write(tmp_path / name, X, header)
    read = read_table(path, "here")
    assert read.dtype == np.float64
    assert np.array_equal(read, X)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "labels", [Y, Y[:, 0], np.array([1, -1, 1, -1])], ids=["two", "one", "whole numbers"]
)
def test_every_column_of_a_label_file_is_one_target(suffix, labels, tmp_path):
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


def test_features_and_the_constant_are_available_targets_of_a_file(tmp_path):
    matrix = {"kind": "file", "path": write(tmp_path / "X.npy", X)}
    data = data_of(experiment(matrix, {"kind": "feature", "index": 2}))
    assert np.array_equal(data.labels[0].numpy(), X[:, 2])
    assert np.array_equal(data_of(experiment(matrix, "all")).labels.numpy(), X.T)
    assert (data_of(experiment(matrix, "constant")).labels == 1).all()


def test_a_run_on_files_learns(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 5))
    words = problem(write(tmp_path / "X.csv", rows), write(tmp_path / "y.parquet", rows @ [1, 0, -2, 0, 3]))
    trace = run(experiment(**words, learners={"GD": gd(0.02), "LLS": LLS}))
    assert trace.curve("LLS").mean("loss")[5] < 1e-20
    assert trace.curve("GD").mean("loss")[-1] < trace.curve("GD").mean("loss")[0]


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4])
def test_float32_losses_are_accurate_for_columns_with_large_means(offset, tmp_path):
    rows = offset + np.round(64 * np.random.default_rng(0).standard_normal((40, 4))) / 64  # exact in float32
    np.save(tmp_path / "X.npy", rows)
    matrix = {"kind": "file", "path": str(tmp_path / "X.npy"), "permute": False}
    words = {"matrix": matrix, "learners": {"R": {"solver": {"kind": "ridge", "lam": 1.0}}}}
    single, double = (run(experiment(**words, dtype=dtype)).curves[0] for dtype in ("float32", "float64"))
    assert (single.mean("loss") >= 0).all()
    # Each of four weights is off by half a digit of float32 at most, and a prediction by so much times x.
    rounding = 4 * np.finfo(np.float32).eps / 2 * abs(double.weights).max() * abs(rows).max()
    np.testing.assert_allclose(
        np.sqrt(single.mean("loss")), np.sqrt(double.mean("loss")), rtol=1e-6, atol=rounding
    )


def test_a_changed_file_is_read_again(tmp_path):
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


def test_paths_become_absolute_on_parsing(tmp_path, monkeypatch):
    write(tmp_path / "X.npy", X)
    write(tmp_path / "y.npy", Y)
    monkeypatch.chdir(tmp_path)
    read = reading.parse(raw(**problem("X.npy", "y.npy"))).problem
    assert (read.matrix.path, read.target.path) == (str(tmp_path / "X.npy"), str(tmp_path / "y.npy"))


def bad_files(folder):
    """Write bad files; return the reason of the refusal by file name."""
    infinite, missing = X.copy(), X.copy()
    infinite[2, 1], missing[1, 0] = np.inf, np.nan
    np.savez(folder / "two.npz", a=X, b=Y)
    np.save(folder / "objects.npy", np.array([{}, "a"], dtype=object), allow_pickle=True)
    np.save(folder / "text.npy", np.array([["a", "b"]]))
    np.save(folder / "complex.npy", X * 1j)
    (folder / "words.csv").write_text("a,b\n1,2\n3,four\n5,6\n")
    (folder / "ragged.csv").write_text("1,2,3\n3,4\n5,6,7\n")
    (folder / "header.csv").write_text("a,b,c\n")
    (folder / "empty.csv").write_text("")
    (folder / "broken.npy").write_bytes(b"no array at all")
    (folder / "broken.parquet").write_bytes(b"no table at all")
    (folder / "broken.npz").write_bytes(b"no archive at all")
    (folder / "X.bin").write_bytes(b"\1\0")
    (folder / "folder.npy").mkdir()
    write(folder / "inf.npy", infinite)
    write(folder / "nan.csv", missing)
    write(folder / "cube.npy", np.ones((2, 2, 2)))
    write(folder / "scalar.npy", np.array(3.0))
    write(folder / "none.npy", np.empty((0, 3)))
    return {
        "absent.npy": "there is no file",
        "folder.npy": "is a folder",
        "inf.npy": "row 2, column 1, both counted from 0, holds inf",
        "nan.csv": "line 2, column 0, has no value",
        "cube.npy": "shape (2, 2, 2)",
        "scalar.npy": "shape ()",
        "none.npy": "shape (0, 3)",
        "two.npz": "several arrays: a, b; set `array` to the name of one of them",
        "objects.npy": "cannot be read as a table of numbers: it holds objects",
        "text.npy": "cannot be read as a table of numbers: it holds texts",
        "complex.npy": "complex numbers",
        "words.csv": "cannot be read as a table of numbers: line 3, column 1 ('b'), holds 'four'",
        "ragged.csv": "line 2 has 2 cells, but all rows need 3",
        "header.csv": "it has a header but no rows",
        "empty.csv": "is empty",
        "broken.npy": "cannot be read as a table of numbers",
        "broken.npz": "cannot be read as a table of numbers",
        "broken.parquet": "cannot be read as a table of numbers",
        "X.bin": ".npy, .npz, .parquet, .csv",
    }


def with_bytes(content, at, *, of):
    """Archive in which a field of the only member is changed in both headers."""
    changed = bytearray(content)
    changed[at] = of
    changed[content.index(b"PK\x01\x02") + at + 2] = of
    return bytes(changed)


@pytest.mark.parametrize(
    ("suffix", "spoilt", "reason"),
    [
        (".npz", lambda content: with_bytes(content, 6, of=1), "is encrypted"),
        (".npz", lambda content: with_bytes(content, 8, of=99), "compression method"),
        (".npz", lambda content: content[:60] + b"~~~~" + content[64:], "CRC"),
        (".npy", lambda content: content.replace(b"(3, 2)", b"(3, 2 "), "header is invalid"),
        (".npy", lambda content: content.replace(b"'shape'", b"[1,2,3]"), "header is invalid"),
        (".parquet", lambda content: content[:-8] + b"~~~~PAR1", "footer"),
    ],
)
def test_damaged_files_are_refused_in_one_line_with_the_reason(suffix, spoilt, reason, tmp_path):
    path = tmp_path / f"it{suffix}"
    write(path, X[:3, :2])
    path.write_bytes(spoilt(path.read_bytes()))
    with pytest.raises(
        BadInput, match=rf"it{re.escape(suffix)} cannot be read as a table of numbers.*{reason}"
    ):
        read_table(str(path), "here")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_internal_error_is_not_reported_as_a_file_error(suffix, tmp_path, monkeypatch):
    def mistaken(*arguments):
        raise KeyError("ours")

    monkeypatch.setitem(of_file.FORMATS, suffix, of_file.FORMATS[suffix]._replace(content=mistaken))
    with pytest.raises(KeyError, match="ours"):
        read_table(write(tmp_path / f"it{suffix}", X), "here")


BAD = ["absent.npy", "folder.npy", "inf.npy", "nan.csv", "cube.npy", "scalar.npy", "none.npy", "two.npz",
       "objects.npy", "text.npy", "complex.npy", "words.csv", "ragged.csv", "header.csv", "empty.csv",
       "broken.npy", "broken.npz", "broken.parquet", "X.bin"]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("file_name", BAD)
@pytest.mark.parametrize("place", ["matrix", "target"])
def test_a_bad_file_is_refused_in_one_line_with_its_name_and_reason(file_name, place, tmp_path):
    reason = bad_files(tmp_path)[file_name]
    good = write(tmp_path / "good.npy", X)
    paths = {"matrix": good, "target": good, place: str(tmp_path / file_name)}
    with pytest.raises(BadInput) as caught:
        reading.parse(raw(**problem(paths["matrix"], paths["target"])))
    error = caught.value
    assert error.where == f"problem.{place}.{'array' if file_name == 'two.npz' else 'path'}"
    assert file_name in error.fault
    assert reason in error.fault
    assert "\n" not in str(error)
    assert not re.search("pickle|usecols|keyword|dtype", error.fault), "advice is for programmers"


def test_a_missing_file_is_named_by_its_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(f"there is no file {tmp_path / 'absent.npy'}")):
        reading.parse(raw(**problem("absent.npy", "absent.npy")))


def test_a_label_file_needs_one_row_per_instance(tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / "y.npy", Y[:3]))
    with pytest.raises(BadInput, match=r"target\.path: .*labels for 3 rows, but the matrix has 4 instances"):
        experiment(**words)


def test_a_row_vector_of_labels_is_refused(tmp_path):
    words = problem(write(tmp_path / "X.npy", X), write(tmp_path / "y.npy", np.ones((1, 4))))
    with pytest.raises(BadInput, match="labels for 1 row, but"):
        experiment(**words)


def test_labels_from_a_file_need_instances_from_a_file(tmp_path):
    path = write(tmp_path / "y.npy", Y)
    with pytest.raises(BadInput, match=r"problem\.target\.kind: .*the matrix is gaussian; set"):
        experiment("gaussian", {"kind": "file", "path": path})


def test_logistic_loss_accepts_only_label_files_of_signs(tmp_path):
    matrix, signs = write(tmp_path / "X.npy", X), write(tmp_path / "s.npy", np.array([1, -1, -1, 1]))
    assert (
        run(experiment(**problem(matrix, signs), loss="logistic", learners={"GD": gd(1e-6)}))
        .curves[0]
        .complete
    )
    with pytest.raises(BadInput, match=r"protocol\.loss"):
        experiment(**problem(matrix, write(tmp_path / "y.npy", Y)), loss="logistic")


NO_NUMBERS = {
    "dates": (np.array([["2020-01-01"]], dtype="datetime64[D]"), "it holds dates"),
    "spans": (np.array([[3]], dtype="timedelta64[s]"), "it holds time spans"),
    "digits": (np.array([["1", "2"]]), "it holds texts"),
    "bytes": (np.array([[b"1"]]), "it holds texts"),
    "records": (np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]), "it holds records with several fields"),
    "complex": (X + 0j, "it holds complex numbers"),
}


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("array_name", NO_NUMBERS)
def test_arrays_without_numbers_are_refused(array_name, suffix, tmp_path):
    values, reason = NO_NUMBERS[array_name]
    path = write(tmp_path / f"it{suffix}", values)
    with pytest.raises(BadInput, match=f"it{suffix} cannot be read as a table of numbers: {reason}"):
        read_table(path, "here")


def test_booleans_are_read_as_0_and_1(tmp_path):
    assert np.array_equal(read_table(write(tmp_path / "it.npy", X > 0), ""), X > 0)


def test_the_folder_name_of_a_parquet_file_adds_no_column(tmp_path):
    (tmp_path / "k=3").mkdir()
    assert np.array_equal(read_table(write(tmp_path / "k=3" / "X.parquet", X), ""), X)


def large(path):
    """File that declares 2 million numbers and takes little space on disk."""
    zeros = np.zeros((1 << 18, 8))
    if path.suffix == ".npz":
        np.savez_compressed(path, it=zeros)
    elif path.suffix == ".csv":
        path.write_text("0,0,0,0\n" * (1 << 16))
    elif path.suffix == ".parquet":
        write(path, zeros)
    else:
        np.lib.format.open_memmap(path, mode="w+", shape=zeros.shape)
    return str(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_too_large_for_memory_is_refused_by_its_header(suffix, tmp_path, monkeypatch):
    path = large(tmp_path / f"it{suffix}")
    monkeypatch.setattr(table, "free_bytes", lambda: 1 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match=f"it{suffix} needs .* of memory, but only 1 MiB are free"):
            read_table(path, "here")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 << 20
    monkeypatch.undo()
    assert not read_table(path, "here").any()


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_three_dimensional_array_is_refused_unread(suffix, tmp_path):
    path = write(tmp_path / f"it{suffix}", np.zeros((1 << 10, 1 << 10, 2)))
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match=r"has shape \(1024, 1024, 2\)"):
            read_table(path, "here")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 << 20


def test_a_truncated_array_is_refused(tmp_path):
    path = write(tmp_path / "it.npy", X)
    os.truncate(path, os.path.getsize(path) - 8)
    with pytest.raises(BadInput, match="the file ends before its last number"):
        read_table(path, "here")


def test_an_array_with_too_many_rows_is_refused(tmp_path):
    np.lib.format.open_memmap(tmp_path / "it.npy", mode="w+", dtype=np.int8, shape=((1 << 24) + 1, 1))
    with pytest.raises(BadInput, match="take at most 16777216 rows and at most 16777216 columns"):
        read_table(str(tmp_path / "it.npy"), "here")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pipes_devices_and_sockets_are_refused_as_files(suffix, tmp_path, monkeypatch):
    pipe, zeros, listening = (tmp_path / f"{name}{suffix}" for name in ("pipe", "zeros", "listening"))
    os.mkfifo(pipe)
    zeros.symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(listening.name)
        for path in (pipe, zeros, listening):
            with pytest.raises(BadInput, match=f"{path.name} is not a regular file"):
                read_table(str(path), "here")


@pytest.mark.parametrize("path", ["no\0path.npy", "x" * 300 + ".npy"])
def test_an_impossible_path_is_refused(path):
    with pytest.raises(BadInput):
        read_table(path, "here")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("entries", "values"), [((-1, 1), "signs"), ((0, 1), "bits"), ((1, 2), "any"), ((-1, 0), "any")]
)
def test_the_values_of_a_file_are_classified_as_signs_bits_or_any(
    suffix, entries, values, tmp_path, monkeypatch
):
    monkeypatch.setattr(table, "PIECE", 8)
    numbers = np.resize([entries[1]] * 20 + [entries[0]], (9, 3))
    path = write(tmp_path / f"it{suffix}", numbers, header="a,b,c")
    assert read(Request(path), "here").values == values


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_unreadable_file_is_refused_and_read_once_it_is_readable(suffix, tmp_path, monkeypatch):
    def refused(*arguments):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = write(tmp_path / f"it{suffix}", X)
    monkeypatch.setattr(pathlib.Path, "open", refused)
    with pytest.raises(BadInput, match=rf"it\{suffix} cannot be read as a table of numbers: Permission"):
        read_table(path)
    monkeypatch.undo()
    assert np.array_equal(read_table(path), X)


def test_a_compressed_table_too_large_for_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "it.csv.gz"
    path.write_bytes(gzip.compress(b"0,0,0,0\n" * (1 << 19)))
    monkeypatch.setattr(text, "free_bytes", lambda: 20 << 20)
    with pytest.raises(BadInput, match=r"it.csv.gz needs more than .* of memory, but only 20 MiB are free"):
        read_table(str(path))
    monkeypatch.undo()
    assert read_table(str(path)).shape == (1 << 19, 4)


def test_the_cache_of_tables_is_bounded_and_reads_stay_correct(tmp_path):
    paths = [write(tmp_path / f"{number}.npy", number * X) for number in range(2 * table.HELD)]
    for _ in range(2):
        for number, path in enumerate(paths):
            assert np.array_equal(read_table(path), number * X)
            assert table.report(Request(path), "here").rows == len(X)
    assert len(table._held) <= table.HELD


def drawn_from(tmp_path, rows, labels, **settings):
    np.savetxt(tmp_path / "X.csv", np.column_stack([rows, labels]), delimiter=",", fmt="%.17g")
    matrix = {"kind": "file", "path": str(tmp_path / "X.csv"), "header": False, "index": False, "label": -1}
    return experiment(matrix | settings, "file", protocol=STEPS, replicas=2, dtype="float64")


STEPS = {"kind": "steps", "steps": 3, "train": "training"}


@pytest.mark.parametrize("permute", [False, True])
def test_features_are_standardised_by_the_training_rows_as_in_scikit_learn(permute, tmp_path):
    from sklearn.preprocessing import StandardScaler

    generator = np.random.default_rng(2)
    rows = 100 * generator.random(4) + generator.standard_normal((40, 4)) * [1, 1e3, 1e-3, 0]
    settings = {"standardise": True, "test_share": 0.3, "permute": permute, "bias": True}
    described = drawn_from(tmp_path, rows, np.arange(40.0), **settings)
    assert described.protocol.train == 28
    examples = data_of(described)
    for replica in range(2):
        order = examples.labels[replica].numpy().astype(int)
        assert np.array_equal(order, np.arange(40)) is not permute
        expected = StandardScaler().fit(rows[order[:28]]).transform(rows[order])
        seen = examples.instances.rows[replica].numpy()
        np.testing.assert_allclose(seen[:, :3], expected[:, :3], rtol=1e-9, atol=1e-9)
        assert (seen[:, 3] == 0).all(), "a constant column"
        assert (seen[:, 4] == 1).all(), "the bias"


def test_ridge_on_standardised_file_rows_has_the_test_loss_of_scikit_learn(tmp_path):
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    generator = np.random.default_rng(4)
    rows = 3 + generator.standard_normal((50, 3)) * [1, 10, 0.1]
    labels = rows @ [1, 0.1, 5] + generator.standard_normal(50)
    np.savetxt(tmp_path / "X.csv", np.column_stack([rows, labels]), delimiter=",", fmt="%.17g")
    matrix = {"kind": "file", "path": str(tmp_path / "X.csv"), "header": False, "index": False, "label": -1}
    settings = {"standardise": True, "test_share": 0.2, "rotate": True}
    learners = {"R": {"solver": {"kind": "sklearn", "name": "Ridge", "options": {"alpha": 2.0}}}}
    measures = [{"kind": "loss", "rows": "test"}]
    words = {"learners": learners, "protocol": STEPS, "measures": measures, "dtype": "float64"}
    measured = run(experiment(matrix | settings, "file", **words)).curves[0].mean("unseen")[-1]
    model = make_pipeline(StandardScaler(), Ridge(alpha=2.0)).fit(rows[:40], labels[:40])
    assert measured == pytest.approx(((model.predict(rows[40:]) - labels[40:]) ** 2).mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("protocol", "remedy"),
    [
        ({"kind": "steps", "steps": 3}, 'set protocol.train = "training"'),
        ({"kind": "epochs", "train": 9}, 'set protocol.train = "training"'),
        ("erm", 'set protocol.examples = "training"'),
        ("one-pass", 'set protocol.examples = "training"'),
        ("at-init", "take the protocol `steps`"),
    ],
)
def test_learning_from_held_out_rows_is_refused(protocol, remedy, tmp_path):
    matrix = {"kind": "file", "path": write(tmp_path / "X.npy", np.random.default_rng(0).random((10, 3)))}
    with pytest.raises(
        BadInput, match=f"learners train on (9|10) of 10 rows, but the last 2 are held out; {remedy}"
    ):
        experiment(matrix | {"test_share": 0.2}, "constant", protocol=protocol)
    if remedy.endswith('"training"'):
        kind = protocol if isinstance(protocol, str) else protocol["kind"]
        settings = {"kind": kind, remedy.split(".")[1].split(" ")[0]: "training"}
        experiment(matrix | {"test_share": 0.2}, "constant", protocol=settings)


def test_the_bias_column_equals_the_constant_target_on_repeated_rows(tmp_path):
    matrix = {"kind": "file", "path": write(tmp_path / "X.npy", X), "bias": True, "repeat": 1}
    described = experiment(matrix | {"test_share": 0.25}, "constant", protocol=STEPS)
    examples = data_of(described)
    assert described.protocol.train == 6
    assert np.array_equal(examples.instances.rows[0, :, 3].numpy(), examples.labels[0].numpy())
