"""The app shows above its status how it read a data file, and has fields for the settings of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.typed_text import text_of, value_of
from hadamard_tui.widgets.form import More
from hadamard_tui.widgets.screen_lines import DataLine

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text
from .test_setup import composed, row_of

TABLE = ",x0,x1,kind\n0,0.5,1.5,spam\n1,-0.5,2.5,ham\n2,1.5,0.5,spam\n3,-2.5,1.5,ham\n"
CHANGES = [
    "problem.matrix.label=kind",
    'problem.target="file"',
    "learners=[{name='LLS', solver='lls'}]",
    "claims=[]",
]


SENTENCE = (
    "data: X.csv: 4 rows × 2 columns, header x0 … x1, label column 'kind', left out: column 0 (counts the "
    "rows: 0, 1, 2 …); labels: ham = −1, spam = +1"
)


@pytest.fixture
def of_file(tmp_path: Path) -> HadamardApp:
    (tmp_path / "X.csv").write_text(TABLE)
    matrix = f'problem.matrix={{kind="file", path="{tmp_path / "X.csv"}"}}'
    return HadamardApp(EditableExperiment(presets.document("hadamard-128", [matrix, *CHANGES]), None))


@pytest.mark.drawn
@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_the_screen_describes_the_read_data_file_before_and_after_a_run(
    of_file: HadamardApp, size: tuple[int, int]
) -> None:
    async with opened(of_file, size) as pilot:
        await until(pilot, lambda: SENTENCE in " ".join(screen_text(of_file).split()))
        await pilot.press("f", "r")
        await until(pilot, lambda: (session := of_file.laboratory.session) is not None and session.over)
        assert SENTENCE in " ".join(screen_text(of_file).split())


@pytest.mark.slow
async def test_a_set_up_without_files_has_no_data_line(app: HadamardApp) -> None:
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: app.laboratory.query(DataLine))
        await pilot.pause()
        assert not app.laboratory.query_one(DataLine).display


@pytest.mark.slow
async def test_the_data_line_follows_typed_table_settings(of_file: HadamardApp) -> None:
    async with opened(of_file, WIDE) as pilot:
        await until(pilot, lambda: composed(of_file, "problem.matrix.label"))
        more = next(fold for fold in of_file.laboratory.query(More) if "header" in str(fold.render()))
        more.action_turn()
        await until(pilot, lambda: composed(of_file, "problem.matrix.columns"))
        row_of(of_file, "problem.matrix.columns").query_one(Input).value = "x1"
        line = of_file.laboratory.query_one(DataLine)
        await until(pilot, lambda: "4 rows × 1 column, header x1" in str(line.render()))
        assert of_file.laboratory.editable.value("problem.matrix.columns") == ["x1"]
        row_of(of_file, "problem.matrix.label").query_one(Input).value = "5"
        await until(pilot, lambda: of_file.laboratory.editable.error is not None)
        assert of_file.laboratory.editable.error.where == "problem.matrix.label"


COLUMNS = {
    "y": "y",
    "8": 8,
    "-1": -1,
    '"8"': "8",
    "true": True,
    '"true"': "true",
    "a b": "a b",
    "2020-01-01": "2020-01-01",
}


@pytest.mark.parametrize("text", COLUMNS)
def test_a_column_is_parsed_as_a_name_or_a_position(text: str) -> None:
    from engine.core import catalogue
    from engine.spec.fields import fields_of

    fields = {field.name: field for field in fields_of(catalogue.members("matrices")["file"])}
    value = COLUMNS[text]
    assert value_of(fields["index"], text) == value
    assert text_of(value, kind="column") == text
    several = f"{text}, x, 3"
    assert value_of(fields["columns"], several) == [value, "x", 3]
    assert text_of([value, "x", 3], kind="columns") == several
