"""HTML page with the results of a diagnosis of the inductive bias that a table rewards.

The page needs no other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING
from xml.etree.ElementTree import tostring

import numpy as np

from engine.diagnosis.answer import answers
from engine.diagnosis.pairs import learner_called
from hadamard_tui.charts.plots.diagnosis_plot import chart_of, pairs_of
from hadamard_tui.colours import palette
from hadamard_tui.sharing.svg import chart
from hadamard_tui.sharing.svg_page import name_apart
from hadamard_tui.sharing.web_page import dark_rules, html_document

if TYPE_CHECKING:
    from engine.diagnosis.diagnosing import Diagnosis


def diagnosis_page(diagnosis: Diagnosis) -> bytes:
    table = diagnosis.table
    title = escape(f"Which bias does {table.name} reward?")
    first, *sentences = answers(diagnosis)
    body = [f"<h1>{title}</h1>", f'<p class="headline">{escape(first)}</p>']
    body += [f"<p>{escape(sentence)}</p>" for sentence in sentences]
    body += list(_figures(diagnosis))
    body += ["<h2>How it was measured</h2>"]
    body += [f"<p>{escape(sentence)}</p>" for sentence in (*table.notes, diagnosis.plan.sentence)]
    body += ["<p>Each split standardises the columns by its training rows. Bands are one standard error.</p>"]
    return html_document(title, dark_rules("".join(body)), body)


def _figures(diagnosis: Diagnosis) -> Iterator[str]:
    for number, pair in enumerate(pairs_of(diagnosis)):
        series, axes = chart_of(diagnosis, pair)
        verdict = diagnosis.verdicts.get(pair.name)
        word = "not judged" if verdict is None else verdict.word
        with palette.on_paper():
            page = chart(series, axes)
        page.written()  # sets the size of the page
        page.root.set("class", "chart")
        name_apart(page.root, f"pair{number}")
        svg = tostring(page.root, encoding="unicode")
        caption = f"<b>{escape(axes.title)}</b>: {escape(word)}"
        yield f"<figure><figcaption>{caption}</figcaption>{svg}{_loss_table(diagnosis, pair.names)}</figure>"


def _loss_table(diagnosis: Diagnosis, names: tuple[str, str]) -> str:
    heads = "".join(f"<th>{size}</th>" for size in diagnosis.plan.sizes)
    rows = []
    for name in names:
        for rotated in (False, True):
            losses = diagnosis.mean(name, rotated)
            if np.isnan(losses).all():
                continue
            cells = "".join(f"<td>{loss:.3f}</td>" if np.isfinite(loss) else "<td>—</td>" for loss in losses)
            label = learner_called(name).title + (", rotated" if rotated else "")
            rows.append(f"<tr><td>{escape(label)}</td>{cells}</tr>")
    return f"<table><tr><th>examples</th>{heads}</tr>{''.join(rows)}</table>"
