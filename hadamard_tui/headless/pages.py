"""HTML pages of runs: a report on presets, a page for a guided path, and a question sheet for a class."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

import engine
import hadamard_tui
from engine.core import files
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.results.headlines import headline
from engine.results.views import view
from engine.spec import presets
from engine.spec.experiment import drawn
from hadamard_tui.charts.plots.series_builder import mark
from hadamard_tui.headless import summary
from hadamard_tui.headless.compute import computed
from hadamard_tui.running.guesses import LEVEL
from hadamard_tui.sharing.web_page import IndexEntry, SharedStop, index_page, path_page, web_page
from hadamard_tui.tours import command_of_stop

if TYPE_CHECKING:
    from engine.runtime.spreading import Begin
    from engine.spec.reading import Raw
    from hadamard_tui.headless.compute import Done
    from hadamard_tui.tours import Stop


INDEX = "index.html"

MADE_PAGES = "report.json"
"""File in the folder of a report that lists, for each page, a digest of everything that determines the page.
"""


class StoredPage(msgspec.Struct, frozen=True):
    """Page of an earlier report.

    Args:
        key: digest of the preset and of the program's code.
    """

    key: str
    entry: IndexEntry


@dataclass(frozen=True)
class Reported:
    """Preset in a report, with its page, or with the reason why there is none."""

    preset: str
    entry: IndexEntry | None
    why_not: str = ""

    @property
    def holds(self) -> bool:
        return self.entry is not None and self.entry.holding == self.entry.claims

    @property
    def in_words(self) -> str:
        if self.entry is None:
            return self.why_not
        return f"{self.entry.holding} of {self.entry.claims} claims hold"


def report(folder: Path, names: Sequence[str], errors: Console, fresh: bool) -> Iterator[Reported]:
    """Write a page for each preset into a folder, and update the index after each page.

    Unless `fresh`, stored results and earlier pages are used again. A stopped report can therefore continue.

    Raises: BadInput if a file cannot be written.
    """
    with files.faults(str(folder), "cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)
    stored = {} if fresh else dict(_stored_pages(folder))
    entries: list[IndexEntry] = []
    for preset_name in names:
        try:
            document = presets.document(preset_name)
            page, key = stored.get(preset_name), _page_digest(document)
            if page is None or page.key != key or not (folder / page.entry.file).exists():
                page = StoredPage(key, _write_page(folder, preset_name, document, errors, fresh))
        except BadInput as error:
            yield Reported(preset_name, None, str(error))
            continue
        entries.append(page.entry)
        files.write(folder / INDEX, index_page(entries))
        if preset_name in presets.names():  # other presets may use data files, whose content can change
            stored[preset_name] = page
            files.write(folder / MADE_PAGES, msgspec.json.encode(stored))
        yield Reported(preset_name, page.entry)


def _write_page(folder: Path, preset_name: str, document: Raw, errors: Console, fresh: bool) -> IndexEntry:
    done = computed(preset_name, document, errors, fresh)
    file = f"{presets.name_of(preset_name)}.html"
    files.write(folder / file, web_page(done.results, done.outcomes, preset_name, document))
    return IndexEntry.of(done.results, done.outcomes, file)


def _stored_pages(folder: Path) -> Mapping[str, StoredPage]:
    """Return the pages of earlier reports, by preset; none if their list is missing or broken."""
    try:
        return msgspec.json.decode((folder / MADE_PAGES).read_bytes(), type=dict[str, StoredPage])
    except (OSError, msgspec.MsgspecError):
        return {}


def _page_digest(document: Raw) -> str:
    """Return a digest of everything that determines the page of a preset. Equal digests mean equal pages."""
    written = msgspec.json.encode(document, order="deterministic")
    return hashlib.sha256(written + f"{_code_digest()}{outside.digest()}".encode()).hexdigest()


@cache
def _code_digest() -> str:
    digest = hashlib.sha256()
    for package in (engine, hadamard_tui):
        folder = Path(str(package.__file__)).parent
        for file in sorted(path for kind in ("py", "js", "css") for path in folder.rglob(f"*.{kind}")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def shared_path(
    title: str,
    stops: Sequence[Stop],
    errors: Console,
    device: str | None,
    fresh: bool,
    devices: Sequence[Begin] = (),
) -> tuple[bytes, int]:
    """Run the stops of a guided path. Return its page, and the largest exit code of the runs.

    Args:
        devices: devices between which the sweep points or the replicas are divided.

    Raises: BadInput if the page is too large.
    """
    on_device = [] if device is None else [f"run.device={json.dumps(device)}"]
    shared, exit_code = [], 0
    for number, stop in enumerate(stops, start=1):
        errors.print(f"{number} of {len(stops)}: {stop.preset}", soft_wrap=True)
        document = presets.document(stop.preset, (*stop.changes, *on_device))
        done = computed(stop.preset, document, errors, fresh, devices)
        exit_code = max(exit_code, done.exit_code)
        breaks = (
            None if stop.breaks is None else (command_of_stop(stop.preset, stop.breaks), stop.breaks.text)
        )
        shared.append(
            SharedStop(stop.preset, document, done.results, done.outcomes, stop.predict, stop.line, breaks)
        )
    return path_page(title, shared), exit_code


STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; } p { margin: .3rem 0; }
table { border-collapse: collapse; margin: .5rem 0; } td { padding: .2rem .8rem .2rem 0; }
.box { border: 1px solid; height: 1.6rem; min-width: 9rem; }
.line { border: 1px solid; height: 3rem; margin: .5rem 0; }
code { overflow-wrap: anywhere; }
section { break-inside: avoid; }
@media print { body { margin: 0; } .answers { break-before: page; } }
"""


