"""Actions of the app and their keys. The footer, the help page and the command palette all read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec.structs import replace
from textual.binding import Binding

from hadamard_tui.panels import ABOUT, DIGITS, WORDS


class Motion(msgspec.Struct, frozen=True):
    """Command of a key in lists, tables, heat maps and texts, such as "move up".

    Args:
        id: name of the command in the configuration file.
    """

    id: str
    keys: str
    help: str

    def binding(self, action: str) -> Binding:
        return Binding(self.keys, action, show=False, id=self.id)


MOTIONS = (
    Motion("move-down", "down,j", "Go down"),
    Motion("move-up", "up,k", "Go up"),
    Motion("move-left", "left,h", "Go left (in a heat map, a table or the bar of parts)"),
    Motion("move-right", "right,l", "Go right (in a heat map, a table or the bar of parts)"),
    Motion("move-first", "home,g", "Go to the first line"),
    Motion("move-last", "end,G", "Go to the last line"),
    Motion("move-page-down", "pagedown,ctrl+d", "Go a page down; in the list of presets, scroll the preview"),
    Motion("move-page-up", "pageup,ctrl+u", "Go a page up; in the list of presets, scroll the preview"),
    Motion("choose", "enter", "Choose the line"),
    Motion("filter", "slash", "Filter the list (in lists of presets and of runs)"),
    Motion("close", "escape,q", "Close the page"),
    Motion("copy-failure", "c", "Copy the error (on the page of an engine failure)"),
)

_BY_ID = {motion.id: motion for motion in MOTIONS}


def motions(**actions: str) -> list[Binding]:
    return [_BY_ID[motion_name.replace("_", "-")].binding(action) for motion_name, action in actions.items()]


IN_LISTS = motions(
    move_down="cursor_down",
    move_up="cursor_up",
    move_first="first",
    move_last="last",
    move_page_down="page_down",
    move_page_up="page_up",
    choose="select",
)

IN_TEXTS = motions(
    move_down="scroll_down",
    move_up="scroll_up",
    move_first="scroll_home",
    move_last="scroll_end",
    move_page_down="page_down",
    move_page_up="page_up",
)


class Action(msgspec.Struct, frozen=True):
    """Action that a person runs by a key or from the command palette.

    Args:
        name: the method `action_<name>` of the main screen. `app.<name>` stands for a method of the app.
        group: heading under which the help page lists the action.
    """

    name: str
    keys: str
    label: str
    help: str
    group: str
    key_display: str | None = None

    def binding(self) -> Binding:
        return Binding(
            self.keys, self.name, self.label, show=self.id in FOOTER, key_display=self.key_display, id=self.id
        )

    @property
    def id(self) -> str:
        """Name of the action in the configuration file."""
        return self.name.removeprefix("app.").replace("(", "-").replace(")", "")


GLYPHS = {
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "tilde": "~",
    "question_mark": "?",
    "colon": ":",
    "full_stop": ".",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "escape": "esc",
    "slash": "/",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "circumflex_accent": "^",
    "dollar_sign": "$",
    "pagedown": "pgdn",
    "pageup": "pgup",
}


def printed_key(keys: str) -> str:
    """Return keys as the help page prints them; `keys` are Textual's names, separated by commas."""
    shown = []
    for key in keys.split(","):
        *held, last = key.strip().split("+")
        shown.append("+".join([*held, GLYPHS.get(last, last)]))
    return " ".join(shown)


RUN, LOOK, COMPARE, CHANGE, KEEP = "Run", "Look", "Compare", "Change the set-up", "Keep and share"
TALK, WAY = "Give a talk or follow a path (hadamard-tui demo)", "Find your way"
GROUPS = (RUN, LOOK, COMPARE, CHANGE, KEEP, TALK, WAY)
"""Purposes of actions, in the order of the help page."""

FOOTER = (
    "next_stop", "previous_stop", "leave", "run", "pause", "halt", "step", "next_learner", "vary", "predict",
    "break_stop", "pin", "export", "next_picture", "full", "presets", "setup", "recipe", "view", "back",
    "jump", "zoom", "runs", "command_palette", "help", "quit",
)  # fmt: skip
"""Ids of the actions in the footer, from left to right."""

