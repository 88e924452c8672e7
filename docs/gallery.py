"""Run presets, and store their charts as pictures of docs/reference/gallery.md, as thumbnails, and as the
stored curves that the app shows before a run (`hadamard_tui/running/stored.py`). The outcomes of their claims
are stored for the theory pages (`hadamard_tui/browsing/measured_claims.py`).

Usage: .venv/bin/python docs/gallery.py [NAME…]    as `make update` does, all presets if none is named.

Without names it runs only presets that are new or whose digest has changed. It stores each result at once, so
after Ctrl-C the same command continues. It writes the whole page each time.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from engine.claims import Outcome
from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.results import Results
from engine.spec import presets
from engine.spec.experiment import SUBJECTS, drawn
from engine.spec.preset_index import PresetEntry, index
from engine.spec.reading import Raw
from hadamard_tui.browsing import measured_claims, preview
from hadamard_tui.browsing.preview import Thumbnail, takes
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours import palette
from hadamard_tui.editing.editable_experiment import EditableExperiment, swept
from hadamard_tui.headless import console
from hadamard_tui.headless.compute import compute_all
from hadamard_tui.running import stored
from hadamard_tui.running.progress import duration_in_words
from hadamard_tui.running.stored import StoredPicture, StoredPictures, StoredSeries
from hadamard_tui.sharing import exporting
from hadamard_tui.sharing.exporting import Shown
from hadamard_tui.sharing.svg import charts, heat_map_page, outline

DOCS = Path(__file__).resolve().parent
PAGE, PICTURES = DOCS / "reference" / "gallery.md", DOCS / "gallery"

WITHIN = 0.3
"""Most pixels by which simplified curves may deviate."""

DOTS, POINTS = (500, 160), 160
"""Dots of a chart on a large screen, and most points of a stored curve, off by half a dot at most."""

DIGITS = 5
"""Significant digits of a stored number."""

SWEPT = {"hadamard-128": ("problem.matrix.d", "d")}
"""Presets that come with the stored picture of a sweep: the place and the symbol of the number."""

UNKNOWN = 10.0
"""Assumed seconds of a preset that has never run."""

HEAD = """# Gallery

One chart for every preset, the first of its pictures, with the caption that the program wrote from the data
of a real run. `make update` writes this page. It runs presets that are new or changed. The times are those of
one processor core. In the app, `p` lists the presets with these charts; `hadamard-tui --preset NAME --run`
opens one.
"""


def main() -> int:
    """Run presets and write the page; return 1 if a preset failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these, whether they were or not")
    names = parser.parse_args().names
    for name in names:
        presets.path_of(name)
    errors = console.errors()
    thumbnails = _stored_thumbnails()
    due = [
        preset for preset in index() if preset.name in names or (not names and _is_stale(preset, thumbnails))
    ]
    failed = _run_all(due, thumbnails, errors)
    for picture in PICTURES.glob("*.svg"):
        if picture.stem not in thumbnails:
            picture.unlink()
        elif pictures := presets.load(picture.stem).pictures:
            text = picture.read_text(encoding="utf-8")
            if (titled := _with_title(text, pictures[0].title)) != text:
                picture.write_text(titled, encoding="utf-8")
    PAGE.write_text(page(index(), thumbnails), encoding="utf-8")
    if stale := ", ".join(preset.name for preset in index() if _is_stale(preset, thumbnails)):
        errors.print(f"without a chart of what they say now: {stale}", soft_wrap=True)
    return int(failed)


def _stored_thumbnails() -> dict[str, Thumbnail]:
    return {
        name: thumbnail
        for name, thumbnail in preview.read_file(preview.FILE).items()
        if name in presets.names()
    }


def _is_stale(preset: PresetEntry, thumbnails: dict[str, Thumbnail]) -> bool:
    """Whether a preset has no chart, or a chart of an earlier version."""
    has_chart = preset.name in thumbnails and (PICTURES / f"{preset.name}.svg").exists()
    if not has_chart or thumbnails[preset.name].digest != preset.digest:
        return True
    pictures = stored.read(preset.name)
    return pictures is None or pictures.digest != stored.digest(presets.document(preset.name))


def _with_title(svg: str, title: str) -> str:
    """Return a stored chart with the title that its preset has now, as a new title needs no new run.

    The title of a heat map ends with the name of its learner, if the picture has several.
    """
    stored_title = re.search("<title>(.*?)</title>", svg)
    title = escape(title, quote=False)
    if stored_title is None or not title or stored_title[1].startswith(f"{title}:"):
        return svg
    return svg.replace(f">{stored_title[1]}<", f">{title}<", 2)  # the name of the file and the heading


def _run_all(due: Sequence[PresetEntry], thumbnails: dict[str, Thumbnail], errors: Console) -> bool:
    """Run presets, add their thumbnails, and print the remaining time; return whether one failed."""
    failed = False
    expected = {
        preset.name: thumbnails[preset.name].seconds if preset.name in thumbnails else UNKNOWN
        for preset in due
    }
    began, done = time.monotonic(), 0.0
    for number, entry in enumerate(due, start=1):
        try:
            thumbnail = make(entry, errors)
        except BadInput as error:
            errors.print(f"{entry.name}: {error}")
            failed = True
            continue
        thumbnails |= _stored_thumbnails()  # another process may have added some
        thumbnails[entry.name] = thumbnail
        preview.write_file(preview.FILE, thumbnails)
        done += expected[entry.name]
        seconds_left = sum(expected[later.name] for later in due[number:]) * (time.monotonic() - began) / done
        size = (PICTURES / f"{entry.name}.svg").stat().st_size / 1000
        progress = f"{number} of {len(due)}  {entry.name}  {thumbnail.seconds:.1f} s, {size:.0f} kB"
        errors.print(f"{progress}; {duration_in_words(seconds_left)} left" if number < len(due) else progress)
    return failed


