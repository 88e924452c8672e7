"""`demo` without the app: the list of paths, and `--sheet`, a page of questions and a page of answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hadamard_tui.tours import talks

from .conftest import Answer

Call = Callable[..., Answer]

TALK = """
title = "Two <stops>"
[[stops]]
preset = "small.toml"
predict = "When is A below a tenth?"
line = "Unseen rows are orthogonal."
break.set = ["learners.GD.update.lr=0.01"]
break.claim = { kind = "value", curve = "GD", at = 4, above = 0.5, text = "A is slower." }
[[stops]]
preset = "small.toml"
"""


def test_demo_without_a_name_lists_paths_and_talks(call: Call) -> None:
    code, out, _ = call("demo")
    assert code == 0
    assert out.index("gradient-descent") < out.index("parities") < out.index("alt2021")
    assert all(talk_name in out for talk_name in talks())


def test_a_sheet_prints_questions_first_and_answers_on_a_separate_page(small: Path, call: Call) -> None:
    (small.parent / "talk.toml").write_text(TALK)
    assert call("demo", "talk.toml", "--sheet", "out.html").code == 0
    page = (small.parent / "out.html").read_text()
    questions, answers = page.split('<div class="answers">')
    assert "When is A below a tenth?" in questions
    assert "A: GD" in questions
    assert questions.count('class="box"') == 4
    assert "Unseen rows" not in questions
    assert "After 4 examples" not in questions
    assert "average square loss is 0.5 for GD" in answers
    assert "Unseen rows are orthogonal." in answers
    assert "hadamard-tui run" in answers
    assert "A is slower." in answers
    assert "break-before: page" in page
    assert not re.search(r"https?:|src=|url\(|<script", page), "no external resources"


def test_an_unwritable_sheet_is_reported_on_one_line(call: Call) -> None:
    code, _, err = call("demo", "gradient-descent", "--sheet", "no/such/folder/out.html")
    assert code == 2
    assert err.count("\n") == 1
