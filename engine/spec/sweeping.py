"""Sweeps over a number of an experiment: a sweep axis for the number, and pictures against this axis."""

from __future__ import annotations

import copy

from engine.spec.experiment import Experiment
from engine.spec.reading import Raw

AXIS = "sweep"
"""Name of the sweep axis."""

THRESHOLD = 0.1
"""Loss level in the picture against the sweep axis, which shows when the loss first falls below it."""


def with_axis(document: Raw, experiment: Experiment, axis: Raw) -> Raw:
    """Return a document with a sweep axis called AXIS, and with pictures of the sweep.

    Claims are left out, because they are about a single value of the swept number.

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

    The picture against the axis shows when the loss first falls below THRESHOLD. For other measures, or
    without a clock, it shows the last value. The time after which the loss stays below THRESHOLD is not
    shown, because it would hide how the time grows along the axis. In hadamard-128, a single row of
    equal entries raises the loss of EGU above THRESHOLD again, at whatever time the row is seen.
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
