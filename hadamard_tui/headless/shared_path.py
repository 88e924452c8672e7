"""`share` of a path: every stop is run, and one page shows them all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.spec import presets
from hadamard_tui.headless.outcome import computed
from hadamard_tui.sharing.web_page import SharedStop, path_page
from hadamard_tui.tours import command

if TYPE_CHECKING:
    from rich.console import Console

    from hadamard_tui.tours import Stop


def shared_path(
    title: str, stops: Sequence[Stop], errors: Console, device: str | None, fresh: bool
) -> tuple[bytes, int]:
    """Return the page and the largest exit code of the runs. Raises: BadInput for too large a page."""
    on_device = [] if device is None else [f"run.device={json.dumps(device)}"]
    shared, exit_code = [], 0
    for number, stop in enumerate(stops, start=1):
        errors.print(f"{number} of {len(stops)}: {stop.preset}", soft_wrap=True)
        document = presets.document(stop.preset, (*stop.changes, *on_device))
        done = computed(stop.preset, document, errors, fresh)
        exit_code = max(exit_code, done.exit_code)
        breaks = None if stop.breaks is None else (command(stop.preset, stop.breaks), stop.breaks.text)
        shared.append(
            SharedStop(stop.preset, document, done.results, done.outcomes, stop.predict, stop.line, breaks)
        )
    return path_page(title, shared), exit_code
