"""`report`: a page for each preset, and an index of the pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.core import files
from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.headless.outcome import computed
from hadamard_tui.sharing.web_page import IndexEntry, index_page, web_page

if TYPE_CHECKING:
    from rich.console import Console

INDEX = "index.html"


@dataclass(frozen=True)
class Reported:
    """A preset whose page is written, or the reason why there is none."""

    preset: str
    entry: IndexEntry | None
    why_not: str = ""

    @property
    def holds(self) -> bool:
        """Whether there is a page, and every claim on it holds."""
        return self.entry is not None and self.entry.holding == self.entry.claims

    @property
    def in_words(self) -> str:
        """Number of claims that hold, or the reason why there is no page."""
        if self.entry is None:
            return self.why_not
        return f"{self.entry.holding} of {self.entry.claims} claims hold"


def report(folder: Path, names: Sequence[str], errors: Console, fresh: bool) -> Iterator[Reported]:
    """Write a page for each preset into a folder, and update the index after each page.

    Points of axes are taken from earlier runs unless `fresh`. Raises: BadInput if a file cannot be written.
    """
    with files.faults(str(folder), "cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)
    entries: list[IndexEntry] = []
    for name in names:
        try:
            document = presets.document(name)
            done = computed(name, document, errors, fresh)
            page = web_page(done.results, done.outcomes, name, document)
        except BadInput as error:
            yield Reported(name, None, str(error))
            continue
        file = f"{presets.name_of(name)}.html"
        files.write(folder / file, page)
        entries.append(IndexEntry.of(done.results, done.outcomes, file))
        files.write(folder / INDEX, index_page(entries))
        yield Reported(name, entries[-1])
