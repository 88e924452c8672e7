"""Texts about theory lines: the statement of a line, and whether the line applies to a learner.

A theory line is a curve that theory predicts, such as a lower bound on the loss.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, cast

from rich.text import Text

from engine.core import catalogue
from engine.core.parts import docstring, summary_of
from engine.pictures.view import FROM_BELOW

if TYPE_CHECKING:
    from engine.results.trace import Statement, TheoryLine
    from engine.theory import Line

DIRECTIONS: dict[str, str] = {
    "lower": "lower bound",
    "upper": "upper bound",
    "exact": "exact value",
    "asymptotic": "asymptotic value",
    "shape": "shape only, constants unknown",
    "conjecture": "conjecture",
    "reference": "reference",
}
"""Direction of a theory line in words, by its name in presets: how the line is related to its measure."""


class Standing(NamedTuple):
    """Whether a theory line applies to a learner, with the reason."""

    words: str
    style: str
    reason: str


def whole_name(line: Statement) -> str:
    """Return the full name of a theory line. No other theory line has the same name."""
    member = catalogue.members("theory").get(line.kind)
    of = "" if member is None else cast("type[Line]", member)().structure().of
    return f"{line.called} of {of}" if of else line.called


def head(line: Statement) -> Text:
    """Return the title, formula, direction and source of a theory line, and its kind in preset files.

    An example is "rotation-invariant bound: 1 − k/d, lower bound; WKA21 Thm 3 (ri-signed)".
    """
    named = Text.assemble((whole_name(line), "bold"), ": ")
    statement = (line.formula, "bold"), f", {DIRECTIONS[line.direction]}"
    return Text.assemble(named, *statement, (f"; {line.source} ({line.kind})", "dim"))


def meaning(kind: str) -> str:
    """Return the meaning of a theory line, such as "No rotation-invariant learner does better …".

    It starts with a capital letter, unless it starts with a formula.
    """
    summary = summary_of(catalogue.members("theory")[kind])
    words = summary.partition(": ")[2] or summary
    return words[:1].upper() + words[1:] if re.match(r"[a-z]{2,}\b(?!_)", words) else words


def proof(kind: str) -> str:
    """Return the conditions of a theory line and the idea of its proof, with one line for each paragraph."""
    paragraphs = docstring(catalogue.members("theory")[kind]).split("\n\n")[1:]
    texts = (" ".join(paragraph.partition("Source: ")[0].split()) for paragraph in paragraphs)
    return "\n".join(filter(None, texts))


def standing(line: TheoryLine, learner_name: str) -> Standing:
    """Return whether a theory line applies to a learner on this problem, with the reason.

    The words begin a sentence. The learner's loss may fall below a lower bound that does not apply to it.
    """
    if not line.on_problem.holds:
        return Standing("Not applicable", "dim", line.on_problem.reason)
    finding = line.on_learners[learner_name]
    if finding.holds:
        return Standing("Applies", "green", line.on_problem.reason)
    is_bound = line.statement.direction in FROM_BELOW
    words = f"{learner_name} may beat this bound" if is_bound else "Does not apply"
    return Standing(words, "yellow", finding.reason)
