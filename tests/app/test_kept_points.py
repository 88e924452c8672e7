"""The app stores finished points of a sweep."""

import time

import pytest

from engine.runtime.run_writer import RunWriter
from engine.spec import presets
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.session import Session
from hadamard_tui.state import run_store

AXES = ['axes=[{name="size", values=[4, 8]}]', "problem.matrix.d=size", "claims=[]", "run.device=cpu"]


@pytest.mark.parametrize(
    ("driver", "is_stored"), [("", True), ("hadamard_tui.serving.driver:ViewerDriver", False)]
)
def test_the_points_of_a_viewer_in_a_browser_are_kept_nowhere(
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
