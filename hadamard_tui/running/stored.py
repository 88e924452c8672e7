"""Stored pictures: charts from earlier runs of built-in presets. The app shows them until a new run ends.

`docs/gallery.py` writes a file for each preset, without the preset's heat maps. A stored picture is no
result: tables, claims, headlines and exported files never read it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from engine.core import files
from engine.spec import preset_index, presets
from engine.spec.document_expressions import without_defaults
from engine.spec.experiment import Experiment
from hadamard_tui.charts.plots.look import STORED
from hadamard_tui.charts.plots.series_builder import Plot, others
from hadamard_tui.charts.series import Axes, LineStyle, Series
from hadamard_tui.colours import palette

if TYPE_CHECKING:
    from pathlib import Path

    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class StoredSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Series of a stored chart.

    Args:
        x, y: coordinates of the points; None makes a gap.
        ink: position of the colour in the palette, so that each theme can draw the series.
        mark: letter of a learner's curve; None for a theory line or another mark in the chart.
    """

    x: tuple[float | None, ...]
    y: tuple[float | None, ...]
    ink: int
    name: str = ""
    mark: str | None = None
    style: LineStyle = "solid"
    formula: str = ""

    def drawn(self, faint: bool) -> Series:
        return Series(
            self.name,
            np.array(self.x, dtype=float),
            np.array(self.y, dtype=float),
            palette.current().of_charts[self.ink],
            self.style,
            mark=self.mark,
            faint=faint,
            formula=self.formula,
        )


class StoredPicture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Chart of a preset's earlier run, with a headline if it shows a sweep."""

    axes: Axes
    series: tuple[StoredSeries, ...]
    headline: str = ""

    def plot(self, note: str, faint: bool) -> Plot:
        series = [curve.drawn(faint) for curve in self.series]
        return Plot(series, self.axes, screen_note=f"{STORED} · {note}")

    def ghost(self) -> tuple[Series, ...]:
        """Return the learners' curves as faint series to draw behind a run, with one legend entry for all."""
        nothing = np.empty(0)
        curves = [
            Series("", curve.x, curve.y, curve.colour, "sparse", faint=True)
            for curve in (series.drawn(faint=True) for series in self.series if series.mark)
        ]
        return (Series(STORED, nothing, nothing, others(), "sparse"), *curves) if curves else ()


class StoredPictures(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Charts from an earlier run of a preset, which the app shows until a new run ends.

    Args:
        digest: digest of the preset's content at the time of the run.
        first: the first picture of the preset; None if it is a heat map.
        law: chart of the outcome of a sweep (y) against the number that the sweep varies (x), or None.
    """

    digest: str
    first: StoredPicture | None = None
    law: StoredPicture | None = None


def file_of(name: str) -> Path:
    return presets.folder() / "stored" / f"{name}.json"


@lru_cache(maxsize=8)
def read(name: str) -> StoredPictures | None:
    """Return the stored pictures of a built-in preset, or None if there are none.

    Raises: OSError, msgspec.ValidationError.
    """
    file = file_of(name)
    return msgspec.json.decode(file.read_bytes(), type=StoredPictures) if file.exists() else None


def write(name: str, stored: StoredPictures) -> None:
    file_of(name).parent.mkdir(exist_ok=True)
    content = msgspec.json.encode(stored, enc_hook=np.generic.item)  # axes may hold numpy numbers
    files.write(file_of(name), content + b"\n", f"stored pictures of {name}")
    read.cache_clear()


def digest(document: Raw) -> str:
    """Return a digest of the values in a preset that determine its curves.

    Default values and claims are left out. So stored curves stay valid when a later version adds a field.
    """
    return preset_index.digest(without_defaults(Experiment, {**document, "claims": []}))


def stored_of(editable: EditableExperiment) -> StoredPictures | None:
    """Return the stored pictures of an unchanged built-in preset, or None for any other experiment."""
    if editable.preset is None or editable.changed or presets.name_of(editable.preset) != editable.preset:
        return None
    stored = read(editable.preset)
    return stored if stored is not None and stored.digest == digest(editable.document) else None
