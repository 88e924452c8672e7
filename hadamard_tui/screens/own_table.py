"""Page that makes an experiment from the user's table: the user chooses a file and its label column."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.widget import Widget
from textual.widgets import Button, Checkbox, DataTable, Input, OptionList, Static

from engine.core.parts import BadInput
from hadamard_tui.browsing import table_experiment
from hadamard_tui.browsing.table_experiment import (
    Kind,
    TableChoices,
    completions,
    document,
    features_of,
    probable_label,
)
from hadamard_tui.keyboard import key, motions
from hadamard_tui.screens.modal import Framed
from hadamard_tui.widgets.controls import Choice, Entry, Lines, Small, compact

if TYPE_CHECKING:
    from engine.problems.encoded_table import EncodedTable
    from engine.problems.first_rows import FirstRows
    from engine.problems.table import Table

AUTO = "auto"
"""Choice by which a setting is detected from the file's content."""

SETTINGS: dict[str, dict[str, Any]] = {
    "header": {AUTO: None, "yes": True, "no": False},
    "index": {AUTO: None, "yes": True, "no": False},
    "separator": {AUTO: None, ",": ",", ";": ";", "|": "|", "tab": "tab", "space": "space"},
    "decimal": {AUTO: None, ".": ".", ",": ","},
}
"""Values that the page offers for each setting of how a file is read, by the text of the choice.

None means that the setting is detected from the file.
"""

KINDS: dict[str, Kind | None] = {"detect": None, "classes": "classes", "numbers": "numbers"}
"""Kinds of labels, by the text of the choice. None means that the kind is detected."""

NO_FILE = "Choose a file first. If the page asks how to read the file, answer this question."

NO_SKRUB = "Columns of words or dates are left out; to use them as features: pip install skrub"

MOST_SHOWN = 60
"""Maximum number of columns that the page shows."""


