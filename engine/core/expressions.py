"""Arithmetic as papers write it: `1/(2d)`, `d/2`, `sqrt(n)`. Expressions can only compute numbers.

`number`, `symbol` and `written` print values and expressions: η·step for `eta*step`, √n for `sqrt(n)`.
`fill` replaces expressions in a text by their values: "after {2*steps} steps".
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 200
"""Maximum number of characters in an expression."""

DEEPEST = 30
"""Maximum nesting of parentheses, signs and exponents, because the parser recurses at each level."""

MOST_BITS = 4096
"""Maximum number of bits of the numerator or denominator of an exact number.

The range of floats is far smaller.
"""

LARGEST_EXPONENT = 400
"""Maximum decimal exponent of exact literals.

Beyond it, a number or its reciprocal is outside the range of floats.
"""

DECIMAL_DIGITS = 15
"""Maximum number of significant digits of a decimal number that can be recovered from its float.

Up to this number of digits, different decimal numbers have different floats.
"""

SIMPLE = 10**6
"""Largest denominator of the fractions that are recovered from floats, such as 1/30 from 0.1/3."""

Number = Fraction | float
"""Value of an expression: a fraction while all operations are rational, else a float."""


def _exact_log2(value: Number) -> Number:
    if isinstance(value, Fraction) and value > 0 and 1 in (value.numerator, value.denominator):
        larger = value.numerator * value.denominator
        if larger & (larger - 1) == 0:
            exponent = larger.bit_length() - 1
            return Fraction(exponent if value.denominator == 1 else -exponent)
    return math.log2(value)


def _exact_sqrt(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


FUNCTIONS: dict[str, Callable[[Number], Number]] = {
    "log": math.log,
    "log2": _exact_log2,
    "sqrt": _exact_sqrt,
    "ceil": lambda value: Fraction(math.ceil(value)),
    "floor": lambda value: Fraction(math.floor(value)),
}
"""Functions that expressions may use; log is the natural logarithm."""

CONSTANTS = {"pi": math.pi, "π": math.pi}
"""Names that have a fixed value in every expression."""

OF_X: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name) for name in (*FUNCTIONS, "sin", "cos", "exp", "abs")
}
"""Functions that expressions of x may use: those of FUNCTIONS, and sin, cos, exp and abs."""

OF_ARRAYS: dict[str, Callable[[Any], Any]] = {name: getattr(np, name) for name in FUNCTIONS}
"""The functions of FUNCTIONS, which here apply to every entry of an array."""

_SIGNS = str.maketrans({"−": "-", "·": "*", "×": "*"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/^()]))"
)
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}

_COMPARISON = re.compile(r"([^<>=!]*)(?:(<=|>=|!=|==|<|>|=)(.*))?", re.DOTALL)
_RELATIONS = str.maketrans({"≤": "<=", "≥": ">=", "≠": "!="})
_RELATION: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class BadExpression(ValueError):
    """Error: a text is not an expression, or its value is not defined. The message is the reason."""


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression, computed by `exact`, as a float. Raises: BadExpression."""
    return float(exact(text, names))


def exact(text: str, names: Mapping[str, float]) -> Number:
    """Return the value of an expression, which is exact as long as all its operations are rational.

    Numbers in the text and values of names are read as decimal numbers: 2.49 is 249/100. Roots of squares and
    logarithms of powers of 2 are exact, too. Results of other functions, powers with fractional exponents,
    and numbers of more than MOST_BITS are floats.

    An expression may contain π (or pi), + − * / ^ (or **), parentheses, the functions of FUNCTIONS, and
    products without a sign, as in 2d or 3(n − 1). ^ has the highest precedence and is right-associative. If a
    product without a sign follows / or ^, as in 1/2d, the expression is ambiguous and is refused.

    Raises: BadExpression, also if there is no finite real value.
    """
    value: Number = _value_of_expression(text, names, FUNCTIONS, _nearest_simple_fraction, _number_in_text)
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise BadExpression("the value is too large")
    return value


def _nearest_simple_fraction(value: float) -> Number:
    """Return the rational number that a float stands for: 249/100 for 2.49, and 1/30 for 0.1/3."""
    if isinstance(value, Fraction) or not math.isfinite(value):
        return value
    if value == int(value):
        return Fraction(int(value))
    written = Fraction(repr(float(value)))
    if float(f"{value:.{DECIMAL_DIGITS}g}") == value:
        return written
    # A float such as 0.1/3 has more than 15 digits, but it is the float nearest to a fraction with a small
    # denominator.
    simple = Fraction(value).limit_denominator(SIMPLE)
    return simple if float(simple) == value else written


