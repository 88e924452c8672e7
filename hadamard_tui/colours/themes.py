"""Themes of the app: dark, light and high contrast, each with the palette of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.theme import Theme

from hadamard_tui.colours import palette

if TYPE_CHECKING:
    from hadamard_tui.colours.palette import Palette, ThemeName


class ColourTheme(NamedTuple):
    """Textual theme, with the palette of curves that fits its background."""

    theme: Theme
    palette: Palette


COLOUR_THEMES: dict[ThemeName, ColourTheme] = {
    "dark": ColourTheme(
        Theme(
            name="dark",
            primary="#4aa8ff",
            secondary="#2f6f9f",
            accent="#d8bd13",
            warning="#ffb02e",
            error="#ff6b6b",
            success="#4ebf71",
            foreground="#e0e0e0",
            background="#121212",
            surface="#1e1e1e",
            panel="#2a2a2a",
        ),
        palette.DARK,
    ),
    "light": ColourTheme(
        Theme(
            name="light",
            primary="#1e57c0",
            secondary="#3a6ea5",
            accent="#92256a",
            warning="#8a5a00",
            error="#b00020",
            success="#00705c",
            foreground="#1a1a1a",
            background="#f4f4f4",
            surface="#e9e9e9",
            panel="#dcdcdc",
            dark=False,
        ),
        palette.LIGHT,
    ),
    "contrast": ColourTheme(
        Theme(
            name="contrast",
            primary="#00d7ff",
            secondary="#00d7ff",
            accent="#ffff2f",
            warning="#ffff2f",
            error="#ff8a8a",
            success="#7dff9b",
            foreground="#ffffff",
            background="#000000",
            surface="#000000",
            panel="#303030",
            text_alpha=1.0,
            variables={"text-muted": "#ffffff", "foreground-muted": "#ffffff"},
        ),
        palette.CONTRAST,
    ),
}


def after(name: str) -> ThemeName:
    names = list(COLOUR_THEMES)
    return names[(names.index(name) + 1) % len(names)] if name in COLOUR_THEMES else names[0]
