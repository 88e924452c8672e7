"""Cache of finished points and runs on disk, so that they are not computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from engine.runtime.store import MB, Store
from hadamard_tui import NAME
from hadamard_tui.serving import served
from hadamard_tui.state import config

if TYPE_CHECKING:
    from engine.spec.sweep import Sweep


def store_for(sweep: Sweep, single_runs: bool = False) -> Store | None:
    """Return the store for the finished points of a sweep, in the user's cache.

    None for a viewer in a browser, or if the configuration turns the store off. Without axes, also None
    unless `single_runs`.
    """
    if served() or not (sweep.axes or single_runs):
        return None
    configured, _ = config.read()
    max_bytes = configured.kept_points_mb * MB
    return Store(user_cache_path(NAME) / "points", max_bytes) if max_bytes else None