def _number_in_text(text: str) -> Number:
    if text.isdecimal():
        return Fraction(int(text))
    _, _, exponent = text.lower().partition("e")
    is_long = len(exponent) > len(f"-{LARGEST_EXPONENT}") or abs(int(exponent or 0)) > LARGEST_EXPONENT
    return float(text) if is_long else Fraction(text)


def _float_if_long(value: Any) -> Any:
    if isinstance(value, Fraction):
        longest = max(value.numerator.bit_length(), value.denominator.bit_length())
        return value if longest <= MOST_BITS else float(value)
    return value


def _exact_power(base: Any, exponent: Any) -> Any:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent)
        if exponent.denominator == 1 and bits <= MOST_BITS:
            return base ** int(exponent)
        if base == 0 and exponent < 0:
            raise ZeroDivisionError
        return float(base) ** float(exponent)
    return base**exponent


def tabulated(text: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return f(x) at every entry of the array `x`, in the same shape, where `text` is the formula of f.

    The formula may also use sin, cos, exp and abs.

    Raises: BadExpression, also if the value at some x is not finite and real.
    """
    with np.errstate(all="ignore"):
        values: NDArray[np.float64] = np.array(
            np.broadcast_to(_value_of_expression(text, {"x": x}, OF_X), x.shape)
        )
    if not (finite := np.isfinite(values)).all():
        raise BadExpression(f"{text} has no finite value at x = {x[~finite].flat[0]:g}")
    return values


def _value_of_expression(
    text: str,
    names: Mapping[str, Any],
    functions: Mapping[str, Callable[[Any], Any]],
    valued: Callable[[Any], Any] = lambda value: value,
    literal: Callable[[str], Any] = float,
) -> Any:
    """Return the value of the expression `text`, in which the names and functions have the given meanings.

    `valued` is applied to the value of each name, and `literal` to the text of each number. Raises:
    BadExpression.
    """
    if len(text) > LONGEST:
        raise BadExpression(f"the expression is longer than {LONGEST} characters")
    try:
        return _Parser(tokens(text), names, functions, valued, literal).parse()
    except ZeroDivisionError:
        raise BadExpression("the expression divides by zero") from None
    except OverflowError:
        raise BadExpression("the value is too large") from None


def names_in(text: str) -> set[str]:
    """Return the names in an expression, without functions and constants. Raises: BadExpression."""
    return {token for kind, token in tokens(text) if kind == "name"} - FUNCTIONS.keys() - CONSTANTS.keys()


def with_name(text: str, name: str, other: str) -> str:
    """Rename `name` to `other` in an expression or a condition."""
    return _TOKEN.sub(
        lambda match: match[0].replace(name, other) if match["name"] == name else match[0], text
    )


def evaluate_each(text: str, names: Mapping[str, float | NDArray[np.float64]]) -> float | NDArray[np.float64]:
    """Evaluate an expression elementwise: its names may stand for arrays.

    Entries without a finite value are NaN.

    Raises: BadExpression for a text that is not an expression, and for unknown names.
    """
    # Select the names that the expression uses: converting all available names to arrays would take longer
    # than computing the expression.
    used = {name: names[name] for name in names_in(text) if name in names}
    arrays = {name: value for name, value in used.items() if isinstance(value, np.ndarray)}
    if not arrays:
        return evaluate(text, used)  # type: ignore[arg-type]
    if arrays.keys() == {text.strip()}:
        return arrays[text.strip()]
    evaluate(text, {**used, **dict.fromkeys(arrays, 2.0)})  # type: ignore[dict-item]
    with np.errstate(all="ignore"):
        numbers: NDArray[np.float64] = _value_of_expression(text, used, OF_ARRAYS)
    return numbers


def holds(condition: str, names: Mapping[str, float]) -> bool:
    """Return whether a condition holds: comparisons such as `size <= 128`, joined by `and` and `or`.

    `and` has precedence over `or`. All comparisons are evaluated, so that every error is reported. Raises:
    BadExpression.
    """
    # Split at `or` first: it has lower precedence, so that `and` joins comparisons within each alternative.
    alternatives = [re.split(r"\band\b", joined) for joined in re.split(r"\bor\b", condition)]
    truths = [[_is_true(comparison, names) for comparison in alternative] for alternative in alternatives]
    return any(map(all, truths))


def _is_true(comparison: str, names: Mapping[str, float]) -> bool:
    left_side, sign, right_side = _COMPARISON.fullmatch(comparison.translate(_RELATIONS)).groups("")  # type: ignore[union-attr]
    if not sign:
        raise BadExpression(f"{comparison.strip()!r} is not a comparison; it needs <, <=, >, >=, = or !=")
    return bool(_RELATION[sign](exact(left_side, names), exact(right_side, names)))


def names_in_condition(condition: str) -> set[str]:
    """Return the names in a condition, such as "size" in `size <= 128`. Raises: BadExpression."""
    sides = re.split(r"\b(?:and|or)\b|[<>=!]+", condition.translate(_RELATIONS))
    return set().union(*map(names_in, sides))


def tokens(text: str) -> list[tuple[str, str]]:
    """Split an expression into tokens, pairs of kind and text. The last kind is "end".

    Raises: BadExpression.
    """
    tokens_read, place, text = [], 0, text.translate(_SIGNS).rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise BadExpression(f"{text[place:].strip()[0]!r} does not belong in an expression")
        tokens_read.append((str(match.lastgroup), match[str(match.lastgroup)]))
        place = match.end()
    return [*tokens_read, ("end", "")]


def _finite_or_nan(value: Any) -> Any:
    return (
        np.where(np.isfinite(value), value, np.nan)
        if isinstance(value, np.ndarray)
        else _float_if_long(value)
    )


class _Parser:
    """Parser that computes the value, a number or an array, while it reads tokens from left to right."""

    def __init__(
        self,
        tokens: list[tuple[str, str]],
        names: Mapping[str, Any],
        functions: Mapping[str, Callable[[Any], Any]],
        valued: Callable[[Any], Any],
        literal: Callable[[str], Any],
    ) -> None:
        self._tokens, self._names, self._functions = tokens, names, functions
        self._valued, self._literal = valued, literal
        self._place = self._depth = 0

    def parse(self) -> Any:
        value = _finite_or_nan(self._parse_sum())
        if self._tokens[self._place][0] != "end":
            raise self._unexpected_token_error()
        return value

    def _parse_sum(self) -> Any:
        value = self._parse_product()
        while sign := self._take_sign("+", "-"):
            value = _finite_or_nan(_OPERATIONS[sign](value, self._parse_product()))
        return value

    def _parse_product(self) -> Any:
        value, ambiguous = self._parse_signed_factor()
        while True:
            if sign := self._take_sign("*", "/"):
                factor, power = self._parse_signed_factor()
                value, ambiguous = _finite_or_nan(_OPERATIONS[sign](value, factor)), power or sign == "/"
            elif self._tokens[self._place][0] == "name" or self._tokens[self._place][1] == "(":
                if ambiguous:
                    raise BadExpression("a product after / or ^ can be read in two ways; use parentheses")
                factor, ambiguous = self._parse_power()
                value = _finite_or_nan(value * factor)
            else:
                return value

    def _parse_signed_factor(self) -> tuple[Any, bool]:
        """Return the value of a factor with its minus signs, and whether the factor ends in an exponent.

        After an exponent, a product without the sign * would be ambiguous.
        """
        if self._take_sign("-"):
            with self._nested_level():
                value, power = self._parse_signed_factor()
            return -value, power
        return self._parse_power()

    def _parse_power(self) -> tuple[Any, bool]:
        base = self._parse_atom()
        if not self._take_sign("^", "**"):
            return base, False
        with self._nested_level():
            exponent, _ = self._parse_signed_factor()
        value = _finite_or_nan(_exact_power(base, exponent))
        if isinstance(value, complex):
            raise BadExpression(f"{float(base):g} to the power {float(exponent):g} is no real number")
        return value, True

    def _parse_atom(self) -> Any:
        kind, text = self._tokens[self._place]
        if kind == "number":
            self._place += 1
            return self._literal(text)
        if kind == "name":
            self._place += 1
            return self._parse_name(text)
        if not self._take_sign("("):
            raise self._unexpected_token_error()
        return self._parse_to_closing_parenthesis()

    def _parse_name(self, name: str) -> Any:
        if name in self._functions:
            if not self._take_sign("("):
                raise BadExpression(f"{name} needs parentheses, as in {name}(d)")
            argument = self._parse_to_closing_parenthesis()
            try:
                return _finite_or_nan(self._functions[name](argument))
            except ValueError:
                raise BadExpression(f"{name}({float(argument):g}) is not defined") from None
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in self._names:
            raise BadExpression(f"{name!r} is unknown")
        return self._valued(self._names[name])

    def _parse_to_closing_parenthesis(self) -> Any:
        with self._nested_level():
            value = self._parse_sum()
        if not self._take_sign(")"):
            raise self._unexpected_token_error("a closing parenthesis is missing")
        return value

    @contextmanager
    def _nested_level(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadExpression(f"the expression is nested more than {DEEPEST} times")
        yield
        self._depth -= 1

    def _take_sign(self, *signs: str) -> str:
        kind, text = self._tokens[self._place]
        if kind != "sign" or text not in signs:
            return ""
        self._place += 1
        return text

    def _unexpected_token_error(self, at_end: str = "the expression is not complete") -> BadExpression:
        kind, text = self._tokens[self._place]
        return BadExpression(at_end if kind == "end" else f"{text!r} is misplaced")


GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "eta": "η", "theta": "θ", "lam": "λ",
    "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "pi": "π",
}  # fmt: skip
"""Greek letters by their names in expressions."""

_BARE = re.compile(r"√\((\w+)\)")
"""Pattern of a root of a single name or number. Such a root is printed without parentheses."""

WHOLE = 1e7
"""Numbers of at least this size are printed with a power of ten. Smaller integers are printed in full."""

_PRINTED_SIGNS = {"*": "·", "**": "^", "+": " + ", "-": " − ", "sqrt": "√"}


def number(value: float, digits: int = 3) -> str:
    """Format a number with `digits` significant digits.

    Numbers below WHOLE have no power of ten, and integers below WHOLE have all their digits.
    """
    if not abs(value) < WHOLE:
        return f"{value:.{digits}g}"
    rounded = value if value == int(value) else float(f"{value:.{digits}g}")
    return f"{rounded:.0f}" if rounded == int(rounded) and abs(rounded) >= 1 else f"{rounded:.{digits}g}"


def briefer(name: str, formula: str) -> str:
    """Return the formula if it is nonempty and shorter than the name; otherwise the name."""
    return formula if 0 < len(formula) < len(name) else name


def symbol(name: str, words: Mapping[str, str]) -> str:
    """Return the printed form of a name: its entry in `words`, a Greek letter, or the name itself."""
    return words.get(name) or GREEK.get(name) or name.replace("_", " ")


def written(expression: str, words: Mapping[str, str]) -> str:
    """Return an expression as printed: `symbol` converts its names, * becomes ·, and sqrt becomes √.

    Raises: BadExpression.
    """
    symbols = [
        (kind, symbol(token, words) if kind == "name" else token) for kind, token in tokens(expression)
    ]
    text, before = "", ("sign", "(")
    for kind, token in symbols:
        starts = before[0] == "sign" and before[1] != ")"
        text += "−" if token == "-" and starts else _PRINTED_SIGNS.get(token, token)
        before = kind, token
    return _BARE.sub(r"√\1", text)


def values_written(text: str, words: Mapping[str, str]) -> str:
    """Return the printed form of values of sweep axes.

    For example, "eta = 0.05, fresh = False" becomes "η = 0.05, not fresh".
    """
    return ", ".join(_value_in_words(assignment, words) for assignment in text.split(", "))


def _value_in_words(text: str, words: Mapping[str, str]) -> str:
    name, equals, value = text.partition(" = ")
    if not equals:
        return text
    in_words = symbol(name, words)
    return {"True": in_words, "False": f"not {in_words}"}.get(value, f"{in_words} = {value}")


FILLED_DIGITS = 6
"""Number of significant digits with which `fill` writes a number that is not an integer."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def has_braces(text: str) -> bool:
    """Return whether a text has braces; otherwise `fill` would not change it."""
    return "{" in text or "}" in text


def fill(text: str, names: Mapping[str, float]) -> str:
    """Replace every expression in braces by its value; {{ and }} stand for single braces.

    Raises: BadExpression.
    """

    def piece(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise BadExpression(f"{match[0]!r} has no matching brace; write {{{{ or }}}} for a single brace")
        try:
            return _value_text(exact(match[1], names))
        except BadExpression as error:
            raise BadExpression(f"{match[0]} cannot be computed: {error}") from error

    return _PIECE.sub(piece, text)


def with_changed_expressions(text: str, change: Callable[[str], object]) -> str:
    """Replace every {expression} in a text by the result of `change`, again in braces."""
    return _PIECE.sub(lambda match: match[0] if match[1] is None else f"{{{change(match[1])}}}", text)


def plain(text: str) -> str:
    """Double the braces of a text, so that `fill` returns the original text."""
    return text.replace("{", "{{").replace("}", "}}")


def _value_text(value: Fraction | float) -> str:
    if isinstance(value, Fraction) and value.denominator == 1:
        text = str(value.numerator)
    else:
        text = number(float(value), FILLED_DIGITS)
    return text.replace("-", "−") if text.startswith("-") else text
