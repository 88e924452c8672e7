"""The app spreads runs over devices, as the option --on asks for."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from engine.runtime.spreading import serve
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.headless import detaching
from hadamard_tui.state import run_store

from .conftest import SMALL, opened, until
from .test_runs import session_of

SWEEP = (
    'axes=[{name="size", values=[8, 16]}]',
    "problem.matrix={kind='gaussian', n='2d', d='size'}",
    "learners=[{name='net', architecture={kind='dense', widths=[4]}, update={kind='adam', lr=0.01}}]",
    "claims=[]",
    "run.replicas=2",
)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "is_spread"), [("auto", True), ("cpu", False)])
async def test_runs_use_the_offered_devices_unless_they_name_another_device(
    device: str, is_spread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is a process on the CPU. A hangup hands the run to a process that uses the devices, too."""
    document = presets.document("hadamard-128", [*SWEEP, f"run.device={device}"])
    app = HadamardApp(EditableExperiment(document, None), devices=[serve])
    before = {child.pid for child in psutil.Process().children()}
    handed_over: list[list[str]] = []
    monkeypatch.setattr(detaching, "detach", lambda arguments, former: handed_over.append(arguments))
    async with opened(app, SMALL) as pilot:
        app.laboratory._pace.unlimited = True
        if is_spread:
            monkeypatch.setattr("engine.runtime.run.Undrawn", None)  # this process trains nobody
        app.laboratory.action_step()  # it pauses at the first record
        await until(pilot, lambda: session_of(app).trace is not None)
        app.laboratory.hand_over()
        app.laboratory.action_run()
        await until(pilot, lambda: session_of(app).over)
        swept = session_of(app).point.results
        assert swept is not None
        assert swept.complete
        assert {trace.environment.get("devices") for trace in swept.traces.values()} == {
            1 if is_spread else None
        }
    (arguments,) = handed_over
    assert [Path(arguments[0]).suffix, *arguments[1:]] == [".run", *(["--on=local:cuda"] * is_spread)]
    assert {child.pid for child in psutil.Process().children()} <= before | resource_trackers()
    assert run_store.needed_store().runs()[0].state == "finished"


def resource_trackers() -> set[int]:
    """Processes of Python's multiprocessing, which live as long as this process."""
    from multiprocessing import resource_tracker

    pid = resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]
    return set() if pid is None else {pid}
