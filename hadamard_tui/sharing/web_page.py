"""HTML pages of runs, with pictures, stories, theorems, claims and commands.

The pages need no other files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element, tostring

import numpy as np

from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.pictures.wording import x_name
from engine.results.headlines import headline
from engine.results.outcomes import about
from engine.results.views import view
from engine.spec.experiment import SUBJECTS, drawn, of_run
from hadamard_tui.charts.line_heads import DIRECTIONS, meaning, whole_name
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import heat_map, plot
from hadamard_tui.charts.scales import Scale
from hadamard_tui.colours import palette
from hadamard_tui.colours.palette import DARK, LIGHT, colour_map, hex_colour
from hadamard_tui.sharing.command_line import command_line
from hadamard_tui.sharing.svg import draw, entries, heat_map_entries, heat_map_page, remarks
from hadamard_tui.sharing.svg_page import (
    GRID,
    GROUND,
    INK,
    MUTED,
    SAMPLE,
    SvgPage,
    left_margin,
    name_apart,
    put,
)

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.view import View
    from engine.results.results import Results
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.plots.series_builder import Plot
    from hadamard_tui.charts.series import Axes, Series
    from hadamard_tui.sharing.svg_page import SvgEntry

WEB = Path(__file__).parent / "web"

LARGEST = 1_000_000
"""Maximum size of a page in bytes."""

WITHIN = 0.3
"""Largest distance in pixels between a curve and its simplified path."""

DIGITS = 5
"""Number of significant digits of the values that the page contains for its script."""

MOST_CELLS = 20_000
"""Maximum number of cells of a heat map whose values the page contains."""

STEPS = 1000
"""Number of positions of a slider."""

SIGNS = {True: "✓", False: "✗", None: "–"}


def web_page(results: Results, outcomes: Sequence[Outcome], preset: str | None, document: Raw) -> bytes:
    """Return the page of a finished run.

    Args:
        outcomes: outcomes of the experiment's claims.
        preset: preset that the run was made from, or None.
        document: the experiment as a preset document. It may differ from the preset.

    Raises: BadInput if the page has more than LARGEST bytes.
    """
    experiment = results.sweep.experiment
    title = _title_of(experiment)
    body = [
        f"<h1>{title}</h1>",
        *_html_of_results(results, outcomes, "p"),
        *_story_section(experiment.story, experiment.source),
        *_theorem_section(results),
        *_claim_section(outcomes),
        "<h2>Run it</h2>",
        f"<pre>{escape(command_line(document, preset, '--run'))}</pre>",
    ]
    return _complete_page(title, body, "take fewer pictures, learners or evaluation points")


class SharedStop(NamedTuple):
    """Stop of a guided path on its page: a run with a question and an explanation.

    Args:
        document: experiment of the run as a preset document.
        outcomes: outcomes of the experiment's claims.
        predict: question that the reader answers before the run.
        line: explanation of the run; if it is empty, the page shows the preset's story.
        breaks: command of a run in which the result fails, and a sentence about this run; None if there is
            no such run.
    """

    preset: str
    document: Raw
    results: Results
    outcomes: Sequence[Outcome]
    predict: str
    line: str
    breaks: tuple[str, str] | None


def path_page(title: str, stops: Sequence[SharedStop]) -> bytes:
    """Return the page of a guided path. Raises: BadInput if it has more than LARGEST bytes."""
    body = [f"<h1>{escape(title)}</h1>"]
    for number, stop in enumerate(stops, start=1):
        body += _html_of_stop(number, stop)
    return _complete_page(escape(title), body, "share the presets of the path one by one")


def _html_of_stop(number: int, stop: SharedStop) -> Iterator[str]:
    experiment = stop.results.sweep.experiment
    yield f"<h2>{number}. {_title_of(experiment)}</h2>"
    if stop.predict:
        yield f"<p><b>Predict:</b> {escape(stop.predict)}</p>"
    yield from _html_of_results(stop.results, stop.outcomes, f"s{number}-")
    yield f"<p><b>Why:</b> {escape(' '.join((stop.line or experiment.story).split()))}</p>"
    if stop.breaks is not None:
        command, shown = stop.breaks
        yield f"<p><b>Break it:</b> {escape(shown)}</p><pre>{escape(command)}</pre>"
    holding = sum(outcome.holds is True for outcome in stop.outcomes)
    yield f'<p class="source">{holding} of {len(stop.outcomes)} claims hold. {escape(experiment.source)}</p>'
    yield f"<pre>{escape(command_line(stop.document, stop.preset, '--run'))}</pre>"


def _title_of(experiment: Experiment) -> str:
    return escape(experiment.title or "An experiment")


def _html_of_results(results: Results, outcomes: Sequence[Outcome], prefix: str) -> Iterator[str]:
    experiment = results.sweep.experiment
    views = [view(picture, results) for picture in drawn(experiment) or [of_run(experiment)]]
    yield f'<p class="headline">{escape(headline(views[0], experiment, outcomes))}</p>'
    numbers = {shown_view.picture.name: number for number, shown_view in enumerate(views)}
    beneath = {shown_view.picture.beneath for shown_view in views if shown_view.picture.beneath is not None}
    for number, shown_view in enumerate(views):
        if shown_view.picture.name in beneath:
            continue  # drawn below another picture; both share one slider
        stack = [
            number,
            *([] if shown_view.picture.beneath is None else [numbers[shown_view.picture.beneath]]),
        ]
        least_left = 0.0
        if len(stack) > 1:
            least_left = max(left_margin(plot(Look(views[place])).axes) for place in stack)
        yield '<div class="stack">'
        for place in stack:
            figure_name = f"{prefix}{place}"
            yield from _picture_figures(views[place], place, results, outcomes, figure_name, least_left)
        yield "</div>"


def _complete_page(title: str, body: Sequence[str], remedy: str) -> bytes:
    """Return a complete page with its script. Raises: BadInput if it would have more than LARGEST bytes."""
    script = f"<script>{(WEB / 'page.js').read_text()}</script>"
    content = html_document(title, dark_rules("".join(body)), [*body, script])
    if len(content) > LARGEST:
        raise BadInput("", f"the page has {len(content):,} bytes, and {LARGEST:,} is the limit; {remedy}")
    return content


class IndexEntry(NamedTuple):
    """Entry for one page in the index of all pages.

    Args:
        file: file name of the page, in the folder of the index.
        claims: number of claims of the experiment.
        holding: number of these claims that hold.
    """

    file: str
    title: str
    headline: str
    subject: str
    claims: int
    holding: int

    @classmethod
    def of(cls, results: Results, outcomes: Sequence[Outcome], file: str) -> IndexEntry:
        experiment = results.sweep.experiment
        first = view((drawn(experiment) or [of_run(experiment)])[0], results)
        holding = sum(outcome.holds is True for outcome in outcomes)
        caption = headline(first, experiment, outcomes)
        return cls(file, experiment.title or file, caption, experiment.subject, len(outcomes), holding)


def index_page(entries: Sequence[IndexEntry]) -> bytes:
    body = ["<h1>Experiments</h1>"]
    for subject in SUBJECTS:
        items = [
            f'<li><a href="{escape(quote(entry.file))}">{escape(entry.title)}</a><br>{escape(entry.headline)}'
            f'<br><span class="muted">{entry.holding} of {entry.claims} claims hold</span></li>'
            for entry in entries
            if entry.subject == subject
        ]
        body += [f"<h2>{escape(subject)}</h2><ul>{''.join(items)}</ul>"] if items else []
    return html_document("Experiments", "", body)


def html_document(title: str, rules: str, body: Sequence[str]) -> bytes:
    """Return an HTML document with the common style sheet.

    Args:
        title: title, with HTML entities for special characters.
        rules: CSS rules in addition to the style sheet.
        body: pieces of HTML.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{(WEB / 'page.css').read_text()}{rules}</style>"
    )
    parts = [f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>', *body, "</body></html>\n"]
    return "\n".join(parts).encode()


def _picture_figures(
    view: View,
    number: int,
    results: Results,
    outcomes: Sequence[Outcome],
    figure_name: str,
    least_left: float,
) -> Iterator[str]:
    """Yield the chart or the heat maps of a picture, with the picture's headline.

    The first picture has no headline here, because its headline is at the top of the page.

    Args:
        least_left: minimum distance of a chart's plot area from the left edge of the page, in pixels.
    """
    experiment = results.sweep.experiment
    of_picture = about(view.picture, experiment, outcomes)
    caption = headline(view, experiment, of_picture, results) if number else ""
    with palette.on_paper():
        if view.heats:
            heats = [heat_map(Look(view), heat) for heat in view.heats]
            for place, heat in enumerate(heats):
                yield _heat_figure(heat, f"{figure_name}-{place}", caption if place == 0 else "")
            return
        drawing = plot(Look(view))
    yield _chart_figure(drawing, view, figure_name, caption, least_left)


def _chart_figure(drawing: Plot, view: View, figure_name: str, caption: str, least_left: float) -> str:
    series, axes = drawing.series, drawing.axes
    page, picture = draw(series, axes, WITHIN, growing=True, least_left=least_left)
    line = f"M0,{page.top:.2f}V{page.bottom:.2f}"
    put(page.over, "path", d=line, stroke=MUTED, stroke_width=1.5, **{"class": "playhead"})
    rows, curves = [], []
    for entry in entries(series, picture, axes):
        assert entry.at is not None, "each entry of a chart names a series"
        rows.append(_legend_row(entry, figure_name, '<td class="value"></td>'))
        curves.append(_curve_values(series[entry.at], axes, page))
    if words := remarks(drawing.file_note, picture):
        rows.append(f'<tr><td colspan="4" class="muted">{escape(words)}</td></tr>')
    names = dict(axes.x_names)
    low, high = axes.x_limits
    data = {
        "axis": {"left": page.left, "right": page.right, "low": low, "high": high, "log": axes.x_log},
        "xName": x_name(view),
        "places": list(names),
        "names": list(names.values()),
        "curves": curves,
    }
    slider = (
        '<div class="scrub"><button type="button" aria-label="play">▶</button>'
        f'<input type="range" min="0" max="{STEPS}" value="{STEPS}" aria-label="{escape(x_name(view))}">'
        "<output></output></div>"
    )
    figcaption = _figcaption(axes, caption, axes.y_label, axes.x_label)
    return _figure(page, figcaption, figure_name, f"{slider}<table>{''.join(rows)}</table>", data)


def _legend_row(legend_entry: SvgEntry, figure_name: str, value_cell: str = "") -> str:
    sample = Element("svg", {"viewBox": f"0 0 {SAMPLE:g} 12"})
    if legend_entry.sample is not None:
        legend_entry.sample(sample, 0, 6)
    name_apart(sample, figure_name)
    sign = f'<td class="sign" data-colour="{legend_entry.colour}">{escape(legend_entry.before)}</td>'
    named = f"<td>{tostring(sample, encoding='unicode')}</td><td>{escape(legend_entry.text)}</td>"
    return f"<tr>{sign}{named}{value_cell}</tr>"


def _curve_values(curve: Series, axes: Axes, page: SvgPage) -> dict[str, Any] | None:
    """Return the values of a curve for the script of the page, at most one per pixel; None if there are none.

    The value of the key "own" says whether the curve belongs to a learner. The page shows values only at x
    where a learner's curve has points.
    """
    is_drawn = (
        np.isfinite(curve.x)
        & np.isfinite(curve.y)
        & (curve.x >= axes.x_limits[0])
        & (curve.x <= axes.x_limits[1])
    )
    x, y = curve.x[is_drawn], curve.y[is_drawn]
    if not len(x):
        return None
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    pixels = np.rint(Scale(axes.x_limits, axes.x_log, round(page.right - page.left)).place(x))
    last = np.append(np.diff(pixels) > 0, True)
    return {"x": _rounded_values(x[last]), "y": _rounded_values(y[last]), "own": curve.mark is not None}


def _rounded_values(values: np.ndarray) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]


