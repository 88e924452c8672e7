"""Kills at random instants lose nothing: of saves, exports, runs, sweeps, and of the program itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow.commits import ROOT, commit_number

pytestmark = [pytest.mark.slow, pytest.mark.lasts(40)]

COUNT = 100


def test_kills_at_random_instants_lose_nothing(tmp_path: Path) -> None:
    outcome = tmp_path / "outcome.json"
    seed = str(commit_number() * COUNT)
    command = [sys.executable, "-m", "tests.soak", "kills", "--seed", seed, "--count", str(COUNT)]
    subprocess.run([*command, "--json", str(outcome)], cwd=ROOT, check=False)
    assert json.loads(outcome.read_text())["failures"] == []
