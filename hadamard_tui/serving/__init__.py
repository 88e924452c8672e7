"""The app in browsers on this machine: a server of web pages, and an app for each viewer."""

from __future__ import annotations

import os

NOTICE = "Every viewer has an engine of their own on the serving machine; close the page to end it."


def served() -> bool:
    """Whether this process is the app of a viewer in a browser."""
    return "TEXTUAL_DRIVER" in os.environ
