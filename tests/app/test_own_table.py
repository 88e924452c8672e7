"""The page for tables of the user: from a file to curves, and to a diagnosis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Checkbox, Input, Static

from engine.core.parts import BadInput
from engine.problems.data_files import TableSettings
from engine.problems.first_rows import first_rows
from engine.spec import documents
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing import table_experiment
from hadamard_tui.browsing.preset_list import OWN_TABLE
from hadamard_tui.browsing.table_experiment import (
    TableChoices,
    completions,
    document,
    features_of,
    probable_label,
)
from hadamard_tui.screens.diagnosis import DiagnosisPage
from hadamard_tui.screens.own_table import OwnTable
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.controls import Choice, Entry, Lines

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

ROWS = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working folder with a table of numbers, one of words, and one whose header is not clear."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    numbers = draws.normal(size=(ROWS, 3))
    price = 1000 * (5 + numbers @ [2.0, 0.0, 0.0])
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{y:.1f}" for (a, b, c), y in zip(numbers, price, strict=True)]
    Path("houses.csv").write_text("\n".join(["area,age,noise,price", *lines]))
    rows = zip(numbers, price > 5000, strict=True)
    worded = [
        f"{a:.4f};{'north' if b > 0 else 'south'};{c:.4f};{'yes' if y else 'no'}" for (a, b, c), y in rows
    ]
    Path("sold.csv").write_text("\n".join(["area;town;noise;sold", *worded]))
    Path("unclear.csv").write_text("\n".join(["4,7,9", *(f"{a:.2f},{b:.2f},{c:.2f}" for a, b, c in numbers)]))
    Path("notes.md").write_text("no table")
    Path("more").mkdir()
    return tmp_path


@pytest.fixture
def app(editable) -> HadamardApp:
    return HadamardApp(editable, view=KeptView(setup_hidden=True))


def choices_of(name: str, **changes: object) -> TableChoices:
    """Choices that the page would propose for a file."""
    first = first_rows(name, TableSettings(), "file")
    label = probable_label(first)
    settings = TableSettings(columns=features_of(first, label, (), TableSettings()))
    reference = None if label is None else first.reference(label)
    return TableChoices(name, settings, reference, **changes)  # type: ignore[arg-type]


def test_a_table_of_numbers_becomes_a_square_loss_experiment_with_held_out_rows(folder: Path):
    choices = choices_of(f"{folder}/houses.csv", test_share=0.25, rotate=True)
    experiment = documents.first(document(choices, choices.read()))
    assert (experiment.n, experiment.d) == (ROWS, 3 + 1)  # and the bias
    assert experiment.problem.matrix.structure().held_out == ROWS // 4
    assert experiment.problem.matrix.structure().rotated
    assert experiment.protocol.loss == "square"
    names = [learner.name for learner in experiment.learners]
    assert names == ["GD", "EGU±", "Adam", "net", "ridge", "lasso"]


def test_words_are_classes_in_the_label_and_features_in_other_columns(folder: Path):
    choices = choices_of(f"{folder}/sold.csv")
    experiment = documents.first(document(choices, choices.read()))
    assert choices.label == "sold"
    assert (experiment.d, experiment.protocol.loss) == (3 + 1, "logistic")
    assert experiment.problem.label_values == "signs"
    assert experiment.problem.matrix.encode


def test_missing_cells_are_encoded_and_complete_tables_of_numbers_are_not(folder: Path):
    Path("gaps.csv").write_text(
        "a,b,y\n" + "\n".join(f"{'' if i == 3 else i},{i % 7},{i / 3}" for i in range(ROWS))
    )
    choices = choices_of(f"{folder}/gaps.csv")
    experiment = documents.first(document(choices, choices.read()))
    assert (experiment.n, experiment.d, experiment.problem.matrix.encode) == (ROWS, 2 + 1, True)
    choices = choices_of(f"{folder}/houses.csv")
    assert not documents.first(document(choices, choices.read())).problem.matrix.encode


def test_three_classes_are_learned_by_cross_entropy(folder: Path):
    three = [f"{0.5 + number},{number % 7 / 3:.3f},{'abc'[number % 3]}" for number in range(ROWS)]
    Path("three.csv").write_text("\n".join(["x,y0,kind", *three]))
    choices = choices_of(f"{folder}/three.csv")
    experiment = documents.first(document(choices, choices.read()))
    assert (experiment.m, experiment.protocol.loss) == (3, "cross-entropy")


def test_few_distinct_whole_numbers_are_classes_unless_declared_numbers(folder: Path):
    Path("counts.csv").write_text(
        "\n".join(["x,n", *(f"{number / 7:.3f},{number % 3}" for number in range(ROWS))])
    )
    rows = choices_of(f"{folder}/counts.csv").read()
    assert table_experiment.kind_of(rows, None) == "classes"
    assert table_experiment.kind_of(rows, "numbers") == "numbers"
    with pytest.raises(BadInput, match="words"):
        table_experiment.kind_of(choices_of(f"{folder}/sold.csv").read(), "numbers")
    with pytest.raises(BadInput, match="not whole numbers"):
        table_experiment.kind_of(choices_of(f"{folder}/houses.csv").read(), "classes")


def test_path_completion_lists_tables_before_folders(folder: Path):
    assert completions("") == ["houses.csv", "sold.csv", "unclear.csv", "more/", "../"]
    assert completions("S") == ["sold.csv"]
    assert completions(f"{folder}/mo") == [f"{folder}/more/"]
    assert completions("more/") == ["more/../"]
    assert completions("nowhere/x") == completions("~nobody/") == completions("\0") == []


def report(app: HadamardApp) -> str:
    return str(app.screen.query_one("#report", Static).content)


async def at_the_page(app: HadamardApp, pilot: Pilot[None]) -> OwnTable:
    await pilot.press("O")
    await until(pilot, lambda: isinstance(app.screen, OwnTable) and app.screen.query("#files"))
    await until(pilot, lambda: app.screen.query_one("#files", Lines).option_count)
    return app.screen  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_typing_a_file_name_and_enter_twice_starts_its_run(
    app: HadamardApp, folder: Path, size: tuple[int, int]
):
    async with opened(app, size) as pilot:
        await at_the_page(app, pilot)
        await pilot.press(*"hou")
        await until(pilot, lambda: app.screen.query_one("#files", Lines).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: "60 rows × 3 columns" in report(app))
        assert "label column 'price'" in report(app)
        await until(pilot, lambda: "area" in screen_text(app))
        await until(pilot, lambda: isinstance(app.focused, Button))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.laboratory and app.laboratory.session is not None)
        experiment = session_of(app).experiment
        assert experiment.problem.matrix.path == f"{folder}/houses.csv"
        assert app.laboratory.editable.preset is None
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.press("O")  # the page opens with the table of the set-up
        await until(pilot, lambda: isinstance(app.screen, OwnTable) and "60 rows" in report(app))


@pytest.mark.slow
async def test_enter_before_the_list_appears_opens_the_typed_file(app: HadamardApp, folder: Path):
    async with opened(app, SMALL) as pilot:
        await at_the_page(app, pilot)
        for typed in (*"sol", "enter"):
            app.post_message(events.Key(typed, typed if len(typed) == 1 else None))
        await until(pilot, lambda: "sold.csv: 60 rows" in report(app))


@pytest.mark.slow
async def test_an_ambiguous_header_shows_its_setting_and_the_answer_continues_the_read(
    app: HadamardApp, folder: Path
):
    async with opened(app, SMALL) as pilot:
        page = await at_the_page(app, pilot)
        await pilot.press(*"unclear.csv", "enter")
        await until(pilot, lambda: "header = true or header = false" in report(app))
        assert page.query_one("#setting-header").display
        assert not page.query_one("#setting-decimal").display
        await until(pilot, lambda: page.query_one("#header", Choice).has_focus)
        await pilot.press("n", "enter")
        await until(pilot, lambda: f"{ROWS + 1} rows × 2 columns, no header" in report(app))
        page.query_one("#diagnose").focus()
        await pilot.press("enter")
        await until(pilot, lambda: f"12 splits of {ROWS + 1} rows" in screen_text(app))


@pytest.mark.slow
async def test_a_faulty_file_is_reported_on_one_line_and_choices_are_kept(app: HadamardApp, folder: Path):
    Path("faulty.csv").write_text("a,b,c,y\n1,2,3,4\n1,inf,3,5\n2,3,4,6\n")
    async with opened(app, SMALL) as pilot:
        page = await at_the_page(app, pilot)
        await pilot.press(*"faulty.csv", "enter")
        await until(pilot, lambda: "line 3, column 1 ('b')" in report(app))
        page.query_one("#rotate", Checkbox).value = True
        page.query_one("#run").focus()
        await pilot.press("enter")
        await until(pilot, lambda: "column 1 ('b')" in report(app))
        assert app.screen is page
        assert page.query_one("#rotate", Checkbox).value
        page.query_one("#omitted", Entry).focus()
        page.query_one("#omitted", Entry).value = "z"
        await pilot.press("enter")
        await until(pilot, lambda: "there is no column 'z'" in report(app))
        page.query_one("#omitted", Entry).value = "b"
        await pilot.press("enter")
        await until(pilot, lambda: "3 rows × 2 columns" in report(app))


@pytest.fixture
def mixed(folder: Path) -> Path:
    """A table with words, missing cells, and a row without a label."""
    lines = [f"{'' if i == 3 else i * 0.5},{'uvw'[i % 3]},{'' if i == 5 else i / 3}" for i in range(ROWS)]
    Path("mixed.csv").write_text("\n".join(["a,b,y", *lines]))
    return folder / "mixed.csv"


@pytest.mark.slow
async def test_words_and_missing_cells_become_features_of_a_run(app: HadamardApp, mixed: Path):
    async with opened(app, SMALL) as pilot:
        await at_the_page(app, pilot)
        await pilot.press(*mixed.name, "enter")
        await until(pilot, lambda: f"{ROWS - 1} rows × 4 columns" in report(app))
        assert "column 'b': low_cardinality, one column per word (3 features)" in report(app)
        assert "1 missing cell)" in report(app)
        await until(pilot, lambda: isinstance(app.focused, Button))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.laboratory and app.laboratory.session is not None)
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")


@pytest.mark.slow
async def test_runs_omit_columns_of_words_if_skrub_is_missing(
    app: HadamardApp, mixed: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "skrub", None)
    async with opened(app, SMALL) as pilot:
        await at_the_page(app, pilot)
        await pilot.press(*mixed.name, "enter")
        await until(pilot, lambda: f"{ROWS - 1} rows × 1 column" in report(app))
        assert "pip install skrub" in report(app)


@pytest.mark.slow
async def test_the_page_accepts_any_label_column_and_reports_a_missing_file(app: HadamardApp, folder: Path):
    async with opened(app, WIDE) as pilot:
        page = await at_the_page(app, pilot)
        await pilot.press(*"nowhere.csv", "enter")
        await until(pilot, lambda: "there is no file" in report(app))
        path_line = page.query_one("#path", Entry)
        path_line.value = "~nobody-of-that-name/x.csv"
        path_line.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "nobody-of-that-name" in report(app) or "home" in report(app))
        path_line.value = ""
        path_line.focus()
        await until(pilot, lambda: page.query_one("#files", Lines).option_count > 1)
        await pilot.press("enter")
        await until(pilot, lambda: "label column 'price'" in report(app))
        page.query_one("#label", Choice).value = "1"
        await until(pilot, lambda: "label column 'age'" in report(app))
        share = page.query_one("#share", Input)
        share.value = "95"
        share.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "not a whole number from 0 to 90" in report(app))


@pytest.mark.slow
async def test_a_diagnosis_announces_its_work_can_be_stopped_and_shows_charts(app: HadamardApp, folder: Path):
    async with opened(app, SMALL) as pilot:
        app.push_screen(page := DiagnosisPage(f"{folder}/houses.csv", "price"))
        await until(pilot, lambda: "12 splits of 60 rows" in screen_text(app))
        page.query_one("#splits", Entry).value = "1"
        page.query_one("#splits", Entry).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "not a whole number from 2 to 100" in screen_text(app))
        page.query_one("#splits", Entry).value = "100"
        page.query_one("#start").focus()
        await pilot.press("enter")
        await until(pilot, lambda: page._job is not None)
        await until(pilot, lambda: page.query_one("#stop").has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: "was stopped." in screen_text(app))
        page.query_one("#splits", Entry).value = "2"
        page.query_one("#quick", Checkbox).value = True
        await until(pilot, lambda: "2 splits" in screen_text(app))
        page.query_one("#start").focus()
        await pilot.press("enter")
        await until(pilot, lambda: len(page.query(ChartView)) == 2, 120)
        await until(pilot, lambda: "examples" in screen_text(app))
        assert page._job is None


@pytest.mark.slow
async def test_a_diagnosis_reads_the_table_with_the_settings_of_its_page(app: HadamardApp, folder: Path):
    draws = np.random.default_rng(1)
    cells = zip(*(draws.integers(0, 10**6, ROWS).tolist() for _ in range(3)), strict=True)
    rows = [f"{a / 1000:.3f},{'uv'[c % 2]},{b / 100:.2f},{c / 10:.1f}" for a, b, c in cells]
    Path("plain.csv").write_text("\n".join(row for row in rows))
    async with opened(app, WIDE) as pilot:
        page = await at_the_page(app, pilot)
        await pilot.press(*"plain.csv", "enter")
        await until(pilot, lambda: page._first is not None)
        page.query_one("#header", Choice).value = "no"
        page.query_one("#index", Choice).value = "no"
        page.query_one("#label", Choice).value = "3"
        await until(pilot, lambda: f"{ROWS} rows × 3 columns, no header" in report(app))
        page.query_one("#omitted", Entry).value = "nothing"
        page.query_one("#diagnose", Button).press()
        await until(pilot, lambda: "there is no column 'nothing'" in report(app))
        page.query_one("#omitted", Entry).value = "2"
        page.query_one("#diagnose", Button).press()
        await until(pilot, lambda: isinstance(app.screen, DiagnosisPage))
        await until(pilot, lambda: "Expected time" in screen_text(app), 60)
        diagnosis_page = app.screen
        assert isinstance(diagnosis_page, DiagnosisPage)
        assert diagnosis_page._table is not None
        assert diagnosis_page._table.feature_names == ("column 0", "column 1_v")
        assert len(diagnosis_page._table.labels) == ROWS


@pytest.mark.slow
async def test_closing_the_page_stops_its_diagnosis(app: HadamardApp, folder: Path):
    async with opened(app, SMALL) as pilot:
        app.push_screen(page := DiagnosisPage(f"{folder}/houses.csv", "price"))
        await until(pilot, lambda: "12 splits of 60 rows" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: page._job is not None)
        job = page._job
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.laboratory)
        assert job is not None
        await until(pilot, lambda: job.wait(0.0))


@pytest.mark.slow
async def test_the_preset_list_opens_the_page_of_own_tables(app: HadamardApp, folder: Path):
    async with opened(app, SMALL) as pilot:
        await app.choose_preset(OWN_TABLE)
        await until(pilot, lambda: isinstance(app.screen, OwnTable) and app.screen.query("#files"))


Compare = Callable[..., bool]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (120, 40)])
def test_the_page_of_a_table(snap_compare: Compare, app: HadamardApp, folder: Path, size: tuple[int, int]):
    async def show(pilot: Pilot[None]) -> None:
        await at_the_page(app, pilot)
        await pilot.press(*"sold", "enter")
        await until(pilot, lambda: "60 rows" in report(app) and isinstance(app.focused, Button))

    assert snap_compare(app, terminal_size=size, run_before=show)
