"""The keys that actions have: their own, or those of the configuration. The program has one keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hadamard_tui.keyboard.actions import ACTIONS, Action

_others: Mapping[str, str] = {}


def use(keys: Mapping[str, str]) -> None:
    """Give actions other keys from now on, by their ids."""
    global _others
    _others = keys


def placed(action: Action) -> Action:
    """The action with the keys that it has now."""
    return replace(action, keys=_others.get(action.id, action.keys))


def key(name: str) -> str:
    """The first key of the action with this id, as it is printed."""
    return next(placed(action).shown_keys.split()[0] for action in ACTIONS if action.id == name)


def action_of(key: str) -> Action | None:
    """The action that a key has."""
    return next((action for action in ACTIONS if key in placed(action).keys.split(",")), None)
