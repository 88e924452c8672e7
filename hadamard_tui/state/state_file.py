"""Files that keep the set-up, the view and the list of the user's presets between sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from engine.core import files, texts
from engine.core.parts import BadInput
from engine.core.texts import LONGEST_QUOTE, cut
from engine.spec import raw_values
from hadamard_tui import NAME
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.colours.palette import ThemeName
from hadamard_tui.running.playback import FASTEST_PACE, SLOWEST_PACE
from hadamard_tui.serving import served

if TYPE_CHECKING:
    from engine.spec.reading import Raw


MOST_BYTES = 1 << 24
"""Maximum size of a file in bytes, far above the size of a file with thousands of learners."""

Content = TypeVar("Content")


class KeptView(msgspec.Struct):
    """View options that are saved between sessions."""

    theme: ThemeName | None = None
    panel: str | None = None
    setup_hidden: bool = False
    learner: Annotated[int, Meta(ge=0)] = 0
    pace: Annotated[float, Meta(ge=SLOWEST_PACE, le=FASTEST_PACE)] = 1.0
    unlimited: bool = False
    chart: ChartOptions = msgspec.field(default_factory=ChartOptions)


def looked_at(view: KeptView, changes: Sequence[str]) -> KeptView:
    """Return the view options `view` with changes such as `panel=svd` or `chart.y_log=true`.

    Raises: BadInput.
    """
    from engine.spec import reading
    from hadamard_tui.panels import ABOUT, FORMER

    raw, defaults = msgspec.to_builtins(view), msgspec.to_builtins(KeptView())
    for change in changes:
        where = f"--view {cut(change, LONGEST_QUOTE)}"
        first, _, inner = change.partition("=")[0].strip().partition(".")
        choices = defaults if not inner else defaults.get(first)
        if not isinstance(choices, dict) or (inner or first) not in choices:
            places = [field_name for field_name in defaults if field_name != "chart"] + [
                f"chart.{field_name}" for field_name in defaults["chart"]
            ]
            raise BadInput(where, f"the view has no {inner or first}; it has {', '.join(places)}")
        try:
            reading.apply(raw, change)
            view = msgspec.convert(raw, KeptView)
        except BadInput as error:
            raise BadInput(where, error.fault) from error
        except msgspec.ValidationError as error:
            raise BadInput(where, str(error)) from error
    if view.panel is not None:
        view.panel = FORMER.get(view.panel, view.panel)
    if view.panel is not None and view.panel not in ABOUT:
        raise BadInput("--view panel", f"there is no panel {view.panel}; there are {', '.join(ABOUT)}")
    return view


class Memory(msgspec.Struct):
    """Content of the state file: the saved set-up and view."""

    view: KeptView = msgspec.field(default_factory=KeptView)
    experiment: dict[str, Any] | None = None
    """Set-up as a preset document; None at the first start of the app."""
    preset: str | None = None
    off: dict[int, dict[str, Any]] = {}
    """Switched-off learners of the set-up, by their position among all learners."""
    left_out: dict[int, dict[str, Any]] = {}
    """Claims that do not fit the set-up, by their position among all claims."""

    def set_up(self) -> Raw | None:
        """Return the saved set-up, or None at the first start.

        Raises: BadInput if the saved set-up is no longer valid.
        """
        from engine.spec import documents

        if self.experiment is not None:
            documents.first(self.experiment)
        return self.experiment


def path() -> Path:
    from platformdirs import user_state_path

    return user_state_path(NAME) / "last.json"


def parse(text: bytes) -> Memory:
    try:
        memory = msgspec.json.decode(text, type=Memory)
        raw_values.check([memory.preset, memory.off, memory.left_out])
        memory.set_up()
        chart = memory.view.chart  # the user chose no False in the file
        chosen = {option: getattr(chart, option) or None for option in ("x_log", "y_log")}
        memory.view.chart = replace(chart, **chosen)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput("", str(error)) from error
    return memory


def read() -> tuple[Memory, str]:
    """Return the saved state, and an error message. The message is empty if there is no error.

    If the state file is broken, it is renamed.
    """
    return read_or_set_aside(path, parse, Memory(), "the app starts fresh")


def write(memory: Memory) -> str:
    """Save the set-up and the view for the next start. Return an error message, or "" after success."""
    try:
        with files.faults("the state of the app", "cannot be written"):
            file = path()
            file.parent.mkdir(parents=True, exist_ok=True)
            content = msgspec.json.encode(memory)
        files.write(file, content, "the state of the app")
    except BadInput as error:
        return str(error)
    return ""


def read_or_set_aside(
    place: Callable[[], Path], parse: Callable[[bytes], Content], default: Content, instead: str
) -> tuple[Content, str]:
    """Return the parsed content of a file, and an error message. The message is empty if there is no error.

    If the file is missing, unreadable or invalid, the content is `default`. An invalid file is renamed, and
    the message gives the new name. For a missing file, there is no message.

    Args:
        place: function that returns the path of the file.
        parse: function that parses the content; it raises ValueError or RecursionError for invalid content.
        instead: phrase for the message about the program's behaviour without the file.
    """
    path: Path | None = None
    try:
        with files.faults(""):
            path = place()
            content = files.read(path, MOST_BYTES)
    except BadInput as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return default, ""
        return default, str(BadInput(str(path or "the state file"), f"{error}; {instead}"))
    try:
        return parse(content), ""
    except (ValueError, RecursionError) as error:
        return default, str(BadInput(str(path), f"{error}; {_rename_broken_file(path)}; {instead}"))


def _rename_broken_file(path: Path) -> str:
    """Rename a broken file to an unused name. Return a phrase with the new name or with the error."""
    try:
        for number in count(1):
            aside = path.with_name(f"{path.name}.broken{'' if number == 1 else f'-{number}'}")
            try:
                aside.touch(exist_ok=False)  # reserves the name, so that no other program takes it
            except FileExistsError:
                continue
            path.replace(aside)
            break
    except OSError as error:
        return f"it cannot be renamed: {files.reason(error)}"
    return f"it was renamed to {aside.name}"


MOST_OWN_PRESETS = 50
"""Maximum number of presets in the list of the user's presets; the newest are kept."""

MOST_BYTES_OF_PATHS = 1 << 20


def own_presets_file() -> Path:
    from platformdirs import user_state_path

    return user_state_path(NAME) / "presets.txt"


def own_presets() -> list[str]:
    """Return the paths of the user's presets that still exist, newest first; in a browser, there are none."""
    if served():
        return []
    try:
        with files.faults(""):
            lines = files.read(own_presets_file(), MOST_BYTES_OF_PATHS).decode(errors="replace").splitlines()
    except BadInput:
        return []
    return [line for line in reversed(lines) if not texts.fault(line) and _is_file(line)]


def add_own_preset(path: Path) -> None:
    """Add a preset to the list of the user's presets. Raises: BadInput if the list cannot be written."""
    with files.faults("the list of presets", "cannot be written"):
        written, added = own_presets_file(), str(path.absolute())
        written.parent.mkdir(parents=True, exist_ok=True)
    other_presets = [preset for preset in reversed(own_presets()) if preset != added]
    content = "".join(f"{preset}\n" for preset in [*other_presets, added][-MOST_OWN_PRESETS:])
    files.write(written, content.encode(), "the list of presets")


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
