"""`report`: a page for each preset, and an index of the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import engine
import hadamard_tui
from engine.core import files
from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.headless.outcome import computed
from hadamard_tui.sharing.web_page import IndexEntry, index_page, web_page

if TYPE_CHECKING:
    from rich.console import Console

    from engine.spec.reading import Raw

INDEX = "index.html"

MADE_PAGES = "report.json"
"""File of a folder that says from what each of its pages was made."""


class StoredPage(msgspec.Struct, frozen=True):
    """A page that an earlier report wrote.

    Args:
        key: digest of the preset's document and of the program's code.
    """

    key: str
    entry: IndexEntry


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

    Pages of shipped presets that an earlier report wrote, points of axes and runs are reused unless `fresh`,
    so a report that was stopped goes on. Raises: BadInput if a file cannot be written.
    """
    with files.faults(str(folder), "cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)
    stored = {} if fresh else dict(_stored_pages(folder))
    entries: list[IndexEntry] = []
    for name in names:
        try:
            document = presets.document(name)
            page, key = stored.get(name), _key(document)
            if page is None or page.key != key or not (folder / page.entry.file).exists():
                page = StoredPage(key, _write_page(folder, name, document, errors, fresh))
        except BadInput as error:
            yield Reported(name, None, str(error))
            continue
        entries.append(page.entry)
        files.write(folder / INDEX, index_page(entries))
        if name in presets.names():  # the data of other presets may change behind the names of their files
            stored[name] = page
            files.write(folder / MADE_PAGES, msgspec.json.encode(stored))
        yield Reported(name, page.entry)


def _write_page(folder: Path, name: str, document: Raw, errors: Console, fresh: bool) -> IndexEntry:
    """Run a preset, write its page, and return its entry in the index. Raises: BadInput."""
    done = computed(name, document, errors, fresh, store_single_runs=True)
    file = f"{presets.name_of(name)}.html"
    files.write(folder / file, web_page(done.results, done.outcomes, name, document))
    return IndexEntry.of(done.results, done.outcomes, file)


def _stored_pages(folder: Path) -> Mapping[str, StoredPage]:
    """Return the pages of earlier reports by preset; none if the file that lists them is absent or broken."""
    try:
        return msgspec.json.decode((folder / MADE_PAGES).read_bytes(), type=dict[str, StoredPage])
    except (OSError, msgspec.MsgspecError):
        return {}


def _key(document: Raw) -> str:
    """Return the digest of what a page is made from."""
    written = msgspec.json.encode(document, order="deterministic")
    return hashlib.sha256(written + _code().encode()).hexdigest()


@cache
def _code() -> str:
    """Return the digest of the program's own files."""
    digest = hashlib.sha256()
    for package in (engine, hadamard_tui):
        folder = Path(str(package.__file__)).parent
        for file in sorted(path for kind in ("py", "js", "css") for path in folder.rglob(f"*.{kind}")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
