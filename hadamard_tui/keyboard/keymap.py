"""The keys that actions have: their own, or those of the configuration. The program has one keyboard."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from hadamard_tui.keyboard.actions import ACTIONS, Action, printed
from hadamard_tui.keyboard.motions import MOTIONS, Motion
from hadamard_tui.panels import ABOUT, DIGITS

EVERY: tuple[Action | Motion, ...] = (*ACTIONS, *MOTIONS)
"""All that has keys, which the configuration may change."""

_others: Mapping[str, str] = {}


def use(keys: Mapping[str, str]) -> None:
    """Give actions and motions other keys from now on, by their ids."""
    global _others
    _others = keys


def placed(action: Action) -> Action:
    """The action with the keys that it has now."""
    return replace(action, keys=_others.get(action.id, action.keys))


def shown_keys(id: str) -> str:
    """The keys of an action or a motion, as the help page prints them."""
    return printed(next(_others.get(id, binding.keys) for binding in EVERY if binding.id == id))


def key(id: str) -> str:
    """The first key of an action or a motion, as it is printed."""
    return shown_keys(id).split()[0]


def panel_key(panel: str) -> str:
    """The key of a panel; of one without a key that of the next panel, which comes to it in the end."""
    number = list(ABOUT).index(panel) + 1
    return key(f"panel-{number}" if number <= DIGITS else "view")


def action_of(key: str) -> Action | None:
    """The action that a key has."""
    return next((action for action in ACTIONS if key in placed(action).keys.split(",")), None)
