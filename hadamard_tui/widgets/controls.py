"""Small controls: lists, buttons, input lines and choices."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive, var
from textual.widgets import Button, Checkbox, Input, OptionList

from engine.core.texts import printable
from hadamard_tui.keyboard import IN_LISTS, IN_TEXTS, action_of


class Pages(OptionList):
    """List that avoids a bug in Textual 8.

    In a list of height 0, Textual's page keys raise a KeyError.
    """

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]


class Lines(Pages):
    """List that avoids a bug in Textual 8: a click on a line that no longer exists raises an IndexError."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_LISTS]
    _written: Sequence[Text] = ()

    def write(self, lines: Sequence[Text]) -> None:
        """Set the lines of the list, unless they are unchanged.

        Textual would lay out the screen again even for unchanged lines.
        """
        if lines != self._written:
            self._written = lines
            self.set_options(lines)

    def on_click(self, event: events.Click) -> None:
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()


class Words(VerticalScroll):
    """Scrollable text that also handles vi's keys, such as j and k."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_TEXTS]


Compact = TypeVar("Compact", Input, Checkbox, Button, OptionList)

COMPACT = "-textual-compact"


def compact(widget: Compact) -> Compact:
    """Make a widget compact before it is mounted, and return it.

    This avoids the setter of `compact`, which would make Textual compute the styles of many widgets twice
    more.
    """
    widget.set_reactive(type(widget).compact, True)
    widget.add_class(COMPACT, update=False)
    return widget


class Small(Button):
    """Compact button whose tooltip is plain text."""

    def __init__(self, label: str, *, tooltip: str, id: str | None = None, classes: str = "") -> None:
        classes = f"{classes} -default -style-default"  # otherwise, Button adds these later
        super().__init__(label, id=id, classes=classes, tooltip=Content(tooltip))
        compact(self)


EDITS = {
    key.strip(): binding.action
    for binding in Input.BINDINGS
    if not isinstance(binding, tuple)
    for key in binding.key.split(",")
}
"""Editing actions of an input line, such as deleting a character, by key."""


class PlainInput(Input):
    """Input line that handles editing keys itself, and removes control characters.

    Textual's own input handles letters at once, but sends editing keys to the app, which handles them later.
    On a slow connection, backspace would delete a letter that was typed after it.

    The cursor does not blink, so that an idle screen stays still.
    """

    cursor_blink = reactive(False, init=False)

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(printable(text), start, end)

    async def on_key(self, event: events.Key) -> None:
        if (action := EDITS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)


class Entry(PlainInput):
    """Input line with a plain-text title.

    The class `-valid` is set at the start, because Textual would otherwise add it later and compute the
    styles again.
    """

    def __init__(self, value: str, **options: Any) -> None:
        super().__init__(value, classes="-valid", **options)

    def render_str(self, text_content: str | Content) -> Content:
        """Return the title on the border as plain text, because it may be a name that the user typed."""
        return text_content if isinstance(text_content, Content) else Content(text_content)


class NumberEntry(Entry):
    """Input line for a number that keys can increase and decrease in steps.

    The keys of the actions `larger` and `smaller` always step the number. The keys + and − of the actions
    `faster` and `slower` step the number only until the user types or moves the cursor. Then they type signs,
    until the user presses enter or comes back to the field.
    """

    ALWAYS: ClassVar[dict[str, bool]] = {"larger": True, "smaller": False}
    UNTOUCHED: ClassVar[dict[str, bool]] = {"faster": True, "slower": False}

    class Stepped(Message):
        """Message: the user wants the next larger or smaller number in the field."""

        def __init__(self, up: bool) -> None:
            super().__init__()
            self.up = up

    class Varied(Message):
        """Message: the user wants to run a sweep, which tries several values of the number in the field."""

    def __init__(self, value: str, **options: Any) -> None:
        super().__init__(value, **options)
        self._touched = False

    def on_focus(self) -> None:
        self._touched = False

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return whether a key types text. The key that starts a sweep types no text in this field.

        Textual's footer shows only keys that do not type text.
        """
        action = action_of(key)
        is_vary = action is not None and action.id == "vary"
        return not is_vary and super().check_consume_key(key, character)

    def on_key(self, event: events.Key) -> None:  # type: ignore[override]
        action = action_of(event.key)
        action_id = "" if action is None else action.id
        steps = self.ALWAYS if self._touched else self.ALWAYS | self.UNTOUCHED
        if action_id in steps:
            event.stop()
            event.prevent_default()
            self.step(steps[action_id])
        elif action_id == "vary":
            event.stop()
            event.prevent_default()
            self.post_message(self.Varied())
        elif event.key == "enter":
            self._touched = False
        elif event.is_printable or event.key in EDITS:
            self._touched = True

    def step(self, up: bool) -> None:
        self.post_message(self.Stepped(up))


