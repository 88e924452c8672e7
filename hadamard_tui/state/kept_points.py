"""The points of axes that are kept on disk, so that they need not be computed again."""

from __future__ import annotations

from platformdirs import user_cache_path

from engine.runtime.store import MB, Store
from hadamard_tui import NAME
from hadamard_tui.state import config


def store() -> Store | None:
    """Where finished points are kept, in the user's cache; None if the configuration says that none are."""
    configured, _ = config.read()
    most = configured.kept_points_mb * MB
    return Store(user_cache_path(NAME) / "points", most) if most else None