def _heat_figure(heat: HeatMap, figure_name: str, caption: str) -> str:
    page, axes = heat_map_page(heat, has_legend=False), heat.axes
    low, high = axes.x_limits
    cells = {
        "x": _rounded_values(heat.x),
        "y": _rounded_values(heat.y),
        "z": [_rounded_values(row) for row in heat.z] if heat.z.size <= MOST_CELLS else [],
        "top": page.top,
        "bottom": page.bottom,
        "yLow": axes.y_limits[0],
        "yHigh": axes.y_limits[1],
        "yLog": axes.y_log,
    }
    data = {
        "axis": {"left": page.left, "right": page.right, "low": low, "high": high, "log": axes.x_log},
        "xName": heat.x_label,
        "yName": heat.y_label,
        "cells": cells,
    }
    figcaption = _figcaption(axes, caption, f"colour: {heat.z_label}", axes.y_label, axes.x_label)
    rows = "".join(_legend_row(legend_entry, figure_name) for legend_entry in heat_map_entries(heat))
    return _figure(page, figcaption, figure_name, f"<table>{rows}</table><output></output>", data)


def _figcaption(axes: Axes, caption: str, *quantities: str) -> str:
    words = [f"<b>{escape(axes.title)}</b>" if axes.title else "", escape(caption)]
    words.append(f'<span class="muted">{escape(" · ".join(quantities))}</span>')
    return "<br>".join(filter(None, words))


