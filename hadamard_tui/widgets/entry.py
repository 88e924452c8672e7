"""An input line that handles its keys in the order in which they come."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input

from engine.core.texts import printable
from hadamard_tui.keyboard import action_of

EDITS = {
    key.strip(): binding.action
    for binding in Input.BINDINGS
    if not isinstance(binding, tuple)
    for key in binding.key.split(",")
}
"""Actions of the keys that are no letters, in a line."""


class Entry(Input):
    """An input that edits at once, takes in no character that no text may hold, and whose title is no markup.

    Textual's own hands every key that is no letter on to the app, which acts on it after letters that were
    typed later: on a slow line, backspace would take away the wrong ones.

    Its cursor does not blink, as nothing moves while nobody types.
    There is nothing to validate: it is made with the class that says so, or its styles were computed twice.
    """

    cursor_blink = reactive(False, init=False)

    def __init__(self, value: str, **options: Any) -> None:
        super().__init__(value, classes="-valid", **options)

    def render_str(self, text_content: str | Content) -> Content:
        """The title on the border, which may name what a person named."""
        return text_content if isinstance(text_content, Content) else Content(text_content)

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(printable(text), start, end)

    async def on_key(self, event: events.Key) -> None:
        if (action := EDITS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)


class NumberEntry(Entry):
    """A line for a number, which keys step.

    The keys that have `larger` and `smaller` do it always. Those of `faster` and `slower`, + and −, may be
    part of a number: they step one that is as it was found, and are typed once a person types or moves in it;
    enter ends that.
    """

    ALWAYS: ClassVar[dict[str, bool]] = {"larger": True, "smaller": False}
    UNTOUCHED: ClassVar[dict[str, bool]] = {"faster": True, "slower": False}

    class Stepped(Message):
        """Message: one step up or down is requested."""

        def __init__(self, up: bool) -> None:
            super().__init__()
            self.up = up

    class Varied(Message):
        """Message: a sweep over the number is requested."""

    def __init__(self, value: str, **options: Any) -> None:
        super().__init__(value, **options)
        self._touched = False

    def on_focus(self) -> None:
        self._touched = False

    def on_key(self, event: events.Key) -> None:  # type: ignore[override]
        action = action_of(event.key)
        name = "" if action is None else action.id
        steps = self.ALWAYS if self._touched else self.ALWAYS | self.UNTOUCHED
        if name in steps:
            event.stop()
            event.prevent_default()
            self.step(steps[name])
        elif name == "vary":
            event.stop()
            event.prevent_default()
            self.post_message(self.Varied())
        elif event.key == "enter":
            self._touched = False
        elif event.is_printable or event.key in EDITS:
            self._touched = True

    def step(self, up: bool) -> None:
        """Request one step."""
        self.post_message(self.Stepped(up))
