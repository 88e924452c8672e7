"""The set-up: panels for preset, matrix family, target, protocol, learners and run, edited in place."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Select, Static

from engine import presets
from engine.experiment import Learner, Problem, Run
from engine.parts import BadInput
from hadamard_tui.draft import Draft
from hadamard_tui.widgets.form import Edited, Fields, PartForm, Row

METHODS = {"gradient": "update rule", "solver": "solver"}
OWN = ""
"""The value of the preset's choice for a set-up that is no preset, or no longer."""


class LearnerForm(Vertical):
    """The fields of one learner: its name, how it learns, and the parts that this needs."""

    DEFAULT_CSS = "LearnerForm { height: auto; }"

    def __init__(self, draft: Draft, number: int) -> None:
        super().__init__()
        self._draft, self.number = draft, number

    def compose(self) -> ComposeResult:
        place = f"learners[{self.number}]"
        values = self._draft.learners[self.number]
        yield Fields(place, Learner, values)
        solving = values.get("solver") is not None
        with Horizontal(classes="line"):
            yield Static("learns by", classes="title")
            yield Select(
                [(title, kind) for kind, title in METHODS.items()],
                value="solver" if solving else "gradient",
                allow_blank=False,
                compact=True,
                id="method",
            )
        if solving:
            yield PartForm(f"{place}.solver", "solver", "solvers", values["solver"])
        else:
            yield PartForm(f"{place}.architecture", "architecture", "architectures", values["architecture"])
            yield PartForm(f"{place}.update", "update", "updates", values["update"])