class FirstRowsTable(DataTable[Text], inherit_bindings=False):
    """Table that shows the first rows of a file. Enter selects the column at the cursor as label column."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(
            move_left="cursor_left",
            move_right="cursor_right",
            move_first="scroll_home",
            move_last="scroll_end",
            choose="select_cursor",
        )
    ]

    def __init__(self, id: str) -> None:
        super().__init__(id=id, cursor_type="column", zebra_stripes=True)

    def show(self, first: FirstRows, label: int | None) -> None:
        shown = range(min(len(first.names), MOST_SHOWN))
        with self.prevent(DataTable.ColumnHighlighted):
            self.clear(columns=True)
            for column in shown:
                name = Text(first.names[column], "reverse" if column == label else "")
                self.add_column(name, key=str(column))
            for row in first.rows:
                cells = [*row, *[""] * (len(shown) - len(row))]
                self.add_row(*[Text(cells[column], "bold" if column == label else "") for column in shown])
            if label is not None:
                self.move_cursor(column=min(label, len(shown) - 1), scroll=True)


class OwnTable(Framed[dict[str, Any] | None]):
    """Page that returns the document of an experiment on the user's table, or None if the user cancels."""

    # These keys work while the path field has the focus. The list of completions has its own keys.
    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(move_down="move('cursor_down')", move_up="move('cursor_up')")
    ]
    DEFAULT_CSS = """
    OwnTable > Vertical { width: 100%; max-width: 132; height: 100%; max-height: 40; }
    OwnTable Horizontal { height: 1; }
    OwnTable #files, OwnTable #rows { height: 1fr; min-height: 3; margin: 0 0 1 0; scrollbar-size: 1 1; }
    OwnTable #rows { display: none; background: $surface; }
    OwnTable #choices { display: none; height: auto; }
    OwnTable.-read #choices { display: block; }
    OwnTable.-read #files { display: none; }
    OwnTable.-read #rows { display: block; }
    OwnTable #report { height: auto; max-height: 4; }
    OwnTable #report.-wrong { color: $text-error; }
    OwnTable Horizontal Static { width: auto; margin: 0 1 0 0; color: $text-muted; }
    OwnTable Choice { width: 22; margin: 0 2 0 0; }
    OwnTable Horizontal Input { width: 1fr; }
    OwnTable #share { width: 6; margin: 0 0 0 0; }
    OwnTable Checkbox { margin: 0 0 0 2; }
    OwnTable #settings { height: auto; }
    OwnTable .setting { display: none; width: auto; }
    OwnTable .setting.-asked { display: block; }
    OwnTable .setting Choice { width: 9; }
    OwnTable #array { width: 16; }
    OwnTable #buttons { margin: 1 0 0 0; }
    OwnTable Small { min-width: 12; margin: 0 2 0 0; }
    """

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self._path = path
        self._listed_path: str | None = None
        """Path in the field when its completions were listed."""
        self._first: FirstRows | None = None
        self._table: Table | EncodedTable | None = None
        self._settings: dict[str, Any] = {}
        self._lacks_skrub = False
        """Whether the table has words or dates, but skrub is not installed."""

        self._chosen_label: int | None = None
        """Label that the user chose in this file. Another setting for reading the file does not change it."""

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "Your data: a table, its label, then a run"
            page.border_subtitle = f"{key('choose')} chooses · {key('focus_next')} goes on"
            with Horizontal():
                yield Static("file")
                yield compact(
                    Entry(
                        self._path,
                        id="path",
                        placeholder="path of a .csv, .tsv, .parquet, .npy, .npz or .svm file",
                    )
                )
            yield compact(Lines(id="files"))
            yield FirstRowsTable("rows")
            yield Static("", id="report", markup=False)
            with Vertical(id="choices"):
                yield from _choice_controls()

    def on_mount(self) -> None:
        self.query_one("#path").focus()
        if self._path:
            self._open_file(self._path)
        else:
            self._list_paths()

    # The file

    @on(Input.Changed, "#path")
    def _path_typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._path:
            self.remove_class("-read")
            self._list_paths()

    @work(exclusive=True, group="paths")
    async def _list_paths(self, opens_first: bool = False) -> None:
        """List the tables and folders that complete the typed path.

        A thread reads the folder, because this may be slow.

        Args:
            opens_first: whether to open the first listed path, because the user pressed enter before the list
                was ready.
        """
        typed = self._typed_path
        paths = await asyncio.to_thread(completions, typed)
        with suppress(NoMatches):  # the page may have been closed
            listed = self.query_one("#files", Lines)
            listed.write([Text(path) for path in paths])
            listed.highlighted = 0 if paths else None
            self._listed_path = typed
            if opens_first:
                self._open_highlighted()

    def _open_highlighted(self) -> None:
        listed = self.query_one("#files", Lines)
        if listed.highlighted is None:
            self._open_file(self._typed_path)
        else:
            listed.action_select()

    @property
    def _typed_path(self) -> str:
        return self.query_one("#path", Entry).value

    def action_move(self, motion: str) -> None:
        if not self.has_class("-read"):
            getattr(self.query_one("#files", Lines), f"action_{motion}")()

    @on(Input.Submitted, "#path")
    def _path_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.has_class("-read"):
            self.query_one("#run").focus()
        elif table_experiment.is_file(event.value):
            self._open_file(event.value)
        elif self._listed_path == event.value:
            self._open_highlighted()
        else:
            self._list_paths(opens_first=True)

    @on(OptionList.OptionSelected, "#files")
    def _path_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        path = str(event.option.prompt)
        path_line = self.query_one("#path", Entry)
        if path.endswith("/"):
            path_line.value = path
            path_line.action_end()
            path_line.focus()
        else:
            with self.prevent(Input.Changed):
                path_line.value = path
            self._open_file(path)

    def _open_file(self, path: str) -> None:
        self._path, self._settings, self._chosen_label = path, {}, None
        for choice in self.query(".setting Choice").results(Choice):
            choice.value = AUTO
        for box in self.query(".setting"):
            box.remove_class("-asked")
        with self.prevent(Input.Changed):
            self.query_one("#omitted", Entry).value = ""
            self.query_one("#array", Entry).value = ""
        self._read_first_rows(path.rpartition("/")[2])

    @work(exclusive=True, group="table")
    async def _read_first_rows(self, name: str) -> None:
        """Read the first rows of the file. If they determine all settings, read the full table."""
        from engine.problems.data_files import TableSettings
        from engine.problems.first_rows import first_rows

        self._table = self._first = None
        self._show_report(f"reading {name} …")
        settings = TableSettings(**self._settings)
        try:
            path = str(Path(self._path).expanduser().absolute())
            self._first = await asyncio.to_thread(first_rows, path, settings, "file")
        except (BadInput, OSError, RuntimeError) as error:  # the working folder is gone, or ~user is unknown
            self._show_fault(str(error).removeprefix("file: "))
            return
        with suppress(NoMatches):  # the page may have been closed
            self.add_class("-read")
            self._offer_labels(self._first)
            if self._first.question is None:
                await self._read_table()
                self.query_one("#run").focus()
            else:
                self._ask_setting(self._first.question.field, self._first.question.fault)

    def _offer_labels(self, first: FirstRows) -> None:
        is_possible = self._chosen_label in set(first.columns) - first.aside
        label = self._chosen_label if is_possible else probable_label(first)
        names = [(first.names[column], str(column)) for column in first.columns if column not in first.aside]
        if first.has_labels:
            names = [("first value of each line", "")]
        choice = self.query_one("#label", Choice)
        with self.prevent(Choice.Changed):
            choice.offer(names, "" if label is None else str(label))
        self.query_one(FirstRowsTable).show(first, label)

    # The table

    @property
    def _label_column(self) -> int | None:
        column = self.query_one("#label", Choice).value
        return int(column) if column else None

    def _table_choices(self) -> TableChoices:
        """Return the user's choices: how to read the table, and how to learn from it.

        Raises: BadInput for an invalid test share or an unknown column.
        """
        from engine.problems.data_files import TableSettings

        first = self._first
        assert first is not None, "a file has been read"
        settings = TableSettings(**self._settings)
        omitted = self._omitted_columns(first)
        columns = features_of(first, self._label_column, omitted, settings, not self._lacks_skrub)
        return TableChoices(
            str(Path(self._path).expanduser().absolute()),
            replace(settings, columns=columns),
            None if self._label_column is None else first.reference(self._label_column),
            KINDS[self.query_one("#kind", Choice).value],
            self._test_share(),
            self.query_one("#rotate", Checkbox).value,
        )

    def _omitted_columns(self, first: FirstRows) -> list[int]:
        typed = self.query_one("#omitted", Entry).value
        columns = []
        for name in filter(None, map(str.strip, typed.split(","))):
            if (column := first.position(name)) is None:
                raise BadInput("leave out", f"there is no column {name!r}")
            columns.append(column)
        return columns

    def _test_share(self) -> float:
        typed = self.query_one("#share", Entry).value.strip()
        if not typed.isdecimal() or int(typed) > 90:
            raise BadInput("test share", f"{typed!r} is not a whole number from 0 to 90")
        return int(typed) / 100

    async def _read_table(self) -> None:
        self._table, self._lacks_skrub = None, False
        try:
            choices = self._table_choices()
            try:
                rows = await asyncio.to_thread(choices.read)
            except BadInput as error:
                if not error.where.endswith(".encode"):
                    raise
                self._lacks_skrub = True
                choices = self._table_choices()
                rows = await asyncio.to_thread(choices.read)
            await asyncio.to_thread(document, choices, rows)
        except BadInput as error:
            self._ask_setting(error.where.rpartition(".")[2], error.fault)
        else:
            self._table = rows
            self._show_report(f"{rows.report.sentence}{f'. {NO_SKRUB}' if self._lacks_skrub else ''}")

    @work(exclusive=True, group="table")
    async def _reread_table(self) -> None:
        with suppress(NoMatches):  # the page may have been closed
            await self._read_table()

    def _ask_setting(self, setting: str, fault: str) -> None:
        for box in self.query(f"#setting-{setting}") if setting in (*SETTINGS, "array") else ():
            box.add_class("-asked")
            box.query_one("Choice, Entry").focus()
        self._show_fault(fault)

    def _show_report(self, words: str) -> None:
        for report in self.query("#report").results(Static):
            report.remove_class("-wrong")
            report.update(words)

    def _show_fault(self, fault: str) -> None:
        for report in self.query("#report").results(Static):
            report.add_class("-wrong")
            report.update(f"▲ {fault}")

    @on(Choice.Changed)
    def _choice_changed(self, event: Choice.Changed) -> None:
        event.stop()
        setting = event.choice.id or ""
        if setting in SETTINGS:
            self._settings[setting] = SETTINGS[setting][event.value]
            self._read_first_rows(Path(self._path).name)
        elif self._first is not None:
            if setting == "label":
                self._chosen_label = self._label_column
            self.query_one(FirstRowsTable).show(self._first, self._label_column)
            self._reread_table()

    @on(DataTable.ColumnSelected)
    def _column_chosen(self, event: DataTable.ColumnSelected) -> None:
        event.stop()
        choice = self.query_one("#label", Choice)
        if choice.offers(str(event.column_key.value)):
            choice.value = str(event.column_key.value)

    @on(Input.Submitted, "#array")
    def _array_chosen(self, event: Input.Submitted) -> None:
        event.stop()
        self._settings["array"] = event.value.strip() or None
        self._read_first_rows(Path(self._path).name)

    @on(Input.Submitted, "#omitted")
    def _columns_omitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._first is not None:
            self._reread_table()

    @on(Input.Submitted, "#share")
    def _share_entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._run_table()

    # Diagnose and run

    @on(Button.Pressed, "#diagnose")
    def _diagnose_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        from engine.problems.data_files import TableSettings
        from hadamard_tui.screens.diagnosis import DiagnosisPage

        if self._first is None or self._first.question is not None:
            self._show_fault(NO_FILE)
            return
        label = None if self._label_column is None else self._first.reference(self._label_column)
        try:
            omitted = self._omitted_columns(self._first)
        except BadInput as error:
            self._show_fault(str(error))
            return
        path = str(Path(self._path).expanduser().absolute())
        kind = KINDS[self.query_one("#kind", Choice).value]
        settings = TableSettings(**self._settings)
        self.app.push_screen(DiagnosisPage(path, label, kind, settings, omitted))

    @on(Button.Pressed, "#run")
    def _run_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._run_table()

    @work(exclusive=True, group="table")
    async def _run_table(self) -> None:
        if self._first is None or self._first.question is not None:
            self._show_fault(NO_FILE)
            return
        await self._read_table()
        if self._table is not None:
            from engine.spec import documents

            raw = document(self._table_choices(), self._table)
            try:
                await asyncio.to_thread(documents.first, raw)
            except BadInput as error:
                self._show_fault(str(error))
            else:
                self.dismiss(raw)


