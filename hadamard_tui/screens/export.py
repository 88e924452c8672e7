"""Page that writes a file in the format of its suffix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import escaped
from hadamard_tui.keyboard import key
from hadamard_tui.screens.modal import Framed
from hadamard_tui.sharing import exporting
from hadamard_tui.sharing.exporting import KINDS, Shown
from hadamard_tui.sharing.file_writer import FileWriter, place_file
from hadamard_tui.widgets.controls import Entry, compact

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw

PRESET = ".toml"


class Export(Framed[None]):
    """Page that asks for a file name, starts writing the file, and shows progress and errors.

    Writing continues after the page is closed.
    """

    DEFAULT_CSS = """
    Export > Vertical { width: 76; }
    Export #doing, Export #wrong { height: auto; display: none; }
    Export #wrong { color: $text-error; }
    """

    def __init__(
        self,
        shown: Callable[[], Shown],
        name: str,
        files: FileWriter,
        saved: Callable[[Path, Experiment | Raw], None] | None = None,
    ) -> None:
        """Open the page with the proposed file name `name`.

        If it ends in .toml, a typed name without a known suffix gets this suffix.

        Args:
            shown: function that returns the content to write. It is called only after a name is entered,
                because the run on the screen may advance until then.
            saved: function that gets the path and the document of a written preset file.
        """
        super().__init__()
        self._shown, self._proposed, self._files, self._saved = shown, name, files, saved
        self._is_for_presets = name.endswith(PRESET)
        self._writing = False

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "write a file"
            page.border_subtitle = f"enter writes · {key('close')} closes"
            yield compact(Entry(self._proposed, placeholder="name of the file"))
            yield Static("", id="doing", markup=False)
            yield Static("", id="wrong", markup=False)
            place = f"in {here()}, unless the name contains a folder"
            if self.app.is_web:
                place = "your browser saves the file"
            yield Static(f"\n{place}; the suffix determines the content:\n", markup=False)
            yield from _file_kinds()

    @on(Input.Submitted)
    def _file_name_submitted(self, event: Input.Submitted) -> None:
        if self._writing:
            return
        file_name = event.value.strip()
        if self._is_for_presets and file_name and not file_name.lower().endswith(tuple(KINDS)):
            file_name += PRESET
        try:
            if self.app.is_web:
                self._start_download(file_name)
            else:
                self._start_saving(file_name)
        except BadInput as error:
            self._show_error(error)

    def _start_saving(self, file_name: str) -> None:
        """Start writing a file on this machine. Raises: BadInput if the name is invalid."""
        with files.faults(file_name, "cannot be written"):
            path = Path(file_name).expanduser()
        exporting.check_kind(path, "")
        shown = self._shown()
        make = partial(exporting.content, path, shown, "", partial(self._report_progress, file_name))
        saved = (
            partial(self._saved, path, shown.set_up)
            if path.suffix.lower() == PRESET and self._saved
            else None
        )

        def place(content: bytes) -> str:
            return _with_note(place_file(path, content), path, shown)

        self._await_file(file_name, self._files.write(file_name, make, place), saved)

    def _start_download(self, file_name: str) -> None:
        """Start making a file for download, because viewers in a browser do not write files on this machine.

        Raises: BadInput if the name is invalid.
        """
        exporting.check_download(file_name)
        app, shown = self.app, self._shown()

        def deliver(file: BytesIO) -> str:
            app.call_later(app.deliver_binary, file, save_filename=file_name)
            return _with_note(f"The browser downloads {file_name}", Path(file_name), shown)

        make = partial(exporting.download, file_name, shown, partial(self._report_progress, file_name))
        self._await_file(file_name, self._files.write(file_name, make, deliver))

    def _await_file(
        self, file_name: str, result: Future[str], done: Callable[[], None] | None = None
    ) -> None:
        self._writing = True
        self._show_progress(file_name, "…")
        self._show_words("wrong", "")
        result.add_done_callback(partial(self.app.call_later, self._finish_export, done))

    def _report_progress(self, file_name: str, share: float) -> None:
        self.app.call_later(self._show_progress, file_name, f"{100 * share:.0f} %")

    def _show_progress(self, file_name: str, progress: str) -> None:
        if self._writing and self.is_attached:
            self._show_words(
                "doing",
                f"writing {escaped(file_name)} {progress}\nthis continues if {key('close')} closes the page",
            )

    def _finish_export(self, then: Callable[[], None] | None, result: Future[str]) -> None:
        """Close the page, and show a notification about the written file.

        An error is shown on the page, or as a notification if the page is closed.
        """
        self._writing = False
        opened = self in self.app.screen_stack
        if opened:
            self._show_words("doing", "")
        try:
            done = result.result()
        except BadInput as error:
            self._show_failure(error, opened)
        except Exception as error:  # a failed file must not end the app, because the run would be lost
            self._show_failure(BadInput("", f"{type(error).__name__}: {error}"), opened)
        else:
            self.dismiss()
            self.app.notify(done)
            if then is not None:
                then()

    def _show_failure(self, error: BadInput, opened: bool) -> None:
        if opened:
            self._show_error(error)
        else:
            self.app.notify(str(error).strip(), severity="error")

    def _show_error(self, error: BadInput) -> None:
        self._show_words("wrong", f"▲ {str(error).strip()}")

    def _show_words(self, place: str, words: str) -> None:
        below = self.query_one(f"#{place}", Static)
        below.display = bool(words)
        below.update(words)


def _with_note(sentence: str, path: Path, shown: Shown) -> str:
    return "\n".join(filter(None, (sentence, exporting.missing_letters(path, shown))))


def _file_kinds() -> Iterator[Static]:
    table, missing = Table.grid(padding=(0, 2)), {}
    for suffix, kind in KINDS.items():
        style = "dim" if (remedy := kind.remedy) else ""
        table.add_row(Text(suffix, style), Text(kind.about, style))
        if remedy:
            missing[kind.library] = remedy
    yield Static(table)
    for library, remedy in missing.items():
        yield Static(f"\nDimmed file types need {library}: {remedy}", markup=False, classes="missing")


def here() -> str:
    try:
        return escaped(str(Path.cwd()))
    except OSError:
        return "a folder that no longer exists"
