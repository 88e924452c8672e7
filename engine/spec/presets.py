"""Presets that come with the program, in a checkout or an installed wheel.

Only functions that read a preset import the engine's parts. Listing names and files needs no such import.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.core import files, texts
from engine.core.outside import outside
from engine.core.parts import BadInput

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep

FILES = ".toml", ".json", ".run"
"""Suffixes of preset files, and of result files and stored runs, which contain their preset."""


def folder() -> Path:
    """Return the folder of the presets."""
    root = Path(__file__).resolve().parents[1]
    shipped = root / "shipped_presets"
    return shipped if shipped.is_dir() else root.parent / "presets"


def names() -> list[str]:
    """Return the names of all presets."""
    return sorted(
        file_name.removesuffix(".toml") for file_name in os.listdir(folder()) if file_name.endswith(".toml")
    )


def name_of(preset: str) -> str:
    """Return the name of a preset that is given by name or path. For a path, it is the stem of the file."""
    return Path(preset).stem if preset.endswith(FILES) else preset


def path_of(preset: str) -> Path:
    """Return the file of a preset, given by name or path. Raises: BadInput."""
    if fault := texts.fault(preset):
        raise BadInput(preset, f"its name {fault}")
    path = Path(preset)
    if path.suffix in FILES or path.name != preset:
        with files.faults(preset):
            if not path.exists():
                raise BadInput(preset, "there is no such file")
        return path
    if preset in names():
        return folder() / f"{preset}.toml"
    raise unknown(preset, "preset", names())


def unknown(name: str, category: str, choices: Iterable[str]) -> BadInput:
    """Return the error for an unknown name of a preset. It suggests similar names."""
    near = difflib.get_close_matches(name, list(choices), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "hadamard-tui presets lists the presets"
    return BadInput(name, f"there is no {category} of this name; {hint}")


def load(preset: str, overrides: Iterable[str] = ()) -> Experiment:
    """Return the experiment of a preset or preset file, with overrides such as `problem.matrix.d=256`.

    If the preset has sweep axes, this is the experiment at the first sweep point. Raises: BadInput whose
    place begins with `preset`.
    """
    from engine.spec import documents

    with _errors_naming(preset):
        return documents.first(_raw_with_overrides(preset, overrides))


def document(preset: str, overrides: Iterable[str] = ()) -> Raw:
    """Return a preset's document with its expressions unchanged and its defaults added. Raises: BadInput."""
    from engine.spec import documents

    with _errors_naming(preset):
        raw = _raw_with_overrides(preset, overrides)
        return documents.in_full(raw, documents.first(raw))


@contextmanager
def former_words(preset: str, answer: Callable[[str], object]) -> Iterator[None]:
    """Report outdated words in presets: names that were changed after the preset was written.

    If a preset that is read inside the block uses such words, call `answer` with one line that lists them.
    """
    from engine.spec.upgrade import noted, sentence

    with noted() as words:
        yield
    if words:
        answer(sentence(preset, words))


def sweep_of(preset: str, described: Raw) -> Sweep:
    """Return the sweep of `described`, the document of a preset with the user's overrides.

    A claim of the preset is not judged if the overrides change the runs or the picture that it describes. No
    claim is judged if the preset without overrides is invalid. For example, the preset may require a file
    that only the overrides name.

    Raises: BadInput whose place begins with `preset`.
    """
    from engine.spec import documents
    from engine.spec.changes import SET_UP, unjudged

    with _errors_naming(preset):
        points = documents.sweep_of(described)
    try:
        origin = document(preset)
    except BadInput:
        return replace(points, unjudged=dict.fromkeys(range(len(points.claims)), SET_UP))
    with _errors_naming(preset):
        return replace(points, unjudged=unjudged(points, described, origin))


def _raw_with_overrides(preset: str, overrides: Iterable[str]) -> Raw:
    from engine.spec import reading

    raw = reading.read_raw(path_of(preset))
    for override in overrides:
        reading.apply(raw, override)
    return raw


@contextmanager
def _errors_naming(preset: str) -> Iterator[None]:
    """Put the name of the preset before the place in each BadInput raised in the block.

    The user's own parts are loaded first, so that their errors are not attributed to the preset.
    """
    path_of(preset)
    outside.modules()
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{preset}: {error.where}" if error.where else preset, error.fault) from error
