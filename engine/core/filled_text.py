"""Texts with expressions in braces: "after {2*steps} steps"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from engine.core.expressions import BadExpression, exact
from engine.core.notation import number

DIGITS = 6
"""Digits of a number in a text that is no whole number."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def has_braces(text: str) -> bool:
    """Whether a text is another one once it is filled."""
    return "{" in text or "}" in text


def fill(text: str, names: Mapping[str, float]) -> str:
    """The text with the values of its expressions; {{ and }} are braces. Raises: BadExpression."""

    def piece(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise BadExpression(f"{match[0]!r} stands alone; {{{{ and }}}} are braces")
        try:
            return _written(exact(match[1], names))
        except BadExpression as error:
            raise BadExpression(f"{match[0]} does not fit: {error}") from error

    return _PIECE.sub(piece, text)


def with_changed_expressions(text: str, change: Callable[[str], object]) -> str:
    """The text with other expressions in its braces."""
    return _PIECE.sub(lambda match: match[0] if match[1] is None else f"{{{change(match[1])}}}", text)


def plain(text: str) -> str:
    """The text that becomes `text` once it is filled."""
    return text.replace("{", "{{").replace("}", "}}")


def _written(value: Fraction | float) -> str:
    """A number as texts have it: whole ones in all of their digits."""
    if isinstance(value, Fraction) and value.denominator == 1:
        text = str(value.numerator)
    else:
        text = number(float(value), DIGITS)
    return text.replace("-", "−") if text.startswith("-") else text
