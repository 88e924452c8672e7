"""Random input for the app: its own keys above all, hasty doubles, words, clicks, pastes, stray sequences."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from hadamard_tui.keyboard import ACTIONS

NAMED = {
    "left": "\x1b[D", "right": "\x1b[C", "up": "\x1b[A", "down": "\x1b[B", "home": "\x1b[H", "end": "\x1b[F",
    "shift+left": "\x1b[1;2D", "shift+right": "\x1b[1;2C",
    "ctrl+left": "\x1b[1;5D", "ctrl+right": "\x1b[1;5C", "ctrl+up": "\x1b[1;5A", "ctrl+down": "\x1b[1;5B",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "delete": "\x1b[3~", "escape": "\x1b", "tab": "\t",
    "shift+tab": "\x1b[Z", "enter": "\r", "backspace": "\x7f", "space": " ", "plus": "+", "equals_sign": "=",
    "minus": "-", "greater_than_sign": ">", "less_than_sign": "<", "question_mark": "?", "colon": ":",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "circumflex_accent": "^", "dollar_sign": "$",
    "full_stop": ".", "tilde": "~", "right_square_bracket": "]", "left_square_bracket": "[", "ctrl+p": "\x10",
    "ctrl+g": "\x07", "ctrl+q": "\x11", "ctrl+c": "\x03", "ctrl+r": "\x12",
    "ctrl+d": "\x04", "ctrl+u": "\x15",
}  # fmt: skip
"""Bytes that a terminal sends for named keys."""

MOVES = ("up", "down", "left", "right", "tab", "shift+tab", "enter", "enter", "enter", "escape", "escape",
         "backspace", "delete", "space", "home", "end")  # fmt: skip

HASTY = (":\r\r", "S\r\r", "e\r\r", "?\x1b\x1b", ":\x1b\x1b", "l\r\x1b", "N\r\r", "j\x1b\x1b", "\x10\r\r",
         "rr", "rR", "cA", "DD", "S\x1b\x1b", "adda", "\x1b[3~\x1b[3~\x1b[3~")  # fmt: skip
"""Keys typed at once, some for a page that the one before has just closed."""

LETTERS = "0123456789.-+eE_ abcdefgnrstuvxyzABDLNRSZéβ≤😀[]()=,:"
"""No slash and no tilde: what is typed as a file's name stays in the folder of the session."""

PASTES = (
    "1", "0", "-1", "1e-3", "1e309", "nan", "64", "1024", "16777216", "9" * 400, "0.1, 0.2", "[/x]",
    "[b]bold[/]",
    "[/]", "$x", "\x1b]0;title\x07", "\x1b[2J", "\x00", "a\nb\nc", "x" * 300 + ".svg", "~nosuchuser/x.toml",
    "/proc/nothing/x.svg", "/proc/self/mem.csv", "name.csv", "name.json", "name.toml", "name.xls", "=1+1",
    "\u202egnp.exe", "\u200b", "ａ", "hadamard-128", "file",
)  # fmt: skip

STRAY = (
    "\x1b[I", "\x1b[O", "\x1b[97;5u", "\x1b[13;2u", "\x1b[1;9A", "\x1b[?2026;2$y", "\x1b[24;80R", "\x1b[999~",
    "\x1b[<99;1;1M", "\x1b[<0;9999;9999M", "\x1b[M !!", "\x1bOP", "\x1b[15~", "\x1b[24~", "\x1ba", "\x1b\x7f",
    "\x00", "\x01", "\x02", "\x04", "\x05", "\x06", "\x0b", "\x0e", "\x12", "\x14", "\x16", "\x18", "\x1a",
    "\x1c",
    "\x1d", "\x1f", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b[0;0;0t", "\x1b[57441;1:3u",
    "\x1b[55296u", "\x1b[99999999999u", "\x1b[97;1;56320u",
)  # fmt: skip
"""Reports, function and control keys, other protocols, and what no terminal sends."""

BROKEN_UTF8 = (b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80")
QUITTING = (b"q", b"\x03", b"\x11")


class Press(NamedTuple):
    """One input at the terminal."""

    sent: bytes
    kind: str


def action_keys() -> list[str]:
    """Bytes that the terminal sends for the keys of all actions, except those that end the app."""
    keys = [key.strip() for action in ACTIONS if action.id != "quit" for key in action.keys.split(",")]
    return [NAMED[key] if len(key) > 1 else key for key in keys]


class Keyboard:
    """Random input."""

    def __init__(self, random: Random, quits: bool = True) -> None:
        """Prepare an endless sequence of keys; if `quits` is false, without keys that end the app."""
        self._random = random
        self._actions = action_keys()
        self.size = (80, 24)
        weights: list[tuple[float, Callable[[], Press]]] = [
            (52, lambda: self._of("action", self._actions)),
            (18, lambda: Press(NAMED[random.choice(MOVES)].encode(), "move")),
            (9, lambda: self._of("letter", LETTERS)),
            (3, lambda: self._of("hasty", HASTY)),
            (8, self._mouse),
            (4, self._paste),
            (4, lambda: self._of("stray", STRAY)),
            (0.2, lambda: Press(random.choice(BROKEN_UTF8), "broken")),
            (0.15 if quits else 0, lambda: Press(random.choice(QUITTING), "quit")),
        ]
        self._weights = [weight for weight, _ in weights]
        self._draws = [draw for _, draw in weights]

    def press(self) -> Press:
        """The next key, click or paste."""
        (draw,) = self._random.choices(self._draws, self._weights)
        return draw()

    def _of(self, kind: str, texts: tuple[str, ...] | list[str] | str) -> Press:
        return Press(self._random.choice(texts).encode(), kind)

    def _mouse(self) -> Press:
        """A click, a double click, a drag, a turn of the wheel, or a move, anywhere on the screen."""
        x, y = self._random.randint(1, self.size[0]), self._random.randint(1, self.size[1])
        if self._random.random() < 0.25:
            y = self.size[1] - self._random.randint(0, 1)  # the footer has keys to click on
        click = f"\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"
        sent = self._random.choice(
            (
                click,
                click,
                click * 2,
                f"\x1b[<0;{x};{y}M\x1b[<32;{x + 5};{y}M\x1b[<0;{x + 5};{y}m",
                f"\x1b[<64;{x};{y}M",
                f"\x1b[<65;{x};{y}M",
                f"\x1b[<35;{x};{y}M",
                f"\x1b[<2;{x};{y}M\x1b[<2;{x};{y}m",
            )
        )
        return Press(sent.encode(), "mouse")

    def _paste(self) -> Press:
        """Pasted text in its brackets, half of the time with escape sequences and keys inside."""
        text = self._random.choice(PASTES)
        if self._random.random() < 0.5:
            for _ in range(self._random.randint(1, 6)):
                key = self._random.choice(("q", "\x03", "\x11", self._random.choice(self._actions)))
                text += self._random.choice((f"\x1b[{key}", *self._random.sample(STRAY + PASTES, 2)))
        return Press(f"\x1b[200~{text}\x1b[201~".encode(), "paste")
