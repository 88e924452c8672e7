"""The Python API: load and run presets, and show their traces as tables, figures and pictures.

These names are available after `import hadamard_tui as ht`. For examples, see docs/reference/api.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import api
from engine.api import Preset, Progress, Run, assert_invariant, load, load_parts, verify
from engine.core.parts import BadInput
from engine.judging.named_rule import NO_SETTINGS
from engine.judging.rule_judgement import RuleJudgement
from engine.spec.experiment import Experiment, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import matplotlib.axes
    from rich.console import Console, ConsoleOptions, RenderableType

    from engine.judging.named_rule import RuleOrOptimizer
    from hadamard_tui.sharing.exporting import Shown

__all__ = [
    "BadInput",
    "Experiment",
    "Judgement",
    "Preset",
    "Run",
    "Trace",
    "assert_invariant",
    "judge",
    "load",
    "load_parts",
    "run",
    "start",
    "sweep",
    "verify",
]


class Trace(api.Trace):
    """Results of a run or of a sweep. Notebooks and consoles of `rich` show a trace as a picture."""

    def plot(
        self, ax: matplotlib.axes.Axes | None = None, picture: str | int = 0, learner: str | None = None
    ) -> matplotlib.axes.Axes:
        """Draw a picture of the run with matplotlib, and return the axes.

        To save the figure, use `ax.figure.savefig`.

        Args:
            ax: axes to draw on; by default, the axes of a new figure.
            picture: name of the picture, or its index, counted from 0.
            learner: learner whose heat map is drawn; by default, the first learner.

        Raises: BadInput for an unknown picture, or if nothing is computed yet.
        """
        from hadamard_tui.sharing.figures import draw_chart, draw_heat_map, new_axes

        shown = self._shown_picture(picture, learner)
        is_new = ax is None
        ax = new_axes() if ax is None else ax
        if shown.pictures is not None and shown.pictures.heat is not None:
            draw_heat_map(ax, shown.pictures.heat)
        else:
            assert shown.axes is not None, "a picture has a chart or a heat map"
            draw_chart(ax, shown.series, shown.axes, legend_beside=is_new)
        return ax

    def to_svg(self, picture: str | int = 0, learner: str | None = None) -> str:
        """Return a picture of the run as SVG, with legend and headline, as the app exports it.

        Raises: BadInput for an unknown picture, or if nothing is computed yet.
        """
        from hadamard_tui.sharing.exporting import page_of

        return page_of(self._shown_picture(picture, learner)).written().decode()

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if self.results.traces else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from hadamard_tui.headless.pictures import chart, claims, pictures, said_of

        yield repr(self)
        if not self.results.traces:
            return
        if drawn(self.experiment):
            yield from pictures(self.results, self.claims, console)
        else:
            losses = self.view()
            yield chart(losses, console)
            yield said_of(losses, self.experiment, self.claims)
            yield from claims(self.claims)

    def _shown_picture(self, picture: str | int, learner: str | None) -> Shown:
        from hadamard_tui.charts.plots.look import Look
        from hadamard_tui.sharing import exporting

        view = self.view(picture)
        if not self.results.traces:
            raise BadInput("", "nothing is computed yet; wait for the run")
        shown = exporting.Shown(
            self.document,
            self.experiment,
            self.results.traces[min(self.results.traces)],
            document=self.document,
            outcomes=self.claims,
            pictures=exporting.Pictures(self.results) if drawn(self.experiment) else None,
        )
        return exporting.with_look(shown, Look(view), learner)


class Judgement(RuleJudgement):
    """Result of `judge`: the symmetries of an update rule, and its losses compared with a lower bound.

    Notebooks and consoles of `rich` show it as the command `hadamard-tui judge` does.
    """

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw the losses of the update rule, and the lower bound, and return the matplotlib axes.

        The losses are measured on problems whose label is a single feature. To save the figure, use
        `ax.figure.savefig`.

        Args:
            ax: axes to draw on; by default, the axes of a new figure.

        Raises: BadInput if there are no losses, because the rule could not be run on any of these problems.
        """
        from hadamard_tui.charts.plots.judgement_plot import chart_of
        from hadamard_tui.colours import palette
        from hadamard_tui.sharing.figures import draw_chart, new_axes

        self._check_losses()
        is_new = ax is None
        ax = new_axes() if ax is None else ax
        with palette.on_paper():
            draw_chart(ax, *chart_of(self), legend_beside=is_new)
        return ax

    def to_svg(self) -> str:
        """Return the chart that `plot` draws as SVG, with a legend and a sentence about the symmetries.

        Raises: BadInput if there are no losses, because the rule could not be run on any of the problems.
        """
        from hadamard_tui.charts.plots.judgement_plot import chart_of
        from hadamard_tui.colours import palette
        from hadamard_tui.sharing.svg import chart

        self._check_losses()
        with palette.on_paper():
            return chart(*chart_of(self), caption=self.measured).written().decode()

    def _check_losses(self) -> None:
        if not self.losses:
            raise BadInput(self.name, f"there are no losses to draw; {'; '.join(self.refused.values())}")

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if self.losses else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from hadamard_tui.headless.rule_pages import shown

        yield shown(self, console)


def judge(
    rule: RuleOrOptimizer,
    progress: Progress | None = None,
    options: Mapping[str, object] = NO_SETTINGS,
) -> Judgement:
    """Return the symmetries of an update rule, and its losses compared with a lower bound.

    The bound applies to all rotation-invariant learners.

    Args:
        rule: a name that `hadamard-tui judge` accepts, a torch optimizer class (or a `functools.partial` of
            one), or an update rule of the engine.
        progress: function that gets the finished share of the work, from 0 to 1.
        options: constructor arguments, such as `{"weight_decay": 0.1}`; `lr` is the rate at which symmetries
            are measured.

    Raises: BadInput.
    """
    return Judgement(**vars(api.judge(rule, progress, options)))


_runner = api.Runner(Trace)
start, run, sweep = _runner.start, _runner.run, _runner.sweep
