"""Draw docs/pictures/hadamard-128.svg: the app itself runs the preset to the end and writes its screen.

Without arguments, it also writes docs/pictures/dive.gif, the animation of the preset by `run --export`.

Usage: .venv/bin/python docs/capture.py [PRESET [KEY …]]
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment

PICTURES = Path(__file__).parent / "pictures"


async def capture(preset: str, keys: list[str], size: tuple[int, int] = (120, 40)) -> Path:
    """Run a preset in a terminal of `size`, press `keys`, and write what is on the screen."""
    app = HadamardApp(EditableExperiment.of(preset), autorun=True)
    async with app.run_test(size=size) as pilot:
        while (session := app.laboratory.session) is None or session.trace is None:
            await pilot.pause(0.1)
        await pilot.press("f")
        while session.state != "finished":
            await pilot.pause(0.1)
        await pilot.press(*keys)
        await pilot.pause(0.3)
        picture, file = app.export_screenshot(), PICTURES / f"{preset}.svg"
    if not file.exists() or _timeless(picture) != _timeless(file.read_text(encoding="utf-8")):
        file.write_text(picture, encoding="utf-8")
    return file


def _timeless(picture: str) -> list[str]:
    """Lines of a picture without the speed of the run and the random number of Textual."""
    return [re.sub(r"terminal-\d+", "", line) for line in picture.splitlines() if "steps/s" not in line]


if __name__ == "__main__":
    preset, *keys = sys.argv[1:] or ["hadamard-128"]
    print(asyncio.run(capture(preset, keys)))
    if len(sys.argv) == 1:
        run = [sys.executable, "-m", "hadamard_tui", "run", preset, "--export", str(PICTURES / "dive.gif")]
        subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