PAUSE = 0.7
"""Seconds after a typed letter, after which the next letter starts a new search."""


class Offered(Pages):
    """List of values that opens below a `Choice`.

    Typed letters highlight a line that contains them. If several lines do, the line in which the letters
    occur earliest is highlighted.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]
    DEFAULT_CSS = """
    Offered {
        offset-y: 1;
        width: 1fr;
        height: auto;
        max-height: 12;
        overlay: screen;
        constrain: none inside;
        color: $foreground;
        border: tall $border-blurred;
        background: $surface;
        display: none;
        &:focus { background-tint: $foreground 5%; }
        & > .option-list--option { padding: 0 1; }
    }
    """

    class Left(Message):
        """Message: the list of a `Choice` should close.

        The reason is that the list has lost the focus (`lost_focus`), or that the user pressed escape.
        """

        def __init__(self, lost_focus: bool) -> None:
            super().__init__()
            self.lost_focus = lost_focus

    def __init__(self, words: Iterable[Content]) -> None:
        super().__init__(*words)
        compact(self)
        self._typed = ""
        self._typed_at = 0.0

    def search(self, letter: str) -> None:
        """Highlight the line in which the letters typed so far occur earliest.

        After a pause of more than PAUSE seconds, a letter starts a new search.
        """
        now = time.monotonic()
        self._typed = letter if now - self._typed_at > PAUSE else self._typed + letter
        self._typed_at = now
        places = [str(option.prompt).lower().find(self._typed.lower()) for option in self.options]
        matches = [(place, number) for number, place in enumerate(places) if place >= 0]
        if matches:
            self.go_to(min(matches)[1])

    def go_to(self, number: int) -> None:
        self.highlighted = number
        self.scroll_to_highlight()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return whether a key types a character. Such keys search the list, and do not act in the app."""
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.is_printable:
            event.stop()
            event.prevent_default()
            self.search(event.character)

    def on_blur(self) -> None:
        self.post_message(self.Left(lost_focus=True))
        self.suppress_click()  # otherwise, a click on the choice would open the list again

    def action_leave(self) -> None:
        self.post_message(self.Left(lost_focus=False))