class Setup(VerticalScroll, can_focus=False):
    """Edits a draft. Tells the screen when the draft changed, and never starts anything by itself."""

    DEFAULT_CSS = """
    Setup .section { margin: 1 0 0 0; text-style: bold; color: $primary; }
    Setup .line { height: 1; }
    Setup .line .title { width: 14; color: $text-muted; }
    Setup .line Select { width: 1fr; }
    Setup Button { min-width: 8; width: 1fr; }
    Setup #blurb { color: $text-muted; height: auto; }
    Setup #elsewhere { display: none; color: $text-error; height: auto; }
    """

    class Changed(Message):
        """The draft is another one now, or another learner is selected."""

    class Picked(Message):
        """Asks for the fields of the learner selected. Only messages change panels, one after the other."""

    def __init__(self, draft: Draft, id: str | None = None) -> None:
        super().__init__(id=id)
        self.draft = draft
        self.learner = 0
        self._complaint = draft.error
        self.filled = False
        """Whether the panels are there: two hundred widgets, for which the first paint does not wait."""

    def on_mount(self) -> None:
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        await self.mount_compose(self._panels())
        self.filled = True
        self._show_complaint()

    def _panels(self) -> ComposeResult:
        raw = self.draft.raw
        yield Static("Preset", classes="section")
        yield Select(self._presets(), value=self._preset(), allow_blank=False, compact=True, id="preset")
        yield Static("", id="elsewhere", markup=False)
        yield Static("Problem", classes="section")
        yield PartForm("problem.matrix", "matrix", "matrices", raw["problem"]["matrix"])
        yield PartForm("problem.target", "target", "targets", raw["problem"]["target"])
        yield Fields("problem", Problem, raw["problem"])
        yield Static("Learners", classes="section")
        with Horizontal(classes="line"):
            yield Static("learner", classes="title")
            yield Select(self._choices(), value=self.learner, allow_blank=False, compact=True, id="learner")
        with Horizontal(classes="line"):
            yield Button("+ copy", id="copy", compact=True, tooltip="Add a copy of this learner")
            yield Button("− remove", id="remove", compact=True, tooltip="Remove this learner")
        yield LearnerForm(self.draft, self.learner)
        yield Static("Protocol", classes="section")
        yield PartForm("protocol", "protocol", "protocols", raw["protocol"])
        yield Static("Run", classes="section")
        yield Fields("run", Run, raw["run"])

    def _preset(self) -> str:
        known = self.draft.preset in presets.names() and not self.draft.changed
        return str(self.draft.preset) if known else OWN

    def _presets(self) -> list[tuple[str, str]]:
        """All presets to choose from, and the set-up itself where it is none of them."""
        own = f"({self.draft.preset}, changed)" if self.draft.changed else "(your own)"
        return [*([(own, OWN)] if self._preset() == OWN else []), *((name, name) for name in presets.names())]

    def _choices(self) -> list[tuple[str, int]]:
        return [(str(values["name"]), number) for number, values in enumerate(self.draft.learners)]

    async def show(self, draft: Draft) -> None:
        """Show another draft."""
        self.draft = draft
        self.learner = 0
        await self.remove_children()
        await self.mount_compose(self._panels())
        self._tell()

    def pick(self, number: int) -> None:
        """Select a learner at once; its fields follow, and only those of the last of many picked quickly."""
        if number != self.learner:
            self.learner = number
            self.post_message(self.Changed())
            self.post_message(self.Picked())

    @on(Picked)
    async def _picked(self, event: Picked) -> None:
        event.stop()
        if self.filled and self.query_one(LearnerForm).number != self.learner:
            await self._show_learner()
            self.complain(self.draft.error)

    async def _show_learner(self) -> None:
        select = self.query_one("#learner", Select)
        with self.prevent(Select.Changed):
            select.set_options(self._choices())
            select.value = self.learner
        for old in self.query(LearnerForm):
            await self.mount(LearnerForm(self.draft, self.learner), after=old)
            await old.remove()

    def complain(self, error: BadInput | None) -> None:
        """Show a problem by the field that it is about, and nothing by the others."""
        self._complaint = error
        self._show_complaint()

    def _show_complaint(self) -> None:
        error, found = self._complaint, False
        for row in self.query(Row):
            here = error is not None and error.where in (row.place, row.place.removesuffix(".kind"))
            row.complain(error.what if error is not None and here else "")
            found = found or here
        for elsewhere in self.query("#elsewhere").results(Static):
            elsewhere.display = error is not None and not found
            elsewhere.update(f"▲ {error}" if error is not None and not found else "")

    def _gone(self, widget: Widget) -> bool:
        """Whether a widget was replaced since it spoke: it speaks of another learner then."""
        return self not in widget.ancestors

    def _show_preset(self) -> None:
        """Say whether the set-up is a preset, so that one that was changed can be chosen again."""
        select = self.query_one("#preset", Select)
        if select.value != self._preset():
            with self.prevent(Select.Changed):
                select.set_options(self._presets())
                select.value = self._preset()

    def _tell(self) -> None:
        self._show_preset()
        self.complain(self.draft.error)
        self.post_message(self.Changed())

    @on(Edited)
    async def _edited(self, event: Edited) -> None:
        event.stop()
        if self._gone(event.row) or self.draft.value(event.place) == event.value:
            return
        self.draft.put(event.place, event.value)
        if event.choice:
            place = event.place.removesuffix(".kind")
            for form in self.query(PartForm):
                if form.place == place:
                    await form.rebuild(self.draft.value(place))
        if event.place == f"learners[{self.learner}].name":
            select = self.query_one("#learner", Select)
            with self.prevent(Select.Changed):
                select.set_options(self._choices())
                select.value = self.learner
        self._tell()

    @on(Select.Changed, "#preset")
    async def _preset_chosen(self, event: Select.Changed) -> None:
        event.stop()
        if event.value in (self._preset(), OWN):
            return
        await self.show(Draft.of(str(event.value)))

    @on(Select.Changed, "#learner")
    async def _learner_chosen(self, event: Select.Changed) -> None:
        event.stop()
        if isinstance(event.value, int):
            self.pick(event.value)

    @on(Select.Changed, "#method")
    async def _method_chosen(self, event: Select.Changed) -> None:
        event.stop()
        solving = self.draft.learners[self.learner].get("solver") is not None
        if not self._gone(event.select) and (event.value == "solver") != solving:
            self.draft.put_method(self.learner, str(event.value))
            await self._show_learner()
            self._tell()

    @on(Button.Pressed, "#copy")
    async def _copy(self) -> None:
        self.learner = self.draft.copy_learner(self.learner)
        await self._show_learner()
        self._tell()

    @on(Button.Pressed, "#remove")
    async def _remove(self) -> None:
        if len(self.draft.learners) == 1:
            self.notify("An experiment needs at least one learner.", severity="warning")
            return
        self.learner = self.draft.remove_learner(self.learner)
        await self._show_learner()
        self._tell()
