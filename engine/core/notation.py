"""Expressions and values as papers write them: η·step for `eta*step`, √n for `sqrt(n)`, 1048576 for 2²⁰."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.core.expressions import tokens

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "eta": "η", "theta": "θ", "lam": "λ",
    "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "pi": "π",
}  # fmt: skip
"""Names of letters."""

_BARE = re.compile(r"√\((\w+)\)")
"""A root of a single name or number needs no parentheses."""

WHOLE = 1e7
"""Whole numbers below this are written in all of their digits."""

_SIGNS = {"*": "·", "**": "^", "+": " + ", "-": " − ", "sqrt": "√"}


def number(value: float, digits: int = 3) -> str:
    """A number in so many digits, without a power of ten below WHOLE, or a whole one in all of its own."""
    if not abs(value) < WHOLE:
        return f"{value:.{digits}g}"
    rounded = value if value == int(value) else float(f"{value:.{digits}g}")
    return f"{rounded:.0f}" if rounded == int(rounded) and abs(rounded) >= 1 else f"{rounded:.{digits}g}"


def briefer(name: str, formula: str) -> str:
    """The formula of what has a name, where there is one and it is shorter."""
    return formula if 0 < len(formula) < len(name) else name


def symbol(name: str, words: Mapping[str, str]) -> str:
    """What stands for a name: the words for it, a Greek letter, or the name."""
    return words.get(name) or GREEK.get(name) or name.replace("_", " ")


def written(expression: str, words: Mapping[str, str]) -> str:
    """An expression with the words for its names, Greek letters, · and √. Raises: BadExpression."""
    found = [(kind, symbol(token, words) if kind == "name" else token) for kind, token in tokens(expression)]
    text, before = "", ("sign", "(")
    for kind, token in found:
        starts = before[0] == "sign" and before[1] != ")"
        text += "−" if token == "-" and starts else _SIGNS.get(token, token)
        before = kind, token
    return _BARE.sub(r"√\1", text)


def values_written(text: str, words: Mapping[str, str]) -> str:
    """The values of axes, as in "eta = 0.05, fresh = False", in symbols and words: "η = 0.05, not fresh"."""
    return ", ".join(_value_written(one, words) for one in text.split(", "))


def _value_written(text: str, words: Mapping[str, str]) -> str:
    name, equals, value = text.partition(" = ")
    if not equals:
        return text
    said = symbol(name, words)
    return {"True": said, "False": f"not {said}"}.get(value, f"{said} = {value}")