def sheet(title: str, stops: Sequence[Stop], errors: Console) -> str:
    """Return a sheet of questions and answers as one HTML page, which needs no other files.

    All stops are run, because the answers contain the headlines of the runs.
    """
    questions = [_question_section(number, stop) for number, stop in enumerate(stops, 1)]
    answers = [_answer_section(number, stop, errors) for number, stop in enumerate(stops, 1)]
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1><p>Write down your guesses before anything is run.</p>",
            *questions,
            f'<div class="answers"><h1>Answers: {escape(title)}</h1>',
            *answers,
            "</div></body></html>\n",
        )
    )


def _question_section(number: int, stop: Stop) -> str:
    """Return the question of a stop, with space for the answer.

    If the preset has no pictures of its own, there is also a box for a guess about each learner.
    """
    experiment = presets.load(stop.preset, stop.changes)
    question = stop.predict or "What will this run show?"
    boxes = ""
    if not drawn(experiment):
        names = [learner.name for learner in experiment.learners if learner.role == "learner"]
        lettered = (f"{mark(number)}: {escape(learner_name)}" for number, learner_name in enumerate(names))
        rows = "".join(f'<tr><td>{learner_name}</td><td class="box"></td></tr>' for learner_name in lettered)
        clock = escape(experiment.protocol.clock)
        boxes = f"<p>From which {clock} on does the loss stay below {LEVEL:g}?</p><table>{rows}</table>"
    line = f'<p>{escape(question)}</p><div class="line"></div>'
    return _section_of_stop(number, experiment.title, line, boxes)


def _answer_section(number: int, stop: Stop, errors: Console) -> str:
    done = computed(stop.preset, presets.document(stop.preset, stop.changes), errors)
    return _section_of_stop(number, done.experiment.title, *_answer_paragraphs(stop, done))


def _answer_paragraphs(stop: Stop, done: Done) -> Iterator[str]:
    experiment = done.experiment
    if done.has_pictures:
        seen = view(drawn(experiment)[0], done.results)
    else:
        seen = summary.loss_views(experiment, done.trace)["loss"]
    yield f"<p><strong>{escape(headline(seen, experiment, done.outcomes))}.</strong></p>"
    yield f"<p>{escape(stop.line or ' '.join(experiment.story.split()))}</p>"
    if stop.breaks is not None:
        command = command_of_stop(stop.preset, stop.breaks)
        yield f"<p>Break it: <code>{escape(command)}</code></p>"
        yield f"<p>{escape(stop.breaks.text)}</p>"


def _section_of_stop(number: int, title: str, *parts: str) -> str:
    return f"<section><h2>{number}. {escape(title)}</h2>{''.join(parts)}</section>"
