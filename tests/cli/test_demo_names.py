"""`demo` with a name that is neither a preset nor a talk."""

from __future__ import annotations

import pytest

from engine.core.parts import BadInput
from hadamard_tui.state.launch import begin_tour


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("alt2012", "there is no talk or preset of this name; did you mean alt2021?"),
        ("hadamrd-128", "did you mean hadamard-128"),
        ("zzz", "hadamard-tui presets lists the presets"),
        ("no.toml", "no.toml: there is no such file"),
    ],
)
def test_a_mistyped_name_is_answered_with_similar_talks_and_presets(name, told):
    with pytest.raises(BadInput) as refused:
        begin_tour([name], alone=False, theme=None, ascii_only=False)
    assert told in str(refused.value)


def test_demo_opens_a_talk_by_its_name():
    assert len(begin_tour(["alt2021"], alone=False, theme=None, ascii_only=False).tour.stops) > 5