REPLAY = "Replay"
"""Label of the key that pauses a run, after the run has finished."""

LEAVE_PATH = "Leave path"
"""Label of the action "leave" where it leaves the path, and not a field or a page."""

ALWAYS = "next_stop", "previous_stop", "leave", "help", "quit", "run"
IN_A_RUN = (*ALWAYS, "pause", "halt", "step", "next_learner", "full", "presets", "setup", "view", "jump")
AT_REST = (
    *ALWAYS, "presets", "setup", "next_learner", "vary", "predict", "pin", "export", "full",
    "command_palette", "pause", "recipe", "next_picture", "view", "back", "jump", "runs", "zoom", "step",
    "halt",
)  # fmt: skip
ON_A_PATH = (*ALWAYS, "predict", "break_stop", *(id for id in AT_REST if id not in (*ALWAYS, "predict")))
"""Ids of the footer's actions, the most important first.

AT_REST applies if no run is in progress, and ON_A_PATH if the app also is at a stop of a path or a talk.
"""

ACTIONS = (
    Action(
        "app.presets",
        "p",
        "Presets",
        "List the presets by subject, each with its chart; type to filter",
        RUN,
    ),
    Action("run", "r", "Run", "Run the set-up from the start, or restart the current run", RUN),
    Action(
        "pause",
        "space",
        "Pause",
        "Pause or resume the run; start a run if there is none; replay a run that has ended",
        RUN,
        key_display="space",
    ),
    Action(
        "predict",
        "g",
        "Predict",
        "Guess when each learner's loss falls below 0.1: arrows move the mark, enter confirms it",
        RUN,
    ),
    Action("step", "n", "Step", "Pause the run and show one more evaluation point", RUN),
    Action("halt", "h", "Halt", "Stop the run and keep the curves that are shown", RUN),
    Action("reset", "R", "Reset", "Clear the run and keep the set-up", RUN),
    Action("faster", "plus,equals_sign", "Faster", "Double the playback rate", RUN),
    Action("slower", "minus", "Slower", "Halve the playback rate", RUN),
    Action(
        "unlimited",
        "f",
        "As fast as possible",
        "Show results as soon as they are computed, or go back to the previous pace",
        RUN,
    ),
    Action(
        "back",
        "left,H",
        "Look back",
        "Move the playhead back by one evaluation point or, on a chart along a sweep axis, by one value",
        LOOK,
        key_display="←→",
    ),
    Action(
        "forward",
        "right,L",
        "Look ahead",
        "Move the playhead forward by one evaluation point or, on a chart along a sweep axis, by one value",
        LOOK,
    ),
    Action(
        "far_back",
        "shift+left,ctrl+left,left_curly_bracket",
        "Look far back",
        "Move the playhead back by a tenth of the run",
        LOOK,
    ),
    Action(
        "far_forward",
        "shift+right,ctrl+right,right_curly_bracket",
        "Look far ahead",
        "Move the playhead forward by a tenth of the run",
        LOOK,
    ),
    Action("first", "home,circumflex_accent", "To the start", "Move the playhead to the start", LOOK),
    Action(
        "latest",
        "end,dollar_sign",
        "To the end",
        "Move the playhead to the end, so that it follows the run",
        LOOK,
    ),
    Action("x_log", "x", "Logarithmic x", "Switch the x-axis between logarithmic and linear", LOOK),
    Action("y_log", "y", "Logarithmic y", "Switch the y-axis between logarithmic and linear", LOOK),
    Action("zoom", "z", "Zoom", "Zoom into the x-axis around the playhead", LOOK),
    Action("unzoom", "Z", "Zoom out", "Zoom out of the x-axis, up to its full length", LOOK),
    Action("smooth", "m", "Smooth", "Draw running means over the curves, which become faint", LOOK),
    Action("band", "b", "Bands", "Show or hide the bands of ± one standard error over replicas", LOOK),
    Action("multiples", "M", "Small multiples", "Draw one chart per learner, all with the same scale", LOOK),
    Action("next_picture", "i", "Picture", "Show the next chart of this experiment", LOOK),
    Action("full", "F", "Full", "Show only the chart or the open panel; press again or esc to go back", LOOK),
    Action("view", "v", "Panel", "Open the next panel that applies", LOOK),
    Action("previous_view", "V", "Previous panel", "Open the previous panel that applies", LOOK),
    *(
        Action(
            f"panel({number})", str(number % 10), f"Tab: {WORDS[name]}", f"Open {WORDS[name]}: {about}", LOOK
        )
        for number, (name, about) in enumerate(list(ABOUT.items())[:DIGITS], start=1)
    ),
    Action(
        "next_learner",
        "right_square_bracket",
        "Next learner",
        "Select the next learner, and show its weights, theory and fields",
        LOOK,
        key_display="]",
    ),
    Action(
        "previous_learner",
        "left_square_bracket",
        "Previous learner",
        "Select the previous learner",
        LOOK,
        key_display="[",
    ),
    Action(
        "remedy",
        "enter",
        "Record and run",
        "Make the change that a dimmed panel asks for, and run again",
        LOOK,
    ),
    Action("page_down", "pagedown,ctrl+d", "Read on", "Scroll a text panel down", LOOK),
    Action("page_up", "pageup,ctrl+u", "Read back", "Scroll a text panel up", LOOK),
    Action(
        "pin",
        "c",
        "Compare",
        "Pin this run, so that later runs are drawn over it; in the list of runs, pin or unpin a run",
        COMPARE,
    ),
    Action(
        "difference",
        "X",
        "Difference",
        "Subtract the curves of the last pinned run, or draw the curves as they are",
        COMPARE,
    ),
    Action(
        "runs",
        "l",
        "Runs",
        "Open or leave the list of this session's runs and of stored runs",
        COMPARE,
    ),
    Action("another_seed", "A", "Another seed", "Run the set-up again with the next seeds", COMPARE),
    Action("rename_run", "N", "Rename run", "Rename the run that is selected in the list", COMPARE),
    Action("delete_run", "D", "Delete run", "Delete the run that is selected in the list", COMPARE),
    Action(
        "app.next_stop",
        "greater_than_sign",
        "Next",
        "Go to the next stop of the path; page down does the same",
        TALK,
    ),
    Action(
        "app.previous_stop",
        "less_than_sign",
        "Back",
        "Go to the previous stop of the path; page up does the same",
        TALK,
    ),
    Action(
        "app.back_to_stop",
        "backspace",
        "Back to the stop",
        "Show the preset of this stop again, without changes",
        TALK,
    ),
    Action(
        "app.break_stop",
        "B",
        "Break it",
        "Run the preset with one change that breaks its result",
        TALK,
    ),
    Action("app.blank", "full_stop", "Blank", "Blank the screen until a key is pressed", TALK),
    Action(
        "app.new_experiment",
        "E",
        "New experiment",
        "Start a new experiment: choose a problem and a learner, then run; undo goes back",
        CHANGE,
    ),
    Action(
        "app.own_table",
        "O",
        "Your data",
        "Choose a table of your own, see its first rows, choose its label, and run or diagnose it",
        CHANGE,
    ),
    Action("app.add_learner", "a", "Add learner", "Add a learner to the set-up", CHANGE),
    Action("app.copy_learner", "d", "Duplicate learner", "Add a copy of the selected learner", CHANGE),
    Action("app.remove_learner", "delete", "Remove learner", "Remove the selected learner", CHANGE),
    Action(
        "app.switch_learner",
        "o",
        "Learner on/off",
        "Leave the selected learner out of the run, or put it back",
        CHANGE,
    ),
    Action(
        "larger",
        "up,ctrl+up",
        "Larger",
        "Increase the number in the field and run at once; so does the key + until you type in the field",
        CHANGE,
    ),
    Action(
        "smaller",
        "down,ctrl+down",
        "Smaller",
        "Decrease the number in the field and run at once; so does the key − until you type in the field",
        CHANGE,
    ),
    Action(
        "vary",
        "tilde",
        "Sweep",
        "Sweep the number in the field along an axis of five values; outside such fields, sweep d",
        CHANGE,
    ),
    Action(
        "undo",
        "u",
        "Undo",
        "Undo the last change of the set-up; in the list of runs, bring back the run deleted last",
        CHANGE,
    ),
    Action("redo", "ctrl+r", "Redo", "Redo the change of the set-up that was undone last", CHANGE),
    Action(
        "recipe",
        "k",
        "Choose",
        "Go to the top row, where ← → move along preset, matrix, learner, architecture and protocol",
        CHANGE,
    ),
    Action("setup", "s", "Set-up", "Show or hide the set-up, with all its fields", CHANGE),
    Action(
        "app.focus_next",
        "tab",
        "Next field",
        "Go to the next field of the set-up; shift+tab goes back, enter or a letter opens a list",
        CHANGE,
    ),
    Action(
        "app.export",
        "e",
        "Export",
        "Save a picture of the chart (an SVG, PNG or PDF image), the curves or the set-up to a file",
        KEEP,
    ),
    Action(
        "app.save_preset",
        "S",
        "Save preset",
        "Save the set-up as a preset file, which run and --preset accept",
        KEEP,
    ),
    Action(
        "app.copy_command",
        "w",
        "Copy command",
        "Copy the command line that opens the app on this set-up again",
        KEEP,
    ),
    Action(
        "app.screenshot", "P", "Screenshot", "Save a picture of the screen (an SVG image) to a file", KEEP
    ),
    Action(
        "app.theory",
        "T",
        "Theory",
        "Read the section of the theory pages that the set-up cites, or choose one from the list",
        WAY,
    ),
    Action("app.theme", "t", "Theme", "Change the colours: dark, light, high contrast", WAY),
    Action(
        "jump",
        "j,ctrl+g",
        "Jump",
        "Label every visible field, button, tab and panel with a key that goes there; in fields, use ctrl+g",
        WAY,
    ),
    Action(
        "leave",
        "escape",
        "Leave",
        "Leave the field, close the page that covers the chart, or leave the path",
        WAY,
        key_display="esc",
    ),
    Action("help", "question_mark", "Help", "Show this page", WAY, key_display="?"),
    Action(
        "app.command_palette",
        "colon,ctrl+p",
        "Search",
        "Search commands, presets, parts and theory pages",
        WAY,
    ),
    Action(
        "quit",
        "q,ctrl+q,ctrl+c",
        "Quit",
        "End the program, and stop the current run",
        WAY,
    ),
)