def _figure(page: SvgPage, figcaption: str, figure_name: str, below: str, data: dict[str, Any]) -> str:
    page.written()  # sets the size of the page
    page.root.set("class", "chart")
    name_apart(page.root, figure_name)
    svg = tostring(page.root, encoding="unicode")
    script = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return (
        f"<figure><figcaption>{figcaption}</figcaption>{svg}{below}"
        f'<script type="application/json">{script}</script></figure>'
    )


def _story_section(story: str, source: str) -> Iterator[str]:
    if story.strip():
        yield f"<h2>What the pictures show, and why</h2><p>{escape(' '.join(story.split()))}</p>"
    if source:
        yield f'<p class="source">Source: {escape(source)}</p>'


def _theorem_section(results: Results) -> Iterator[str]:
    trace = next(iter(results.traces.values()))
    items = []
    for theorem in trace.theorems:
        bound = [learner_name for learner_name, finding in theorem.on_learners.items() if finding.holds]
        if theorem.on_problem.holds and bound:
            statement = theorem.statement
            named = f"<b>{escape(whole_name(statement))}: {escape(statement.formula)}</b>"
            held = f"The theorem holds here: {escape(theorem.on_problem.reason)}."
            reason = f"{held} It applies to {escape(listed(bound))}."
            source = f'<span class="source">{escape(statement.source)}</span>'
            direction = DIRECTIONS[statement.direction]
            items.append(
                f"<li>{named}, {direction}<br>{escape(meaning(theorem.kind))} {reason}<br>{source}</li>"
            )
    if items:
        yield f"<h2>Theorems</h2><ul>{''.join(items)}</ul>"


