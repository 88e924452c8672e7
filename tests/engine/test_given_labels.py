"""Labels in a column of the instances' file or in a file of their own, as numbers, words or classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import LLS, data_of, experiment, gd
from numpy.typing import NDArray

from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.spec.experiment import Experiment

ROWS = np.array([[2.5, -0.5], [0.25, 1.5], [-1.5, 0.75], [0.5, 3.5], [-2.25, 0.125], [1.75, -3.5]])
TWO = ["spam", "ham", "ham", "spam", "ham", "spam"]
THREE = ["c", "a", "b", "a", "c", "b"]
HEADER = "x,y,kind"


def write(folder: Path, labels: list[Any], header: str = HEADER) -> str:
    """A table of ROWS with a column of labels at its end."""
    lines = [f"{row[0]},{row[1]},{label}" for row, label in zip(ROWS, labels, strict=True)]
    (folder / "X.csv").write_text("\n".join([*([header] if header else []), *lines, ""]))
    return str(folder / "X.csv")


def described(path: str, target: Any = "file", label: Any = "kind", **more: Any) -> Experiment:
    return experiment({"kind": "file", "path": path, "label": label}, target, **more)


def labels_of(setup: Experiment) -> NDArray[np.float64]:
    """Labels [n, m] of the first replica."""
    data = data_of(setup)
    return data.labels.view(setup.run.replicas, data.targets, -1)[0].numpy().T


@pytest.mark.parametrize(("label", "header"), [("kind", HEADER), (2, HEADER), (-1, HEADER), (2, "")])
def test_the_label_column_gives_labels_and_is_no_feature(label: Any, header: str, tmp_path: Path) -> None:
    setup = described(write(tmp_path, [1.5, -2.5, 3.5, 0.5, 7.5, -1.5], header), label=label)
    np.testing.assert_array_equal(data_of(setup).instances.rows[0].numpy(), ROWS)
    np.testing.assert_array_equal(labels_of(setup), [[1.5], [-2.5], [3.5], [0.5], [7.5], [-1.5]])
    assert setup.problem.data_sentence.endswith("not standardised")


@pytest.mark.parametrize("permute", [False, True])
def test_labels_are_standardised_by_the_training_rows_as_in_scikit_learn(
    permute: bool, tmp_path: Path
) -> None:
    from sklearn.preprocessing import StandardScaler

    numbers = np.array([105.0, 98.0, 103.0, 97.5, 120.0, 90.0])
    matrix = {"kind": "file", "path": write(tmp_path, numbers.tolist()), "label": "kind"}
    held_out = matrix | {"test_share": 1 / 3, "permute": permute}
    words = {"replicas": 2, "dtype": "float64", "protocol": {"kind": "steps", "train": "training"}}
    setup = experiment(held_out, {"kind": "file", "standardise": True}, **words)
    raw = data_of(experiment(held_out, "file", **words)).labels.numpy()
    for labels, seen in zip(data_of(setup).labels.numpy(), raw, strict=True):
        scaler = StandardScaler().fit(seen[:4, None])
        np.testing.assert_allclose(labels, scaler.transform(seen[:, None])[:, 0], rtol=1e-12, atol=1e-12)
    assert setup.problem.label_values == "any"
    assert setup.problem.data_sentence.endswith("labels: standardised")


def test_two_label_words_become_minus_and_plus_one_in_sorted_order(tmp_path: Path) -> None:
    setup = described(write(tmp_path, TWO), loss="logistic")
    np.testing.assert_array_equal(labels_of(setup)[:, 0], [1, -1, -1, 1, -1, 1])
    assert setup.problem.label_values == "signs"
    assert "ham = −1, spam = +1" in setup.problem.data_sentence


def test_the_classes_target_gives_two_label_words_the_same_signs(tmp_path: Path) -> None:
    setup = described(write(tmp_path, TWO), "classes")
    np.testing.assert_array_equal(labels_of(setup)[:, 0], [1, -1, -1, 1, -1, 1])
    assert "ham = −1, spam = +1" in setup.problem.data_sentence


@pytest.mark.parametrize("target", ["file", "classes"])
def test_three_label_words_become_one_hot_targets(target: str, tmp_path: Path) -> None:
    setup = described(write(tmp_path, THREE), target)
    np.testing.assert_array_equal(labels_of(setup).argmax(1), [2, 0, 1, 0, 2, 1])
    np.testing.assert_array_equal(labels_of(setup).sum(1), np.ones(6))
    assert setup.problem.one_hot
    assert "3 classes, each with a target: a, b, c" in setup.problem.data_sentence


def test_cross_entropy_decreases_on_label_words(tmp_path: Path) -> None:
    net = {
        "update": {"kind": "gd", "lr": 0.1},
        "architecture": {"kind": "dense", "widths": [8], "outputs": "m"},
    }
    path = write(tmp_path, THREE)
    trace = run(
        described(path, learners={"net": net}, protocol={"kind": "steps", "steps": 50}, loss="cross-entropy")
    )
    loss = trace.curve("net").mean("loss")
    assert loss[-1] < loss[0]


def test_whole_numbers_are_classes_only_for_the_classes_target(tmp_path: Path) -> None:
    path = write(tmp_path, [0, 1, 1, 0, 2, 2])
    np.testing.assert_array_equal(labels_of(described(path))[:, 0], [0, 1, 1, 0, 2, 2])
    np.testing.assert_array_equal(labels_of(described(path, "classes")).argmax(1), [0, 1, 1, 0, 2, 2])
    bits = write(tmp_path, [0, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(labels_of(described(bits, "classes"))[:, 0], [-1, 1, 1, -1, 1, 1])
    assert "0 = −1, 1 = +1" in described(bits, "classes").problem.data_sentence


def test_fractional_labels_are_refused_as_classes(tmp_path: Path) -> None:
    path = write(tmp_path, [0.5, 1, 1, 0, 2, 2])
    with pytest.raises(BadInput, match=r"problem\.target\.kind: the instances of file have no classes"):
        described(path, "classes")


def test_permuted_rows_keep_their_label_words(tmp_path: Path) -> None:
    matrix = {"kind": "file", "path": write(tmp_path, TWO), "label": "kind", "permute": True}
    data = data_of(experiment(matrix, "file", replicas=4))
    by_row = {tuple(row): 1.0 if word == "spam" else -1.0 for row, word in zip(ROWS, TWO, strict=True)}
    for rows, labels in zip(data.instances.rows.numpy(), data.labels.view(4, -1).numpy(), strict=True):
        assert [by_row[tuple(row)] for row in rows] == labels.tolist()
    assert len({tuple(map(tuple, rows)) for rows in data.instances.rows.numpy()}) > 1


def test_the_data_sentence_reports_an_unused_label_column(tmp_path: Path) -> None:
    sentence = described(write(tmp_path, TWO), "constant").problem.data_sentence
    assert "label column 'kind'; the label column is not used, because the target is constant" in sentence


def test_a_run_on_label_words_completes(tmp_path: Path) -> None:
    trace = run(described(write(tmp_path, TWO), learners={"GD": gd(0.02), "LLS": LLS}))
    assert all(curve.complete for curve in trace.curves)


@pytest.mark.parametrize("header", ["kind\n", ""])
def test_words_in_a_separate_label_file_become_signs(header: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", ROWS)
    (tmp_path / "y.csv").write_text(header + "\n".join(TWO) + "\n")
    matrix, target = ({"kind": "file", "path": str(tmp_path / file_name)} for file_name in ("X.npy", "y.csv"))
    setup = experiment(matrix, target)
    np.testing.assert_array_equal(labels_of(setup)[:, 0], [1, -1, -1, 1, -1, 1])
    assert "labels y.csv: 6 rows × 1 column" in setup.problem.data_sentence
    assert "ham = −1, spam = +1" in setup.problem.data_sentence


@pytest.mark.parametrize(
    ("text", "count", "header"),
    [
        ("0\n1\n0\n1\n", 4, False),
        ("0\n1\n0\n1\n", 3, True),
        ("0\n0.5\n1.5\n", 2, True),
        ("0\n1\n-1\n-1\n1\n", 4, True),
        ("c\na\nb\na\n", 4, False),
        ("c\na\nb\na\n", 3, True),
    ],
)
def test_the_number_of_instances_decides_the_header_of_a_label_file(
    text: str, count: int, header: bool, tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", ROWS[:count])
    (tmp_path / "y.csv").write_text(text)
    setup = experiment(
        *({"kind": "file", "path": str(tmp_path / file_name)} for file_name in ("X.npy", "y.csv"))
    )
    assert len(labels_of(setup)) == count
    assert setup.problem.data_reports[1].header is header


def test_two_arrays_of_an_archive_are_instances_and_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "Xy.npz", X=ROWS, y=ROWS[:, 0] > 0)
    path = str(tmp_path / "Xy.npz")
    setup = experiment(
        {"kind": "file", "path": path, "array": "X"}, {"kind": "file", "path": path, "array": "y"}
    )
    np.testing.assert_array_equal(labels_of(setup)[:, 0], ROWS[:, 0] > 0)


@pytest.mark.parametrize("names_path", [False, True])
def test_labels_of_svmlight_files_are_learned(names_path: bool, tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("+1 1:0.5\n-1 2:1.5\n+1 1:1 2:1\n")
    path = str(tmp_path / "rows.svm")
    setup = experiment(
        {"kind": "file", "path": path}, {"kind": "file", **({"path": path} if names_path else {})}
    )
    np.testing.assert_array_equal(data_of(setup).instances.rows[0].numpy(), [[0.5, 0], [0, 1.5], [1, 1]])
    np.testing.assert_array_equal(labels_of(setup)[:, 0], [1, -1, 1])


def refusal(*words: Any, **more: Any) -> str:
    with pytest.raises(BadInput) as caught:
        experiment(*words, **more)
    return str(caught.value)


def test_missing_labels_are_refused_with_both_possible_settings(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", ROWS)
    message = refusal({"kind": "file", "path": str(tmp_path / "X.npy")}, "file")
    assert message.startswith("problem.target.path: missing; set a file of labels here")
    assert "problem.matrix.label" in message


def test_settings_of_an_unnamed_label_file_are_refused(tmp_path: Path) -> None:
    matrix = {"kind": "file", "path": write(tmp_path, TWO), "label": "kind"}
    message = refusal(matrix, {"kind": "file", "columns": ["x"]})
    assert message.startswith("problem.target.columns: this setting is for a file of labels")


@pytest.mark.parametrize("setting", [{"array": "X"}, {"label": "z"}, {"label": 7}, {"columns": ["x", "z"]}])
def test_a_setting_unknown_to_the_file_is_refused_with_the_choices(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    message = refusal({"kind": "file", "path": write(tmp_path, [1, 2, 3, 1, 2, 3]), **setting}, "constant")
    (name,) = setting
    assert message.startswith(f"problem.matrix.{name}: ")
    assert any(words in message for words in ("leave the setting out", "x, y, kind", "0 … 2"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["a", "b", "", "a", "b", "a"],
            "line 4, column 2 ('kind'), has no value (empty, NA or nan); every row",
        ),
        (["a"] * 6, "every label is 'a', but labels that are words need at least two classes"),
        (list("abcdef"), "the 6 labels are 6 different words; these are too many to be names of classes"),
        ([1, 2, "inf", 4, 5, 6], "line 4, column 2 ('kind'), holds inf"),
    ],
)
def test_unusable_labels_are_refused_with_the_reason(labels: list[Any], message: str, tmp_path: Path) -> None:
    assert message in refusal({"kind": "file", "path": write(tmp_path, labels), "label": "kind"}, "file")


@pytest.mark.parametrize(
    ("header", "setting", "message"),
    [
        (HEADER, {"columns": ["x", "x"]}, "columns: column 'x' is listed twice"),
        (HEADER, {"columns": ["x", "kind"], "label": "kind"}, "columns: column 'kind' is the label"),
        (
            "a,a,kind",
            {"columns": ["a"]},
            "columns: 2 columns have the name 'a'; give the position of one of them: 0, 1",
        ),
        (
            "",
            {"label": "x"},
            "label: the columns have no names, so there is no column 'x'; give a position, 0 … 2",
        ),
    ],
)
def test_repeated_and_ambiguous_columns_are_refused(
    header: str, setting: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, [1, 2, 3, 1, 2, 3], header)
    assert message in refusal({"kind": "file", "path": path, **setting}, "constant")


def test_columns_are_read_in_the_listed_order(tmp_path: Path) -> None:
    matrix = {"kind": "file", "path": write(tmp_path, TWO), "columns": ["y", 0]}
    setup = experiment(matrix, "constant")
    np.testing.assert_array_equal(data_of(setup).instances.rows[0].numpy(), ROWS[:, ::-1])
    assert "left out: column 'kind' (not among `columns`)" in setup.problem.data_sentence
