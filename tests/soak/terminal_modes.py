"""The modes in which a program leaves a terminal, by what it has written to it."""

from __future__ import annotations

import re

NAMES = {
    1049: "alternate screen",
    25: "cursor",
    1000: "mouse",
    1003: "mouse",
    2004: "bracketed paste",
    7: "wrapping",
}
ON_BY_DEFAULT = {7, 25}
SET = re.compile(rb"\x1b\[\?([\d;]+)([hl])|\x1b\[([<>])(\d*)u")


def left_behind(written: bytes) -> list[str]:
    """What is not as it was before the program came, in words; nothing if the terminal is restored."""
    modes: dict[int, bool] = {}
    pushed = 0
    for numbers, state, keyboard, _ in SET.findall(written):
        if keyboard:
            pushed = max(0, pushed + (1 if keyboard == b">" else -1))
        for number in filter(None, numbers.split(b";")):
            modes[int(number)] = state == b"h"
    wrong = [
        f"{NAMES.get(mode, f'mode {mode}')} is {'on' if on else 'off'}"
        for mode, on in modes.items()
        if on != (mode in ON_BY_DEFAULT)
    ]
    if pushed:
        wrong.append("the kitty keyboard protocol is on")
    return wrong
