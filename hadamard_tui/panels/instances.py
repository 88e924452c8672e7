"""Panel: matrix of instances, with rows in the order in which they are seen.

Rows that the selected learner has seen are coloured. All other rows are grey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.problems.examples import MOST_ENTRIES, can_excerpt, excerpt
from hadamard_tui.charts.heat_map import Column, HeatMap
from hadamard_tui.panels.panel import Lack, Panel
from hadamard_tui.panels.weights import target_feature

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext

MOST_FEATURES, MOST_ROWS = 512, 256
"""Maximum numbers of features and of rows that are drawn. They are larger than any screen."""


def lacks(experiment: Experiment) -> Lack | None:
    try:
        if can_excerpt(experiment.problem.matrix):
            return None
        n, d = experiment.n, experiment.d
    except BadInput as error:
        return Lack(str(error))
    size = f"The matrix of {n} × {d} entries is too large for this panel, which computes at most"
    return Lack(f"{size} {MOST_ENTRIES} entries.")


def show(context: PanelContext) -> HeatMap | Text:
    problem, seed = context.experiment.problem, context.experiment.run.seed
    n, d = problem.matrix.shape()
    k = int(context.trace.clocks_at(context.place)["k"])
    target, now = target_feature(context.experiment), min(max(k, 1), n)
    rows, features = _window_around(now - 1, n, MOST_ROWS), _window_around(target or 0, d, MOST_FEATURES)
    protocol = context.experiment.protocol
    learners = {learner.name: learner for learner in context.experiment.learners}
    is_solved = learners[context.curve.learner].solver is not None
    seen = protocol.rows_seen(n, k, Streams([seed]), solver=is_solved)
    return HeatMap(
        np.arange(d)[features],
        np.arange(1, n + 1)[rows],
        excerpt(problem.matrix, seed, rows, features),
        x_label="feature",
        y_label="row",
        z_label="entry",
        title=f"Instances: {np.count_nonzero(seen)} of {n} rows seen",
        y_down=True,
        unlit=~seen[rows],
        unlit_words="not seen yet",
        columns=() if target is None else (Column(f"feature {target}, the target", target),),
        focus=(target or 0, now),
        full_size=(d, n),
    )


def _window_around(place: int, count: int, most_entries: int) -> slice:
    first = min(max(place - most_entries // 2, 0), max(count - most_entries, 0))
    return slice(first, min(first + most_entries, count))


PANEL = Panel(
    "instances",
    "the matrix of instances: rows seen so far have colours, the target's column is marked",
    show,
    lacks=lacks,
)
