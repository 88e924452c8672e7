"""Theory pages that come with the program, their sections, and citations of them.

A citation is `theory/PAGE#SLUG`. Former versions cited `theory-nets.md §31`; these citations still resolve.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.core.parts import BadInput

PAGES = (
    "conventions", "hadamard", "symmetry", "automatic-descent", "implicit-bias", "parities-and-noise",
    "wide-nets", "curvature", "noise-of-sgd", "kernels-and-entropy", "regions-and-random-matrices",
)  # fmt: skip
"""Names of the pages, in teaching order."""

FORMER = {
    "theory": {
        "1": "conventions#conventions",
        "2": "conventions#matrices",
        "3": "conventions#architectures",
        "4": "conventions#update-rules",
        "5": "conventions#protocols",
        "6": "conventions#losses",
        "7": "hadamard#bounds",
        "8": "symmetry#rotation-invariance",
        "9": "automatic-descent#majoriser",
        "10": "conventions#diagnostics",
    },
    "theory-open": {"17": "hadamard#factors", "18": "hadamard#two-layers", "18b": "hadamard#random-signs"},
    "theory-symmetry": {
        "19": "symmetry#half-spaces",
        "20": "symmetry#alignment",
        "21": "symmetry#habits",
        "22": "automatic-descent#majoriser",
        "23": "automatic-descent#variants-and-recipes",
        "50": "automatic-descent#adaptive-fail",
        "65": "symmetry#modern-optimizers",
        "65.1": "symmetry#diagnose",
    },
    "theory-bias": {
        "34": "implicit-bias#kernel-and-rich",
        "41": "parities-and-noise#parities",
        "42": "parities-and-noise#one-example-or-a-mean",
        "43": "parities-and-noise#fitting-anything",
        "44": "parities-and-noise#wrong-labels",
        "45": "parities-and-noise#nuisance-space",
        "46": "parities-and-noise#mixtures",
        "47": "implicit-bias#optimisation-geometry",
        "48": "implicit-bias#kernel-and-rich",
        "49": "implicit-bias#matrix-completion",
        "51": "implicit-bias#relu-interpolation",
    },
    "theory-nets": {
        "0": "wide-nets#conventions-of-the-lectures",
        "24": "wide-nets#criticality",
        "25": "wide-nets#infinite-width",
        "26": "wide-nets#kernel-regime",
        "27": "wide-nets#mean-field",
        "28": "curvature#hessian",
        "29": "curvature#collapse",
        "30": "curvature#edge-of-stability",
        "31": "curvature#catapult",
        "32": "kernels-and-entropy#kernels",
        "33": "curvature#quadratic-models",
        "34": "implicit-bias#shaped-start",
        "35": "implicit-bias#max-margin",
        "36": "noise-of-sgd#steady-state",
        "37": "kernels-and-entropy#entropy",
        "38": "regions-and-random-matrices#paths",
        "39": "regions-and-random-matrices#regions",
        "40": "regions-and-random-matrices#random-matrices",
    },
}
"""Current addresses of the numbered sections of former pages."""

_HEADING = re.compile(r"^## (?P<title>.+?) \{#(?P<slug>[\w-]+)\}$", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_CITATION = re.compile(r"theory/(?P<address>[\w-]+#[\w-]+)")
_NUMBER = r"\d+(?:\.\d|[a-z])?"
_FORMER_CITATION = re.compile(
    rf"\b(?P<page>theory(?:-\w+)?)\.md\s+§{{1,2}}\s?(?P<numbers>{_NUMBER}(?:(?:,\s+§?|–|/|\s+and\s+){_NUMBER})*)"
)
_ANY_CITATION = re.compile(f"{_CITATION.pattern}|{_FORMER_CITATION.pattern}")


class Section(NamedTuple):
    """A section of a theory page."""

    page: str
    slug: str
    title: str
    text: str
    """Markdown text below the section's heading."""

    @property
    def address(self) -> str:
        """Page and slug of the section, as in `hadamard#bounds`."""
        return f"{self.page}#{self.slug}"


def folder() -> Path:
    """Return the folder of the theory pages."""
    root = Path(__file__).resolve().parents[1]
    shipped = root / "shipped_theory"
    return shipped if shipped.is_dir() else root.parent / "docs" / "theory"


class Page(NamedTuple):
    """A theory page: its title, the question that it answers, and its sections."""

    name: str
    title: str
    question: str
    sections: tuple[Section, ...]


@cache
def pages() -> tuple[Page, ...]:
    """Return the theory pages that exist, in teaching order."""
    files = ((name, folder() / f"{name}.md") for name in PAGES)
    return tuple(parse(name, file.read_text(encoding="utf-8")) for name, file in files if file.exists())


def parse(name: str, text: str) -> Page:
    """Parse the Markdown text of a theory page called `name`, and return the page."""
    title = _TITLE.search(text)
    headings = [*_HEADING.finditer(text)]
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    sections = tuple(
        Section(name, heading["slug"], heading["title"], text[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    )
    begins = 0 if title is None else title.end()
    question = text[begins : headings[0].start() if headings else len(text)].strip()
    return Page(name, name if title is None else title[1], question, sections)


def sections() -> dict[str, Section]:
    """Return the sections of all theory pages, by address."""
    return {section.address: section for page in pages() for section in page.sections}


def named(wanted: str) -> tuple[Section, ...]:
    """Return all sections of the page called `wanted`.

    If no page has this name, return the section that `find` returns for `wanted`. Raises: BadInput.
    """
    by_name = {page.name: page.sections for page in pages()}
    return by_name.get(wanted) or (find(wanted),)


def find(wanted: str) -> Section:
    """Return the theory section that `wanted` names by an address, a slug or a citation.

    For example, the section of the address `hadamard#bounds` has the slug `bounds`, and texts cite it as
    `theory/hadamard#bounds`. Raises: BadInput.
    """
    by_address = sections()
    address = next(cited(wanted), wanted.removeprefix("theory/"))
    if address in by_address:
        return by_address[address]
    with_slug = [section for section in by_address.values() if section.slug == address]
    if len(with_slug) == 1:
        return with_slug[0]
    slugs = {section.slug: section.address for section in by_address.values()}
    near = [slugs.get(name, name) for name in difflib.get_close_matches(address, [*by_address, *slugs], n=3)]
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else "hadamard-tui theory lists them"
    raise BadInput(wanted, f"there is no section of the theory pages of this name; {hint}")


def with_run(preset: str) -> tuple[Section, ...]:
    """Return the sections of theory pages that run a preset. The list may be empty."""
    mark = f"<!-- run: {preset} -->"
    return tuple(section for section in sections().values() if mark in section.text)


def cited(text: str) -> Iterator[str]:
    """Yield the addresses of theory sections that a text cites, once each, in the order of the text."""
    addresses = [address for match in _ANY_CITATION.finditer(text) for address in _addresses_of_match(match)]
    yield from dict.fromkeys(addresses)


def _addresses_of_match(match: re.Match[str]) -> list[str]:
    groups = match.groupdict()
    if groups.get("address"):
        return [groups["address"]]
    by_number = FORMER.get(groups["page"], {})
    addresses = []
    for numbers in re.split(r",\s+§?|/|\s+and\s+", groups["numbers"]):
        first, _, last = numbers.partition("–")
        named = [first] if not last else [str(number) for number in range(int(first), int(last) + 1)]
        addresses += [by_number[number] for number in named if number in by_number]
    return list(dict.fromkeys(addresses))
