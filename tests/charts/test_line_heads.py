"""Head of a theory line and its relation to a learner, in the same words everywhere."""

import numpy as np
import pytest
from looping import looped
from rich.console import Console

from engine.core import catalogue
from engine.core.parts import Finding
from engine.results.trace import Statement, TheoryLine
from engine.theory import Line, statement
from hadamard_tui.charts.line_heads import head, meaning, standing, whole_name
from hadamard_tui.headless.listing import members_list
from hadamard_tui.screens.help import about

WIDEST_TITLE = 35
"""Most cells of a title."""


def line(direction: str, holds: bool, binds: bool) -> TheoryLine:
    on_learners = {"GD": Finding(binds, "as it is told")}
    on_problem = Finding(holds, "as it was set up")
    return TheoryLine(
        Statement("it", direction, True, "1 − k", "us", "loss"),
        on_problem,
        on_learners,
        np.empty(0),
        np.empty(0),
    )


def test_a_line_states_its_name_formula_direction_and_source() -> None:
    about_line = line("lower", True, True).statement
    assert head(about_line).plain == "it: 1 − k, lower bound; us (it)"
    assert head(about_line._replace(title="bound")).plain == "bound: 1 − k, lower bound; us (it)"


@pytest.mark.parametrize(
    ("theory_line", "words", "reason"),
    [
        (line("lower", False, True), "Not applicable", "as it was set up"),
        (line("exact", True, True), "Applies", "as it was set up"),
        (line("lower", True, False), "GD may beat this bound", "as it is told"),
        (line("conjecture", True, False), "GD may beat this bound", "as it is told"),
        (line("exact", True, False), "Does not apply", "as it is told"),
    ],
)
def test_the_standing_of_a_line_is_applicable_beatable_or_inapplicable(
    theory_line: TheoryLine, words: str, reason: str
) -> None:
    finding = standing(theory_line, "GD")
    assert (finding.words, finding.reason) == (words, reason)


@looped("line", [theory_line for theory_line in catalogue.defaults("theory") if not theory_line.experimental])
def test_every_line_has_a_short_title_without_commas(line: Line) -> None:
    assert line.title, "its name in presets is no word"
    assert "," not in line.title, "which would be taken for values of axes"
    assert len(line.title) <= WIDEST_TITLE


def test_no_two_lines_have_the_same_name_in_lists() -> None:
    lines = [make() for make in catalogue.members("theory").values()]
    names = [whole_name(statement(theory_line)) for theory_line in lines]
    assert sorted({*names}) == sorted(names)
    assert {"limit of ridge regression", "wide limit of the catapult"} < {*names}


def test_lists_and_pages_describe_every_line_equally() -> None:
    console = Console(width=1000)
    with console.capture() as printed:
        console.print(members_list("theory"))
    for kind, member in catalogue.members("theory").items():
        headline = head(statement(member())).plain
        assert headline in printed.get()
        assert about("theory", kind).plain.startswith(headline)


def test_the_meaning_of_a_line_begins_with_a_capital_or_a_formula() -> None:
    assert meaning("ri-signed").startswith("No rotation-invariant learner")
    assert meaning("percolation").startswith("c times "), "C is something else"
    assert meaning("missing-entry").startswith("Lower bound on")


@looped("kind", list(catalogue.members("theory")))
def test_the_meaning_of_a_line_contains_no_code_names_of_lines(kind: str) -> None:
    assert "`" not in meaning(kind)
