"""The Textual app. Its main screen is the laboratory.

An action imports its page, or the code that writes files, only when it runs: this keeps the start fast.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from datetime import datetime
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import msgspec
from rich.console import RenderableType
from textual import on
from textual.actions import ActionParseResult
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.widget import Widget

from engine.core.parts import BadInput
from hadamard_tui import keyboard
from hadamard_tui.colours import palette
from hadamard_tui.colours.themes import COLOUR_THEMES, after
from hadamard_tui.headless import exit_codes
from hadamard_tui.keyboard import ACTIONS
from hadamard_tui.panels import ABOUT, DIGITS
from hadamard_tui.screens.laboratory import Laboratory
from hadamard_tui.serving import NOTICE, served
from hadamard_tui.sharing.file_writer import FileWriter, place_file
from hadamard_tui.state import state_file
from hadamard_tui.state.config import Config
from hadamard_tui.state.state_file import KeptView, Memory
from hadamard_tui.terminal import clipboard
from hadamard_tui.terminal.ascii_text import AsciiFilter
from hadamard_tui.terminal.signals import exit_code, heeded
from hadamard_tui.terminal.terminal_io import FrameRate, TimedDriver, most_frames
from hadamard_tui.terminal.textual_internals import FailingApp, driver_of, lay_out, notifications_of
from hadamard_tui.terminal.timing import SteadyNotification
from hadamard_tui.widgets.controls import PresetChoice
from hadamard_tui.widgets.item_lists import KINDS
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import Stage

if TYPE_CHECKING:
    from engine.runtime.spreading import Begin
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.screens.jump import Place
    from hadamard_tui.sharing.exporting import Shown
    from hadamard_tui.state.launch import Launch
    from hadamard_tui.tours import Tour

SECONDS_BEFORE_NEWS = 1.0
"""Seconds from the start until the app reports on runs that have continued without a terminal."""

PATIENCE = 0.4
"""Maximum seconds that the app, when it ends, waits for the engine to finish the last chunk of work."""

PATIENCE_FOR_FILES = 5.0
"""Maximum seconds that the app, when it ends, waits for unfinished files; less after a signal."""


class HadamardApp(FailingApp):
    """The app, whose main screen is the laboratory."""

    TITLE = "hadamard-tui"
    CSS_PATH = "hadamard.tcss"
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True
    # Selected text could only be copied by ctrl+c, which quits. Also, a click on a removed widget would fail.
    ALLOW_SELECT: ClassVar[bool] = False
    # These keys have priority. Otherwise a field would use ctrl+c to copy, and ctrl+c would not work on a
    # page on top of the main screen. Remote controls of presenters send page down and page up, which must
    # work whatever widget has the focus.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("pagedown", "stops_on(1)", show=False, priority=True),
        Binding("pageup", "stops_on(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        editable: EditableExperiment,
        autorun: bool = False,
        config: Config | None = None,
        view: KeptView | None = None,
        notes: Sequence[str] = (),
        tour: Tour | None = None,
        first: bool = False,
        watched: Path | None = None,
        devices: Sequence[Begin] = (),
    ) -> None:
        super().__init__(driver_class=None if served() else TimedDriver)
        self.config = config or Config()
        self._notes, self._first, self._watched = notes, first, watched
        self._own_filters = [AsciiFilter()] if self.config.ascii else []
        self._copied = ""
        self._loop_of_app: asyncio.AbstractEventLoop | None = None
        self._is_ending = False
        for colour_theme in COLOUR_THEMES.values():
            self.register_theme(colour_theme.theme)
        self.set_keymap(self.config.keys)
        keyboard.use(self.config.keys)
        clipboard.use(self.config.clipboard)
        view = view or KeptView()
        self.wear(view.theme or self.config.theme)
        rate = FrameRate(most_frames(self.config.fps, self.config.fps_over_ssh))
        self.laboratory = Laboratory(editable, autorun, view, rate, self.config.ascii)
        if devices:
            from multiprocessing import resource_tracker

            from engine.runtime.spreading import without_output

            # The first process that multiprocessing starts inherits stderr. Later, Textual replaces stderr by
            # an object without a file descriptor.
            resource_tracker.ensure_running()
            self.laboratory.devices = [partial(without_output, begin) for begin in devices]
        self._guide = None
        self._path: str | None = None
        """Name of the path that the user has chosen in the app, until the user leaves it."""
        self._left_paths: dict[str, Tour] = {}
        """Paths that the user has left before their end, each with the stop to go on from, by name."""
        if tour is not None:
            from hadamard_tui.screens.guide import Guide

            self._guide = Guide(tour, self.laboratory)
        self.files = FileWriter()
        self.memory: Memory | None = None
        """State for the next start of the app; None until `keep` collects the state."""
        self.failure: Exception | None = None
        """Exception that ended the app; None after a regular end."""

    def get_default_screen(self) -> Screen[None]:
        return self.laboratory

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._own_filters]

    def on_load(self) -> None:
        self._loop_of_app = asyncio.get_running_loop()

    async def on_mount(self) -> None:
        if self._guide is not None:
            self.call_after_refresh(self._guide.start)
        elif self._watched is not None:
            self.call_after_refresh(self._follow_run, self._watched)
        elif self._first:
            from hadamard_tui.screens.help import Welcome

            self.push_screen(Welcome(), self._open_welcome_choice)
        if served():
            self.notify(NOTICE, timeout=10)
        else:
            self.set_timer(SECONDS_BEFORE_NEWS, self._notify_news)
        for note in self._notes:
            self.notify(note, severity="warning", timeout=15)

    async def _notify_news(self) -> None:
        from hadamard_tui.state import run_store

        if run_store.folder().is_dir():  # only then, because the reading thread stays alive
            for line in await asyncio.to_thread(run_store.news):
                self.notify(line, timeout=15)

    async def _follow_run(self, path: Path) -> None:
        try:
            await self.laboratory.follow(path)
        except BadInput as error:
            self.notify(str(error), severity="error", timeout=15)

    async def _open_welcome_choice(self, preset: str | None) -> None:
        from hadamard_tui.browsing.preset_list import NEW, OWN_TABLE
        from hadamard_tui.tours import talks

        if preset in (NEW, OWN_TABLE) or preset in talks():
            await self.choose_preset(preset)
        elif preset is not None:
            from hadamard_tui.editing.editable_experiment import EditableExperiment

            self.laboratory.open_story()
            await self.laboratory.present(EditableExperiment.of(preset))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification, unless a notification with the same message is already visible.

        Messages are plain text, never markup, because names in them may contain brackets.
        """
        if any(shown.message == message for shown in notifications_of(self)):
            return
        for screen in self.screen_stack:  # Textual leaves an empty frame behind each removed message
            for frame in screen.query("ToastRack > *"):
                if not frame.children:
                    frame.remove()
        shown_for = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(SteadyNotification(message, title, severity, shown_for)))

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run the action of a key, unless the widget of the key is gone or another page covers it.

        If several keys come fast and the first opens a page, the later keys do nothing.
        """
        if isinstance(default_namespace, Widget) and self.screen not in default_namespace.ancestors_with_self:
            return True
        done = await super().run_action(action, default_namespace, namespaces)
        if done and isinstance(self.screen, Laboratory):
            self.screen.draw_at_once()
        return done

    def action_jump(self) -> None:
        from hadamard_tui.screens.jump import Jump

        page = self.screen

        def focus(place: Place | None) -> None:
            if isinstance(place, Widget):
                page.set_focus(place)

        if (jump := Jump(page)).spots:
            self.push_screen(jump, focus)

    def action_command_palette(self) -> None:
        from hadamard_tui.screens.commands import Commands

        if not any(isinstance(page, Commands) for page in self.screen_stack):
            self.push_screen(Commands())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from hadamard_tui.tours import paths

        for action in ACTIONS:
            if self.check_action(action.name.removeprefix("app."), ()):
                yield SystemCommand(action.label, action.help, self._palette_command(action.name))
        for number, (name, about) in enumerate(ABOUT.items(), start=1):
            if number > DIGITS:  # panels with a digit key are already in ACTIONS
                yield SystemCommand(
                    f"Tab: {name}", f"Open {name}: {about}", self._palette_command(f"panel({number})")
                )
        for part, kind in KINDS.items():
            words = f"Add {kind.with_article} to the set-up. {kind.sentence}."
            yield SystemCommand(f"Add {kind.singular}", words, partial(self.laboratory.add_item, part))
        if self._path is not None:
            words = "Keep the preset of this stop, and leave the path. The path can go on from here later."
            yield SystemCommand(keyboard.LEAVE_PATH, words, self._leave_path_early)
        for name, path in paths().items():
            words = f"{len(path.stops)} presets. For each preset: predict, run, read the explanation."
            yield SystemCommand(f"Path: {path.title}", words, partial(self.choose_preset, name))

    def _palette_command(self, action: str):  # type: ignore[no-untyped-def]
        async def act() -> None:
            await self.laboratory.run_action(action)

        return act

    @on(PresetChoice.Browsed)
    def _presets_browsed(self, event: PresetChoice.Browsed) -> None:
        """Open the list of presets, and filter it by the letter that the user typed.

        If fast typing has already opened the list, add the letter to its filter.
        """
        from hadamard_tui.screens.browser import Browser

        if isinstance(self.screen, Browser):
            self.screen.type(event.typed)
        elif self.screen is self.laboratory:
            self.action_presets(event.typed)

    def action_presets(self, typed: str = "") -> None:
        from hadamard_tui.screens.browser import Browser

        opened = self.laboratory.editable.preset
        self.push_screen(Browser(opened, typed, self.config.ascii), self.choose_preset)

    def action_new_experiment(self) -> None:
        from hadamard_tui.screens.browser import NewExperiment

        self.push_screen(NewExperiment(), self._begin_new)

    def action_own_table(self) -> None:
        """Open the page that makes an experiment from the user's table, such as a CSV file.

        If the current experiment already reads a file, the page starts with this file.
        """
        from hadamard_tui.screens.own_table import OwnTable

        matrix = self.laboratory.editable.document["problem"]["matrix"]
        is_file = isinstance(matrix, dict) and matrix.get("kind") == "file"
        self.push_screen(OwnTable(str(matrix["path"]) if is_file else ""), self._run_new)

    async def _run_new(self, document: Raw | None) -> None:
        await self._begin_new(document, run=True)

    async def _begin_new(self, document: Raw | None, run: bool = False) -> None:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        if document is None:
            return
        await self._leave_path()
        await self.laboratory.present(EditableExperiment(document, None), run)

    async def choose_preset(self, preset_name: str | None) -> None:
        from hadamard_tui.browsing.preset_list import NEW, OWN_TABLE
        from hadamard_tui.tours import talks

        if preset_name is None:
            return
        if preset_name == OWN_TABLE:
            self.action_own_table()
            return
        if preset_name == NEW:
            self.action_new_experiment()
            return
        await self._leave_path()
        if preset_name in talks():
            await self.walk(preset_name)
        else:
            self.laboratory.open_story()
            await self.laboratory.query_one(SetupPane).choose(preset_name)

    async def walk(self, path: str) -> None:
        """Start a guided path: a sequence of stops, each of which shows a preset and explains it."""
        from hadamard_tui.screens.guide import Guide
        from hadamard_tui.tours import Tour, stops_to

        if self._guide is not None:
            await self._guide.leave()
        tour = self._left_paths.pop(path, None) or Tour(stops_to([path]))
        self._guide, self._path = Guide(tour, self.laboratory, has_clock=False), path
        self.laboratory.leave_path = self._leave_path_early
        await self._guide.start()
        self.laboratory.refresh_bindings()

    async def _leave_path(self) -> None:
        """Leave the guided path that the user chose in the app. Do nothing if there is none.

        A path or talk from the command line goes on. If the user chooses a left path again, it starts at the
        stop at which it was left.
        """
        if self._guide is None or self._path is None:
            return
        await self._guide.leave()
        self._left_paths[self._path] = self._guide.tour
        self._guide = self._path = self.laboratory.leave_path = None
        self.laboratory.refresh_bindings()

    def _show_what_stop_hid(self) -> None:
        """After a path, show the title and the story of a preset that has not run yet."""
        if self.laboratory.session is None:
            self.laboratory.show_set_up()

    async def _leave_path_early(self) -> None:
        """Leave the path before its end, and notify the user how to go on from the current stop later."""
        if self._guide is None or self._path is None:
            return
        tour, path = self._guide.tour, self._path
        await self._leave_path()
        self._show_what_stop_hid()
        again = f"Choose the path {path} again ({keyboard.key('presets')}) to go on from this stop."
        self.notify(f"You left the path at stop {tour.place + 1} of {len(tour.stops)}. {again}")

    def show_part(self, family: str, kind: str) -> None:
        from hadamard_tui.screens.help import PartPage

        self.push_screen(PartPage(family, kind), self.choose_preset)

    def action_theory(self, address: str = "") -> None:
        """Open a section of the theory pages, or the list of all sections if no section fits.

        Args:
            address: address of the section. If it is empty, open the first section that the experiment cites.
                If the experiment cites no section, open the section that shows a run of the preset.
        """
        from engine.spec import theory_pages
        from hadamard_tui.screens.theory_page import cited_sections, page_of

        editable = self.laboratory.editable
        source = f"theory/{address}" if address else editable.experiment.source
        self.push_screen(page_of(cited_sections(source) or theory_pages.with_run(editable.preset or "")))

    def wear(self, look: str) -> None:
        colours = COLOUR_THEMES[look]  # type: ignore[index]
        palette.use(colours.palette)
        if self.is_running or not colours.theme.dark:  # Textual starts with the classes of a dark theme
            self.theme = look
        else:  # the styles are not parsed yet; setting `theme` would parse and apply them twice
            self.set_reactive(App.theme, look)
            self.stylesheet.set_variables(self.get_css_variables())

    def action_theme(self) -> None:
        self.wear(after(self.theme))
        self.laboratory.redraw()

    async def action_add_learner(self) -> None:
        await self.laboratory.query_one(SetupPane).add()

    async def action_copy_learner(self) -> None:
        await self.laboratory.query_one(SetupPane).copy()

    async def action_remove_learner(self) -> None:
        await self.laboratory.query_one(SetupPane).remove_learner()

    async def action_switch_learner(self) -> None:
        await self.laboratory.query_one(SetupPane).switch()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stops_on":
            is_guessing = self.laboratory.guesses is not None  # then, these keys move the mark
            return self._guide is not None and self.screen is self.laboratory and not is_guessing
        if action == "break_stop":
            return self._guide is None or self._guide.tour.stop.breaks is not None
        of_tours = ("next_stop", "previous_stop", "back_to_stop")
        return self._guide is not None if action in of_tours else True

    async def action_stops_on(self, by: int) -> None:
        if self._guide is None:
            return
        path = self._path
        if not await self._guide.move(by) and by > 0 and path is not None:
            await self._leave_path()
            self._show_what_stop_hid()
            del self._left_paths[path]  # the path has ended, so it starts again at its first stop
        self.laboratory.refresh_bindings()  # for the key that breaks a result, which some stops lack

    async def action_next_stop(self) -> None:
        await self.action_stops_on(1)

    async def action_back_to_stop(self) -> None:
        if self._guide is not None:
            await self._guide.present()

    async def action_break_stop(self) -> None:
        """Run the experiment with a change that breaks its result.

        In a tour, the current stop names the change. Otherwise, the change comes from a built-in talk about
        the preset. If no talk has one, notify the user.
        """
        if self._guide is not None:
            await self._guide.break_stop()
            return
        from hadamard_tui.editing.editable_experiment import EditableExperiment
        from hadamard_tui.tours import Stop, break_at, broken, change_in_words

        preset = self.laboratory.editable.preset
        change = break_at(preset) if preset is not None else None
        if preset is None or change is None:
            self.notify("No talk shows a change that breaks the result of this set-up.")
            return
        await self.laboratory.present(EditableExperiment(broken(Stop(preset), change), preset))
        self.notify(f"{change_in_words(preset, change)}. {change.text} {keyboard.key('undo')} undoes this.")

    def action_blank(self) -> None:
        from hadamard_tui.screens.modal import Blank

        self.push_screen(Blank())

    async def action_previous_stop(self) -> None:
        await self.action_stops_on(-1)

    def action_export(self) -> None:
        self._open_export(".svg")

    def action_save_preset(self) -> None:
        if not self.laboratory.refused():
            self._open_export(".toml")

    def _open_export(self, suffix: str) -> None:
        from hadamard_tui.screens.export import Export

        self.push_screen(
            Export(self._shown_state, self._unused_file_name(suffix), self.files, self._record_saved_preset)
        )

    def _record_saved_preset(self, path: Path, document: Experiment | Raw) -> None:
        try:
            state_file.add_own_preset(path)
        except BadInput as error:
            self.notify(str(error), severity="warning")
        self.laboratory.query_one(SetupPane).saved(str(path.absolute()), msgspec.to_builtins(document))

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Save the screen as an SVG file. The picture shows no notifications.

        By default, the file is in the working folder. In a browser, the browser downloads the file.
        """
        racks = [rack for rack in self.screen.query("ToastRack") if rack.display]
        for rack in racks:
            rack.display = False
        if racks:
            lay_out(self.screen)
        try:
            picture = self._take_screenshot()
        finally:
            for rack in racks:
                rack.display = True
        if picture is None:
            return
        file = Path(path or "", filename or f"{self.title}_{datetime.now():%Y-%m-%dT%H_%M_%S_%f}.svg")
        self._notify_when_done(self.files.write(str(file), lambda: picture, partial(place_file, file)))

    def _take_screenshot(self) -> bytes | None:
        if not self.is_web:
            return self.export_screenshot().encode()
        self.deliver_screenshot()
        self.notify("The browser downloads the picture")
        return None

    def _notify_when_done(self, result: Future[str]) -> None:
        def report(result: Future[str]) -> None:
            try:
                self.notify(result.result())
            except BadInput as error:
                self.notify(str(error).strip(), severity="error")

        result.add_done_callback(partial(self.call_later, report))

    def action_copy_command(self) -> None:
        """Copy the command line that reproduces this screen.

        In a terminal, also write it to a file, because some terminals cannot copy.
        """
        from hadamard_tui.sharing.command_line import command_line, keep

        if self.laboratory.refused():
            return
        command = command_line(
            self.laboratory.editable.document, self.laboratory.editable.preset, *self._command_options()
        )
        self.copy_to_clipboard(command)
        if self.is_web:
            self.notify(f"{command}\n\nCopied, if the browser allows it")
            return
        copied = "Copied through the terminal." if clipboard.copies() else "Copy it by hand."
        done = f"{command}\n\n{copied} The command is also in the file"
        self._notify_when_done(
            self.files.write("the command line", lambda: command, lambda it: f"{done} {keep(it)}")
        )

    @property
    def clipboard(self) -> str:
        return self._copied

    def copy_to_clipboard(self, text: str) -> None:
        self._copied = text
        if self.is_web:
            super().copy_to_clipboard(text)
        elif (driver := driver_of(self)) is not None and (words := clipboard.sequence(text)):
            driver.write(words)

    def _command_options(self) -> list[str]:
        from hadamard_tui.sharing.command_line import views

        look = [] if self.theme == Config().theme else ["--theme", self.theme]
        view = msgspec.structs.replace(self.laboratory.view(), chart=self.laboratory.chart_options)
        return [
            *look,
            *(part for change in views(view) for part in ("--view", change)),
            *(["--ascii"] if self.config.ascii else []),
            *(["--run"] if self.laboratory.session else []),
        ]

    def _shown_state(self) -> Shown:
        from engine.spec.experiment import drawn
        from hadamard_tui.sharing.exporting import Pictures, Shown, with_look

        editable, context = self.laboratory.editable, self.laboratory.context
        if context is None:
            return Shown(editable.document, editable.experiment, None)
        session = self.laboratory.session
        assert session is not None, "there is nothing to see without a run"
        pictures = None
        if (results := session.point.results) is not None and drawn(context.experiment):
            pictures = Pictures(results.snapshot())
        shown = Shown(
            editable.document,
            context.experiment,
            context.trace.snapshot(),
            document=session.document,
            pictures=pictures,
            outcomes=context.predictions.outcomes or (),
            unjudged=session.sweep.unjudged,
            preset=session.preset,
        )
        look, refused = self.laboratory.picture_of(session)
        look = msgspec.structs.replace(look, stored=())  # files contain computed results only
        return shown if refused else with_look(shown, look, context.curve.name)

    def _unused_file_name(self, suffix: str) -> str:
        preset = self.laboratory.editable.preset
        stem = "experiment" if preset is None else Path(preset).stem[:50]
        if (numbered := re.fullmatch(r"(.+)-\d\d?", stem)) and os.path.exists(f"{numbered[1]}{suffix}"):
            stem = numbered[1]
        names = chain([f"{stem}{suffix}"], (f"{stem}-{number}{suffix}" for number in count(2)))
        return next(file_name for file_name in names if not os.path.exists(file_name))

    async def action_quit(self) -> None:
        for setup in self.laboratory.query(SetupPane):
            await setup.fields_mounted()
        self.exit()

    def exit(self, *arguments: Any, **options: Any) -> None:
        self.keep()
        self._is_ending = True
        super().exit(*arguments, **options)

    def keep(self) -> None:
        """Collect the experiment and the view, which the app restores at its next start.

        If the screen is incomplete, do nothing.
        """
        if not any(stage.is_mounted for stage in self.laboratory.query(Stage)):
            return
        editable = self.laboratory.editable
        view = self.laboratory.view()
        if self.theme != self.config.theme:
            view.theme = self.theme  # type: ignore[assignment]
        self.memory = Memory(view, editable.document, editable.preset, editable.off, editable.claims_left_out)

    def write(self) -> str:
        """Save the collected experiment and view. Return an error message, or an empty text.

        In a browser and in a tour, nothing is saved.
        """
        if self.memory is None or served() or self._guide is not None:
            return ""  # viewers in a browser leave no state, and tours are not resumed
        return state_file.write(self.memory)

    def fails_by(self, error: Exception) -> bool:
        """Return whether an unhandled error ends the app. If so, collect the state for the next start.

        An error while the app is already ending is ignored.
        """
        if self._is_ending:
            return False
        if self.failure is None:
            self.failure = error
            with suppress(Exception):  # `keep` may fail, too, if the error is in the screen
                self.keep()
        return True

    def panic(self, *_renderables: RenderableType) -> None:
        super().panic()

    def end(self, code: int) -> None:
        """Ask the app to end with an exit code. A signal handler may call this at any time.

        If the main loop of the app has not started, end the process at once. If the loop has closed, do
        nothing: the process then saves its state and ends by itself.
        """
        if self._loop_of_app is None:
            self.end_at_once(code)
        if not self._loop_of_app.is_closed():
            self._loop_of_app.call_soon_threadsafe(self.call_later, partial(self.exit, return_code=code))

    def end_at_once(self, code: int) -> NoReturn:
        """Save the state, restore the terminal, and exit the process without waiting for the app."""
        with suppress(Exception):
            self.keep()
        with suppress(Exception):
            self.write()
        if isinstance(driver := driver_of(self), TimedDriver):
            driver.give_back()
        os._exit(code)


