"""Base of every member of the catalogue: one frozen Struct is its description, code, form and documentation.

The module also has types of fields that several families share, such as sizes of factors.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Meta

from engine.core.groups import ROTATIONS, TRIVIAL, Group
from engine.core.texts import message

_MODULE = ""
"""Key of the module's docstring among the docstrings in its source."""


@cache
def docstring(documented: Any) -> str:
    """Return the docstring of a module, class or function without its indentation.

    A class without a docstring has that of a base. The docstring is empty if Python has dropped it and the
    source is missing.
    """
    restore(documented)
    return inspect.getdoc(documented) or ""


def restore(documented: Any) -> None:
    """Read dropped docstrings from the source and set them: of an object, and of the bases of a class."""
    if sys.flags.optimize < 2:
        return
    for owner in documented.__mro__ if isinstance(documented, type) else (documented,):
        if owner.__doc__ is None and (text := _from_source(owner)):
            owner.__doc__ = text


def _from_source(documented: Any) -> str | None:
    if isinstance(documented, ModuleType):
        return _in_source(documented).get(_MODULE)
    module = sys.modules.get(documented.__module__)
    return None if module is None else _in_source(module).get(documented.__qualname__)


@cache
def _in_source(module: ModuleType) -> Mapping[str, str | None]:
    """Return the docstrings in the source of a module by qualified name; empty without a source."""
    import ast

    def named(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, str | None]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                name = f"{prefix}{child.name}"
                yield name, ast.get_docstring(child)
                yield from named(child, f"{name}.")

    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return {}
    return {_MODULE: ast.get_docstring(tree), **dict(named(tree))}


MOST = 2**24
"""Largest integer in a part. float32 is exact up to it, and no run counts further."""

MOST_FEATURES = 2**30
"""Largest number of features of a matrix that need not be stored; the memory estimate decides on a run."""

MOST_LAYERS = 1024
"""Largest number L of layers of a net: each is a tensor, and up to this L a float32 power u^L keeps four
digits."""

MOST_WORDS = 10_000
"""Largest number of characters of a text, such as a story."""

LARGEST = 1e38
"""Largest number in a part, near the end of the range of float32."""

SELDOM = {"seldom": True}
"""Mark of a field that few experiments set; forms hide it behind a line unless it is set."""

Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1, le=MOST)]
Dimension = Annotated[int, Meta(ge=2, le=MOST)]
Features = Annotated[int, Meta(ge=2, le=MOST_FEATURES)]

Values = Literal["any", "signs", "bits"]
"""Range of numbers: any real number, −1 or +1, or 0 or 1."""


LearnerKind = Literal["gradient", "exact", "multiplicative", "sparse", "coordinate", "spectral", "other"]
"""Kinds of learners, which charts distinguish by hue: plain gradient rules on dense nets; exact solvers and
kernels; multiplicative rules; spindly and sparse nets; coordinate-wise and sign rules; spectral and
second-order rules; any other."""


class BadInput(ValueError):
    """Input is invalid.

    The message is one line: the place, the fault, and a remedy. Both arguments may quote raw input. They are
    escaped and cut here, so that they can be printed anywhere.
    """

    def __init__(self, where: str, fault: str) -> None:
        self.where, self.fault = message(where), message(fault)
        super().__init__(f"{self.where}: {self.fault}" if where else self.fault)


class BadField(ValueError):
    """A field of a part holds a value that its type alone cannot exclude."""

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(fault)
        self.field = field
        self.fault = fault


class Finding(NamedTuple):
    """Finding from the structure of an experiment: yes or no, and the reason in one sentence."""

    holds: bool
    reason: str


