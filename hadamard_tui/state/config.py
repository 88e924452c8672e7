"""Configuration file: TOML in the system's configuration folder. The program never writes it.

To avoid an import cycle, functions import the keys of actions late. Keys depend on panels, panels depend on
the user's own parts, and the configuration file names the files of these parts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec
from msgspec import Meta

from engine.core import files, texts
from engine.core.parts import BadInput
from engine.core.texts import nearest
from engine.spec import raw_values
from hadamard_tui import NAME
from hadamard_tui.colours.palette import ThemeName
from hadamard_tui.terminal.clipboard import Clipboard

if TYPE_CHECKING:
    from hadamard_tui.keyboard import Action, Motion

MOST_BYTES = 1 << 16
"""Maximum size of the configuration file in bytes, ten times the size of the longest meaningful file."""

CHOICES = {"theme": get_args(ThemeName), "clipboard": get_args(Clipboard)}
"""Allowed values of settings that have a fixed set of values."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that the configuration file can change."""

    theme: Annotated[ThemeName, Meta(description="colours at the start: dark, light or contrast")] = "dark"
    ascii: Annotated[
        bool, Meta(description="true draws with ASCII only, for fonts that lack braille and box lines")
    ] = False
    fps: Annotated[
        float, Meta(gt=0, le=60, description="maximum frames per second; slow connections get fewer")
    ] = 20.0
    fps_over_ssh: Annotated[float, Meta(gt=0, le=60, description="maximum frames per second over SSH")] = 5.0
    kept_points_mb: Annotated[
        float, Meta(ge=0, le=1e9, description="maximum megabytes of all stored runs; 0 stores none")
    ] = 1024.0
    finish_after_hangup: Annotated[
        bool, Meta(description="true finishes a run in a separate process if its terminal is lost")
    ] = True
    clipboard: Annotated[
        Clipboard,
        Meta(description="copy through the terminal: yes, no, or auto (where the terminal allows it)"),
    ] = "auto"
    parts: Annotated[
        tuple[str, ...],
        Meta(description="Python files with your own parts, such as ['~/my_rule.py']; serve loads none"),
    ] = ()
    keys: Annotated[
        dict[str, str], Meta(description="other keys for the actions listed below, such as run = 'r,f5'")
    ] = {}


def path() -> Path:
    from platformdirs import user_config_path

    return user_config_path(NAME) / "config.toml"


def default_text() -> str:
    """Return a configuration file that lists all settings as comments, so that no setting is changed."""
    from hadamard_tui.keyboard import EVERY

    lines = ["# hadamard-tui: the lines that are commented out show the defaults.", ""]
    described = msgspec.inspect.type_info(Config)
    assert isinstance(described, msgspec.inspect.StructType), "Config is a Struct"
    for field in described.fields:
        about = field.type
        assert isinstance(about, msgspec.inspect.Metadata), "every field is described"
        lines.append(f"# {(about.extra_json_schema or {})['description']}")
        if field.name == "keys":
            lines.append("[keys]")
            lines += [f"# {action.id} = {_quoted(action.keys)}  # {action.help}" for action in EVERY]
        else:
            lines += [f"# {field.name} = {_toml_value(field.default)}", ""]
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_quoted, value))}]"
    return _quoted(value) if isinstance(value, str) else f"{value:g}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def parse(content: bytes) -> tuple[Config, list[str]]:
    """Parse a configuration file; return the configuration, and a message for each invalid setting.

    Invalid settings keep their defaults. Raises: BadInput if the content is not TOML.
    """
    raw = raw_values.document(content)
    wrong: dict[str, str] = {}
    setting_names = list(Config.__struct_fields__)
    for setting_name in raw.keys() - set(setting_names):
        wrong[setting_name] = f"there is no such setting; {nearest(setting_name, setting_names)}"
    if isinstance(raw.get("keys"), dict):
        raw["keys"], wrong_keys = _valid_and_invalid_keys(raw["keys"])
        wrong |= {f"keys.{action_id}": why for action_id, why in wrong_keys.items()}
    for setting_name in raw.keys() & set(setting_names):
        if why := _fault_of_setting(setting_name, raw[setting_name]):
            wrong[setting_name] = why
    sound = {setting_name: value for setting_name, value in raw.items() if setting_name not in wrong}
    lines = sorted((_line_number(content.decode(), place), place) for place in wrong)
    return msgspec.convert(sound, Config), [
        str(BadInput(f"line {line}: {place}" if line else place, f"{wrong[place]}; this setting is ignored"))
        for line, place in lines
    ]