def make(preset: PresetEntry, errors: Console) -> Thumbnail:
    """Run a preset on one thread, write the picture of its chart and make its thumbnail. Raises: BadInput."""
    document = presets.document(preset.name)
    sweep = presets.sweep_of(preset.name, document)
    began = time.process_time()
    results = compute_all(sweep, errors, threads=1)
    seconds = time.process_time() - began
    outcomes = judge(results)
    measured_claims.add(preset.name, outcomes)
    shown = _shown(document, results, outcomes)
    stored.write(
        preset.name,
        StoredPictures(stored.digest(document), _stored(shown), _law(preset.name, document, errors)),
    )
    PICTURES.mkdir(exist_ok=True)
    heat = None if shown.pictures is None else shown.pictures.heat
    if heat is not None:
        (PICTURES / f"{preset.name}.svg").write_bytes(heat_map_page(heat).written())
        drawn_small = preview.of_heat_map(heat)
    else:
        assert shown.axes is not None, "what was run has a chart"
        (PICTURES / f"{preset.name}.svg").write_bytes(
            charts(exporting.charts_of(shown), within=WITHIN).written()
        )
        with palette.on_paper():
            drawn_small = preview.of_chart(shown.series, shown.axes)
    return Thumbnail(preset.digest, float(f"{seconds:.2g}"), shown.caption, **drawn_small)


def _shown(document: Raw, results: Results, outcomes: Sequence[Outcome]) -> Shown:
    """First picture of a preset after its run."""
    if drawn(results.sweep.experiment):
        return exporting.first_picture(document, results, outcomes)
    return exporting.finished(results.sweep.experiment, results.traces[0], document, outcomes)


def _stored(shown: Shown) -> StoredPicture | None:
    """Return the chart of a run with simplified curves; None for a heat map."""
    if shown.axes is None:
        return None
    with palette.on_paper():
        inks = palette.current().of_charts
    named = [series for series in shown.series if series.name and not series.faint]
    stored_series = (_in_few_points(series, shown.axes, inks.index(series.colour)) for series in named)
    return StoredPicture(shown.axes, tuple(stored_series))


def _in_few_points(series: Series, axes: Axes, ink: int) -> StoredSeries:
    """A series with as many points as a large screen can show."""
    across, up = Scale(axes.x_limits, axes.x_log, DOTS[0]), Scale(axes.y_limits, axes.y_log, DOTS[1])
    places, within = (across.place(series.x), up.place(series.y)), 0.5
    while len((points := outline(*places, within))[0]) > POINTS:
        within *= 1.5
    x, y = (
        tuple(_rounded(scale.value(slot)) for slot in slots.tolist())
        for scale, slots in zip((across, up), points, strict=True)
    )
    return StoredSeries(x, y, ink, series.name, series.mark, series.style, series.formula)


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _law(name: str, document: Raw, errors: Console) -> StoredPicture | None:
    """What a sweep of a number reads off against it, with the law as its headline; None without a sweep."""
    if name not in SWEPT:
        return None
    place, symbol = SWEPT[name]
    sweep = swept(EditableExperiment(document, name), place, is_whole=True, symbol=symbol)
    swept_results = compute_all(sweep.sweep(), errors, threads=1)
    shown = _shown(sweep.document, swept_results, judge(swept_results))
    picture = _stored(shown)
    assert picture is not None, "a law is no heat map"
    return replace(picture, headline=shown.caption)


def page(entries: Sequence[PresetEntry], thumbnails: dict[str, Thumbnail]) -> str:
    """Page of all presets with a chart, by subject."""
    return "\n".join([HEAD, *_contents(entries, thumbnails), "", *_sections(entries, thumbnails)])


def _of(subject: str, entries: Sequence[PresetEntry], thumbnails: dict[str, Thumbnail]) -> list[PresetEntry]:
    return [
        preset_entry
        for preset_entry in entries
        if preset_entry.subject == subject and preset_entry.name in thumbnails
    ]


def _contents(entries: Sequence[PresetEntry], thumbnails: dict[str, Thumbnail]) -> Iterator[str]:
    for subject in SUBJECTS:
        if entries_of_subject := _of(subject, entries, thumbnails):
            links = ", ".join(
                f"[{preset_entry.name}](#{preset_entry.name})" for preset_entry in entries_of_subject
            )
            yield f"- **{subject}**: {links}"


def _sections(entries: Sequence[PresetEntry], thumbnails: dict[str, Thumbnail]) -> Iterator[str]:
    for subject in SUBJECTS:
        if entries_of_subject := _of(subject, entries, thumbnails):
            yield f"## {subject}\n"
            for preset_entry in entries_of_subject:
                yield from _section(preset_entry, thumbnails[preset_entry.name])


def _section(preset: PresetEntry, thumbnail: Thumbnail) -> Iterator[str]:
    yield f"### {preset.name}\n\n**{preset.title}**\n"
    yield f"![{preset.title}](../gallery/{preset.name}.svg)\n"
    yield f"{thumbnail.caption}\n"
    yield f"*{preset.source}. Takes {takes(thumbnail.seconds)}.*\n"


if __name__ == "__main__":
    sys.exit(main())