class Verdict(NamedTuple):
    """Whether ŷ(Ux | XUᵀ, y) = ŷ(x | X, y) for every orthogonal U, and the reason in one sentence."""

    invariant: Literal[True, False, "on this data"]
    reason: str
    otherwise: Group = TRIVIAL
    """Smaller group for which invariance is known, if it does not hold for all rotations."""

    undecided: bool = False
    """Whether structure does not decide: invariance under all rotations is possible, but not known."""

    @property
    def group(self) -> Group:
        """Largest known group under which predictions do not change."""
        return self.otherwise if self.invariant is False else ROTATIONS

    @property
    def sentence(self) -> str:
        """Verdict and reason, with a smaller group that leaves predictions unchanged, if one is known."""
        addition = "" if self.group in (ROTATIONS, TRIVIAL) else f"; {self.group.words} change nothing"
        return f"{self.word}: {self.reason}{addition}"

    @property
    def answer(self) -> str:
        """Verdict in a table: yes, no, undecided, or on this data."""
        if self.undecided:
            return "undecided"
        if isinstance(self.invariant, str):
            return self.invariant
        return "yes" if self.invariant else "no"

    @property
    def word(self) -> str:
        """Verdict in words."""
        if self.undecided:
            return "not known to be rotation invariant"
        if self.invariant is False:
            return "not rotation invariant"
        return "rotation invariant" + ("" if self.invariant is True else f" {self.invariant}")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of all parts. Fields are hyperparameters, and the tag is the name in preset files."""

    experimental: ClassVar[bool] = False
    """Whether the part is still in progress: tests then require no preset, no naive twin and no row in a
    table of cases, but everything else.
    """

    file_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that name files; relative paths in a preset are relative to its folder."""

    declares: ClassVar[frozenset[str]] = frozenset()
    """Properties that members declare and theorems rely on; with the family's defaults, no theorem
    applies."""

    shortcuts: ClassVar[frozenset[str]] = frozenset()
    """Methods that must agree with other methods, such as a hand-written gradient; reset like
    declarations."""

    def __init_subclass__(cls) -> None:
        """Reset inherited declarations if a class replaces a method or a constant that they may depend on.

        Defaults of fields and declarations do not count. The declarations of the class itself stay, and all
        others become those of its family.
        """
        super().__init_subclass__()
        bases = [base for base in cls.__mro__[1:] if issubclass(base, Part) and base is not Part]
        of_member = any(is_member(base) for base in bases)
        written = set().union(*(_written(base) for base in (bases if of_member else bases[:-1])))
        if written & _written(cls) - cls.declares:
            for attribute in (cls.declares | cls.shortcuts) - vars(cls).keys():
                setattr(
                    cls,
                    attribute,
                    next(vars(base)[attribute] for base in reversed(bases) if attribute in vars(base)),
                )

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not math.isfinite(number):
                    raise BadField(field, f"{number} is not a finite number")
                if isinstance(number, float) and abs(number) > LARGEST:
                    raise BadField(field, f"{number} is too large; take at most {LARGEST}")

    @property
    def kind(self) -> str:
        """Name of this part in preset files."""
        return kind_of(type(self))


def kind_of(part: type[Part]) -> str:
    """Return the name of a part in preset files, such as `egu-pm`."""
    return str(part.__struct_config__.tag)


def is_member(part: type[Part]) -> bool:
    """Return whether a class has a tag, as members have; the tag of an abstract class is its own name."""
    return part.__struct_config__.tag != part.__name__


def summary_of(part: type[msgspec.Struct]) -> str:
    """Return the first line of a part's docstring, its summary in one sentence."""
    return docstring(part).split("\n", 1)[0]


def _written(part: type[Part]) -> set[str]:
    """Return the names of attributes that a class defines, without abstract and special ones."""
    return {
        attribute
        for attribute, value in vars(part).items()
        if attribute not in vars(Part)
        and not attribute.startswith("__")
        and not getattr(value, "__isabstractmethod__", False)
    }


MOST_FACTORS = 24
"""Largest number of factors: more of them, even of size 2, make more entries than an instance may have."""

Factors = Annotated[
    Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=MOST_FACTORS)] | None,
    Meta(title="factors", description="the size of each, as in 16, 16; none: set by side and count"),
]
Side = Annotated[Dimension | None, Meta(title="side", description="the size of all factors, of one size")]
Several = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_FACTORS)] | None,
    Meta(title="count r", description="how many factors of one size there are"),
]


def check_factors(factors: tuple[int, ...] | None, side: int | None, count: int | None) -> None:
    """Check that sizes are set once and completely. Raises: BadField."""
    if factors is not None:
        for field, size in (("side", side), ("count", count)):
            if size is not None:
                raise BadField(field, "factors sets this too; give factors, or side and count")
    elif (side is None) != (count is None):
        missing, given_name = ("count", "side") if count is None else ("side", "count")
        raise BadField(missing, f"missing; {given_name} requires it")


def factor_sizes(
    factors: tuple[int, ...] | None, side: int | None, count: int | None
) -> tuple[int, ...] | None:
    """Return the size of every factor; None without any setting."""
    if side is not None and count is not None:
        return (side,) * count
    return factors


Pair = Annotated[
    Annotated[tuple[Count, ...], Meta(min_length=2, max_length=2)] | None,
    Meta(title="factors", description="rows and columns of W, as in 16, 16; none: as square as possible"),
]


def pair_of(factors: tuple[int, ...] | None, d: int) -> tuple[int, int]:
    """Return rows and columns of a matrix with d entries: as set, or otherwise as square as possible."""
    if factors is not None:
        rows, columns = factors
        return rows, columns
    rows = next(rows for rows in range(math.isqrt(d), 0, -1) if d % rows == 0)
    return rows, d // rows


def no_pair(factors: tuple[int, ...] | None, d: int) -> str | None:
    """Return the reason why rows and columns do not make d entries; None if they do."""
    rows, columns = pair_of(factors, d)
    if rows * columns == d:
        return None
    return f"a matrix of {rows} × {columns} has {rows * columns} entries, and instances have {d} features"
