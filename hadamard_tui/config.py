"""The configuration file: TOML at the place where the system keeps such files, written by people only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from engine.parts import BadInput
from hadamard_tui import NAME
from hadamard_tui.actions import ACTIONS

ThemeName = Literal["dark", "light", "contrast"]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person sets once for all runs."""

    theme: Annotated[ThemeName, Meta(description="colours at the start: dark, light or contrast")] = "dark"
    ascii: Annotated[
        bool, Meta(description="true draws with ASCII alone, for fonts without braille and boxes")
    ] = False
    fps: Annotated[
        float, Meta(gt=0, le=60, description="frames per second, at most; fewer on slow lines")
    ] = 20.0
    fps_over_ssh: Annotated[float, Meta(gt=0, le=60, description="the same over SSH")] = 5.0
    keys: Annotated[
        dict[str, str], Meta(description="other keys for actions, as in run = 'r,f5'; listed below")
    ] = {}


def path() -> Path:
    """Where the configuration file is, or would be."""
    from platformdirs import user_config_path

    return user_config_path(NAME) / "config.toml"


def default_text() -> str:
    """A configuration file that changes nothing and says what there is to change."""
    lines = ["# hadamard-tui: whatever is commented out here is as it is by default.", ""]
    described = msgspec.inspect.type_info(Config)
    assert isinstance(described, msgspec.inspect.StructType), "Config is a Struct"
    for field in described.fields:
        about = field.type
        assert isinstance(about, msgspec.inspect.Metadata), "every field is described"
        lines.append(f"# {(about.extra_json_schema or {})['description']}")
        if field.name == "keys":
            lines.append("[keys]")
            lines += [f"# {action.id} = {_quoted(action.keys)}  # {action.help}" for action in ACTIONS]
        else:
            lines += [f"# {field.name} = {_value(field.default)}", ""]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else f"{value:g}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def parse(text: bytes) -> Config:
    """The configuration that a file's content says. Raises: BadInput."""
    try:
        config = msgspec.toml.decode(text, type=Config)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        told = " ".join(str(error).split())
        themes = f"; take {', '.join(get_args(ThemeName))}" if told.endswith("`$.theme`") else ""
        raise BadInput("", f"{told}{themes}") from error
    known = {action.id for action in ACTIONS}
    owners: dict[str, list[str]] = {}
    for action in ACTIONS:
        for key in _keys(config.keys.get(action.id, action.keys)):
            owners.setdefault(key, []).append(action.id)
    for name, keys in config.keys.items():
        if name not in known:
            raise BadInput(f"keys.{name}", f"there is no such action; there are {', '.join(sorted(known))}")
        if not _keys(keys):
            raise BadInput(f"keys.{name}", "no key is named; name one, as in 'f5'")
        for key in _keys(keys):
            if others := [owner for owner in owners[key] if owner != name]:
                raise BadInput(f"keys.{name}", f"{key} belongs to {others[0]} already; take another key")
    return config


def _keys(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def read() -> tuple[Config, str]:
    """The configuration, and one line about a file that is broken and was set aside, or nothing."""
    from hadamard_tui.setting_aside import read_or_set_aside

    return read_or_set_aside(path(), parse, Config(), "the defaults are used")
