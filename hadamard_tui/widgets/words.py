"""Text that is scrolled."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll

from hadamard_tui.keyboard.motions import IN_TEXTS


class Words(VerticalScroll):
    """What the keys of vi scroll, too."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_TEXTS]