def open_app(start: Launch) -> int:
    """Run the app, and return its exit code.

    After the user quits, this returns within about a second. It waits longer, at most PATIENCE_FOR_FILES
    seconds, if files are still being written.
    """
    from hadamard_tui.editing.editable_experiment import EditableExperiment

    app = HadamardApp(
        EditableExperiment(start.document, start.preset, start.off, start.left_out),
        start.autorun,
        start.config,
        start.view,
        start.notes,
        start.tour,
        start.first,
        start.watched,
        start.devices,
    )
    unwritten: list[str] = []
    try:
        with nullcontext() if served() else heeded(app.end, app.end_at_once):
            app.run()
            complaint = app.write()
            unwritten = app.files.end(0.0 if served() else PATIENCE_FOR_FILES)
    except Exception as error:
        app.failure = app.failure or error
        complaint = app.write()
    if app.return_code == exit_code(signal.SIGHUP) and app.config.finish_after_hangup:
        app.laboratory.hand_over()
    if complaint:
        print(complaint, file=sys.stderr)
    for line in unwritten:
        print(line, file=sys.stderr)
    code = app.return_code or 0
    if app.failure is not None:
        code = exit_codes.broken(app.failure)
    if not app.laboratory.end(PATIENCE) or _is_engine_working() or unwritten:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _is_engine_working() -> bool:
    """Return whether a thread that computes a run is still alive.

    If such a thread is inside torch when Python exits, torch aborts the process.
    """
    return any(thread.daemon for thread in threading.enumerate())
