"""`config` prints the path of the file, and a default file that changes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hadamard_tui.keyboard import ACTIONS, EVERY
from hadamard_tui.state import config
from hadamard_tui.state.config import Config

from .conftest import Answer

Call = Callable[..., Answer]


def test_the_path_follows_xdg(call: Call, own_folders: Path) -> None:
    code, out, _ = call("config", "--path")
    assert code == 0
    assert Path(out.strip()) == own_folders / "xdg_config_home" / "hadamard-tui" / "config.toml"


def test_the_default_file_has_no_effect_and_names_every_setting_and_action(call: Call) -> None:
    code, out, _ = call("config", "--default")
    assert code == 0
    assert config.parse(out.encode()) == (Config(), [])
    for name in (*Config.__struct_fields__, *(action.id for action in EVERY)):
        assert name in out


def test_the_uncommented_default_file_equals_the_defaults(call: Call) -> None:
    lines = call("config", "--default").out.splitlines()
    settings = [line.removeprefix("# ") for line in lines if " = " in line and "such as" not in line]
    table = settings.index(next(line for line in settings if line.startswith(ACTIONS[0].id)))
    parsed = config.parse("\n".join([*settings[:table], "[keys]", *settings[table:]]).encode())
    assert parsed == (Config(keys={action.id: action.keys for action in EVERY}), [])


def test_actions_can_swap_their_keys() -> None:
    swapped = {"run": "R", "reset": "r"}
    assert config.parse(b"[keys]\nrun = 'R'\nreset = 'r'") == (Config(keys=swapped), [])


def test_motions_can_share_keys_with_actions_but_not_with_motions() -> None:
    read, [line] = config.parse(b"[keys]\n'move-down' = 'r'\n'move-up' = 'k,G'")
    assert read == Config(keys={"move-down": "r"})
    assert "line 3: keys.move-up: G belongs to move-last already" in line


def test_an_unknown_theme_is_refused_with_the_list_of_themes() -> None:
    [line] = config.parse(b'theme = "pink"')[1]
    assert re.search(r"line 1: theme: 'pink'.*take dark, light, contrast; this setting is ignored", line)


def test_each_wrong_setting_is_reported_with_its_line_and_valid_settings_apply() -> None:
    text = b"""# mine
colour = "red"
fps = 10
theme = "light"
fps_over_ssh = "fast"

[keys]  # the usual ones
fly = "f"
"run" = "f5"
quit = 3
help = "R"
reset = "f6"
pin = "f5,f7"
[window]
size = 3
"""
    read, wrong = config.parse(text)
    assert read == Config(theme="light", fps=10.0, keys={"run": "f5", "help": "R", "reset": "f6"})
    places = [re.match(r"line (\d+): ([\w.]+): ", line) for line in wrong]
    assert [place and place.groups() for place in places] == [
        ("2", "colour"),
        ("5", "fps_over_ssh"),
        ("8", "keys.fly"),
        ("10", "keys.quit"),
        ("13", "keys.pin"),
        ("14", "window"),
    ]
    assert "f5 belongs to run already" in wrong[4]


@pytest.mark.parametrize("text", [b"keys = {fly = 'f'}", b"keys.fly = 'f'", b"[ 'keys' ]\n'fly' = 'f'"])
def test_the_line_of_an_error_is_found_in_every_toml_notation(text: bytes) -> None:
    read, [line] = config.parse(text)
    assert read == Config()
    assert line.startswith(f"line {len(text.splitlines())}: keys.fly: there is no such action")


def test_conflicting_keys_are_refused_without_affecting_other_actions() -> None:
    read, wrong = config.parse(b"[keys]\nrun = 'q'\nreset = 'r'\nhelp = 'f1'")
    assert read.keys == {"help": "f1"}
    assert [line.partition(": ")[2].partition(":")[0] for line in wrong] == ["keys.run", "keys.reset"]


@pytest.mark.parametrize(
    "text", [b"theme = ", b"\xff", b"a" + b".a" * 9000 + b" = 1", b"fps = " + b"[" * 9000]
)
def test_an_invalid_configuration_file_is_reported_on_one_line_and_kept(text: bytes) -> None:
    config.path().parent.mkdir(parents=True)
    config.path().write_bytes(text)
    read, [line] = config.read()
    assert read == Config()
    assert line.startswith(f"{config.path()}: ")
    assert line.endswith("; the defaults are used")
    assert "\n" not in line
    assert [file.read_bytes() for file in config.path().parent.iterdir()] == [text]


def test_a_pipe_as_configuration_file_is_refused_without_waiting() -> None:
    config.path().parent.mkdir(parents=True)
    os.mkfifo(config.path())
    read, [line] = config.read()
    assert read == Config()
    assert "a pipe or a device, not a regular file" in line


def test_config_requires_exactly_one_of_path_and_default(call: Call) -> None:
    assert call("config").code == 2
    assert call("config", "--path", "--default").code == 2
