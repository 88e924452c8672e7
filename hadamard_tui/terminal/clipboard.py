"""Copying to the clipboard by an escape sequence (OSC 52), if the terminal supports it."""

from __future__ import annotations

import os
import subprocess
from base64 import b64encode
from typing import Literal

Clipboard = Literal["auto", "yes", "no"]

WITHOUT = ("", "dumb", "linux")
"""Values of TERM for terminals without a clipboard. Some of these terminals print the sequence as text."""

BETWEEN = ("screen", "tmux")
"""Prefixes of TERM inside screen and tmux, which run between the terminal and this program."""

PATIENCE = 1.0
"""Maximum time to wait for an answer of tmux, in seconds."""

_setting: Clipboard = "auto"


def use(setting: Clipboard) -> None:
    """Set whether the program copies to the clipboard.

    "yes" means always, and "no" means never. "auto" means that it copies unless the terminal seems not to
    support it.
    """
    global _setting
    _setting = setting


def copies() -> bool:
    return bool(sequence(""))


def sequence(text: str) -> str:
    """Return the escape sequence that makes the terminal copy `text`, or "" if copying is off."""
    plain = f"\x1b]52;c;{b64encode(text.encode()).decode()}\a"
    if _setting != "auto":
        return plain if _setting == "yes" else ""
    terminal = os.environ.get("TERM", "")
    if terminal in WITHOUT or "STY" in os.environ:
        return ""
    if "TMUX" in os.environ:
        return _sequence_for_tmux(plain)
    return "" if terminal.startswith(BETWEEN) else plain  # a tmux on another machine cannot be queried


def _sequence_for_tmux(plain: str) -> str:
    """Return the escape sequence in a form that tmux handles or passes on, or "" if tmux does neither."""
    if _tmux_option("-s", "set-clipboard") == "on":
        return plain
    if _tmux_option("-pA", "allow-passthrough") in ("on", "all"):
        return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return ""


def _tmux_option(scope: str, option: str) -> str:
    command = ["tmux", "show-options", scope, "-v", option]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
