"""The app stores finished points, and takes them from the store."""

import time

import pytest

from engine.runtime.run_writer import RunWriter
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.session import Session
from hadamard_tui.state import run_store

from .conftest import SMALL, opened, until
from .test_runs import session_of

AXES = ['axes=[{name="size", values=[4, 8]}]', "problem.matrix.d=size", "claims=[]", "run.device=cpu"]


@pytest.mark.parametrize(
    ("driver", "is_stored"), [("", True), ("hadamard_tui.serving.driver:ViewerDriver", False)]
)
def test_the_points_of_a_browser_viewer_are_not_stored(
    driver: str, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if driver:
        monkeypatch.setenv("TEXTUAL_DRIVER", driver)
    editable = EditableExperiment(presets.document("hadamard-128", AXES), None)
    sweep = editable.sweep()
    store = run_store.store()
    writer = None if store is None else RunWriter(store, editable.document)
    session = Session(
        sweep, editable.document, lambda receiver, event: receiver.receive(event), 1, Pace(), writer=writer
    )
    session.start()
    end = time.monotonic() + 30
    while session.outcomes is None:
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    assert session.end(30)
    assert any(run_store.folder().glob("*.run")) is is_stored


@pytest.mark.slow
async def test_a_stored_run_is_replayed_from_its_start_without_computation(
    editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for _ in range(2):
        app = HadamardApp(editable.copied())
        async with opened(app, SMALL) as pilot:
            app.laboratory._pace.unlimited = False
            await pilot.press("r")
            await until(pilot, lambda app=app: session_of(app).trace is not None)
            assert session_of(app).playback.shown < session_of(app).point.records - 1, "it plays"
            app.laboratory._pace.unlimited = True
            await until(pilot, lambda app=app: session_of(app).over and session_of(app).stored_as)
            names.append(session_of(app).stored_as)
            curves = session_of(app).trace.curves
            assert all(curve.weights is not None for curve in curves)
        monkeypatch.setattr("engine.runtime.run_writer.RunWriter.keep", lambda *_: pytest.fail("computed"))
    assert names[0] == names[1]
    assert [run.id for run in run_store.needed_store().runs()] == names[:1]
