"""Runs in separate processes without a terminal. Their results go to the store of runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from engine.core import files
from engine.core.parts import BadInput
from hadamard_tui import NAME

DETACHED = "HADAMARD_TUI_DETACHED_RUN"
"""Environment variable that tells a process without a terminal the name of its run."""

FORMER = "HADAMARD_TUI_FORMER_RUN"
"""Environment variable with the name of an unfinished run that the new run replaces."""


def detach(arguments: Sequence[str], former: str = "") -> str:
    """Start the command `run` with `arguments` in a separate process, and return the id of its run.

    Args:
        former: id of an unfinished run that the new run replaces once it is finished.

    Raises: BadInput if no process can start.
    """
    run = os.urandom(4).hex()
    try:
        subprocess.Popen(
            [sys.executable, "-m", "hadamard_tui", "run", *arguments, "--json"],
            env={**os.environ, DETACHED: run, FORMER: former},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise BadInput("--detach", f"no process can start: {files.reason(error)}") from error
    return run


def sentence(run: str) -> str:
    return f"Run {run} goes on without this terminal. To see it, use {NAME} watch @{run} or {NAME} runs list."
