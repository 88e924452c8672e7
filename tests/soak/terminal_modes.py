"""Terminal modes after the end of a program, derived from the bytes that it wrote."""

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
    """Sentences about modes that the program did not restore; empty if it restored all."""
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
