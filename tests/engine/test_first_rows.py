"""First rows of the user's files, before a label is chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.problems.data_files import TableSettings
from engine.problems.first_rows import LONGEST_CELL, ROWS, FirstRows, first_rows

AS_IT_IS = TableSettings()


def rows_of(path: Path, text: str, settings: TableSettings = AS_IT_IS) -> FirstRows:
    path.write_text(text)
    return first_rows(str(path), settings, "file")


def test_first_rows_show_the_original_cells_and_the_word_columns(tmp_path: Path) -> None:
    first = rows_of(tmp_path / "t.csv", "id;size;town\n0;1,50;Kiel\n1;2,25;Bonn\n2;0,75;Kiel\n")
    assert first.names == ("id", "size", "town")
    assert first.rows[0] == ("0", "1,50", "Kiel")
    assert (first.words, first.aside) == ({2}, {0})
    assert first.question is None


def test_first_rows_are_limited_and_long_cells_are_shortened(tmp_path: Path) -> None:
    lines = [f"{number + 0.5},{'long' * 20}\x1b[31m" for number in range(3 * ROWS)]
    first = rows_of(tmp_path / "t.csv", "\n".join(["size,text", *lines]))
    assert len(first.rows) == ROWS
    assert all(len(cell) <= LONGEST_CELL and "\x1b" not in cell for row in first.rows for cell in row)


def test_an_ambiguous_header_gives_a_question_and_an_answer_gives_columns(tmp_path: Path) -> None:
    text = "4,7,9\n0.5,0.25,1.5\n2.5,0.75,3.5\n1.5,2.25,0.5\n"
    first = rows_of(tmp_path / "t.csv", text)
    assert first.question is not None
    assert first.question.field == "header"
    assert first.rows[0] == ("4,7,9",)
    assert not first.columns
    assert rows_of(tmp_path / "t.csv", text, TableSettings(header=True)).names == ("4", "7", "9")
    assert rows_of(tmp_path / "t.csv", text, TableSettings(header=False)).names == ("0", "1", "2")


def test_a_column_is_referenced_by_its_name_only_if_the_name_is_unique(tmp_path: Path) -> None:
    first = rows_of(tmp_path / "t.csv", "a,b,b\n1.5,2.5,3.5\n4.5,5.5,6.5\n")
    assert [first.reference(column) for column in first.columns] == ["a", 1, 2]


def test_arrays_are_shown_as_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([[1.0, 0.25], [3.0, 1e-9]]))
    first = first_rows(str(tmp_path / "t.npy"), AS_IT_IS, "file")
    assert first.rows == (("1", "0.25"), ("3", "1e-09"))
    np.savez(tmp_path / "t.npz", one=np.eye(2), two=np.eye(3))
    question = first_rows(str(tmp_path / "t.npz"), AS_IT_IS, "file").question
    assert question is not None
    assert question.field == "array"
    assert len(first_rows(str(tmp_path / "t.npz"), TableSettings(array="two"), "file").names) == 3


def test_a_missing_number_hides_the_rows_of_an_array_but_keeps_its_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([[1.0, np.nan], [3.0, 4.0]]))
    first = first_rows(str(tmp_path / "t.npy"), AS_IT_IS, "file")
    assert (len(first.names), first.rows) == (2, ())


def test_an_svmlight_file_has_labels(tmp_path: Path) -> None:
    first = rows_of(tmp_path / "t.svm", "1 1:0.5 3:2\n-1 2:1\n")
    assert first.has_labels
    assert first.rows == (("0.5", "0", "2"), ("0", "1", "0"))


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "it has a header but no rows"),
        ("t.csv", b"\xff\xfe\x00\x01", "cannot be read as a table"),
        ("t.npy", b"no array", "cannot be read as a table"),
        ("t.bin", b"\x00\x01", "its format is unknown"),
    ],
)
def test_first_rows_of_a_file_without_a_table_are_refused_in_one_line(
    name: str, content: bytes, fault: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=fault) as refusal:
        first_rows(str(tmp_path / name), AS_IT_IS, "file")
    assert "\n" not in str(refusal.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path, fault in ((tmp_path / "nothing.csv", "there is no file"), (tmp_path, "is a folder")):
        with pytest.raises(BadInput, match=fault):
            first_rows(str(path), AS_IT_IS, "file")