def _choice_controls() -> Iterator[Widget]:
    kind = Choice([(words, words) for words in KINDS], value="detect", id="kind")
    yield Horizontal(Static("label"), Choice((), value="", id="label"), Static("labels are"), kind)
    omitted = compact(Entry("", id="omitted", placeholder="columns, separated by commas"))
    yield Horizontal(Static("leave out"), omitted)
    rotate = compact(Checkbox("rotate the features at random", id="rotate"))
    yield Horizontal(Static("test share in %"), compact(Entry("30", id="share")), rotate)
    yield Horizontal(*_setting_controls(), id="settings")
    yield Horizontal(
        Small("run", tooltip="Train several learners on the table", id="run"),
        Small("diagnose", tooltip="Measure which inductive bias the table rewards", id="diagnose"),
        id="buttons",
    )


def _setting_controls() -> Iterator[Widget]:
    """Yield the controls for how to read a file.

    Each control is hidden until its setting cannot be detected from a file.
    """
    for setting, choices in SETTINGS.items():
        choice = Choice([(words, words) for words in choices], value=AUTO, id=setting)
        yield Horizontal(Static(setting), choice, id=f"setting-{setting}", classes="setting")
    array = compact(Entry("", id="array", placeholder="name of the array"))
    yield Horizontal(Static("array"), array, id="setting-array", classes="setting")