class Choice(Vertical, can_focus=True):
    """Control to choose a value. It reports every change of the value, but not the initial value.

    The choice is one line of text; its list is mounted when it is first opened. Textual's `Select` would
    mount six widgets, which is slow in a set-up with many choices. The words for the values are plain text. A
    choice may be removed before it is mounted, for example when a form is rebuilt quickly.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,down,space,up", "show_list", show=False)]
    DEFAULT_CSS = """
    Choice {
        height: 1;
        color: $foreground;
        background: $surface;
        &:focus { background-tint: $foreground 5%; }
        &.-expanded > Offered { display: block; }
    }
    """

    SEARCHED_BY_LETTERS: ClassVar[bool] = True
    """Whether typing a letter opens the list. If not, letters are keys of the app while it is closed."""

    expanded = var(False, init=False)
    value = reactive("", init=False)

    class Changed(Message):
        """Message: the user chose another value in a `Choice`."""

        def __init__(self, choice: Choice, value: str) -> None:
            super().__init__()
            self.choice, self.value = choice, value

        @property
        def control(self) -> Choice:
            """The `Choice` that sent the message.

            Textual compares it with the selector of a message handler, as in `@on(Choice.Changed,
            "#preset")`.
            """
            return self.choice

    def __init__(
        self,
        choices: Iterable[tuple[str, str]],
        *,
        value: str,
        not_typed: Collection[str] = (),
        **options: Any,
    ) -> None:
        """Offer `choices`, pairs of displayed words and value. Keys in `not_typed` remain keys of the app."""
        super().__init__(**options)
        self.choices: Sequence[tuple[str, str]] = tuple(choices)
        self._reported = value
        self.not_typed = not_typed
        self.set_reactive(Choice.value, value)

    @property
    def _offered_list(self) -> Offered | None:
        return next(iter(self.query_children(Offered)), None)

    @property
    def _choice_texts(self) -> list[Content]:
        return [Content(words) for words, _ in self.choices]

    def offer(self, choices: Iterable[tuple[str, str]], value: str) -> None:
        self.choices = tuple(choices)
        if (offered := self._offered_list) is not None:
            offered.set_options(self._choice_texts)
        self.value = value
        self.refresh()

    def offers(self, value: str) -> bool:
        return any(value == offered for _, offered in self.choices)

    def compose(self) -> ComposeResult:
        yield from ()

    def render(self) -> Content:
        chosen = Content(next((words for words, value in self.choices if value == self.value), ""))
        width = max(0, self.content_size.width - len(" ▼ "))
        arrow = "▲" if self.expanded else "▼"
        return Content.assemble(chosen.truncate(width, pad=True), " ", (arrow, "$foreground 50%"), " ")

    def watch_value(self, value: str) -> None:
        if value != self._reported:
            self._reported = value
            self.post_message(self.Changed(self, value))

    def watch_expanded(self, expanded: bool) -> None:
        self.set_class(expanded, "-expanded")
        self.refresh()
        if expanded and (offered := self._offered_list) is not None:
            places = (place for place, (_, value) in enumerate(self.choices) if value == self.value)
            offered.go_to(next(places, 0))
            offered.focus(scroll_visible=False)

    async def action_show_list(self) -> None:
        """Open the list, unless the choice is not mounted yet or already removed when the key arrives."""
        if not self.is_attached:
            return
        if self._offered_list is None:
            await self.mount(Offered(self._choice_texts))
        self.expanded = True

    @on(Offered.Left)
    def _list_left(self, event: Offered.Left) -> None:
        event.stop()
        self.expanded = False
        if not event.lost_focus:
            self.focus()

    @on(OptionList.OptionHighlighted)
    def _option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    @on(OptionList.OptionSelected)
    def _option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.value = self.choices[event.option_index][1]
        self.focus()
        self.expanded = False

    async def on_key(self, event: events.Key) -> None:
        if not self.SEARCHED_BY_LETTERS:
            return
        letter = event.character if event.is_printable and event.key != "space" else None
        if event.key in self.not_typed or (letter is None and event.key not in ("delete", "backspace")):
            return
        event.stop()
        event.prevent_default()
        if letter is not None:
            await self.type(letter)

    async def type(self, letter: str) -> None:
        await self.action_show_list()
        if (offered := self._offered_list) is not None:
            offered.search(letter)

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        if event.widget is not self:
            return
        if self.expanded:
            self.expanded = False
        else:
            await self.action_show_list()


class PresetChoice(Choice):
    """Control to choose the preset. It opens the page of presets, and passes a typed letter to this page."""

    class Browsed(Message):
        """Message: the user requests the presets that match `typed`, which is a letter or empty."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    async def action_show_list(self) -> None:
        self.post_message(self.Browsed(""))

    async def type(self, letter: str) -> None:
        self.post_message(self.Browsed(letter))
