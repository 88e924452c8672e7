"""Base class of all parts (update rules, losses, targets, …), and types of fields that several parts share.

A part is one frozen Struct. Its fields are the part's hyperparameters, its methods are the code, and its
docstring is the documentation. The app makes input forms from the fields.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Meta

from engine.core.groups import ROTATIONS, TRIVIAL, Group
from engine.core.texts import message

_MODULE = ""
"""Key of a module's own docstring in the result of `_docstrings_in_source`."""


@cache
def docstring(documented: Any) -> str:
    """Return the docstring of a module, class or function without its indentation.

    A class without a docstring has the docstring of a base class. The result is empty if Python has dropped
    the docstring and the source is missing.
    """
    restore(documented)
    return inspect.getdoc(documented) or ""


def restore(documented: Any) -> None:
    """Restore docstrings from the source if Python has dropped them because of the option `-OO`.

    For a class, also restore the docstrings of its base classes.
    """
    if sys.flags.optimize < 2:
        return
    for owner in documented.__mro__ if isinstance(documented, type) else (documented,):
        if owner.__doc__ is None and (text := _docstring_from_source(owner)):
            owner.__doc__ = text


def _docstring_from_source(documented: Any) -> str | None:
    if isinstance(documented, ModuleType):
        return _docstrings_in_source(documented).get(_MODULE)
    module = sys.modules.get(documented.__module__)
    return None if module is None else _docstrings_in_source(module).get(documented.__qualname__)


@cache
def _docstrings_in_source(module: ModuleType) -> Mapping[str, str | None]:
    """Return the docstrings of a module by qualified name; empty if the source is missing."""
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
"""Largest integer in a field. float32 represents all smaller integers, and no run has so many steps.
"""

MOST_FEATURES = 2**30
"""Largest number of features of a matrix that need not be stored.

The memory estimate may refuse a run with fewer features.
"""

MOST_LAYERS = 1024
"""Largest number L of layers of a net.

Each layer is a tensor. Up to this L, a float32 power u^L has four correct digits.
"""

MOST_WORDS = 10_000
"""Largest number of characters of a text field, such as a preset's story."""

LARGEST = 1e38
"""Largest number in a field, near the end of the range of float32."""

SELDOM = {"seldom": True}
"""Mark of a field that few experiments set. Forms hide such a field while it has its default value."""

Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1, le=MOST)]
Dimension = Annotated[int, Meta(ge=2, le=MOST)]
Features = Annotated[int, Meta(ge=2, le=MOST_FEATURES)]

Values = Literal["any", "signs", "bits"]
"""Set to which numbers belong: "any" is all real numbers, "signs" is −1 and +1, "bits" is 0 and 1.
"""


LearnerKind = Literal["gradient", "exact", "multiplicative", "sparse", "coordinate", "spectral", "other"]
"""Kinds of learners, which charts show in different hues.

In this order: plain gradient rules on dense nets; exact solvers and kernels; multiplicative rules; spindly
and sparse nets; coordinate-wise and sign rules; spectral and second-order rules; any other.
"""


class BadInput(ValueError):
    """Error: the user's input is invalid.

    The message is one line: where the fault is, what it is, and a remedy. `where` and `fault` may quote raw
    input. The class escapes and shortens both texts, so that they can be printed anywhere.
    """

    def __init__(self, where: str, fault: str) -> None:
        self.where, self.fault = message(where), message(fault)
        super().__init__(f"{self.where}: {self.fault}" if where else self.fault)


class BadField(ValueError):
    """Error: the value of a part's field has the right type, but the part does not allow it."""

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(fault)
        self.field = field
        self.fault = fault


class Finding(NamedTuple):
    """Answer, with a reason, to a yes-or-no question about the structure of an experiment."""

    holds: bool
    reason: str


