"""The page of messages, which docs/messages.py prints, has every sentence that the program can show."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent

SOURCE = '''
"""A module says this to programmers."""

LOOK = Action("run", "r", "Run", "Run the set-up")
DEFAULT_CSS = "Screen { not a sentence of words }"

class Largest(Measure, tag="largest-weight"):
    """The largest weight.

    Unit: none.
    """
    size: Annotated[int, Meta(title="size", description="of it")] = 3

class Plain:
    """Nobody is shown this sentence."""

def refuses(self, learner):
    assert learner, "nobody is shown this one"
    found = re.search("nobody is shown patterns", cast("int or bool or float", learner))
    if learner.bad:
        raise ValueError("nor this one of programmers")
    if self.odd:
        raise BadInput("here", f"{learner.name} is wrong")
    return f"it needs {'several targets or more' if self.many else self.one} to be drawn"
'''


@pytest.fixture(scope="module")
def messages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("messages_of_the_code", ROOT / "docs" / "messages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_user_visible_texts_are_collected(messages: ModuleType) -> None:
    assert messages.messages(SOURCE) == [
        "Run",
        "Run the set-up",
        "largest-weight: The largest weight. Unit: none.",
        "size",
        "of it",
        "{learner.name} is wrong",
        "it needs {…} to be drawn",
        "several targets or more",
    ]


def test_a_part_or_panel_is_experimental_only_if_declared(messages: ModuleType) -> None:
    part = "class Largest(Measure):\n    experimental: ClassVar[bool] = {}\n"
    panel = "PANEL = Panel('largest', 'the largest weight', show, experimental={})"
    for words in (part, part.replace(": ClassVar[bool]", ""), panel):
        assert messages.is_experimental(words.format(True))
        assert not messages.is_experimental(words.format(False))
    assert not messages.is_experimental(SOURCE)


def test_formulas_are_shown_literally_and_words_in_backticks_are_code(messages: ModuleType) -> None:
    assert messages.as_written("β_i = [a]_i b_{i−j} < 1 for `max_rank`") == (
        r"β\_i = \[a\]\_i b\_\{i−j\} &lt; 1 for `max_rank`"
    )


@pytest.mark.slow
def test_the_page_has_the_messages_of_both_packages_by_file(messages: ModuleType) -> None:
    page = messages.page()
    for file in ("engine/problems/matrices/hadamard.py", "hadamard_tui/cli.py"):
        section = page.partition(f"## {messages.as_written(file)}\n")[2].partition("\n## ")[0]
        assert section.count("\n- ") > 1, file
