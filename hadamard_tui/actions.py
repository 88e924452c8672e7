"""Every action of the app, once: keys, footer, help page and command palette are made from this list."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True)
class Action:
    """Something a person can do. `name` is the method `action_<name>` of the laboratory, or `app.<name>`."""

    name: str
    keys: str
    label: str
    help: str
    footer: bool = True
    key_display: str | None = None

    def binding(self) -> Binding:
        """The action as Textual wants it."""
        return Binding(
            self.keys, self.name, self.label, show=self.footer, key_display=self.key_display, id=self.id
        )

    @property
    def id(self) -> str:
        """The name by which the configuration gives the action other keys."""
        return self.name.removeprefix("app.")

    @property
    def shown_keys(self) -> str:
        """The keys as the help page prints them."""
        names = {"plus": "+", "equals_sign": "=", "minus": "-", "question_mark": "?", "full_stop": ".",
                 "right_square_bracket": "]", "left_square_bracket": "["}  # fmt: skip
        return " ".join(names.get(key.strip(), key.strip()) for key in self.keys.split(","))


ACTIONS = (
    Action("help", "question_mark", "Help", "Show this page", key_display="?"),
    Action("leave", "escape", "Leave", "Leave the field, or close the set-up drawer", key_display="esc"),
    Action("run", "r", "Run", "Run the set-up from the start; restarts a run that is under way"),
    Action(
        "pause",
        "space",
        "Pause",
        "Hold the run, or let it go on; starts one if there is none",
        key_display="space",
    ),
    Action("step", "n", "Step", "Show one example more; holds the run first"),
    Action("stop", "x", "Stop", "End the run and keep the curves as far as they are shown"),
    Action("reset", "z", "Reset", "Forget the run; the set-up stays"),
    Action("faster", "plus,equals_sign", "Faster", "Double the playback rate", footer=False),
    Action("slower", "minus", "Slower", "Halve the playback rate", footer=False),
    Action("unlimited", "f", "As fast as it can", "Show at once what is computed, or go back", footer=False),
    Action("setup", "s", "Set-up", "Show or hide the panels on which an experiment is set up"),
    Action(
        "app.focus_next",
        "tab",
        "Next field",
        "Go to the next field of the set-up; shift+tab goes back, enter opens a list",
        footer=False,
    ),
    Action("view", "v", "View", "Next lower panel: learners, weights, theory, claims"),
    Action(
        "next_learner",
        "right_square_bracket",
        "Next learner",
        "Select the next learner: its weights, theory and fields are shown",
        footer=False,
        key_display="]",
    ),
    Action(
        "previous_learner",
        "left_square_bracket",
        "Previous learner",
        "Select the learner before",
        footer=False,
        key_display="[",
    ),
    Action("app.export", "e", "Export", "Write the curves, the chart or the set-up to a file"),
    Action(
        "app.save_preset",
        "S",
        "Save preset",
        "Write the set-up to a preset file, which run and --preset take",
        footer=False,
    ),
    Action(
        "app.copy_command",
        "w",
        "Copy command",
        "Copy the command line that opens the app on this set-up again",
        footer=False,
    ),
    Action("app.theme", "t", "Theme", "Change the colours: dark, light, high contrast", footer=False),
    Action("screenshot", "ctrl+s", "Screenshot", "Write the screen to an SVG file", footer=False),
    Action("quit", "q,ctrl+q,ctrl+c", "Quit", "End the program; a run under way is stopped", key_display="q"),
)
