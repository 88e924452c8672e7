"""A choice among a few words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Select
from textual.widgets._select import SelectOverlay


class Offered(SelectOverlay):
    """What there is to choose from. Typing goes to the first line that begins with it, or has it."""

    DEFAULT_CSS = "Offered { offset-y: 1; }"

    def __init__(self, choices: Iterable[Content]) -> None:
        super().__init__()
        self._typed = ""
        self.add_options(choices)
        self.compact = True

    def search(self, typed: str) -> None:
        """Go to what is typed before the list has the focus."""
        self._typed += typed
        if (found := self._find_search_match(self._typed)) is not None:
            self.select(found)

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._search_query, self._typed = self._typed, ""

    def _find_search_match(self, query: str) -> int | None:
        """Textual's own knows lines of other types only."""
        places = [str(option.prompt).lower().find(query.lower()) for option in self.options]
        found = [(place, number) for number, place in enumerate(places) if place >= 0]
        return min(found)[1] if found else None


class Choice(Select[str]):
    """A select that notifies of what a person chose, and not of the value it was made with.

    It is one line; the list below it is made when it is first opened: there are many choices, and Textual's
    own are six widgets each. A letter opens the list there, and is no command of the app. Its words are text,
    and no markup. It may be taken away before it is mounted, as when a form is soon made anew.
    """

    DEFAULT_CSS = """
    Choice { height: 1; background: $surface; }
    Choice:focus { background-tint: $foreground 5%; }
    """

    def __init__(
        self,
        choices: Iterable[tuple[str, str]],
        *,
        value: str,
        not_typed: Collection[str] = (),
        **options: Any,
    ) -> None:
        """`not_typed` are letters that stay commands of the app."""
        super().__init__(_plain(choices), value=value, allow_blank=False, **options)
        self._known: object = value
        self._not_typed = not_typed
        self.set_reactive(Select.value, value)  # type: ignore[misc]

    @property
    def _list(self) -> Offered | None:
        """The list, once it was opened."""
        return next(iter(self.query_children(Offered)), None)

    def offer(self, choices: Iterable[tuple[str, str]], value: str) -> None:
        """Let a person choose among others, of which this one is chosen."""
        self._setup_variables_for_options(_plain(choices))
        if (offered := self._list) is not None:
            offered.set_options(words for words, _ in _plain(choices))
        self.value = value

    def offers(self, value: str) -> bool:
        """Whether a value is among those that there are to choose from."""
        return any(value == offered for _, offered in self._options)

    def compose(self) -> ComposeResult:
        yield from ()

    def render(self) -> Content:
        chosen = next((words for words, value in self._options if value == self.value), Content(""))
        assert isinstance(chosen, Content), "choices are text"
        width = max(0, self.content_size.width - len(" ▼ "))
        arrow = "▲" if self.expanded else "▼"
        return Content.assemble(chosen.truncate(width, pad=True), " ", (arrow, "$foreground 50%"), " ")

    def _on_mount(self, event: events.Mount) -> None:
        """Textual's own would look for its parts."""
        event.prevent_default()

    def _watch_value(self, value: str) -> None:  # type: ignore[override]
        self._value = value
        self.refresh()
        self.post_message(self.Changed(self, value))

    def _watch_expanded(self, expanded: bool) -> None:
        self.set_class(expanded, "-expanded")
        self.refresh()
        if expanded and (offered := self._list) is not None:
            places = (place for place, (_, value) in enumerate(self._options) if value == self.value)
            offered.select(next(places, 0))
            offered.focus(scroll_visible=False)

    async def action_show_overlay(self) -> None:  # type: ignore[override]
        """Show what there is to choose from, unless this is not there yet or any more: keys come in haste."""
        if not self.is_attached:
            return
        if self._list is None:
            await self.mount(Offered(words for words, _ in self._options))  # type: ignore[misc]
        self.expanded = True

    async def _on_key(self, event: events.Key) -> None:
        """A letter goes to what it begins, in the list."""
        letter = event.character if event.is_printable and event.key != "space" else None
        if event.key in self._not_typed or (letter is None and event.key not in ("delete", "backspace")):
            return
        event.stop()
        event.prevent_default()
        if letter is not None:
            await self.action_show_overlay()
            if (offered := self._list) is not None:
                offered.search(letter)

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        if event.widget is not self:
            return
        if self.expanded:
            self.expanded = False
        else:
            await self.action_show_overlay()

    def post_message(self, message: Message) -> bool:
        if isinstance(message, Select.Changed):
            if message.value == self._known:
                return False
            self._known = message.value
        return super().post_message(message)


def _plain(choices: Iterable[tuple[str, str]]) -> list[tuple[Content, str]]:
    return [(Content(words), value) for words, value in choices]
