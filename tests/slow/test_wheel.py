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

pytestmark = [pytest.mark.slow, pytest.mark.lasts(110)]

TORCH = re.search(r"^TORCH := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


APP = """
import asyncio

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment


async def use() -> None:
    app = HadamardApp(EditableExperiment.of("hadamard-128"), autorun=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f")
        while (session := app.laboratory.session) is None or session.state != "finished":
            await pilot.pause(0.1)
        print(session.trace.curves[0].name)


asyncio.run(asyncio.wait_for(use(), 120))
"""
"""A script that runs a preset in the app, without a terminal."""


def run(folder: Path, *command: str | Path) -> str:
    """Standard output of a command that ends well, run outside the repository."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(folder: Path) -> Path:
    """The program that a wheel of the working tree installs, with what constraints.txt pins."""
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
    venv.create(folder / "fresh")
    pip = (sys.executable, "-m", "pip", "--python", folder / "fresh" / "bin" / "python")
    # Compiling all files of all packages would take as long as everything else here.
    install = (*pip, "install", "--quiet", "--no-compile")
    assert TORCH is not None
    run(folder, *install, TORCH[1])  # first, so that nothing else chooses a build of torch
    run(folder, *install, "--require-hashes", "-r", ROOT / "constraints.txt")
    run(folder, *install, "--no-index", wheel)  # fails if the wheel needs a package that is not pinned
    run(folder, *pip, "check")
    return folder / "fresh" / "bin" / "hadamard-tui"


def test_a_fresh_installation_has_all_presets_and_runs_judges_draws_and_imports(tmp_path: Path) -> None:
    """It is a single test, because every process that runs tests would install a program of its own."""
    program = installed(tmp_path)
    python = program.parent / "python"
    listing = "from engine.spec import presets; print(*presets.names())"
    assert run(tmp_path, python, "-c", listing).split() == presets.names()
    assert "**" not in run(tmp_path, program, "theory", "hadamard#bounds")
    exports = ("--export", "chart.png", "--export", "curves.parquet")
    result = json.loads(run(tmp_path, program, "run", "hadamard-128", "--json", *exports))
    assert result["claims"]
    assert all(claim["holds"] for claim in result["claims"])
    assert run(tmp_path, python, "-c", APP) == "GD\n"
    judged = json.loads(run(tmp_path, program, "judge", "AdamW", "--json"))
    verdicts = {symmetry["group"]: symmetry["verdict"] for symmetry in judged["symmetries"]}
    assert (verdicts["rotations"], verdicts["permutations"]) == ("not invariant", "invariant")
    assert (tmp_path / "chart.png").stat().st_size > 0
    assert (tmp_path / "curves.parquet").stat().st_size > 0
    figure = 'import hadamard_tui as ht; ht.run("hadamard-128").plot().figure.savefig("dive.svg")'
    run(tmp_path, python, "-c", figure)
    assert "</svg>" in (tmp_path / "dive.svg").read_text()
    packages = "import engine, hadamard_tui; print(engine.__path__[0], hadamard_tui.__path__[0])"
    for package in map(Path, run(tmp_path, python, "-c", packages).split()):
        assert {"py.typed", "__init__.pyi"} <= {file.name for file in package.iterdir()}
