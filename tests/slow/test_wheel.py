"""The wheel, installed into a fresh environment, is the whole program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from engine.spec import presets
from tests.slow.commits import ROOT

pytestmark = pytest.mark.slow

TORCH = re.search(r"^TORCH := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


def run(folder: Path, *command: str | Path) -> str:
    """Standard output of a command that ends well, run outside the repository."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that a wheel of the working tree installs, with what constraints.txt pins."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        ROOT,
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        ".",
        "-w",
        folder,
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "fresh", with_pip=True)
    python = folder / "fresh" / "bin" / "python"
    assert TORCH is not None
    pip = (python, "-m", "pip", "install", "--quiet")
    run(folder, *pip, "--require-hashes", "-r", ROOT / "constraints.txt")
    run(folder, *pip, TORCH[1])
    run(folder, *pip, "--no-deps", wheel)
    run(folder, python, "-m", "pip", "check")
    return folder / "fresh" / "bin" / "hadamard-tui"


def test_the_wheel_has_every_preset(program: Path, tmp_path: Path) -> None:
    listing = "from engine.spec import presets; print(*presets.names())"
    assert run(tmp_path, program.parent / "python", "-c", listing).split() == presets.names()


def test_the_wheel_runs_a_preset_whose_claims_hold(program: Path, tmp_path: Path) -> None:
    result = json.loads(run(tmp_path, program, "run", "hadamard-128", "--json"))
    assert result["claims"]
    assert all(claim["holds"] for claim in result["claims"])


def test_the_wheel_draws_a_preset_and_writes_its_picture(program: Path, tmp_path: Path) -> None:
    run(tmp_path, program, "run", "hadamard-128", "--export", "chart.png", "--export", "curves.parquet")
    assert (tmp_path / "chart.png").stat().st_size > 0
    assert (tmp_path / "curves.parquet").stat().st_size > 0
