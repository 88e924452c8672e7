"""Serving of the app to browsers on this machine: a web server, and an app for each viewer."""

from __future__ import annotations

import os

NOTICE = "Every viewer has a separate engine on the serving machine; closing the page ends it."


def served() -> bool:
    """Return whether this process is the app of a viewer in a browser."""
    return "TEXTUAL_DRIVER" in os.environ
