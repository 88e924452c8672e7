"""How sentences about results say numbers, lists and predicates."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

PLURALS = {
    "begins": "begin", "comes": "come", "does": "do", "ends": "end", "falls": "fall", "follows": "follow",
    "goes": "go", "has": "have", "is": "are", "stays": "stay",
}  # fmt: skip
"""The verbs of predicates."""

LEAST_SHARE = 0.01
"""Percent: what differs by less differs by no more than this."""

MOST = 3
"""So many are named in a clause; of more than one more, the first and how many others."""


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """What goes with every key, in the order of the first of each."""
    found: dict[K, list[T]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return found


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names as a sentence lists them: all, or of many the first and how many others; `most` at the most."""
    shown, left = first_of(names) if most is None else (names[:most], len(names[most:]))
    if left:
        return f"{', '.join(shown)} and {left} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def first_of(names: Sequence[T], most: int = MOST) -> tuple[Sequence[T], int]:
    """The names to be listed, all or of many the first, and how many others there are: two at least."""
    return (names, 0) if len(names) <= most + 1 else (names[:most], len(names) - most)


def percent(share: float) -> str:
    """A share in words, of two digits or a whole number of percent."""
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


def at_most(share: float) -> str:
    """The same of a share that is not exceeded: no less than is worth a digit."""
    return percent(max(share, LEAST_SHARE))


def plural(predicate: str, names: Sequence[object]) -> str:
    """A predicate for one subject or for several."""
    if len(names) == 1:
        return predicate
    verb, space, rest = predicate.partition(" ")
    return f"{PLURALS.get(verb, verb)}{space}{rest}"


def together(groups: Sequence[tuple[str, Sequence[T]]], name: Callable[[T], str]) -> str:
    """Subjects with their predicates; a verb that is the same as before is not repeated."""
    said, before = list[str](), ""
    for predicate, some in groups:
        those = [name(one) for one in some]
        verb, _, tail = plural(predicate, those).partition(" ")
        said.append(f"{listed(those)} {tail if verb == before else f'{verb} {tail}'}")
        before = verb
    return ", ".join(said)
