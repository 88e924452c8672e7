"""The table of judgements has a row for each rule, with a verdict or with the reason why it has none."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from engine.core import catalogue, optimizers
from engine.judging.rule_judgement import MARKS, PROBLEMS
from engine.symmetry.rules import GROUPS

DOCS = Path(__file__).parents[2] / "docs"
ROWS = json.loads((DOCS / "judgements.json").read_text())
JUDGED = {rule: row for rule, row in ROWS.items() if "not_judged" not in row}

OUR_RULES = {
    kind for kind, rule in catalogue.members("updates").items() if kind != "torch" and not rule.experimental
}

LIBRARY_RULES = {
    f"{package}.{rule}"
    for library, package in (("torch", "torch"), ("pytorch-optimizer", "pytorch_optimizer"))
    for rule, optimizer in optimizers.optimizers_of(library).items()
    if optimizer.__module__.split(".")[0] == package
}

LEAST_JUDGED = 127
"""Number of library rules that ran as they are when the table was planned."""


def test_each_rule_of_the_catalogue_and_of_the_libraries_has_a_row():
    assert ROWS.keys() == OUR_RULES | LIBRARY_RULES


def test_at_least_127_library_rules_have_a_verdict_and_the_rest_a_reason():
    assert len(LIBRARY_RULES & JUDGED.keys()) >= LEAST_JUDGED
    for rule in ROWS.keys() - JUDGED.keys():
        assert len(ROWS[rule]["not_judged"].split()) >= 5, rule
        assert "not computed" not in ROWS[rule]["not_judged"]


def test_each_of_our_rules_agrees_with_its_declared_verdict():
    assert not OUR_RULES - JUDGED.keys()
    assert [rule for rule, row in JUDGED.items() if not row["agree"]] == []


def test_each_verdict_has_all_groups_and_losses_at_all_marks():
    for rule, row in JUDGED.items():
        assert [symmetry["group"] for symmetry in row["symmetries"]] == [*GROUPS], rule
        for problem in PROBLEMS.keys() - row["not_run"].keys():
            assert {point["k"] for point in row["losses"][problem]} >= {*MARKS}, rule


def test_the_page_is_generated_from_the_rows():
    spec = importlib.util.spec_from_file_location("judgements_of_docs", DOCS / "judgements.py")
    judgements = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judgements)
    assert (DOCS / "reference" / "judgements.md").read_text() == judgements.page(ROWS)
