"""What commands ask of presets and of the terminal before they begin."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hadamard_tui import NAME

if TYPE_CHECKING:
    from engine.spec.reading import Raw

DEFAULT_PRESET = "hadamard-128"


def print_error(words: str) -> None:
    """Print a line on standard error."""
    from hadamard_tui.headless import console

    console.errors().print(words, soft_wrap=True)


def load(
    preset: str,
    settings: list[str] | None,
    device: str | None,
    path: str | None = None,
    answer: Callable[[str], object] = print_error,
) -> Raw:
    """Return a changed preset's document, and report former words. Raises: BadInput."""
    from engine.core.parts import BadInput
    from engine.spec import presets

    overrides = list(settings or [])
    for option, value in (("device", device), ("path", path)):
        if value is not None:
            overrides.append(f"run.{option}={json.dumps(value)}")
    try:
        with presets.former_words(preset, answer):
            return presets.document(preset, overrides)
    except BadInput as error:
        are_own = any(setting.lstrip().startswith("claims") for setting in settings or ())
        if not settings or are_own or "claims[" not in error.where:
            raise
        remedy = "the claims are about the preset's own settings; --set 'claims=[]' drops them"
        raise BadInput(error.where, f"{error.fault}; {remedy}") from error


def need_terminal(preset: str) -> None:
    """Check that the app can draw and receive keys. Raises: BadInput."""
    from engine.core.parts import BadInput

    if "TEXTUAL_DRIVER" in os.environ:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        lack = "this is not one"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        lack = f"TERM is {os.environ.get('TERM') or 'not set'}"
    else:
        return
    raise BadInput("", f"the app needs a terminal and {lack}; use {NAME} run {preset}")


def refuse_preset(word: str) -> None:
    """Refuse a preset in place of a command. Raises: BadInput."""
    from engine.core.parts import BadInput
    from engine.spec import presets

    if word in presets.names() or word.endswith(presets.FILES):
        raise BadInput(word, f"a preset is not a command; use {NAME} --preset {word} or {NAME} run {word}")
