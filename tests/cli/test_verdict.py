"""`verdict` prints structure, measurement and bounds of every learner as text and JSON; its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from engine.core.groups import ROTATIONS
from engine.core.parts import Verdict
from engine.judging.judgement import Judgement
from hadamard_tui.headless.verdicts import as_json, shown

from .conftest import Answer

Call = Callable[..., Answer]


def test_every_learner_is_judged(small: Path, call: Call) -> None:
    code, out, err = call("verdict", "small.toml")
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "GD structure rotation invariant: the weights start at 0" in told
    assert "predictions are unchanged by rotations: max |Δŷ| / max |ŷ| =" in told
    assert "rotation-invariant bound ✓ respected closest: loss − rotation-invariant bound = " in told
    assert "EGU structure not rotation invariant: every weight is multiplied" in told
    assert "bounds none binds this learner here" in told


def test_json_says_the_same(small: Path, call: Call) -> None:
    code, out, _ = call("verdict", "small.toml", "--json")
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
    judged = Judgement(
        "it", Verdict(structure, "it is said"), {ROTATIONS: change}, [], by_rounding=by_rounding
    )
    (document,) = as_json([judged])["learners"]
    assert (document["verdict"]["answer"], document["agree"]) == (answer, agree)
    assert (document["certificate"], document["by_rounding"]) == (change, by_rounding)
    assert (document["measured"] == "unstable") == (agree is None)
    text = StringIO()
    Console(file=text, width=200).print(shown([judged]))
    assert f"invariant  {answer}" in text.getvalue()


def test_the_table_of_a_run_says_undecided_where_structure_does_not_decide(small: Path, call: Call) -> None:
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
    code, out, _ = call(
        "verdict", "small.toml", *(word for setting in settings for word in ("--set", setting))
    )
    assert code == 1
    assert "disagree" in out
    assert "structure promises nothing" in " ".join(out.split())
