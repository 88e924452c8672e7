"""Sweeps: an experiment with an axis over one of its numbers, and pictures against that axis."""

from __future__ import annotations

import copy

from engine.spec.experiment import Experiment
from engine.spec.reading import Raw

AXIS = "sweep"
"""Name of the axis."""

THRESHOLD = 0.1
"""Loss level of the picture against the axis."""


def with_axis(document: Raw, experiment: Experiment, axis: Raw) -> Raw:
    """Return a document with an axis called AXIS, and two pictures of it.

    Claims are left out, because they are about one value.

    Args:
        experiment: the experiment of the document, without the axis.
        axis: the table of the axis, with its `symbol` and its `values`.
    """
    symbol, values = axis["symbol"], axis["values"]
    title = f"Sweep of {symbol} from {values[0]} to {values[-1]}"
    pictures = _pictures(document, experiment, symbol)
    return {**document, "title": title, "axes": [axis], "pictures": pictures, "claims": []}


def _pictures(document: Raw, experiment: Experiment, symbol: str) -> list[Raw]:
    """Return a picture against the axis and, if runs have a clock, a picture of all curves along the clock.

    The picture against the axis shows the first place where the loss is below THRESHOLD, or else the last
    value. The place from which the loss stays below would hide the law: in hadamard-128, a single row of
    equal entries lifts EGU above THRESHOLD, wherever the row comes.
    """
    has_clock = experiment.protocol.extent(experiment.n).last > 0
    measures = [picture["measure"] for picture in document["pictures"]] or [{"kind": "loss"}]
    measure = copy.deepcopy(measures[0])
    curves: Raw = {"name": "curves", "title": f"Every {symbol}", "x": experiment.protocol.clock}
    curves |= {"measure": measure, "curves": [AXIS]}
    law: Raw = {"name": "law", "x": AXIS, "measure": measure}
    if has_clock and measure in ("loss", {"kind": "loss"}):
        law |= {"title": f"Until the loss is first below a tenth, against {symbol}", "y_log": True}
        law["read"] = {"first_below": THRESHOLD}
    else:
        law["title"] = f"At the end, against {symbol}"
    return [law, curves] if has_clock else [law]
