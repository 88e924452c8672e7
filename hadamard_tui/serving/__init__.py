"""Serving of the app to browsers on this machine: a web server, and one process of the app per viewer."""

from __future__ import annotations

import os

NOTICE = "Every viewer has a separate engine on the serving machine; the engine ends when the page is closed."


def served() -> bool:
    """Return whether this process shows its app in a browser instead of a terminal."""
    return "TEXTUAL_DRIVER" in os.environ
