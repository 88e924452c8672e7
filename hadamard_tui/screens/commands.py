"""The command palette: all actions, searched by name."""

from __future__ import annotations

from textual.command import CommandPalette

from hadamard_tui.screens.modal import Modal


class Commands(CommandPalette, Modal[None]):
    """Textual's palette as a page that closes once, so that a command is run once."""
