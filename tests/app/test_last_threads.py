"""The program ends although the engine still works."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, threading, time
import torch
from hadamard_tui import app
from hadamard_tui.state.launch import begin

def work():
    while True:
        torch.randn(200, 200) @ torch.randn(200, 200)

def run(self):
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)

app.HadamardApp.run = run
sys.exit(app.open_app(begin(None, "hadamard-128", False, True, None, False)))
"""


def test_a_busy_engine_of_an_earlier_run_does_not_abort_the_exit() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
