"""Selection of stored runs by words: @last, the start of an id, a name, a preset, a date or a tag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.core.parts import BadInput
from hadamard_tui.running.run_words import began
from hadamard_tui.state import run_store

if TYPE_CHECKING:
    from engine.runtime.stored_run import StoredRun

HOW = (
    "@last, @last-1, the beginning of an id such as 3f2a, a name, a preset, a date such as 2026-11-28, "
    "or a tag"
)

DATE_OR_ID = re.compile(r"\d{4}-\d\d-\d\d|[0-9a-f]{8}")
"""Words that name a stored run and no preset."""


def chosen(words: Sequence[str], runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the stored runs that match all words. Without words, return all runs.

    Raises: BadInput if no run matches all words.
    """
    selected = list(runs)
    for word in words:
        selected = [run for run in selected if _word_fits_run(word, run, runs)]
        if not selected:
            raise BadInput(word, f"no stored run matches; give {HOW}. `runs list` shows all stored runs")
    return selected


def file_of(preset: str) -> str:
    """Return the file of a stored run, or `preset` itself if it does not name a stored run.

    A date, a complete id, and any text that starts with @ name a stored run. Raises: BadInput if no stored
    run has this name.
    """
    return single(preset).path if preset.startswith("@") or DATE_OR_ID.fullmatch(preset) else preset


def single(word: str) -> StoredRun:
    """Return the newest stored run that matches a word, or the run in the file if the word ends in `.run`.

    Raises: BadInput.
    """
    if word.endswith(".run"):
        from engine.runtime.run_reader import RunReader

        reader = RunReader(Path(word))
        reader.all()
        return reader.run
    store = run_store.needed_store()
    run = chosen([word], store.runs())[0]
    return store.run(run.id) or run


def _word_fits_run(word: str, run: StoredRun, runs: Sequence[StoredRun]) -> bool:
    if match := re.fullmatch(r"@last(?:-(\d+))?", word):
        number = int(match[1] or 0)
        return number < len(runs) and run is runs[number]
    name = word.removeprefix("@")
    if re.fullmatch(r"\d{4}-\d\d(-\d\d)?", name):
        return began(run).startswith(name)
    is_named = re.fullmatch(r"[0-9a-f]{2,8}", name) is not None and run.id.startswith(name)
    return is_named or name in (run.preset, run.name) or name in run.tags
