"""Slow files block neither the screen nor leave half-written files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pytest
from textual.app import App
from textual.widgets import Input, Static

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.screens.export import Export
from hadamard_tui.sharing import exporting
from hadamard_tui.sharing.exporting import Shown
from hadamard_tui.sharing.file_writer import FileWriter, place_file
from hadamard_tui.state.state_file import KeptView

from .conftest import SMALL, until
from .test_runs import screen_text

MOST = 20.0
"""Seconds after which a blocked exporter continues, so that no test waits for ever."""


@dataclass
class Slow:
    """Exporter that blocks until it is released, and then makes its file or refuses."""

    error: str | Exception = ""
    makes: int = 0
    begun: Event = field(default_factory=Event)
    let_go: Event = field(default_factory=Event)

    def __call__(self, shown: Shown, progress: object = None) -> bytes:
        self.makes += 1
        self.begun.set()
        self.let_go.wait(MOST)
        if isinstance(self.error, Exception):
            raise self.error
        if self.error:
            raise BadInput("", self.error)
        return b"all of it"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Slow]:
    exporter = Slow()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(exporting.KINDS, ".csv", exporting.FileKind("slow", exporter))
    yield exporter
    exporter.let_go.set()


class Pages(App[None]):
    """Nothing but pages on an empty screen."""


@pytest.fixture
def page() -> Export:
    experiment = presets.load("hadamard-128")
    return Export(lambda: Shown(experiment, experiment, None, (), None), "x.csv", FileWriter())


def told(app: App[None]) -> list[tuple[str, str]]:
    """Texts and severities of notifications."""
    return [(note.severity, note.message) for note in app._notifications]


@pytest.mark.slow
async def test_keys_work_while_a_file_is_made_and_enter_starts_no_second_file(
    page: Export, slow: Slow, tmp_path: Path
) -> None:
    app = Pages()
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(Input))
        await pilot.press("enter")
        await until(pilot, slow.begun.is_set)
        await pilot.press("end", "z", "enter", "enter")
        assert page.query_one(Input).value == "x.csvz"
        assert "writing x.csv …" in str(page.query_one("#doing", Static).render())
        assert not slow.let_go.is_set()
        assert not list(tmp_path.iterdir())
        slow.let_go.set()
        await until(pilot, lambda: told(app))
        assert app.screen is not page
        assert told(app) == [("information", f"Wrote {tmp_path / 'x.csv'}")]
    assert (slow.makes, (tmp_path / "x.csv").read_bytes()) == (1, b"all of it")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("no module of that name"), "cannot be loaded: no module of that name"),
        (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0"),
    ],
)
async def test_any_error_of_making_a_file_is_shown_and_leaves_the_app_open(
    error: Exception, words: str, page: Export, slow: Slow
) -> None:
    app, slow.error = Pages(), error
    slow.let_go.set()
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(Input))
        await pilot.press("enter")
        await until(pilot, lambda: page.query_one("#wrong", Static).display)
        assert words in str(page.query_one("#wrong", Static).render())
        await pilot.press("escape")
        assert app.screen is not page


def look_of(app: App[None], word: str) -> tuple[object, bool]:
    """Colour of the first occurrence of a word on the screen, and whether it is dim."""
    strips = app.screen._compositor.render_strips()
    segment = next(part for strip in strips for part in strip if part.text.strip() == word)
    assert segment.style is not None
    return segment.style.color, bool(segment.style.dim)


async def test_an_unavailable_file_format_is_dimmed_beside_its_install_command(
    page: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    app = Pages()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(".missing"))
        [hint] = page.query(".missing").results(Static)
        assert str(hint.render()).strip() == (
            f"Dimmed file types need resvg_py: {sys.executable} -m pip install resvg_py"
        )
        looks = {word: look_of(app, word) for word in (".svg", ".json", ".png", ".gif")}
        assert looks[".svg"] == looks[".json"] != looks[".png"] == looks[".gif"]
        await pilot.press("home", "ctrl+k", *"x.png", "enter")
        await until(pilot, lambda: page.query_one("#wrong", Static).display)
        assert "resvg_py is not installed" in str(page.query_one("#wrong", Static).render())


@pytest.mark.parametrize("error", ["", "no such thing"])
async def test_a_file_is_finished_and_reported_after_its_page_closes(
    error: str, page: Export, slow: Slow, tmp_path: Path
) -> None:
    app, slow.error = Pages(), error
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(Input))
        await pilot.press("enter")
        await until(pilot, slow.begun.is_set)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not page)
        assert not told(app)
        slow.let_go.set()
        await until(pilot, lambda: told(app))
        if error:
            assert told(app) == [("error", "x.csv: no such thing")]
        else:
            assert told(app) == [("information", f"Wrote {tmp_path / 'x.csv'}")]
    assert [path.name for path in tmp_path.iterdir()] == ([] if error else ["x.csv"])


async def test_the_export_page_shows_a_file_error_and_accepts_another_attempt(
    page: Export, slow: Slow, tmp_path: Path
) -> None:
    app, slow.error = Pages(), "no such thing"
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(Input))
        slow.let_go.set()
        await pilot.press("enter")
        await until(pilot, lambda: page.query_one("#wrong").display)
        assert "no such thing" in str(page.query_one("#wrong", Static).render())
        assert not page.query_one("#doing").display
        slow.error = ""
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not page)
    assert (tmp_path / "x.csv").exists()


class Browser(Pages):
    """The same for a viewer in a browser."""

    is_web = True  # type: ignore[assignment]
    delivered = ""

    def deliver_binary(self, *_: object, save_filename: str, **__: object) -> None:  # type: ignore[override]
        self.delivered = save_filename


@pytest.mark.parametrize("pages", [Pages, Browser])
async def test_an_invalid_name_is_refused_at_once_while_another_file_is_made(
    pages: type[Pages], page: Export, slow: Slow, tmp_path: Path
) -> None:
    app = pages()
    before = page._files.write("before.csv", lambda: slow(page._shown()), lambda _: None)
    async with app.run_test() as pilot:
        app.push_screen(page)
        await until(pilot, lambda: page.query(Input))
        await pilot.press("end", "z", "enter")
        await until(pilot, lambda: page.query_one("#wrong").display)
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: page.query_one("#doing").display)
        assert not before.done()
        slow.let_go.set()
        await until(pilot, lambda: (tmp_path / "x.csv").exists() or getattr(app, "delivered", "") == "x.csv")


@pytest.mark.slow
async def test_a_failed_screenshot_leaves_no_partial_file(
    editable: EditableExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    app = HadamardApp(editable, view=KeptView(setup_hidden=True))
    async with app.run_test(size=SMALL) as pilot:
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", full)
            await pilot.press("P")
            await until(pilot, lambda: told(app))
        [(severity, message)] = told(app)
        assert severity == "error"
        assert "No space left on device" in message
        assert not list(tmp_path.iterdir())
        await pilot.press("P")
        await until(pilot, lambda: len(told(app)) == 2)
    [picture] = tmp_path.iterdir()
    assert picture.read_text().rstrip().endswith("</svg>")


@pytest.mark.slow
async def test_a_screenshot_contains_no_notifications(
    editable: EditableExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = HadamardApp(editable, view=KeptView(setup_hidden=True))
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        for count in (1, 2):
            await pilot.press("P")
            await until(pilot, lambda count=count: len(told(app)) == count)
            await until(pilot, lambda: "Wrote" in screen_text(app))
    pictures = [picture.read_text() for picture in tmp_path.iterdir()]
    assert len(pictures) == 2
    for picture in pictures:
        assert "Wrote" not in picture
        assert "ready" in picture


def test_quitting_waits_for_a_file_in_preparation() -> None:
    writer, may_be_made = FileWriter(), Event()

    def make() -> bytes:
        may_be_made.wait(MOST)
        return b"all of it"

    result = writer.write("x.csv", make, lambda content: content)
    complaints: list[str] = []
    end = Thread(target=lambda: complaints.extend(writer.end(MOST)))
    end.start()
    may_be_made.set()
    end.join()
    assert (result.result(0), complaints) == (b"all of it", [])


def test_quitting_waits_without_limit_for_a_file_that_is_being_placed() -> None:
    writer, placing, let_go = FileWriter(), Event(), Event()

    def place(content: bytes) -> bytes:
        placing.set()
        let_go.wait(MOST)
        return content

    result = writer.write("x.csv", bytes, place)
    assert placing.wait(MOST)
    complaints: list[str] = []
    end = Thread(target=lambda: complaints.extend(writer.end(0.0)))
    end.start()
    end.join(0.1)
    assert end.is_alive()
    let_go.set()
    end.join()
    assert (result.done(), complaints) == (True, [])


def test_files_made_after_quitting_are_not_written() -> None:
    writer, begun, let_go = FileWriter(), Event(), Event()
    placed: list[object] = []

    def make() -> bytes:
        begun.set()
        let_go.wait(MOST)
        return b""

    result = writer.write("x.csv", make, placed.append)
    assert begun.wait(MOST)
    assert writer.end(0.0) == ["x.csv was not written: the program ended before the file was made"]
    let_go.set()
    assert result.exception(MOST) is not None
    assert not placed


def refused() -> bytes:
    raise BadInput("x.csv", "no space left")


def failed() -> bytes:
    raise MemoryError("too large")


@pytest.mark.parametrize(("make", "why"), [(refused, "no space left"), (failed, "MemoryError: too large")])
def test_quitting_reports_why_a_file_was_not_written(
    make: Callable[[], bytes], why: str, tmp_path: Path
) -> None:
    writer, begun = FileWriter(), Event()
    writer.write("first", lambda: begun.wait(MOST), lambda _: None)
    writer.write("x.csv", make, lambda content: place_file(tmp_path / "x.csv", content))
    complaints: list[str] = []
    end = Thread(target=lambda: complaints.extend(writer.end(MOST)))
    end.start()
    end.join(0.1)
    begun.set()
    end.join()
    assert complaints == [f"x.csv was not written: {why}"]


PROGRAM = """
import sys
from pathlib import Path
from threading import Event
from hadamard_tui import app
from hadamard_tui.sharing.file_writer import place_file
from hadamard_tui.state.launch import begin

def run(self):
    begun = Event()

    def make():
        begun.set()
        Event().wait()

    for name in ("x.csv", "y.csv"):
        self.files.write(name, make, lambda content: place_file(Path("x.csv"), content))
    begun.wait()

app.HadamardApp.run = run
app.PATIENCE_FOR_FILES = 0.1
sys.exit(app.open_app(begin(None, "hadamard-128", False, True, None, False)))
"""


@pytest.mark.slow
def test_quitting_abandons_a_slow_file_with_a_message(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    errors = "".join(
        f"{file_name} was not written: the program ended before the file was made\n"
        for file_name in ("x.csv", "y.csv")
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", errors)
    assert not list(tmp_path.iterdir())