def _fault_of_setting(setting_name: str, value: object) -> str:
    """Return why the value of a setting is invalid, or "" if it is valid."""
    try:
        msgspec.convert({setting_name: value}, Config)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at ")[0]
        choices = f"; take {', '.join(CHOICES[setting_name])}" if setting_name in CHOICES else ""
        return f"{texts.quoted(value)} does not fit: {reason}{choices}"
    return ""


def _valid_and_invalid_keys(keys: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Separate the valid keys of actions from invalid keys.

    Return two dictionaries by the id of the action: the valid keys, and the faults of the invalid keys.
    """
    from hadamard_tui.keyboard import ACTIONS, EVERY, MOTIONS

    sound: dict[str, str] = {}
    wrong: dict[str, str] = {}
    ids = [action.id for action in EVERY]
    for action_id, value in keys.items():
        if action_id not in ids:
            wrong[action_id] = f"there is no such action; {nearest(action_id, ids)}"
        elif not isinstance(value, str) or not _key_list(value) or texts.fault(value):
            wrong[action_id] = "no key is named; name a key, such as 'f5'"
        else:
            sound[action_id] = value
    # An action whose new key is dropped gets its default keys back, which may conflict with another new key.
    while clash := _key_clash(sound, ACTIONS) or _key_clash(sound, MOTIONS):
        action_id, key, owner = clash
        del sound[action_id]
        wrong[action_id] = f"{key} belongs to {owner} already; take another key"
    return sound, wrong


def _key_clash(
    keys: dict[str, str], among: Sequence[Action] | Sequence[Motion]
) -> tuple[str, str, str] | None:
    """Return an action, its configured key, and another action with this key; None if there is no clash.

    An action may share a key with a motion, so actions and motions are checked separately. If the focused
    widget has this motion, the key performs the motion, and otherwise the action.
    """
    owners: dict[str, list[str]] = {}
    for action in among:
        for key in _key_list(keys.get(action.id, action.keys)):
            owners.setdefault(key, []).append(action.id)
    ids = {action.id for action in among}
    for action_id in (action_id for action_id in reversed(keys) if action_id in ids):
        for key in _key_list(keys[action_id]):
            if other_owners := [owner for owner in owners[key] if owner != action_id]:
                return action_id, key, other_owners[0]
    return None


def _line_number(text: str, place: str) -> int:
    """Return the number of the line that sets a key of a TOML file, such as `keys.run`.

    If no line sets the key, return the number of the first line of its table. If the table is missing, too,
    return 0.
    """
    table = ""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+([^\]]*)", line):
            place_of_line = table = _unquoted_key(header[1])
        elif key := re.match(r"([^=#]+)=", line):
            place_of_line = f"{table}.{_unquoted_key(key[1])}".lstrip(".")
        else:
            continue
        lines.setdefault(place_of_line, number)
        lines.setdefault(place_of_line.partition(".")[0], number)
    return lines.get(place) or lines.get(place.partition(".")[0], 0)


def _unquoted_key(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _key_list(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def files_of_parts() -> list[Path]:
    """Return the Python files with the user's own parts, which the configuration file names.

    Relative paths start at the folder of the configuration file. If this file cannot be read, the list is
    empty, and `read` reports the error.

    Raises: BadInput if the setting is not a list of names.
    """
    try:
        with files.faults(""):
            file = path()
            content = files.read(file, MOST_BYTES)
        parts = raw_values.document(content).get("parts", [])
    except BadInput:
        return []
    try:
        names = msgspec.convert(parts, list[str])
    except msgspec.ValidationError as error:
        fault = "this is not a list of files; write parts = ['~/my_rule.py']"
        raise BadInput(f"{file}: parts", fault) from error
    return [file.parent / os.path.expanduser(name) for name in names]


def read() -> tuple[Config, list[str]]:
    """Read the configuration file; return the configuration, and a message for each invalid setting."""
    file: Path | str = "the configuration file"
    try:
        with files.faults(""):
            file = path()
            content = files.read(file, MOST_BYTES)
        config, wrong = parse(content)
    except BadInput as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Config(), []
        return Config(), [str(BadInput(str(file), f"{error}; the defaults are used"))]
    return config, [str(BadInput(str(file), line)) for line in wrong]
