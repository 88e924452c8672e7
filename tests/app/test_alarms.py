"""Delayed messages and calls arrive, and cost nothing while they wait."""

from __future__ import annotations

import time

import pytest
from textual.notifications import Notify
from textual.widgets._toast import Toast

from hadamard_tui.app import HadamardApp
from hadamard_tui.terminal import timing
from hadamard_tui.terminal.timing import LEAST, SteadyNotification, call_after

from .conftest import SMALL, opened, until

pytestmark = pytest.mark.set_up("empty")


def test_the_remaining_time_of_an_expired_message_is_positive(monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr(timing.time, "monotonic", lambda: now)
    message = SteadyNotification("saved", timeout=5, raised_at=now)
    assert message.time_left == 5
    assert not message.has_expired
    now = 104.99
    assert message.time_left == LEAST
    assert not message.has_expired
    now = 106
    assert message.time_left == LEAST, "a timer of less than nothing takes the processor for good"
    assert message.has_expired


@pytest.mark.slow
async def test_a_message_that_expires_while_it_is_mounted_does_not_stop_later_messages(app: HadamardApp):
    class Late(SteadyNotification):
        """Notification whose time is over after the first time check."""

        @property
        def time_left(self) -> float:
            self.raised_at = time.monotonic() - 2 * self.timeout
            return super().time_left

    async with app.run_test(size=SMALL, notifications=True) as pilot:
        app.post_message(Notify(Late("late")))
        app.notify("on time", timeout=1)
        await until(pilot, lambda: bool(app.screen.query(Toast)))
        await until(pilot, lambda: not app.screen.query(Toast))


async def test_a_delayed_call_runs_after_its_delay_unless_it_is_cancelled(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        came: list[str] = []
        begun = time.monotonic()
        call_after(0.05, app, lambda: came.append("later"))
        call_after(0.0, app, lambda: came.append("at once"))
        call_after(0.01, app, lambda: came.append("never")).cancel()
        await until(pilot, lambda: len(came) == 2)
        assert came == ["at once", "later"]
        assert time.monotonic() - begun >= 0.05
