"""`judge` prints structure, measurement and bounds of every learner as text and JSON; its exit codes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

import hadamard_tui as ht
from engine.core import optimizers
from engine.core.groups import ROTATIONS, SIGNED_PERMUTATIONS
from engine.core.outside import Outside
from engine.core.parts import Verdict
from engine.judging import named_rule, rule_judgement
from engine.judging.judgement import LearnerJudgement
from engine.judging.rule_judgement import LossBesideBound, RuleJudgement
from engine.symmetry.rules import Symmetry
from hadamard_tui.charts.plots.judgement_plot import chart_of
from hadamard_tui.headless import rule_pages
from hadamard_tui.headless.verdicts import as_json, shown

from .conftest import Answer

Call = Callable[..., Answer]


def test_judge_judges_every_learner(small: Path, call: Call) -> None:
    code, out, err = call("judge", "small.toml")
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "GD structure rotation invariant: the weights start at 0" in told
    assert "predictions are unchanged by rotations: max |Δŷ| / max |ŷ| =" in told
    assert "rotation-invariant bound ✓ respected closest: loss − rotation-invariant bound = " in told
    assert "EGU structure not rotation invariant: every weight is multiplied" in told
    assert "bounds no bound applies to this learner" in told


def test_json_of_judge_contains_verdicts_and_certificates(small: Path, call: Call) -> None:
    code, out, _ = call("judge", "small.toml", "--json")
    told = json.loads(out)
    assert (code, told["schema"]) == (0, 1)
    gd, egu = told["learners"]
    assert (gd["learner"], gd["agree"], gd["verdict"]["invariant"]) == ("GD", True, True)
    assert (gd["verdict"]["answer"], gd["measured"], gd["by_rounding"]) == ("yes", "unchanged", None)
    assert (egu["verdict"]["answer"], egu["measured"]) == ("no", "changed")
    assert egu["by_rounding"] < 1e-12
    assert gd["certificate"] < 1e-12
    assert {bound["id"]: bound["respected"] for bound in gd["bounds"]} == {
        "ri-signed": True,
        "ri-permuted": True,
    }
    assert (egu["agree"], egu["verdict"]["invariant"], egu["bounds"]) == (True, False, [])
    assert egu["certificate"] > 1e-3
    assert list(gd["certificates"]) == ["all rotations, O(d)"]
    rotations, permutations, flips = egu["certificates"].values()
    assert rotations == egu["certificate"]
    assert permutations < 1e-12 < 1e-3 < flips


@pytest.mark.parametrize(("structure", "change", "by_rounding", "answer", "agree"), [
    (True, 1e-9, None, "yes", True), (False, 0.1, 1e-14, "no", True), (True, 0.1, 0.02, "undecided", None),
    (True, 0.1, 1e-14, "undecided", False), (False, 0.1, 0.02, "undecided", None),
])  # fmt: skip
def test_the_answer_is_yes_no_or_undecided_in_words_and_as_json(
    structure: bool, change: float, by_rounding: float | None, answer: str, agree: bool | None
) -> None:
    judged = LearnerJudgement(
        "it", Verdict(structure, "it is said"), {ROTATIONS: change}, [], by_rounding=by_rounding
    )
    (document,) = as_json([judged])["learners"]
    assert (document["verdict"]["answer"], document["agree"]) == (answer, agree)
    assert (document["certificate"], document["by_rounding"]) == (change, by_rounding)
    assert (document["measured"] == "unstable") == (agree is None)
    text = StringIO()
    Console(file=text, width=200).print(shown([judged]))
    assert f"invariant  {answer}" in text.getvalue()


def test_the_table_of_a_run_shows_undecided_verdicts(small: Path, call: Call) -> None:
    settings = ('learners.GD.update={kind="soap", refresh=2}', "claims=[]")
    code, out, _ = call("run", "small.toml", *(word for setting in settings for word in ("--set", setting)))
    assert code == 0
    assert "undecided" in out
    code, out, _ = call(
        "run", "small.toml", "--json", *(word for setting in settings for word in ("--set", setting))
    )
    answers = {
        curve["learner"]: curve["verdict"]["answer"] for curve in json.loads(out)["pictures"][0]["curves"]
    }
    assert answers == {"GD": "undecided", "EGU": "no"}


def test_a_disagreement_is_shown_in_words_and_by_the_exit_code(small: Path, call: Call) -> None:
    # In one dimension there is nothing to tell apart, which the structure of EGU± does not know.
    settings = (
        'problem.matrix={kind="xor", d=2, features="bits"}',
        "problem.target.index=0",
        'learners.EGU.update={kind="egu-pm", lr=0.1}',
        "claims=[]",
    )
    code, out, _ = call("judge", "small.toml", *(word for setting in settings for word in ("--set", setting)))
    assert code == 1
    assert "disagree" in out
    assert "the learner is not rotation invariant, yet rotations did not change" in " ".join(out.split())


def test_the_former_name_of_judge_is_answered_with_the_new_name(small: Path, call: Call) -> None:
    code, out, err = call("verdict", "small.toml")
    assert (code, out) == call("judge", "small.toml")[:2]
    assert err == "the command verdict is now called judge: hadamard-tui judge small.toml\n"


RULE = RuleJudgement(
    "sign",
    [Verdict(False, "signs distinguish features", SIGNED_PERMUTATIONS)],
    [
        Symmetry("rotations", 0.5, 1e-15, ()),
        Symmetry("permutations", 1e-15, 1e-15, ()),
        Symmetry("sign flips", 1e-3, 1e-4, ()),
        Symmetry("scalings", 0.4, 1e-15, ()),
    ],
    [],
    {"Hadamard rows": [LossBesideBound(k, 1 + k / 64, 0.01, 0.1, 1 - k / 64) for k in (0, 16, 32)]},
    {"sparse Gaussian target": "it is not there"},
)


def test_the_page_of_a_rule_describes_every_verdict() -> None:
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(rule_pages.shown(RULE, console))
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert (
        "By its declared structure, the rule is not rotation invariant: signs distinguish features;" in text
    )
    assert "rotations ✗ not invariant 0.5 × the change by training 1e-15" in text
    assert "permutations ✓ invariant" in text
    assert "sign flips ? unstable" in text
    assert "Hadamard rows 1.250 ± 0.010 above, η = 0.1 1.500 ± 0.010 above, η = 0.1" in text
    assert "Loss of sign at its best rate" in text
    assert "sparse Gaussian target: not run; it is not there" in text
    assert "only to rules that declare their invariance" not in text


def test_page_json_and_markdown_name_the_rate_of_the_symmetries() -> None:
    undecided = Verdict(False, "nothing is declared", undecided=True)
    judged = replace(RULE, declared=[undecided], rate=0.125)
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(rule_pages.shown(judged, console))
    page = console.file.getvalue()  # type: ignore[attr-defined]
    text = " ".join(page.split())
    assert "unstable under sign flips (at η = 0.125)" in text
    assert (
        "By its declared structure, the rule is not known to be rotation invariant: nothing is declared."
        in text
    )
    assert "only to rules that declare their invariance (method `invariance`)" in text
    assert page.count("η = 0.1 ") == 2, "a rate is on one line at 80 columns"
    assert rule_judgement.as_json(judged)["rate_of_symmetries"] == 0.125
    assert "Measured at η = 0.125." in rule_pages.as_markdown(judged)


def test_the_chart_cuts_huge_losses_and_the_page_marks_extreme_rates() -> None:
    points = [LossBesideBound(k, 1.0 + k**2, 0.01, 3.0, 1 - k / 64) for k in (0, 16, 32)]
    judged = replace(RULE, losses={"Hadamard rows": points})
    _, axes = chart_of(judged)
    assert 2 <= axes.y_limits[1] < 2.2
    console = Console(file=StringIO(), width=140, color_system=None)
    console.print(rule_pages.shown(judged, console))
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "257.000 ± 0.010 above, η = 3 (highest tried)" in text


def test_a_judgement_of_the_api_is_a_table_a_figure_and_a_page(tmp_path: Path) -> None:
    judged = ht.Judgement(**vars(RULE))
    assert json.loads(judged.to_json()) == json.loads(json.dumps(rule_judgement.as_json(RULE)))
    frame = judged.to_pandas()
    assert list(frame.columns) == ["problem", "k", "loss", "stderr", "rate", "bound", "place"]
    assert frame[frame.k == 32].loss.tolist() == [1.5]
    assert (frame.attrs["rule"], frame.attrs["rotations"]) == ("sign", "not invariant")
    axes = judged.plot(Figure().subplots())
    assert {line.get_label() for line in axes.lines} == {"Hadamard rows", "bound 1 − k/d"}
    assert "bound 1 − k/d" in (judged._repr_svg_() or "")
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(judged)
    assert "✗ not invariant" in console.file.getvalue()  # type: ignore[attr-defined]
    assert repr(judged).startswith("<Judgement of sign, by measurement: invariant under permutations")
    without = replace(judged, losses={})
    assert without._repr_svg_() is None
    with pytest.raises(ht.BadInput, match="no losses to draw; it is not there"):
        without.plot()


def test_json_and_markdown_of_a_rule_show_the_same_verdicts() -> None:
    document = json.loads(json.dumps(rule_judgement.as_json(RULE)))
    assert [symmetry["verdict"] for symmetry in document["symmetries"]] == [
        *("not invariant", "invariant", "unstable", "not invariant")
    ]
    assert document["losses"]["Hadamard rows"][2] == {
        "k": 32,
        "loss": 1.5,
        "stderr": 0.01,
        "rate": 0.1,
        "bound": 0.5,
        "place": "above",
    }
    markdown = rule_pages.as_markdown(RULE)
    assert "| rotations | not invariant | 0.5 | 1e-15 |" in markdown
    assert "| Hadamard rows | 1.250 ± 0.010 above, η = 0.1 | 1.500 ± 0.010 above, η = 0.1 |" in markdown


@pytest.mark.slow
def test_an_optimizer_in_a_file_is_judged(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its losses are compared at two rates only; test_commands_of_pages.py takes all."""
    modules = Outside()
    for module in (named_rule, rule_pages):
        monkeypatch.setattr(module, "outside", modules)
    monkeypatch.setattr(optimizers, "registered", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(rule_judgement, "RATES", (0.01, 0.1))
    file, page, out = (tmp_path / name for name in ("my_rule.py", "page.md", "result.json"))
    file.write_text(OPTIMIZER)
    answer = call("judge", str(file), "--out", str(out), "--markdown", str(page))
    assert answer.code == 0, answer.err
    assert answer.out.startswith("SignSteps, by measurement: invariant under permutations, sign flips")
    document = json.loads(out.read_text())
    assert document["symmetries"][0]["verdict"] == "not invariant"
    (origin,) = document["parts"]
    assert origin == {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert page.read_text().startswith("## SignSteps\n")


OPTIMIZER = """
import torch


class SignSteps(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weights in group["params"]:
                weights.sub_(group["lr"] * weights.grad.sign())
"""


def test_judge_refuses_unknown_names_and_conflicting_options(call: Call) -> None:
    code, _, err = call("judge", "AdamWW")
    assert code == 2
    assert "no preset, rule or optimizer has this name; did you mean AdamW" in err
    code, _, err = call("judge", "gd", "--set", "run.seed=1")
    assert code == 2
    assert "unknown field `run.seed`" in err
    code, _, err = call("judge", "gd", "--device", "cpu")
    assert code == 2
    assert "--device is for presets" in err
    code, _, err = call("judge", "gd", "--json", "--markdown", "-")
    assert code == 2
    assert "standard output already has the JSON; give --markdown a file" in err
