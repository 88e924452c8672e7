"""Small controls: lists of lines, buttons, input lines, and choices among a few words."""

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
    """A list that stays at its line if it has no room; there Textual 8 raises KeyError for a page."""

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]


class Lines(Pages):
    """A list whose lines may be gone when a click arrives; there Textual 8 raises IndexError."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_LISTS]
    _written: Sequence[Text] = ()

    def write(self, lines: Sequence[Text]) -> None:
        """Set the lines. Different lines make Textual lay out the screen again, the same lines do not."""
        if lines != self._written:
            self._written = lines
            self.set_options(lines)

    def on_click(self, event: events.Click) -> None:
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()


class Words(VerticalScroll):
    """Text that the keys of vi scroll, too."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_TEXTS]


Compact = TypeVar("Compact", Input, Checkbox, Button, OptionList)

COMPACT = "-textual-compact"


def compact(widget: Compact) -> Compact:
    """Make a widget compact before it is mounted.

    Set in the usual way, the property makes Textual compute the widget's styles twice more, for many widgets.
    """
    widget.set_reactive(type(widget).compact, True)
    widget.add_class(COMPACT, update=False)
    return widget


class Small(Button):
    """A compact button whose tooltip is no markup."""

    def __init__(self, label: str, *, tooltip: str, id: str | None = None, classes: str = "") -> None:
        classes = f"{classes} -default -style-default"  # which it would give itself, with its styles anew
        super().__init__(label, id=id, classes=classes, tooltip=Content(tooltip))
        compact(self)


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


PAUSE = 0.7
"""Seconds without a letter after which a new search begins."""


class Offered(Pages):
    """Words to choose from. Typing goes to the first line that begins with the letters, or has them."""

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
        """Message: the list is to be closed, by escape or because it `lost_focus`."""

        def __init__(self, lost_focus: bool) -> None:
            super().__init__()
            self.lost_focus = lost_focus

    def __init__(self, words: Iterable[Content]) -> None:
        super().__init__(*words)
        compact(self)
        self._typed = ""
        self._typed_at = 0.0

    def search(self, letter: str) -> None:
        """Go to the line that matches the typed letters best."""
        now = time.monotonic()
        self._typed = letter if now - self._typed_at > PAUSE else self._typed + letter
        self._typed_at = now
        places = [str(option.prompt).lower().find(self._typed.lower()) for option in self.options]
        matches = [(place, number) for number, place in enumerate(places) if place >= 0]
        if matches:
            self.go_to(min(matches)[1])

    def go_to(self, number: int) -> None:
        """Highlight a line and bring it into sight."""
        self.highlighted = number
        self.scroll_to_highlight()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Letters are for the search, and no commands of the app."""
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.is_printable:
            event.stop()
            event.prevent_default()
            self.search(event.character)

    def on_blur(self) -> None:
        self.post_message(self.Left(lost_focus=True))
        self.suppress_click()  # on the choice, which would open the list again

    def action_leave(self) -> None:
        self.post_message(self.Left(lost_focus=False))


class Choice(Vertical, can_focus=True):
    """A choice that notifies of the value that a person chose, and not of the value it was made with.

    It is one line; the list below it is made when it is first opened. A `Select` of Textual is six widgets,
    and a set-up has many choices. A letter opens the list there, and is no command of the app. Its words are
    text, and no markup. It may be taken away before it is mounted, as when a form is soon made anew.
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
    """Whether a letter opens the list there. Otherwise letters are commands of the app until it is open."""

    expanded = var(False, init=False)
    """Whether the list is open."""

    value = reactive("", init=False)
    """Value that is chosen."""

    class Changed(Message):
        """Message: another value was chosen."""

        def __init__(self, choice: Choice, value: str) -> None:
            super().__init__()
            self.choice, self.value = choice, value

        @property
        def control(self) -> Choice:
            """The choice, for selectors of handlers."""
            return self.choice

    def __init__(
        self,
        choices: Iterable[tuple[str, str]],
        *,
        value: str,
        not_typed: Collection[str] = (),
        **options: Any,
    ) -> None:
        """`choices` are words and values; `not_typed` are letters that stay commands of the app."""
        super().__init__(**options)
        self.choices: Sequence[tuple[str, str]] = tuple(choices)
        self._known = value
        self.not_typed = not_typed
        self.set_reactive(Choice.value, value)

    @property
    def _list(self) -> Offered | None:
        """The list, once it was opened."""
        return next(iter(self.query_children(Offered)), None)

    @property
    def _words(self) -> list[Content]:
        return [Content(words) for words, _ in self.choices]

    def offer(self, choices: Iterable[tuple[str, str]], value: str) -> None:
        """Offer other values, of which `value` is chosen."""
        self.choices = tuple(choices)
        if (offered := self._list) is not None:
            offered.set_options(self._words)
        self.value = value
        self.refresh()

    def offers(self, value: str) -> bool:
        """Whether the choice offers a value."""
        return any(value == offered for _, offered in self.choices)

    def compose(self) -> ComposeResult:
        yield from ()

    def render(self) -> Content:
        chosen = Content(next((words for words, value in self.choices if value == self.value), ""))
        width = max(0, self.content_size.width - len(" ▼ "))
        arrow = "▲" if self.expanded else "▼"
        return Content.assemble(chosen.truncate(width, pad=True), " ", (arrow, "$foreground 50%"), " ")

    def watch_value(self, value: str) -> None:
        if value != self._known:
            self._known = value
            self.post_message(self.Changed(self, value))

    def watch_expanded(self, expanded: bool) -> None:
        self.set_class(expanded, "-expanded")
        self.refresh()
        if expanded and (offered := self._list) is not None:
            places = (place for place, (_, value) in enumerate(self.choices) if value == self.value)
            offered.go_to(next(places, 0))
            offered.focus(scroll_visible=False)

    async def action_show_list(self) -> None:
        """Open the list, unless the choice is not mounted yet or any more: keys may come early."""
        if not self.is_attached:
            return
        if self._list is None:
            await self.mount(Offered(self._words))
        self.expanded = True

    @on(Offered.Left)
    def _left(self, event: Offered.Left) -> None:
        event.stop()
        self.expanded = False
        if not event.lost_focus:
            self.focus()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.value = self.choices[event.option_index][1]
        self.focus()
        self.expanded = False

    async def on_key(self, event: events.Key) -> None:
        """Open the list at a letter that is typed."""
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
        """Open the list at the words that begin with a letter."""
        await self.action_show_list()
        if (offered := self._list) is not None:
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
    """Requests the page of presets instead of opening a list, with the letter that is typed."""

    class Browsed(Message):
        """Message: a person wants to see the presets that match what is typed."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    async def action_show_list(self) -> None:
        self.post_message(self.Browsed(""))

    async def type(self, letter: str) -> None:
        self.post_message(self.Browsed(letter))
