"""A sheet for a class: questions with boxes for guesses, and the answers of real runs on another page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console

from engine.results.headlines import headline
from engine.results.views import view
from engine.spec import presets
from engine.spec.experiment import drawn
from hadamard_tui.charts.series_builder import mark
from hadamard_tui.headless import losses
from hadamard_tui.headless.outcome import computed
from hadamard_tui.running.guesses import LEVEL
from hadamard_tui.tours import command

if TYPE_CHECKING:
    from hadamard_tui.headless.outcome import Done
    from hadamard_tui.tours import Stop

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
    """Return the sheet as one HTML page without external resources. Each stop is run for its headline."""
    questions = [_question(number, stop) for number, stop in enumerate(stops, 1)]
    answers = [_answer(number, stop, errors) for number, stop in enumerate(stops, 1)]
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


def _question(number: int, stop: Stop) -> str:
    """Return the question of a stop, with a box for the answer and one per learner whose loss is guessed."""
    experiment = presets.load(stop.preset, stop.changes)
    question = stop.predict or "What will this run show?"
    boxes = ""
    if not drawn(experiment):
        names = [learner.name for learner in experiment.learners if learner.role == "learner"]
        lettered = (f"{mark(number)}: {escape(name)}" for number, name in enumerate(names))
        rows = "".join(f'<tr><td>{name}</td><td class="box"></td></tr>' for name in lettered)
        clock = escape(experiment.protocol.clock)
        boxes = f"<p>From which {clock} on does the loss stay below {LEVEL:g}?</p><table>{rows}</table>"
    line = f'<p>{escape(question)}</p><div class="line"></div>'
    return _section(number, experiment.title, line, boxes)


def _answer(number: int, stop: Stop, errors: Console) -> str:
    """Return what a run shows, why, and what breaks it."""
    done = computed(stop.preset, presets.document(stop.preset, stop.changes), errors)
    return _section(number, done.experiment.title, *_answers(stop, done))


def _answers(stop: Stop, done: Done) -> Iterator[str]:
    experiment = done.experiment
    if done.has_pictures:
        seen = view(drawn(experiment)[0], done.results)
    else:
        seen = losses.views(experiment, done.trace)["loss"]
    yield f"<p><strong>{escape(headline(seen, experiment, done.outcomes))}.</strong></p>"
    yield f"<p>{escape(stop.line or ' '.join(experiment.story.split()))}</p>"
    if stop.breaks is not None:
        yield f"<p>Break it: <code>{escape(command(stop.preset, stop.breaks))}</code></p>"
        yield f"<p>{escape(stop.breaks.text)}</p>"


def _section(number: int, title: str, *parts: str) -> str:
    return f"<section><h2>{number}. {escape(title)}</h2>{''.join(parts)}</section>"