class Verdict(NamedTuple):
    """Whether a learner is rotation invariant, and the reason in one sentence.

    A learner is rotation invariant if ŷ(Ux | XUᵀ, y) = ŷ(x | X, y) for every orthogonal U.
    """

    invariant: Literal[True, False, "on this data"]
    reason: str
    otherwise: Group = TRIVIAL
    """Known symmetry group of the predictions, if they are not invariant under all rotations.
    """

    undecided: bool = False
    """Whether the structure leaves the question open: the learner may be rotation invariant or not."""

    @property
    def group(self) -> Group:
        """Largest known group of transformations of the instances that leave predictions unchanged."""
        return self.otherwise if self.invariant is False else ROTATIONS

    @property
    def sentence(self) -> str:
        addition = (
            "" if self.group in (ROTATIONS, TRIVIAL) else f"; {self.group.words} do not change predictions"
        )
        return f"{self.word}: {self.reason}{addition}"

    @property
    def answer(self) -> str:
        if self.undecided:
            return "undecided"
        if isinstance(self.invariant, str):
            return self.invariant
        return "yes" if self.invariant else "no"

    @property
    def word(self) -> str:
        if self.undecided:
            return "not known to be rotation invariant"
        if self.invariant is False:
            return "not rotation invariant"
        return "rotation invariant" + ("" if self.invariant is True else f" {self.invariant}")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base class of all parts. Its fields are hyperparameters, and its tag is its name in preset files."""

    experimental: ClassVar[bool] = False
    """Whether the part is still in progress.

    For such a part, tests require no preset, no naive reference implementation and no row in the tests' table
    of cases. All other tests apply.
    """

    file_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that name files. In a preset, a relative path starts from the folder of the preset."""

    declares: ClassVar[frozenset[str]] = frozenset()
    """Names of the properties that theorems rely on. With the defaults of the family, no theorem applies."""

    shortcuts: ClassVar[frozenset[str]] = frozenset()
    """Methods that must agree with other methods, such as a hand-written gradient.

    Inherited shortcuts are reset under the same conditions as the properties in `declares`.
    """

    former: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Methods that the program no longer calls, by name, with a remedy for each.

    A part from outside the program that defines one of them is refused, because its method would be ignored.
    """

    def __init_subclass__(cls) -> None:
        """Reset inherited properties in `declares` that may no longer be true for a subclass.

        Theorems rely on these properties. A property may depend on any method or constant of a base class. If
        a subclass replaces such a method or constant, each inherited property in `declares` gets the default
        of the family, as does each inherited method in `shortcuts`. Methods of the family itself count only
        if a base class is a member. Properties that the subclass sets itself stay. A subclass that replaces
        only defaults of fields, or only properties in `declares`, resets nothing.
        """
        super().__init_subclass__()
        bases = [base for base in cls.__mro__[1:] if issubclass(base, Part) and base is not Part]
        of_member = any(is_member(base) for base in bases)
        written = set().union(*(_defined_attributes(base) for base in (bases if of_member else bases[:-1])))
        if written & _defined_attributes(cls) - cls.declares:
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
        return kind_of(type(self))


def kind_of(part: type[Part]) -> str:
    """Return the name of a part in preset files, such as `egu-pm`."""
    return str(part.__struct_config__.tag)


def is_member(part: type[Part]) -> bool:
    """Return whether a class is a member of a family, not an abstract base class.

    A member sets a tag. An abstract class sets no tag, so its tag in msgspec is its name.
    """
    return part.__struct_config__.tag != part.__name__


def summary_of(part: type[msgspec.Struct]) -> str:
    """Return the first line of a part's docstring."""
    return docstring(part).split("\n", 1)[0]


def _defined_attributes(part: type[Part]) -> set[str]:
    return {
        attribute
        for attribute, value in vars(part).items()
        if attribute not in vars(Part)
        and not attribute.startswith("__")
        and not getattr(value, "__isabstractmethod__", False)
    }


MOST_FACTORS = 24
"""Largest number of factors. With more factors, even of size 2, an instance would have too many entries."""

Factors = Annotated[
    Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=MOST_FACTORS)] | None,
    Meta(
        title="factors",
        description="size of each factor, such as 16, 16; if not set, `side` and `count` set the sizes",
    ),
]
Side = Annotated[Dimension | None, Meta(title="side", description="common size of all factors")]
Several = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_FACTORS)] | None,
    Meta(title="count r", description="number of factors, if all have the same size"),
]


def check_factors(factors: tuple[int, ...] | None, side: int | None, count: int | None) -> None:
    """Check that the fields for the sizes of the factors of x = x₁ ⊗ x₂ ⊗ … have valid values.

    `side` and `count` must be set both or not at all, and not together with `factors`. Raises: BadField.
    """
    if factors is not None:
        for field, size in (("side", side), ("count", count)):
            if size is not None:
                raise BadField(
                    field, "`factors` already sets this; give either `factors`, or `side` and `count`"
                )
    elif (side is None) != (count is None):
        missing, given_name = ("count", "side") if count is None else ("side", "count")
        raise BadField(missing, f"missing; {given_name} requires it")


def factor_sizes(
    factors: tuple[int, ...] | None, side: int | None, count: int | None
) -> tuple[int, ...] | None:
    """Return the sizes of the factors of x = x₁ ⊗ x₂ ⊗ …, or None if no field sets them.

    `side` and `count` mean `count` factors of the size `side`.
    """
    if side is not None and count is not None:
        return (side,) * count
    return factors


Pair = Annotated[
    Annotated[tuple[Count, ...], Meta(min_length=2, max_length=2)] | None,
    Meta(
        title="factors",
        description="rows and columns of W, such as 16, 16; if not set, W is as square as possible",
    ),
]


def pair_of(factors: tuple[int, ...] | None, d: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of a matrix W with d entries.

    `factors` are the two numbers. If `factors` is None, W is as square as possible, and not higher than wide.
    """
    if factors is not None:
        rows, columns = factors
        return rows, columns
    rows = next(rows for rows in range(math.isqrt(d), 0, -1) if d % rows == 0)
    return rows, d // rows


def no_pair(factors: tuple[int, ...] | None, d: int) -> str | None:
    """Return an error message if a matrix W with this shape does not have d entries; otherwise None."""
    rows, columns = pair_of(factors, d)
    if rows * columns == d:
        return None
    return f"a matrix of {rows} × {columns} has {rows * columns} entries, but instances have {d} features"
