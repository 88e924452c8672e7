"""Output, files and exit codes of `run`."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from engine.core import files
from engine.results import report
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.results import of_one
from engine.runtime.run import run
from engine.spec import presets
from hadamard_tui.headless import summary
from hadamard_tui.headless.compute import Done, computed
from hadamard_tui.running.costs import costs

from .conftest import SMALL, Answer

Call = Callable[..., Answer]

WILD = "learners.GD.update.lr=1e9"
EXPECTED = 'claims=[{kind = "diverges", text = "GD diverges", curve = "GD"}]'


def test_a_run_prints_chart_caption_losses_and_claims_and_details_on_request(small: Path, call: Call) -> None:
    code, out, err = call("run", "small.toml")
    assert code == 0
    assert err == ""
    assert "Look at this. Then at that." in out
    assert re.search(r"A GD +yes +2 +0\.7500 +0\.3750 +0\.7500 +1\.0000", out)
    assert re.search(r"B EGU +no +2 +\S+ +\S+ +\(0\.7500\) +\(\S+\)", out)
    assert re.search(r"average square loss is 0.5 for GD and \S+ for EGU", " ".join(out.split()))
    assert re.search(r"✓ holds +After half the examples", out)
    assert "does not apply  " not in out
    assert "--bounds lists the learners that each theory line" in out
    reasons = call("run", "small.toml", "--bounds").out
    assert "rotation-invariant bound: 1 − k/d, lower bound; WKA21 Thm 3 (ri-signed)" in reasons
    assert re.search(r"does not apply +EGU is not rotation invariant", reasons)
    assert "not applicable: the bound on isotropic rows requires Gaussian instances" in reasons
    assert "computed by" not in out
    assert "--notes shows how the run was computed" in " ".join(out.split())
    assert "--notes" not in call("run", "small.toml", "--notes").out


def test_bounds_apply_to_variant_learners_on_rotated_data(small: Path, call: Call) -> None:
    rotated = "small.toml", "--set", "problem.matrix.rotate=true", "--set", "claims=[]"
    printed = call("run", *rotated, "--bounds").out
    assert re.search(r"B EGU +no +2 +\S+(?: ± \S+)? +\S+ +0\.7500 +\S+", printed), "it is in no parentheses"
    words = " ".join(printed.split())
    because = "because the data are rotated at random"
    assert f"EGU: not rotation invariant, but the bound applies, {because}" in words
    assert f"EGU is not rotation invariant, yet the bound applies, {because}" in words
    judged = " ".join(call("judge", *rotated).out.split())
    assert "structure not rotation invariant" in judged
    assert f"bound, for EGU is not rotation invariant, yet the bound applies, {because}" in judged


def test_output_outside_a_terminal_is_plain_and_80_columns_wide(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(map(len, call("run", "small.toml").out.splitlines())) == 80
    monkeypatch.setenv("COLUMNS", "100")
    out = call("run", "small.toml").out
    assert max(map(len, out.splitlines())) == 100
    assert "\x1b" not in out


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_colours_by_default(small: Path, no_color: bool) -> None:
    experiment = presets.load("small.toml")
    results = of_one(experiment, run(experiment))
    done = Done(presets.document("small.toml"), results, judge(results), [])
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=no_color, width=80
    )
    summary.show(done, console)
    assert isinstance(console.file, io.StringIO)
    assert ("\x1b[38;2" in console.file.getvalue()) is not no_color


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_the_cost_of_expensive_measures_before_the_run(small: Path, terminal: bool) -> None:
    errors = Console(file=io.StringIO(), force_terminal=terminal, width=80, highlight=False)
    for settings, is_announced in (
        ([], False),
        (['run.measures=["rank"]', "problem.target={kind='all'}"], terminal),
    ):
        computed("small.toml", presets.document("small.toml", [*settings, "claims=[]"]), errors)
        assert isinstance(errors.file, io.StringIO)
        assert (
            "Expensive: rank. Each value needs a singular value decomposition" in errors.file.getvalue()
        ) == is_announced


def test_a_terminal_shows_the_cost_of_a_refitted_kernel_before_the_run(small: Path) -> None:
    errors = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    kernel = 'learners=[{name="K", solver="kernel"}]'
    large = ["problem.matrix={kind='gaussian', n=4000, d=100}", kernel]
    few, many = (presets.load("small.toml", [*more, "claims=[]"]) for more in ([kernel], large))
    assert costs(few) == []
    (sentence,) = costs(many)
    replicas = many.run.replicas
    naive = sum(replicas * 4000 * (100 + k) for k in range(4000))
    assert sentence.startswith("Expensive: K (fitted again after each of 4000 examples: about ")
    assert 0.9 < float(re.search(r"about (\S+) mult", sentence)[1]) / naive < 1.1
    computed("small.toml", presets.document("small.toml", [kernel, "claims=[]"]), errors)
    assert "Expensive" not in errors.file.getvalue()


@pytest.mark.parametrize(
    ("setting", "is_about_the_set_up"), [("problem.matrix.d=64", True), ("run.seed=1", False)]
)
def test_a_change_of_the_set_up_retitles_a_preset_and_hides_its_story(
    call: Call, setting: str, is_about_the_set_up: bool
) -> None:
    code, out, _ = call("run", "hadamard-128", "--set", setting, "--set", "claims=[]")
    assert code == 0
    assert out.startswith("hadamard-128: matrix.d 128 → 64\n") is is_about_the_set_up
    assert ("Watch two groups of learners" in out) is not is_about_the_set_up


def test_standard_output_with_json_is_only_json(small: Path, call: Call) -> None:
    code, out, err = call("run", "small.toml", "--json", "--set", "learners.EGU.update.lr=0.2")
    result = json.loads(out)
    assert code == 0
    assert err == ""
    assert result["schema"] == 2
    assert result["experiment"]["resolved"]["learners"][1]["update"]["lr"] == 0.2
    assert [curve["learner"] for curve in result["pictures"][0]["curves"]] == ["GD", "EGU"]


def test_json_by_replica_has_the_curve_of_every_replica(small: Path, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    settings = ("--set", "run.replicas=3", "--set", 'problem.matrix.kind="gaussian"', "--set", "claims=[]")
    code, out, _ = call("run", "small.toml", "--json", "--by-replica", "--out", str(file), *settings)
    assert code == 0
    assert file.read_text() == out
    (curve, *_) = json.loads(out)["pictures"][0]["curves"]
    losses = run(presets.load("small.toml", settings[1::2])).curves[0].values("loss")
    assert losses is not None
    assert curve["by_replica"] == losses.T.tolist()
    np.testing.assert_allclose(np.mean(curve["by_replica"], 0), curve["y"], rtol=1e-12)
    plain = json.loads(call("run", "small.toml", "--json", *settings).out)
    assert "by_replica" not in plain["pictures"][0]["curves"][0]


def test_by_replica_is_refused_without_json_and_above_its_limit(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = call("run", "small.toml", "--by-replica")
    assert (code, out) == (2, "")
    assert "--by-replica: this needs JSON output: add --json or --out FILE" in err
    monkeypatch.setattr(report, "MOST_BY_REPLICA", 10)
    code, out, err = call("run", "small.toml", "--json", "--by-replica", "--set", "run.replicas=2")
    assert (code, out) == (2, "")
    assert re.search(
        r"--by-replica: all replicas together have \d+ values, and the limit is 10; take fewer", err
    )


def test_the_same_seed_gives_the_same_bytes(small: Path, call: Call) -> None:
    out = call("run", "small.toml", "--json").out
    assert out == call("run", "small.toml", "--json").out
    experiment = presets.load("small.toml")
    results = of_one(experiment, run(experiment))
    assert out.encode() == encode(presets.document("small.toml"), results, judge(results))


def test_the_out_file_equals_the_printed_json(small: Path, call: Call) -> None:
    Path("result.json").write_text("old")
    printed = call("run", "small.toml", "--out", "result.json")
    assert printed.code == 0
    assert "Claims" in printed.out
    assert Path("result.json").read_text() == call("run", "small.toml", "--json").out
    assert sorted(path.name for path in Path().iterdir()) == ["result.json", "small.toml"]


def test_an_unwritable_file_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ValueError, match="No space left"):
        files.write(tmp_path / "result.json", b"content")
    assert not list(tmp_path.iterdir())


def test_a_failing_claim_is_shown_and_causes_exit_1(small: Path, call: Call) -> None:
    small.write_text(SMALL.replace("equals = 0.5", "equals = 0.25"))
    code, out, _ = call("run", "small.toml")
    assert code == 1
    assert re.search(r"✗ fails +After half the examples.*\n +measured: 0\.5", out)
    assert "preset's own settings" not in out


def test_claims_of_a_changed_preset_are_not_judged_and_do_not_fail(small: Path, call: Call) -> None:
    change = "run", "small.toml", "--set", "problem.matrix.d=16"
    code, out, _ = call(*change)
    assert code == 0
    assert re.search(r"– not judged +After half the examples.*\n +the set-up was changed", out)
    assert "The set-up was changed (claims not judged): After " in " ".join(out.split())
    (claim,) = json.loads(call(*change, "--json").out)["claims"]
    assert claim["holds"] is None
    assert claim["detail"] == "not judged: the set-up was changed"


def test_a_claim_failing_with_another_seed_explains_that_set_changed_the_settings(
    small: Path, call: Call
) -> None:
    small.write_text(SMALL.replace("equals = 0.5", "equals = 0.25"))
    code, out, _ = call("run", "small.toml", "--set", "run.seed=1")
    assert code == 1
    assert "The claims were written for the preset's own settings, and --set changed them." in out


def test_an_unexpected_divergence_causes_exit_1(small: Path, call: Call) -> None:
    code, out, _ = call("run", "small.toml", "--set", WILD, "--set", "claims=[]")
    assert code == 1
    assert "✗ GD diverged at k = 1, and no claim expects it" in out
    assert re.search(r"A GD +yes +2 +diverged", out)


def test_an_expected_divergence_causes_exit_0(small: Path, call: Call) -> None:
    code, out, _ = call("run", "small.toml", "--set", WILD, "--set", EXPECTED)
    assert code == 0
    assert "GD diverged at k = 1, as claimed" in out


def test_a_divergence_is_reported_in_units_of_the_protocol_clock(small: Path, call: Call) -> None:
    out = call("run", "small.toml", "--set", 'protocol="epochs"', "--set", WILD, "--set", EXPECTED).out
    assert re.search(r"GD diverged at epoch = \d+, as claimed", out)


def test_diverged_replicas_are_counted_and_the_curve_continues(small: Path, call: Call) -> None:
    gaussian = ("problem.matrix.kind=gaussian", "problem.matrix.d=32", "run.replicas=20", "run.seed=1")
    settings = (*gaussian, "learners.GD.update.lr=0.1", "claims=[]")
    code, out, _ = call("run", "small.toml", *(word for setting in settings for word in ("--set", setting)))
    assert code == 1
    sentence = re.search(r"✗ GD diverged in (\d+) of 20 replicas, first at k =\s+(\d+)", out)
    assert sentence, out
    assert 0 < int(sentence.group(1)) < 20
    assert "averages exclude these replicas" in " ".join(out.split())
    table = out[out.index("A GD") : out.index("✗ GD")]
    assert re.search(r"\n +32 +\d", table), "the curve goes on to the end"
    assert "diverged" not in table


def test_a_diverging_rate_of_a_list_is_not_reported_as_claimed(small: Path, call: Call) -> None:
    settings = ("learners.GD.update.lr=[0.01, 3000]", "claims=[]")
    code, out, _ = call("run", "small.toml", *(word for setting in settings for word in ("--set", setting)))
    assert code == 0
    assert re.search(r"GD η=3000 diverged at k = \d+ *\n", out), out
    assert "as claimed" not in out


@pytest.mark.parametrize("change", ["problem.matrix.d=2", "problem.matrix.d=4", "run.replicas=3",
                                    'problem.matrix={kind="gaussian",d=8,n=3}',
                                    'problem.matrix={kind="rademacher",d=2,n=9}',
                                    "problem.target.kind=all", "protocol.loss=logistic"])  # fmt: skip
def test_problems_of_every_shape_are_printed(change: str, small: Path, call: Call) -> None:
    code, out, err = call(
        "run", "small.toml", "--set", "claims=[]", "--set", "problem.target.index=1", "--set", change
    )
    assert code == 0, err
    assert "A GD" in out


def test_losses_are_tabulated_at_evaluation_points_and_at_the_end(small: Path, call: Call) -> None:
    settings = ('problem.matrix={kind="gaussian", d=8, n=40}', 'protocol={kind="erm", every=7}', "claims=[]")
    out = call("run", "small.toml", *(word for setting in settings for word in ("--set", setting))).out
    assert re.search(r"A GD +yes +14 +\d\S*.*\n +21 +\d\S*.*\n +40 +\d", out), out


def test_the_table_uses_the_clock_of_the_x_axis(small: Path, call: Call) -> None:
    _, out, _ = call("run", "small.toml")
    assert re.search(r"\nlearner +invariant +k ", out)
    epochs = '{kind = "epochs", epochs = 3}'
    _, out, _ = call("run", "small.toml", "--set", f"protocol={epochs}", "--set", "claims=[]")
    assert re.search(r"\nlearner +invariant +epochs ", out)


def test_a_narrow_terminal_does_not_break_numbers(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "48")
    out = call("run", "small.toml").out
    assert max(map(len, out.splitlines())) == 48
    assert re.search(r"A GD +2 +0\.7500 +0\.3750 +0\.7500 +1\.0000", out)


def test_a_wide_terminal_shows_the_formula_of_the_bound(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = call("run", "small.toml").out
    assert re.search(r"A GD +yes +2 +0\.7500 +0\.3750 +0\.7500 +1 − k/d +1\.0000", out)


def test_measures_other_than_the_loss_have_columns(small: Path, call: Call) -> None:
    settings = ('problem.target={kind="all"}', "run.spectrum=true", "run.train_loss=true", "claims=[]")
    out = call("run", "small.toml", *(word for setting in settings for word in ("--set", setting))).out
    # loss, 0/1 error, loss on seen rows, on unseen ones, rank, bound, ratio
    assert re.search(r"A GD +2 +0\.7500 +0\.3750 +0\.0000 +1\.0000 +2 +0\.7500 +1\.0000", out)


def test_the_best_rate_is_reported_with_all_tried_rates(small: Path, call: Call) -> None:
    settings = ("--set", 'learners.GD.update.lr="best"', "--set", "claims=[]")
    out = call("run", "small.toml", *settings, "--notes").out
    assert re.search(r"A GD .*\n +η=0\.0625, best of 17 ", out)
    assert "GD: rates tried, each with the mean loss of its curve: 6.1e-05: 0.99" in " ".join(out.split())


def test_the_best_of_a_list_of_rates_is_marked(small: Path, call: Call) -> None:
    out = call(
        "run", "small.toml", "--set", "learners.GD.update.lr=[0.001, 0.0625]", "--set", "claims=[]"
    ).out
    assert re.search(r"B GD η=0\.0625 .*\n +best of 2 rates ", out)
    assert out.count("best of 2 rates") == 1


def test_notes_name_the_curves_computed_by_an_operator(small: Path, call: Call) -> None:
    learners = "computed by an operator in place of the matrix of instances (structured): GD, EGU"
    told = f"{learners}; --path dense uses the matrix of instances"
    assert told in " ".join(call("run", "small.toml", "--notes", "--path", "structured").out.split())
    assert "in place of the matrix" not in call("run", "small.toml", "--notes", "--path", "dense").out


def test_brackets_in_a_name_are_printed_literally(small: Path, call: Call) -> None:
    small.write_text(SMALL.replace('name = "EGU"', 'name = "[red]E :star:"'))
    out = call("run", "small.toml", "--bounds").out
    assert "B [red]E :star:" in out
    assert "[red]E :star: is not rotation invariant" in out


def test_export_writes_the_formats_of_the_suffixes(small: Path, call: Call) -> None:
    code, _, err = call("run", "small.toml", "--export", "curves.csv", "--export", "again.toml")
    assert (code, err) == (0, "")
    assert Path("curves.csv").read_text().startswith("series,name,x,loss")
    assert presets.load("again.toml") == presets.load("small.toml")


def test_an_export_of_unknown_format_is_refused_before_the_run(small: Path, call: Call) -> None:
    code, out, err = call("run", "small.toml", "--export", "curves.xls")
    assert (code, out) == (2, "")
    assert "--export curves.xls" in err
    assert ".parquet" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_flow_losing_accuracy_is_reported_with_the_reason_and_exit_1(call: Call, tmp_path: Path) -> None:
    preset = tmp_path / "left.toml"
    preset.write_text("""
[problem]
matrix = { kind = "entries", factors = [2, 2], permute = false }
target = { kind = "weights", w = [0, 1, 1] }
[protocol]
kind = "flow"
train = 3
time = 5000
records = 20
method = "bdf"
rtol = 1e-6
[run]
dtype = "float64"
[[learners]]
name = "two factors"
architecture = { kind = "factorised", init = "identity", scale = 0.3 }
update = "gd"
""")
    code, out, _ = call("run", str(preset))
    words = " ".join(out.split())
    assert code == 1
    assert re.search(
        r"✗ two factors lost accuracy at time = \S+: the curve ends here, because later weights", words
    )
    assert "diverged" not in words
    (run_,) = json.loads(call("run", str(preset), "--json").out)["points"][0]["runs"]
    assert run_["lost_accuracy"].startswith("the curve ends here, because later weights are inaccurate")
