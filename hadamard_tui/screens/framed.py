"""Pages in a frame in the middle of the screen."""

from __future__ import annotations

from textual.screen import ScreenResultType

from hadamard_tui.screens.modal import Modal


class Framed(Modal[ScreenResultType]):
    """A page whose only child is framed, as large as what is in it and no larger than the screen."""

    DEFAULT_CSS = """
    Framed { align: center middle; }
    Framed > Vertical, Framed > Words {
        width: 80; max-width: 96%; height: auto; max-height: 96%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    Framed OptionList { height: auto; border: none; padding: 0; background: transparent; }
    """
