"""A third of the presets hold; the next commit verifies the next third."""

from __future__ import annotations

import pytest
from rich.console import Console

from engine.spec import presets
from hadamard_tui.headless.verifying import shown, verify
from tests.slow.commits import turn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("preset_name", turn(presets.names(), commits=3))
def test_every_claim_of_a_preset_holds(preset_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (verified,) = verify([preset_name], Console(stderr=True))
    Console().print(shown(verified))
    assert verified.holds, capsys.readouterr().out
