"""The status line says all that it is for, in every state and at every width."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from hadamard_tui.app import HadamardApp
from hadamard_tui.playback import Pace
from hadamard_tui.widgets.status import status_text

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

WIDTHS = (60, 66, 72, 80, 100, 120, 160, 200)
NUMBER = r"(–|none|\d+(\.\d+)?)"
LOSSES = (
    rf"best {NUMBER}.* bound {NUMBER} +(ratio|lowest)( ratio)? {NUMBER}|{NUMBER}/{NUMBER}(=| min ){NUMBER}"
)


def said(app: HadamardApp, width: int) -> str:
    """The status at a width, checked to be whole."""
    laboratory = app.laboratory
    line = status_text(laboratory.session, laboratory.draft, Pace(), 20.0, width).plain
    assert cell_len(line) <= width, line
    assert re.search(r"20 ?fps", line), line
    assert re.search(r"[\d.]+[kM]?( steps)?/s ", line), line
    assert re.search(LOSSES, line), line
    return line


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_status_says_everything_before_a_run_and_after(app: HadamardApp, width: int):
    async with opened(app, WIDE) as pilot:
        line = said(app, width)
        assert line.startswith(" ready ")
        assert "–/16 " in line
        assert " auto " in line or " cpu " in line
        await finished(app, pilot)
        line = said(app, width)
        assert line.startswith(" finished ")
        assert "16/16 " in line
        assert " cpu " in line


async def test_a_set_up_that_cannot_run_is_told_on_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        app.laboratory.draft.put("problem.matrix.d", 7)
        app.laboratory.show_set_up()
        assert "mend problem.matrix.d" in said(app, 80)
        await until(pilot, lambda: "cannot run: problem.matrix.d: 7 is no order" in screen_text(app))


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_long_device_and_a_pending_restart_push_nothing_out(app: HadamardApp, width: int):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        session = session_of(app)
        assert session.trace is not None
        session.trace.environment["device"] = "cuda:1 (NVIDIA H200)"
        session.playback.pace = Pace(0.001)
        await pilot.press("home", "right", "space")
        app.laboratory.draft.put("run.seed", 7)
        line = said(app, width)
        assert line.startswith(" replaying ")
        assert " cuda:1 " in line