EVERY: tuple[Action | Motion, ...] = (*ACTIONS, *MOTIONS)
"""All actions and motions, whose keys the configuration may change."""

_others: Mapping[str, str] = {}


def use(keys: Mapping[str, str]) -> None:
    """Set the keys of actions and motions. `keys` maps the ids in the configuration file to keys."""
    global _others
    _others = keys
    _actions_by_key.cache_clear()


def placed(action: Action) -> Action:
    return replace(action, keys=_others.get(action.id, action.keys))


def shown_keys(id: str) -> str:
    """Return all keys of an action or a motion as the help page prints them."""
    return printed_key(next(_others.get(id, binding.keys) for binding in EVERY if binding.id == id))


def key(id: str) -> str:
    """Return the first key of an action or a motion as the help page prints it."""
    return shown_keys(id).split()[0]


def panel_key(panel: str) -> str:
    """Return the key that opens a panel.

    Only the first DIGITS panels have keys of their own. For any other panel, return the key that opens the
    next panel.
    """
    number = list(ABOUT).index(panel) + 1
    return key(f"panel-{number}" if number <= DIGITS else "view")


def action_of(key: str) -> Action | None:
    return _actions_by_key().get(key)


@cache
def _actions_by_key() -> Mapping[str, Action]:
    """Return the actions by key; the first action that has a key takes precedence.

    The result is cached, because a number field looks up a hundred keys at each key press.
    """
    keys_by_action = {action: _others.get(action.id, action.keys).split(",") for action in reversed(ACTIONS)}
    return {key: action for action, action_keys in keys_by_action.items() for key in action_keys}
