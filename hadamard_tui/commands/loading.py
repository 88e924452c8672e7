"""Loading of presets, and checks before a command begins."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hadamard_tui import NAME

if TYPE_CHECKING:
    from engine.runtime.spreading import Begin
    from engine.spec.reading import Raw

DEFAULT_PRESET = "hadamard-128"


def print_error(words: str) -> None:
    from hadamard_tui.headless import console

    console.errors().print(words, soft_wrap=True)


def load(
    preset: str,
    settings: list[str] | None,
    device: str | None,
    path: str | None = None,
    answer: Callable[[str], object] = print_error,
) -> Raw:
    """Return the document of a preset, with changes from command-line options.

    Args:
        settings: values of the option --set.
        device: value for the field run.device; None leaves the field unchanged.
        path: value for the field run.path, which names the backend; None leaves the field unchanged.
        answer: function that gets a message if the preset uses outdated words, such as old names of parts.

    Raises: BadInput.
    """
    from engine.core.parts import BadInput
    from engine.spec import presets

    overrides = list(settings or [])
    for option, word in (("device", device), ("path", path)):
        if word is not None:
            overrides.append(f"run.{option}={json.dumps(word)}")
    try:
        with presets.former_words(preset, answer):
            return presets.document(preset, overrides)
    except BadInput as error:
        are_own = any(setting.lstrip().startswith("claims") for setting in settings or ())
        if not settings or are_own or "claims[" not in error.where:
            raise
        remedy = "this claim may not fit the settings of --set; --set 'claims=[]' drops all claims"
        raise BadInput(error.where, f"{error.fault}; {remedy}") from error


def load_to_run(preset: str, settings: list[str] | None, device: str | None, path: str | None = None) -> Raw:
    """Load a preset like `load`, and replace texts that the option --set makes false.

    If --set changes the experiment, the title of the document becomes a list of the changes, and other texts
    about the preset become empty. A text that --set itself sets is kept.

    Raises: BadInput.
    """
    from engine.core.parts import BadInput
    from engine.spec import documents, presets
    from engine.spec.differences import texts_of_changed

    document = load(preset, settings, device, path)
    if not settings:
        return document
    try:
        origin = presets.document(preset)
    except BadInput:  # without the changes, the preset cannot run, so its texts are about the changed one
        return document
    experiment, of_preset = documents.first(document), documents.first(origin)
    texts = texts_of_changed(presets.name_of(preset), experiment, document, of_preset, origin)
    return document | {name: text for name, text in texts.items() if document[name] == origin[name]}


def devices_at(place: str | None, device: str | None) -> tuple[Sequence[Begin], str | None]:
    """Return a function for each device that --on selects, and a value for the field run.device.

    Each function starts a process on its device, and the value is "cuda". Without --on, there are no
    functions, and the value is `device`.

    Args:
        place: value of the option --on, which selects all CUDA devices of this machine; None without --on.
        device: value of the option --device.

    Raises: BadInput if `place` is unknown, or if both options are given.
    """
    from engine.core.parts import BadInput

    if place is None:
        return (), device
    from engine.runtime.spreading import PLACE, cuda_devices

    if place != PLACE:
        raise BadInput(
            "--on", f"{place!r} is not a place to run; use {PLACE} for all CUDA devices of this machine"
        )
    if device is not None:
        raise BadInput("--device", f"--on {PLACE} uses all CUDA devices; leave --device out")
    return cuda_devices(), "cuda"


def need_terminal(preset: str) -> None:
    """Raise BadInput if the terminal cannot show the app.

    The message says how to run `preset` without the app.
    """
    from engine.core.parts import BadInput

    if "TEXTUAL_DRIVER" in os.environ:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        lack = "input or output is redirected"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        lack = f"TERM is {os.environ.get('TERM') or 'not set'}"
    else:
        return
    raise BadInput("", f"the app needs a terminal, but {lack}; use {NAME} run {preset}")


def refuse_preset(word: str) -> None:
    """Raise BadInput if a word in the place of a command is the name of a preset."""
    from engine.core.parts import BadInput
    from engine.spec import presets

    if word in presets.names() or word.endswith(presets.FILES):
        raise BadInput(word, f"a preset is not a command; use {NAME} --preset {word} or {NAME} run {word}")
