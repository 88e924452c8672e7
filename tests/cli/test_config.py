"""`config`: where the file is, and a file to begin with that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.parts import BadInput
from hadamard_tui import config
from hadamard_tui.actions import ACTIONS
from hadamard_tui.config import Config

from .conftest import Answer

Call = Callable[..., Answer]


def test_the_path_follows_xdg(call: Call, own_folders: Path) -> None:
    code, out, _ = call("config", "--path")
    assert code == 0
    assert Path(out.strip()) == own_folders / "xdg_config_home" / "hadamard-tui" / "config.toml"


def test_the_default_file_changes_nothing_and_names_every_setting_and_action(call: Call) -> None:
    code, out, _ = call("config", "--default")
    assert code == 0
    assert config.parse(out.encode()) == Config()
    for name in (*Config.__struct_fields__, *(action.id for action in ACTIONS)):
        assert name in out


def test_the_default_file_without_its_comment_signs_says_the_defaults(call: Call) -> None:
    lines = call("config", "--default").out.splitlines()
    said = [line.removeprefix("# ") for line in lines if " = " in line and "as in" not in line]
    table = said.index(next(line for line in said if line.startswith(ACTIONS[0].id)))
    parsed = config.parse("\n".join([*said[:table], "[keys]", *said[table:]]).encode())
    assert parsed == Config(keys={action.id: action.keys for action in ACTIONS})


def test_actions_can_swap_their_keys() -> None:
    assert config.parse(b"[keys]\nrun = 'R'\nreset = 'r'").keys == {"run": "R", "reset": "r"}


def test_an_unknown_theme_is_told_the_themes_there_are() -> None:
    with pytest.raises(BadInput, match=r"pink.*take dark, light, contrast"):
        config.parse(b'theme = "pink"')


def test_neither_and_both_are_refused(call: Call) -> None:
    assert call("config").code == 2
    assert call("config", "--path", "--default").code == 2
