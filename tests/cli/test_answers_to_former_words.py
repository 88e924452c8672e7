"""A preset file with former words runs, and one line on standard error gives their new names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import SMALL, Answer

Call = Callable[..., Answer]

FORMER = SMALL.replace('kind = "value"\n', "").replace("curve =", "learner =").replace("at = 4", "k = 4")
FORMER = FORMER.replace("equals =", "loss =")
ANSWER = "small.toml: learner is now called curve, k is now called at, loss is now called equals\n"


@pytest.fixture
def former(small: Path) -> Path:
    """Preset file of the first edition."""
    small.write_text(FORMER, encoding="utf-8")
    return small


@pytest.mark.usefixtures("former")
@pytest.mark.parametrize("command", ["run", "verify", "judge"])
def test_a_command_explains_former_words_on_one_line(command: str, call: Call) -> None:
    code, out, err = call(command, "small.toml", "--json")
    assert (code, err) == (0, ANSWER)
    assert json.loads(out)


@pytest.mark.usefixtures("small")
def test_current_words_cause_no_message(call: Call) -> None:
    assert call("run", "small.toml", "--json").err == ""


@pytest.mark.usefixtures("former")
def test_an_exported_set_up_uses_the_current_words(call: Call) -> None:
    call("run", "small.toml", "--export", "new.toml")
    code, _, err = call("run", "new.toml")
    assert (code, err) == (0, "")


def test_the_former_name_of_a_family_is_explained(call: Call) -> None:
    code, out, err = call("parts", "list", "bounds")
    assert (code, err) == (0, "list: bounds is now called theory\n")
    assert out == call("parts", "list", "theory").out
