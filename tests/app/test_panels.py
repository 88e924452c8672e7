"""Every panel shows a chart with the right numbers, or the reason why it has none."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace
from rich.text import Text

from engine.core.groups import ROTATIONS
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.judging import judgement
from engine.judging.judgement import LearnerJudgement
from engine.planning.run_plan import is_recorded
from engine.problems.examples import examples
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.snapshots import take
from engine.runtime import curve_keys, store
from engine.runtime.run import run
from engine.runtime.run_writer import RunWriter
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.sweep import only
from hadamard_tui import panels
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.drawing.nets import Nets, draw
from hadamard_tui.charts.heat_map import HeatMap, read_cell
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.charts.plots.series_builder import Plot
from hadamard_tui.charts.series import Series
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import contrast
from hadamard_tui.colours.themes import COLOUR_THEMES
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import ACTIONS
from hadamard_tui.panels import (
    ABOUT,
    DIGITS,
    PANELS,
    WORDS,
    claims,
    features,
    gap,
    instances,
    mistakes,
    network,
    rank,
    spectrum,
    story,
    targets,
    theory,
    train,
    verdict,
)
from hadamard_tui.panels import weights as weights_panel
from hadamard_tui.panels.panel import Panel, PanelContext, PanelPredictions, headline
from hadamard_tui.panels.theory import new_row
from hadamard_tui.running import workers as measuring_module
from hadamard_tui.running.viewed import Retraining
from hadamard_tui.running.workers import CertificateWorker, SnapshotWorker
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import Tabs

from .conftest import WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import cells, finished

pytestmark = pytest.mark.set_up("empty")

SMALL = ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "run.device=cpu", "claims=[]"]


def context_of(preset: str, *settings: str, learner: int = 0) -> PanelContext:
    """Context of a finished run with the playhead at its end."""
    experiment = presets.load(preset, [*SMALL, *settings])
    trace = run(experiment)
    curve, outcomes = trace.curves[learner], judge(of_one(experiment, trace))
    return PanelContext(
        experiment, trace, curve, trace.last, trace.last, ChartOptions(), PanelPredictions(outcomes=outcomes)
    )


@pytest.fixture(scope="module")
def one_target() -> PanelContext:
    """Context of a run with one target."""
    return context_of("hadamard-128", "run.replicas=3")


@pytest.fixture(scope="module")
def many() -> PanelContext:
    """Context of a run with many targets and all measures."""
    return context_of("all-targets-128", "run.spectrum=true", "run.train_loss=true")


def reason(panel: Panel, *settings: str, preset: str = "hadamard-128") -> str:
    """Reason why a panel does not apply to an experiment."""
    lack = panel.lacks(presets.load(preset, [*SMALL, *settings]))
    assert lack is not None
    return lack.reason


def words(shown: Plot | Text) -> str:
    assert isinstance(shown, Text), "expected words, got a chart"
    return shown.plain


def series(shown: Plot | Text) -> dict[str, Series]:
    assert isinstance(shown, Plot), f"expected a chart, got {shown}"
    return {line.name: line for line in shown.series if line.name}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_panel_shows_content_at_every_playhead_position(
    panel, one_target: PanelContext, many: PanelContext
):
    for context in (one_target, many):
        for place in (0.0, 5.0, 16.0):
            for chart_options in (
                ChartOptions(),
                ChartOptions(x_log=True, y_log=True),
                ChartOptions(smooth=True, window=(3.0, 9.0)),
            ):
                if panel.lacks(context.experiment) is not None:
                    continue
                shown = panel.show(replace(context, place=place, chart_options=chart_options))
                if isinstance(shown, Nets):
                    assert shown.nets
                elif isinstance(shown, HeatMap):
                    assert not np.isnan(shown.z).all()
                else:
                    assert shown.series if isinstance(shown, Plot) else shown.plain.strip()


@pytest.mark.parametrize("look", COLOUR_THEMES)
def test_colours_in_panels_contrast_with_the_background(look: str, many: PanelContext):
    before, colours = palette.current(), COLOUR_THEMES[look].palette
    palette.use(colours)
    try:
        drawn = {panel.name: panel.show(many) for panel in PANELS if panel.lacks(many.experiment) is None}
    finally:
        palette.use(before)
    plots = {panel_name: shown.series for panel_name, shown in drawn.items() if isinstance(shown, Plot)}
    assert {"rank", "svd", "weights"} <= plots.keys()
    for panel_name, shown in plots.items():
        for series_of_panel in shown:
            assert contrast(series_of_panel.colour, colours.ground) >= 3, (
                panel_name
            )  # WCAG 1.4.11, graphical objects


def test_the_first_panels_have_digit_keys_and_descriptions():
    numbers = {action.keys: action.help for action in ACTIONS if action.name.startswith("panel(")}
    assert list(numbers) == [str(number % 10) for number in range(1, min(len(ABOUT), DIGITS) + 1)]
    assert (
        list(numbers.values())
        == [f"Open {WORDS[panel_name]}: {about}" for panel_name, about in ABOUT.items()][:DIGITS]
    )


def test_the_weight_of_the_target_is_drawn_on_top(one_target: PanelContext):
    shown = weights_panel.show(one_target)
    assert isinstance(shown, Plot)
    assert len(shown.series) == 16
    top = shown.series[-1]
    assert (top.name, top.mark) == ("weight 3, the target", "★")
    assert one_target.curve.weights is not None
    assert (top.y == one_target.curve.weights[:, 3]).all()
    assert top.y[-1] == pytest.approx(1.0, abs=1e-5)


def test_the_legend_uses_the_singular_for_one_other_weight():
    shown = weights_panel.show(context_of("hadamard-128", "problem.matrix.d=2", "problem.target.index=1"))
    assert "1 other weight" in series(shown)


def test_the_weights_legend_shows_values_at_the_playhead(one_target: PanelContext):
    assert one_target.curve.weights is not None
    now = one_target.curve.weights[5]
    rest = np.delete(now, 3)
    named = series(weights_panel.show(replace(one_target, place=5.0)))
    assert set(named) == {
        f"weight 3, the target: {now[3]:.3f}",
        f"15 other weights: {rest.min():.3f} … {rest.max():.3f}",
    }
    assert now[3] == pytest.approx(5 / 16, abs=1e-5), "GD from 0 on Hadamard rows: the target's weight is k/d"


def test_weights_of_several_targets_name_their_target_and_mark_its_weight(
    many: PanelContext, one_target: PanelContext
):
    shown = weights_panel.show(many)
    assert isinstance(shown, Plot)
    assert shown.axes.title == "Weights of GD for target 1 of 16: feature 0"
    assert (shown.series[-1].name, shown.series[-1].mark) == ("weight 0, target 1 of 16", "★")
    assert many.curve.weights is not None
    assert (shown.series[-1].y == many.curve.weights[:, 0]).all()
    assert weights_panel.show(one_target).axes.title == "Weights of GD (★ the target)"  # type: ignore[union-attr]


def test_the_weights_panel_explains_a_learner_without_weights_per_feature():
    context = context_of("hadamard-128", 'learners.GD.architecture={kind="dense", activation="relu"}')
    assert "not linear in the instance" in words(weights_panel.show(context))


@pytest.mark.parametrize("target", ["problem.target.index=3", 'problem.target={kind="coin"}'])
def test_weights_at_a_single_evaluation_point_are_drawn_by_feature(target: str):
    context = context_of("hadamard-128", 'protocol={kind="at-init"}', target, learner=1)
    assert len(context.trace.x) == 1
    weights = context.curve.weights
    assert weights is not None
    shown = weights_panel.show(replace(context, chart_options=ChartOptions(x_log=True)))
    assert isinstance(shown, Plot)
    assert shown.axes.x_label == "feature"
    assert not shown.axes.x_log
    weights_by_feature = {float(x): y for line in shown.series for x, y in zip(line.x, line.y, strict=True)}
    assert [weights_by_feature[feature] for feature in range(16)] == weights[0].tolist()
    of_target = weights_panel.target_feature(context.experiment)
    assert [line.x.tolist() for line in shown.series if line.mark] == (
        [] if of_target is None else [[of_target]]
    )


@pytest.mark.slow
def test_weights_of_many_features_are_thinned_and_counted():
    context = context_of("gaussian-128", "problem.matrix.d=512", "problem.matrix.n=8", "run.seed=1")
    shown = weights_panel.show(context)
    assert isinstance(shown, Plot)
    weights = context.curve.weights
    assert weights is not None
    *rest, target = (int(np.flatnonzero((line.y == weights.T).all(1)).item()) for line in shown.series)
    assert target == context.experiment.problem.target.index
    assert len(rest) == weights_panel.MOST_LINES
    assert target not in rest
    assert (np.diff(rest) > 0).all(), "every line is another weight"
    assert {rest[0], rest[-1]} == {0 if target else 1, 511}
    assert f"{len(rest)} other weights of 512" in " ".join(series(shown))


@pytest.mark.parametrize("index", [3, 6])
def test_no_weight_is_marked_as_target_if_the_target_is_a_hidden_feature(index: int):
    matrix = 'problem.matrix={kind="xor", d=16}'
    context = context_of("hadamard-128", matrix, f"problem.target.index={index}")
    assert set(series(weights_panel.show(context))) == {"4 weights"}


def test_spectrum_panels_do_not_apply_to_one_target(one_target: PanelContext):
    for panel in (spectrum.PANEL, rank.PANEL):
        lack = panel.lacks(one_target.experiment)
        assert lack is not None
        assert "There is one target" in lack.reason
        assert lack.remedy is None


@pytest.mark.parametrize(
    ("panel", "measures"),
    [
        (spectrum.PANEL, ["rank"]),
        (rank.PANEL, ["spectrum"]),
        (train.PANEL, ["spectrum", "rank"]),
    ],
    ids=lambda argument: getattr(argument, "name", ""),
)
def test_a_panel_applies_after_its_remedy_is_put_into_the_set_up(panel: Panel, measures: list[str]):
    settings = [*SMALL, f"run.measures={measures}", "claims=[]"]
    editable = EditableExperiment(presets.load("all-targets-128", settings), None)
    lack = panel.lacks(editable.experiment)
    assert lack is not None
    assert "does not record" in lack.reason
    assert lack.remedy is not None
    assert lack.remedy.place == "run.measures"
    assert [measure["kind"] for measure in lack.remedy.value][: len(measures)] == measures
    editable.put(lack.remedy.place, lack.remedy.value)
    assert editable.error is None
    assert panel.lacks(editable.experiment) is None


def test_the_rank_of_gd_is_k_and_equals_the_span_bound(many: PanelContext):
    shown = series(rank.show(many))
    gd, line = shown["GD"], shown["span bound"]
    assert (gd.y == np.minimum(gd.x, 16)).all()
    assert (line.y == gd.y).all()


def test_the_span_bound_counts_distinct_examples_rather_than_epochs():
    epochs = 'protocol={kind="epochs", train=5, epochs=20}'
    shown = series(rank.show(context_of("all-targets-128", "run.spectrum=true", epochs)))
    line = shown["span bound"]
    assert (line.y[0], set(line.y[1:])) == (0, {5})


def test_ranks_and_singular_values_are_shown_at_the_playhead(many: PanelContext):
    context = replace(many, place=5.0)
    assert "GD: 5" in series(rank.show(context))
    assert context.curve.weights is not None
    # GD from 0 on orthogonal rows of length 4 for all 16 targets: five rows are learned, each by 1.
    assert "5 of 16 singular values = 1, the others = 0" in series(spectrum.show(context))
    egu = replace(context, curve=many.trace.curves[-1])
    assert any(name.startswith("largest of 16 singular values: ") for name in series(spectrum.show(egu)))


def test_equal_singular_values_share_a_line_with_their_count(many: PanelContext):
    shown = spectrum.show(many)
    assert isinstance(shown, Plot)
    [line] = shown.series
    assert line.name == "1 to 16 of 16 singular values are equal, the others = 0"
    assert line.y[1:] == pytest.approx(np.ones(16), abs=1e-5)
    assert np.isnan(line.y[0]), "before the first example all of them are 0"


def test_the_spectrum_belongs_to_the_selected_learner(many: PanelContext):
    curve = many.trace.curves[-1]
    shown = spectrum.show(replace(many, curve=curve))
    assert isinstance(shown, Plot)
    drawn = np.stack([line.y for line in shown.series], axis=1)[:, ::-1]
    assert (np.nan_to_num(drawn) == curve.array("spectrum").values[:, 0]).all()


def test_the_gap_is_loss_minus_bound(one_target: PanelContext):
    shown = series(gap.show(one_target))
    bounds = [bound for bound in one_target.trace.lines_of("loss") if len(bound.values)]
    for curve in one_target.trace.curves:
        naive = [
            loss - max(np.interp(x, bound.x, bound.values) for bound in bounds)
            for x, loss in zip(curve.x, curve.mean("loss"), strict=True)
        ]
        assert shown[curve.name].y == pytest.approx(naive, abs=1e-9)
        assert shown[curve.name].band is not None
    assert (shown["the bound"].y == 0).all()


@pytest.mark.parametrize("panel", [gap.PANEL, train.PANEL], ids=lambda panel: panel.name)
def test_a_diverging_learner_does_not_stretch_the_axes(panel):
    settings = ("learners.EGU.update.lr=0.9", "run.train_loss=true", "problem.matrix.d=128")
    context = context_of("hadamard-128", *settings)
    assert max(curve.mean("loss").max() for curve in context.trace.curves) > 100
    shown = panel.show(context)
    assert isinstance(shown, Plot)
    assert max(map(abs, shown.axes.y_limits)) < 3
    assert panel.show(replace(context, chart_options=ChartOptions(y_log=True, window=(1.0, 60.0)))).series


def test_the_gap_panel_without_a_bound_gives_the_reason():
    words_of_panel = reason(gap.PANEL, "problem.matrix.row_signs=false", "problem.matrix.permute=false")
    assert "no gap to show" in words_of_panel
    assert "`row_signs` is off" in words_of_panel
    assert gap.lacks(presets.load("hadamard-128", SMALL)) is None


def test_the_mistakes_panel_shows_recorded_errors_and_requires_signs(one_target: PanelContext):
    shown = series(mistakes.show(one_target))
    for curve in one_target.trace.curves:
        assert curve.mean("error") is not None
        assert shown[curve.name].y == pytest.approx(curve.mean("error"))
    assert "no 0/1 error" in reason(mistakes.PANEL, preset="gaussian-128")


def test_the_train_loss_panel_shows_the_recorded_loss(one_target: PanelContext, many: PanelContext):
    assert train.lacks(one_target.experiment) is not None
    shown = series(train.show(many))
    train_loss = many.curve.mean("train")
    assert train_loss is not None
    assert shown["GD"].y == pytest.approx(train_loss[~np.isnan(train_loss)])
    assert "GD on unseen rows" in shown


def test_the_theory_panel_names_a_curve_computed_by_an_operator():
    told = "The curve is computed by an operator in place of the matrix of instances"
    net = 'learners.GD.architecture={kind="dense", widths=[4], activation="tanh"}'
    assert told in words(theory.show(context_of("hadamard-128", net)))
    assert told not in words(theory.show(context_of("hadamard-128")))


def test_the_theory_panel_explains_applicable_lines_first_and_folds_inapplicable_lines():
    contexts = [context_of("hadamard-128", learner=number) for number in (0, 2)]
    brief = words(theory.show(replace(contexts[0], lists_by="F lists them")))
    assert "junk-flow" not in brief
    assert brief.endswith("lines do not apply to this set-up; F lists them.\n")
    gd, egu = (words(theory.show(context)) for context in contexts)
    assert gd.index("rotation-invariant bound: 1 − k/d") < gd.index("junk-flow")
    assert "No rotation-invariant learner does better on Hadamard rows with random signs." in gd
    assert (
        egu.index("EGU may beat this bound")
        < egu.index("Does not apply: ")
        < egu.index("lines do not apply to")
    )
    junk = next(line for line in gd.splitlines() if "junk-flow" in line)
    assert junk == "  junk-flow bound: requires all vectors of ±1 as rows, and the matrix is hadamard"


def test_the_theory_panel_names_the_highest_bound_first():
    gd, egu = (words(theory.show(context_of("hadamard-128", learner=number))) for number in (0, 2))
    assert "2 lower bounds apply to GD in this run. The highest is first." in gd
    assert gd.index("rotation-invariant bound: 1 − k/d,") < gd.index("bound in random order: 1 − k/(d−1)")
    assert "lower bounds apply" not in egu


def test_the_theory_panel_sketches_the_proof_only_for_a_bound_learner():
    gd, egu = (words(theory.show(context_of("hadamard-128", learner=number))) for number in (0, 2))
    idea = "The labels of unseen rows are fair coins, and orthogonal rows contain no information"
    assert idea in gd
    assert idea not in egu
    assert "Source: " not in gd


PICTURE = re.compile(r"^(row \d+)(?:, new)? +([·░▒▓█]+)(?: +(\S+))?(?: +(\S+))?$", re.MULTILINE)
"""Lines of the picture of a new row: number, entries, label and inner product."""


@pytest.mark.parametrize("preset", ["hadamard-128", "gaussian-128"])
def test_the_theory_panel_shows_a_new_row_below_earlier_rows(preset: str):
    context = context_of(preset, "run.seed=3")
    shown = words(theory.show(replace(context, place=8.0)))
    drawn = examples(context.experiment.problem, Streams([3]), "float64")
    rows, labels = drawn.instances[0, 4:9], drawn.labels[0, 0, 4:8]
    lines = PICTURE.findall(shown)
    assert [line[0] for line in lines] == [f"row {number}" for number in range(5, 10)]
    span = rows.max() - rows.min()
    shades = np.array([["·░▒▓█".index(letter) for letter in line[1]] for line in lines])
    assert abs(shades - 4 * (rows - rows.min()) / span).max() <= 0.5
    assert lines[-1][2:] == ("?", "")
    numbers = np.array([[float(text.replace("−", "-")) for text in line[2:]] for line in lines[:-1]])
    np.testing.assert_allclose(numbers, np.stack([labels, rows[:4] @ rows[4]], 1), rtol=5e-3, atol=1e-12)
    if preset == "hadamard-128":
        assert not numbers[:, 1].any(), "rows of a Hadamard matrix are orthogonal"


def test_inner_products_of_rotated_rows_are_shown_as_0_despite_rounding():
    shown = words(new_row(context_of("rotated-128")))
    products = [
        line.split()[-1] for line in shown.splitlines() if line.startswith("row") and "new" not in line
    ]
    assert set(products) == {"0"}


def test_the_theory_panel_shows_no_new_row_for_an_unbound_learner():
    context = replace(context_of("hadamard-128", learner=2), place=8.0)
    assert new_row(context) is not None
    assert not PICTURE.search(words(theory.show(context)))


def test_a_new_row_requires_earlier_rows_and_a_clock_of_examples(one_target: PanelContext):
    assert new_row(replace(one_target, place=0.0)) is None
    assert new_row(replace(one_target, place=1.0)) is not None
    steps = context_of("hadamard-128", "protocol={kind='steps',steps=9}")
    assert new_row(replace(steps, place=8.0)) is None


@pytest.mark.parametrize(
    ("learner", "stands"), [(2, "  EGU may beat this bound.\n"), (0, "  Applies: orthogonal rows")]
)
def test_the_theory_panel_gives_the_reason_of_the_invariance_verdict_once(learner, stands):
    context = context_of("hadamard-128", learner=learner)
    text = words(theory.show(context))
    assert text.count(context.curve.verdict.reason) == 1
    assert text.count(stands) >= 1


def test_the_theory_panel_gives_the_invariance_reason_and_the_tried_rates():
    context = context_of("hadamard-128", 'learners.GD.update.lr="best"')
    text = words(theory.show(context))
    assert "GD is rotation invariant" in text
    assert "ri-signed" in text
    assert text.count("η = ") == len(context.curve.grid) > 5
    best = next(line for line in text.splitlines() if "the best" in line)
    assert f"{context.curve.rate:.4g}" in best


def test_the_story_shows_title_and_theorem_and_claims_have_a_tab():
    experiment = presets.load("hadamard-128", ["run.device=cpu"])
    trace = run(experiment)
    context = PanelContext(experiment, trace, trace.curves[2], 128, 64, ChartOptions())
    text = words(story.show(context))
    assert experiment.title in text
    assert "rotation-invariant bound: 1 − k/d, lower bound; " in text
    assert "The bound does not apply to EGU: " in text
    assert "So EGU may beat this bound." in text
    assert words(claims.show(context)).count("not measured yet") == len(experiment.claims)
    assert claims.tally(context) == ""
    judged = replace(context, predictions=PanelPredictions(outcomes=judge(of_one(experiment, trace))))
    assert words(claims.show(judged)).count("✓ holds") == len(experiment.claims)
    assert claims.tally(judged) == "8/8"


def test_claims_of_a_changed_preset_are_shown_as_not_judged_with_the_reason():
    sweep = presets.sweep_of("hadamard-128", presets.document("hadamard-128", ["problem.matrix.d=64"]))
    experiment = sweep.experiment
    trace = run(experiment)
    outcomes = judge(of_one(experiment, trace, sweep.unjudged))
    context = PanelContext(
        experiment, trace, trace.curves[2], 64, 64, ChartOptions(), PanelPredictions(outcomes=outcomes)
    )
    text = words(claims.show(context))
    assert text.count("– not judged  ") == len(experiment.claims)
    assert text.count("(the set-up was changed)") == len(experiment.claims)
    assert "✗" not in text
    assert claims.tally(context) == ""
    assert headline(context, context.loss) == (
        "The set-up was changed (claims not judged): EGU and spindly stay below a tenth after 16 examples, "
        "the others only after 18 to 58"
    )


def test_the_story_before_a_run_names_expensive_measures_and_their_cost():
    (line,) = map(words, story.expensive(presets.load("gmm-spectrum")))
    cost = "a computation of the eigenvalues of "
    assert line.startswith(f"Expensive: jacobian-spectrum, jacobian-gap. Each value needs {cost}")
    assert not story.expensive(presets.load("hadamard-128"))


def test_the_story_of_a_picture_without_losses_does_not_mention_the_loss():
    context = context_of("hadamard-128", 'pictures=[{x="k", measure="norm"}]', "claims=[]")
    text = words(story.show(context))
    assert context.experiment.title in text
    assert headline(context, context.loss) not in text
    assert "rotation-invariant bound" not in text


def test_a_verdict_before_the_run_ends_shows_the_gap_at_the_playhead(one_target: PanelContext):
    text = words(verdict.show(replace(one_target, place=4.0)))
    assert text.count("will be measured once the run has finished") == len(one_target.trace.curves)
    assert re.search(r"loss − rotation-invariant bound = \S+ at 4\n", text)
    assert "no bound applies to this learner" in text  # EGU, say
    gaussian = context_of("gaussian-128", "run.replicas=3")
    assert gaussian.curve.stderr_of("loss") is not None
    gap = float(gaussian.curve.mean("loss")[4] - (1 - 4 / 16) ** 2)
    error = float(gaussian.curve.stderr_of("loss")[4])
    errors = f"{gap:+.2g} at 4, {gap / error:+.1f} standard errors"
    assert errors in words(verdict.show(replace(gaussian, place=4.0)))


@pytest.mark.slow
def test_measured_verdicts_of_all_learners_agree_with_theory_on_hadamard_rows(one_target: PanelContext):
    measuring = CertificateWorker(one_target.experiment, one_target.trace)
    assert measuring.wait(30)
    assert set(measuring.judged) == {learner.name for learner in one_target.experiment.learners}
    text = words(verdict.show(replace(one_target, retraining=Retraining(certificates=measuring))))
    assert "predictions are unchanged by rotations" in text
    assert "predictions are changed by rotations" in text
    assert "✓ respected" in text
    assert "DISAGREE" not in text
    assert "broken" not in text


def test_a_verdict_within_rounding_error_is_undecided_and_shows_both_numbers(one_target: PanelContext):
    odd = LearnerJudgement("GD", Verdict(True, "it is said"), {ROTATIONS: 0.5}, [], by_rounding=0.25)
    measuring = SimpleNamespace(judged={"GD": odd}, failed={}, at=None, stopped=False)
    text = words(verdict.show(replace(one_target, retraining=Retraining(certificates=measuring))))  # type: ignore[arg-type]
    assert "perhaps only by amplified rounding errors, by rotations: max |Δŷ| / max |ŷ| = 0.5" in text
    assert "perturbations as small as rounding change predictions by 0.25" in text
    assert "invariant  undecided" in text
    assert "DISAGREE" not in text


def test_a_contradiction_of_structure_and_measurement_is_shown_in_red(one_target: PanelContext):
    odd = LearnerJudgement("GD", Verdict(True, "it is said"), {ROTATIONS: 0.5}, [])
    measuring = SimpleNamespace(judged={"GD": odd}, failed={}, at=None, stopped=False)
    text = verdict.show(replace(one_target, retraining=Retraining(certificates=measuring)))  # type: ignore[arg-type]
    assert isinstance(text, Text)
    start = text.plain.index("✗ DISAGREE")
    assert any(span.start <= start < span.end and "red" in str(span.style) for span in text.spans)


def test_a_measurement_is_shown_as_running_and_can_be_cancelled_at_once(
    one_target: PanelContext, monkeypatch: pytest.MonkeyPatch
):
    held = threading.Event()

    def slow(experiment, trace, learner, going):
        while not held.wait(0.01):
            going(0.5)

    monkeypatch.setattr(measuring_module, "judgement", slow)
    measuring = CertificateWorker(one_target.experiment, one_target.trace)
    try:
        while measuring.at is None:
            time.sleep(0.01)
        context = replace(one_target, retraining=Retraining(certificates=measuring))
        assert "measuring …" in words(verdict.show(context))
        assert "waiting for other measurements" in words(verdict.show(context))
        begun = time.monotonic()
        measuring.stop()
        assert measuring.wait(1.0)
        assert time.monotonic() - begun < 1.0
        assert words(verdict.show(context)).count("the measurement was stopped") == len(
            one_target.trace.curves
        )
    finally:
        held.set()


def test_the_requested_learner_is_measured_next(one_target: PanelContext, monkeypatch: pytest.MonkeyPatch):
    order, go = [], threading.Semaphore(0)

    def noted(experiment, trace, learner, going):
        order.append(learner.name)
        go.acquire()

    monkeypatch.setattr(measuring_module, "judgement", noted)
    measuring = CertificateWorker(one_target.experiment, one_target.trace)
    measuring.request("spindly")
    go.release(9)
    assert measuring.wait(5)
    assert order[1] == "spindly" or order[0] == "spindly"


def test_a_failed_measurement_gives_the_reason(one_target: PanelContext, monkeypatch: pytest.MonkeyPatch):
    def broken(*_):
        raise MemoryError("too large")

    monkeypatch.setattr(measuring_module, "judgement", broken)
    measuring = CertificateWorker(one_target.experiment, one_target.trace)
    assert measuring.wait(5)
    assert "failed: MemoryError: too large" in words(
        verdict.show(replace(one_target, retraining=Retraining(certificates=measuring)))
    )


def test_an_exception_of_the_progress_callback_ends_a_certificate(one_target: PanelContext):
    counted = []

    def going(done: float) -> None:
        counted.append(1)
        if len(counted) == 5:
            raise measuring_module.Stopped

    with pytest.raises(measuring_module.Stopped):
        judgement.judgement(one_target.experiment, one_target.trace, one_target.experiment.learners[0], going)
    assert len(counted) == 5


@pytest.mark.slow
async def test_reopening_the_panel_measures_a_stopped_verdict(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    held = threading.Event()

    def slow(experiment, trace, learner, going):
        while not held.wait(0.01):
            going(0.99)
        return LearnerJudgement(learner.name, Verdict(True, "it is said"), {ROTATIONS: 0.0}, [])

    monkeypatch.setattr(measuring_module, "judgement", slow)
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        assert session_of(app).retraining.certificates is None  # nobody has asked for it
        await pilot.press("4")
        await until(pilot, lambda: "measuring … 99 %" in screen_text(app))
        await pilot.press("h")
        await until(pilot, lambda: "not measured: the measurement was stopped" in screen_text(app))
        assert session_of(app).state == "finished"
        held.set()
        await pilot.press("4")
        await until(pilot, lambda: "predictions are unchanged by rotations" in screen_text(app))


@pytest.mark.slow
async def test_quitting_does_not_wait_for_a_measurement(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    held = threading.Event()
    monkeypatch.setattr(measuring_module, "judgement", lambda *_: held.wait(30))
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("4")
        await until(pilot, lambda: session_of(app).retraining.certificates is not None)
        await pilot.press("q")
    begun = time.monotonic()
    assert not app.laboratory.end(0.4)
    assert time.monotonic() - begun < 0.5
    held.set()


@pytest.mark.slow
async def test_panels_that_do_not_apply_are_dimmed_and_enter_makes_one_apply_which_can_be_undone(small):
    changes = {"target": {"kind": "all"}}
    editable = EditableExperiment(small, "hadamard-128")
    for name, value in changes.items():
        editable.put(f"problem.{name}", value)
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        tabs = app.laboratory.query_one(Tabs)
        await until(pilot, lambda: {"svd", "rank", "train"} <= tabs.dimmed)
        await pilot.press("7")
        await until(pilot, lambda: "Enter records spectra and runs again." in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: is_recorded("spectrum", session_of(app).experiment))
        await until(pilot, lambda: not {"svd", "rank"} & tabs.dimmed)
        await until(pilot, lambda: "singular values are equal" in screen_text(app))
        again = session_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert session_of(app) is again, "there is nothing more to turn on"
        await pilot.press("u")
        assert not app.laboratory.editable.experiment.run.measures


@pytest.mark.slow
async def test_the_table_shows_the_oracle_tuned_rate_and_its_grid(editable: EditableExperiment):
    editable.put("learners[0].update.lr", "best")
    app = HadamardApp(editable)
    async with opened(app, (200, 60)) as pilot:
        await finished(app, pilot)
        trace = session_of(app).trace
        assert trace is not None
        curve = trace.curves[0]
        told = f"{curve.rate:.3g}, best of {len(curve.grid)}: {min(curve.grid):.1g}…{max(curve.grid):.1g}"
        assert cells(app).get("rate") == told
        await pilot.resize_terminal(80, 40)
        await until(pilot, lambda: cells(app).get("rate") == told.partition(":")[0])
        assert cells(app, 1)["rate"] == ""


TENTH = """
from rich.text import Text
from hadamard_tui.panels.panel import Panel
PANEL = Panel("tenth", "what a tenth panel shows", lambda context: Text("it"), place=15, experimental={})
"""


@pytest.mark.parametrize("experimental", [False, True])
def test_a_file_adds_a_panel_and_an_experimental_panel_comes_last(tmp_path, monkeypatch, experimental: bool):
    (tmp_path / "another.py").write_text(TENTH.format(experimental))
    monkeypatch.setattr(panels, "__path__", [*panels.__path__, str(tmp_path)])
    names = [panel.name for panel in panels._all_panels()]
    del sys.modules["hadamard_tui.panels.another"]
    place = names.index("tenth")
    assert (place >= sum(not panel.experimental for panel in PANELS)) if experimental else place == 1
    assert [*names[:place], *names[place + 1 :]] == [panel.name for panel in PANELS]


def heat(shown: object) -> HeatMap:
    assert isinstance(shown, HeatMap), f"expected a heat map, got {shown}"
    return shown


@pytest.mark.parametrize(("protocol", "place", "titles"), [
    ('protocol={kind="at-init"}', 0.0, ["16 of 16 rows seen", "0 of 16 rows seen"]),
    ('protocol={kind="steps",steps=8,train=12,batch=1}', 1.0, ["12 of 16 rows seen", "1 of 16 rows seen"]),
    ('protocol={kind="steps",steps=8,train=12,batch=1}', 0.0, 2 * ["0 of 16 rows seen"]),
])  # fmt: skip
def test_the_instance_matrix_lights_the_rows_known_to_the_selected_learner(protocol, place, titles):
    learners = (
        'learners=[{name="lls",solver="lls"},{name="GD",architecture="linear",update={kind="gd",lr=0.1}}]'
    )
    heats = [
        heat(instances.show(replace(context, place=place)))
        for context in (
            context_of("gaussian-128", learners, protocol, "claims=[]", learner=at) for at in (0, 1)
        )
    ]
    assert [heat_map.title.removeprefix("Instances: ") for heat_map in heats] == titles
    for heat_map in heats:
        assert heat_map.unlit is not None
        assert np.count_nonzero(~heat_map.unlit) == int(heat_map.title.split()[1])


def test_the_instance_matrix_lights_seen_rows_and_marks_the_target(
    one_target: PanelContext,
):
    shown = heat(instances.show(replace(one_target, place=5.0)))
    assert (shown.z.shape, set(np.unique(shown.z))) == ((16, 16), {-1.0, 1.0})
    assert shown.unlit is not None
    assert list(shown.y[~shown.unlit]) == [1, 2, 3, 4, 5]
    assert [(column.name, column.x) for column in shown.columns] == [("feature 3, the target", 3)]
    assert shown.title == "Instances: 5 of 16 rows seen"
    labels = shown.z[:, 3]
    assert one_target.curve.weights is not None
    learned = one_target.curve.weights[5] * 16  # GD adds y x for every example on a Hadamard matrix
    np.testing.assert_allclose(learned, (labels[:5, None] * shown.z[:5]).sum(0), atol=1e-4)


def test_rotated_instances_have_no_columns_of_features():
    context = context_of("hadamard-128", "problem.matrix.rotate=true")
    assert heat(instances.show(context)).columns == ()
    assert heat(features.show(context)).columns == ()


def test_the_panel_refuses_a_large_sampled_matrix_but_not_a_large_structured_matrix():
    large = presets.load("gaussian-128", ["problem.matrix.d=4096", "claims=[]"])
    lack = instances.lacks(large)
    assert lack is not None
    assert "4096 × 4096" in lack.reason
    assert instances.lacks(presets.load("hadamard-million")) is None


def test_every_learner_has_a_row_of_its_weights_at_the_playhead(one_target: PanelContext):
    shown = heat(features.show(replace(one_target, place=5.0)))
    assert shown.y_names == ("A GD", "B least squares", "C EGU", "D EGU±", "E spindly")
    for row, curve in zip(shown.z, one_target.trace.curves, strict=True):
        assert curve.weights is not None
        np.testing.assert_allclose(row, curve.weights[5], atol=1e-6)
    assert read_cell(shown, 3, 0).text.startswith("feature 3, weights of A GD: 0.31")


def test_a_learner_without_weights_has_an_empty_row_with_the_reason():
    net = 'learners.GD.architecture={kind="dense", activation="relu"}'
    shown = heat(features.show(context_of("hadamard-128", net)))
    assert np.isnan(shown.z[0]).all()
    assert not np.isnan(shown.z[1:]).any()
    assert "not linear in the instance" in read_cell(shown, 3, 0).text


def from_a_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch, byte_limit: int, *settings: str
) -> PanelContext:
    """Context of a run restored from a cache that holds at most `byte_limit` bytes of weights per learner."""
    monkeypatch.setattr(curve_keys, "MOST_WEIGHT_BYTES", byte_limit)
    experiment = presets.load("hadamard-128", [*SMALL, *settings])
    run_sweep(only(experiment), writer=RunWriter(store.Store(folder)))
    trace = run_sweep(only(experiment), writer=RunWriter(store.Store(folder))).traces[0]
    assert all(curve.is_restored for curve in trace.curves)
    outcomes = judge(of_one(experiment, trace))
    return PanelContext(
        experiment,
        trace,
        trace.curves[0],
        trace.last,
        trace.last,
        ChartOptions(),
        PanelPredictions(outcomes=outcomes),
    )


def test_weight_panels_name_weights_missing_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    context = from_a_cache(tmp_path, monkeypatch, 0)
    for panel in (weights_panel, features):
        assert "the cache, without the weights of GD" in words(panel.show(context))
        assert "other seeds" in words(panel.show(context))


def test_rows_of_weights_missing_from_the_cache_give_the_reason(tmp_path: Path, monkeypatch):
    rates = "learners.GD.update.lr=[0.03125, 0.0625]"
    context = from_a_cache(tmp_path, monkeypatch, 17 * 16 * 4, rates)
    shown = heat(features.show(context))
    assert np.isnan(shown.z).any(1).tolist() == [True, True, *[False] * (len(shown.z) - 2)]
    assert "weights not in the cache" in read_cell(shown, 3, 0).text


@pytest.mark.slow
async def test_a_heat_map_of_a_panel_follows_the_playhead_without_moving_it(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        app.laboratory.query_one(Stage).choose("instances")
        view = app.laboratory.query_one("#panel-heat", HeatMapView)
        await until(pilot, lambda: view.is_on_screen and "16 of 16 rows seen" in screen_text(app))
        session = session_of(app)
        session.playback.seek(session.point.record_at(7))
        await until(pilot, lambda: "7 of 16 rows seen" in screen_text(app))
        view.focus()
        await pilot.press("down", "right")
        await pilot.pause(0.05)
        assert view.reading is not None
        assert session.playback.place == 7, "a cell of a panel is no place of the run"
        assert app.laboratory._cursor is None
        app.laboratory.query_one(Stage).choose("network")
        await until(pilot, lambda: "largest weight" in screen_text(app) and "k = 7" in screen_text(app))


def looked_inside(context: PanelContext) -> PanelContext:
    """The same context after its learners have trained again for snapshots."""
    looking = SnapshotWorker(context.experiment, context.trace, 3, context.curve.learner)
    assert looking.wait(60)
    return replace(context, retraining=Retraining(snapshots=looking))


def test_counting_units_does_not_import_symbolic_shapes_of_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch.fx.experimental.symbolic_shapes", None)
    experiment, predictions = presets.load("hadamard-128", SMALL), []
    take(experiment, experiment.learners[-1], None, None, predictions.append)
    assert predictions[0].units == [16, 16, 1]


@pytest.fixture(scope="module")
def nets() -> PanelContext:
    """A fully connected net beside learners with one layer and a spindly net."""
    dense = 'learners.GD.architecture={kind="dense", widths=[6]}'
    return looked_inside(context_of("hadamard-128", dense, "learners.GD.update.lr=0.01"))


def lines_of(shown: object, width: int = 118, height: int = 14) -> list[str]:
    assert isinstance(shown, Nets)
    return ["".join(map(chr, row)) for row in draw(shown, width, height).glyphs]


def test_products_of_drawn_layers_equal_the_weights_of_the_run(nets: PanelContext):
    shown = network.show(replace(nets, place=5.0))
    assert isinstance(shown, Nets)
    named = {net.name: net for net in shown.nets}
    assert list(named) == ["A GD", "C EGU", "D EGU±", "E spindly"], "least squares has no net"
    for name, curve in zip(
        ["A GD", "C EGU", "E spindly"], np.array(nets.trace.curves)[[0, 2, 4]], strict=True
    ):
        product = np.eye(16)
        for layer in named[name].layers:
            product = layer @ product
        np.testing.assert_allclose(product[0], curve.weights[5], atol=1e-5)
    assert [net.units for net in named.values()] == [[16, 6, 1], [16, 1], [16, 1], [16, 16, 1]]


def test_a_net_shows_the_target_among_its_inputs_and_counts_omitted_inputs(nets: PanelContext):
    shown = network.show(replace(nets, place=5.0))
    assert isinstance(shown, Nets)
    few = shown._replace(nets=[net._replace(target=12) for net in shown.nets])
    lines = lines_of(few)
    assert any("x12" in line and "★" in line for line in lines)
    assert any("⋮ 8 more" in line for line in lines)
    assert "E spindly" in lines[1]
    assert "E spindly" not in "".join(lines_of(shown, 78))
    assert all("1 more in a wider view" in lines_of(shown, width)[-1] for width in (76, 90))


@pytest.mark.parametrize("width", [24, 28, 40])
def test_the_largest_weight_of_a_net_is_shown_in_full(nets: PanelContext, width: int):
    shown = network.show(replace(nets, place=5.0))
    assert isinstance(shown, Nets)
    for net in shown.nets:
        number = f"{net.largest:.3g}"
        words = f"{net.name}, largest weight {number}"
        heading = "".join(map(chr, draw(shown._replace(nets=[net]), width, 12).glyphs[1])).rstrip()
        assert heading == (words if len(words) < width else f"{net.name}, max |w| {number}")


def test_the_brightness_of_edges_changes_with_the_playhead(nets: PanelContext):
    first, last = (network.show(replace(nets, place=place)) for place in (0.0, 16.0))
    assert isinstance(first, Nets)
    assert isinstance(last, Nets)
    inks = [draw(shown._replace(nets=[shown.nets[1]]), 40, 12).inks.max() for shown in (first, last)]
    assert inks == [0, 7], "EGU starts with weak edges, and ends with the strongest there is"


def test_nets_of_any_size_are_drawn_in_any_room(nets: PanelContext):
    shown = network.show(nets)
    for width in (1, 10, 24, 60, 200):
        for height in (1, 2, 3, 5, 30):
            assert len(lines_of(shown, width, height)) == height


def test_the_matrix_of_weights_across_targets_follows_the_playhead(many: PanelContext):
    shown = heat(targets.show(looked_inside(replace(many, place=5.0))))
    assert shown.z.shape == (16, 16)
    assert many.curve.weights is not None
    np.testing.assert_allclose(shown.z[0], many.curve.weights[5], atol=1e-6)
    assert np.linalg.matrix_rank(shown.z, tol=1e-4) == 5, "GD from 0 stays in the span of the rows seen"
    assert "one target" in reason(targets.PANEL)


@pytest.mark.slow
def test_the_network_panel_gives_the_reason_if_it_cannot_draw_a_net(one_target: PanelContext):
    assert "Nets are drawn after the run" in words(network.show(one_target))
    erm = context_of("hadamard-128", 'protocol={kind="erm"}', "learners.EGU.update.lr=0.1")
    assert "every k has a separate model" in words(network.show(looked_inside(erm)))


def test_weights_of_a_solver_or_of_start_and_end_are_drawn_by_feature():
    steps = 'protocol={kind="steps", steps=8, records=1, train=8}'
    several = 'protocol={kind="steps", steps=8, records=4, train=8}'
    for protocol, learner, joined in ((steps, 0, False), (several, 0, True), (several, 1, False)):
        context = context_of("hadamard-128", protocol, learner=learner)
        shown = weights_panel.show(context)
        assert isinstance(shown, Plot)
        assert (shown.axes.x_label != "feature") == joined
        if not joined:
            assert context.curve.weights is not None
            [of_target] = [line for line in shown.series if line.mark]
            assert of_target.y.tolist() == [context.curve.weights[-1][3]]
    assert weights_panel.show(context_of("hadamard-128", learner=1)).axes.x_label != "feature"  # type: ignore[union-attr]


@pytest.mark.slow
def test_every_feature_of_a_sparse_target_is_drawn_with_a_star():
    sparse = 'problem.target={kind="sparse", r=3}'
    context = context_of("gaussian-128", sparse, "problem.matrix.d=512", "problem.matrix.n=8")
    shown = weights_panel.show(context)
    assert isinstance(shown, Plot)
    stars = [line for line in shown.series if line.mark == "★"]
    features = weights_panel.target_features(context.experiment)
    assert len(stars) == len(features) == 3
    assert stars[0].name.startswith(f"weights {', '.join(map(str, features))} of the target")
    assert context.curve.weights is not None
    for star, feature in zip(stars, features, strict=True):
        assert (star.y == context.curve.weights[:, feature]).all()
    assert len(shown.series) == weights_panel.MOST_LINES + 3


AS_IN_THE_RUN = ("name", "learner", "length", "ended", "uncached_weight_bytes")


def test_the_axes_of_weights_fit_the_weights_of_the_selected_learner(one_target: PanelContext):
    curve = one_target.curve
    assert curve.weights is not None
    small = SimpleNamespace(**{name: getattr(curve, name) for name in AS_IN_THE_RUN})
    small.weights, small.weights_x = curve.weights[:5] / 100, curve.weights_x[:5]
    shown = weights_panel.show(replace(one_target, curve=small))  # type: ignore[arg-type]
    assert isinstance(shown, Plot)
    assert shown.axes.x_limits == (0, 4), "though the others go on to 16"
    low, high = shown.axes.y_limits
    largest = float(np.abs(small.weights).max())
    assert largest < high - low < 4 * largest
    assert low <= 0 <= high


def test_the_weights_panel_of_a_kernel_does_not_suggest_the_network_panel():
    kernel = 'learners=[{name="K", solver={kind="kernel", kernel="rbf"}}]'
    words_of_panel = words(
        weights_panel.show(context_of("hadamard-128", "learners.GD.update.lr=0.03125", kernel))
    )
    assert "The learner “K” is not linear" in words_of_panel
    assert "network" not in words_of_panel