def _claim_section(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if outcomes:
        items = (
            f"<li><b>{SIGNS[outcome.holds]}</b> {escape(outcome.claim.text)}"
            f'<br><span class="muted">{escape(outcome.word)}: {escape(outcome.detail)}</span></li>'
            for outcome in outcomes
        )
        yield f'<h2>Claims, as measured</h2><ul class="claims">{"".join(items)}</ul>'


def dark_rules(figures: str) -> str:
    """Return CSS rules that draw figures in dark colours if the reader prefers dark pages."""
    maps = (colour_map(dark_is_more=dark).colours.tolist() for dark in (True, False))
    cells = [[hex_colour(colour) for colour in colours] for colours in maps]
    pairs = dict(zip(cells[0], cells[1], strict=True)) | dict(
        zip(LIGHT.of_learners, DARK.of_learners, strict=True)
    )
    pairs |= {LIGHT.theory: DARK.theory, LIGHT.unproved: DARK.unproved, LIGHT.others: DARK.others}
    pairs |= {GROUND: DARK.ground, INK: "#ececec", MUTED: "#b4b4b4", GRID: "#333333"}
    used = {colour for colour in re.findall(r"#[0-9a-f]{6}", figures) if colour in pairs}
    signs = "".join(f'[data-colour="{colour}"]{{color:{colour}}}' for colour in sorted(used))
    rules = "".join(
        f'[fill="{colour}"]{{fill:{pairs[colour]}}}[stroke="{colour}"]{{stroke:{pairs[colour]}}}'
        f'[data-colour="{colour}"]{{color:{pairs[colour]}}}'
        for colour in sorted(used)
    )
    return f"{signs}@media (prefers-color-scheme: dark){{{rules}}}"
