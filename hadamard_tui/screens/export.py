"""The page that writes files: one name, whose end says what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.table import Table
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import escaped
from hadamard_tui.screens.modal import Modal
from hadamard_tui.sharing import exporting
from hadamard_tui.sharing.exporting import KINDS, Shown
from hadamard_tui.widgets.entry import Entry


class Export(Modal[None]):
    """Asks for a file's name and writes it; says below the name what is wrong with it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Close")]
    DEFAULT_CSS = """
    Export { align: center middle; }
    Export > Vertical {
        width: 76; max-width: 96%; height: auto; max-height: 96%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    Export #wrong { color: $text-error; height: auto; display: none; }
    """

    def __init__(self, shown: Callable[[], Shown], name: str) -> None:
        """`shown` is asked when the file is written: a run goes on meanwhile."""
        super().__init__()
        self._shown, self._name = shown, name

    def compose(self) -> ComposeResult:
        kinds = Table.grid(padding=(0, 2))
        for suffix, (what, _) in KINDS.items():
            kinds.add_row(suffix, what)
        with Vertical() as page:
            page.border_title = "write a file"
            page.border_subtitle = "enter writes · esc closes"
            yield Entry(self._name, placeholder="name of the file", compact=True)
            yield Static("", id="wrong", markup=False)
            place = f"in {here()}, unless the name says otherwise"
            if self.app.is_web:
                place = "for your browser to save"
            yield Static(f"\n{place}; its end says what is written:\n", markup=False)
            yield Static(kinds)

    @on(Input.Submitted)
    def _write(self, event: Input.Submitted) -> None:
        write = self._download if self.app.is_web else self._save
        try:
            done = write(event.value.strip())
        except BadInput as error:
            wrong = self.query_one("#wrong", Static)
            wrong.display = True
            wrong.update(f"▲ {str(error).strip()}")
        else:
            self.dismiss()
            self.notify(done)

    def _save(self, name: str) -> str:
        """Write a file on this machine; what was done. Raises: BadInput."""
        with files.faults(name, "cannot be written"):
            path = Path(name).expanduser()
            wrote = f"{'Replaced' if path.exists() else 'Wrote'} {escaped(str(path.absolute()))}"
        exporting.export(path, self._shown(), "")
        return wrote

    def _download(self, name: str) -> str:
        """Hand a file to the browser: viewers write nothing on this machine. Raises: BadInput."""
        self.app.deliver_binary(exporting.download(name, self._shown()), save_filename=name)
        return f"The browser downloads {name}"


def here() -> str:
    """The working folder, in words if it is gone."""
    try:
        return escaped(str(Path.cwd()))
    except OSError:
        return "a folder that is gone"
