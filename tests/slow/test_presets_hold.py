"""A third of the presets hold; the next commit verifies the next third."""

from __future__ import annotations

import pytest
from rich.console import Console

from engine.spec import presets
from hadamard_tui.browsing import preview
from hadamard_tui.headless.verifying import shown, verify
from tests.slow.commits import turn

pytestmark = pytest.mark.slow

UNKNOWN = 10.0
"""Assumed seconds of a preset that has no chart in the gallery yet."""

DRAWN = preview.shipped()
SECONDS = {name: DRAWN[name].seconds if name in DRAWN else UNKNOWN for name in presets.names()}
"""Seconds of the processor that presets took when the gallery drew them."""

THIRD = turn(list(SECONDS), commits=3, seconds=list(SECONDS.values()))


@pytest.mark.parametrize(
    "preset_name", [pytest.param(name, marks=pytest.mark.lasts(SECONDS[name])) for name in THIRD]
)
def test_every_claim_of_a_preset_holds(preset_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (verified,) = verify([preset_name], Console(stderr=True))
    Console().print(shown(verified))
    assert verified.holds, capsys.readouterr().out
