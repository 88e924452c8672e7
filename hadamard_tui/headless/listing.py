"""Lists of presets, of families of parts, and of the parts in a family."""

from __future__ import annotations

import difflib
import importlib
import re
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.core import catalogue
from engine.core.parts import BadInput, Part, docstring, summary_of
from engine.measures import Measure
from engine.spec.fields import Field, fields_of
from engine.theory import statement
from hadamard_tui.charts.line_heads import head
from hadamard_tui.headless import part_files

COLUMNS = ("field", "default", "allowed", "meaning")
WIDEST_COLUMN = 24
"""Maximum width of every column but the last, which has the meanings and needs most of the width."""

SINGULAR = {singular: family for family, singular in part_files.SINGULAR.items()} | {"claim": "claims"}
"""Family by the singular of its name, such as “update”."""

FORMER = {"bounds": "theory"}
"""Current names of families that were renamed, by their former names."""

ALLOWED = {
    "choice": "",
    "flag": "true, false",
    "whole": "whole number",
    "number": "number",
    "text": "text",
    "wholes": "list of whole numbers",
    "numbers": "number or list of numbers;",
    "floats": "list of numbers",
    "items": "list of lists of numbers",
    "column": "column",
    "columns": "list of columns",
    "rates": "number, list of numbers, or best;",
    "part": "table",
    "table": "table",
}


def presets_table() -> Table:
    from engine.spec import presets
    from engine.spec.experiment import SUBJECTS
    from engine.spec.preset_index import entry_of
    from hadamard_tui.tours import ESSENTIALS, talks

    essentials = talks()[ESSENTIALS]
    first = [stop.preset for stop in essentials.stops]
    headings = essentials.title, *SUBJECTS
    rows: dict[str, list[tuple[Text, Text | Group]]] = {heading: [] for heading in headings}
    for preset_name in dict.fromkeys([*first, *presets.names()]):
        try:
            preset = entry_of(preset_name)
        except BadInput as error:
            rows[SUBJECTS[-1]].append((Text(preset_name, "bold"), Text(str(error), "red")))
            continue
        story = first_sentence(preset.story)
        lines = [
            Text(line, style, overflow="fold")
            for line, style in ((story, ""), (preset.source, "dim"))
            if line
        ]
        description = Group(Text(preset.title, "bold"), *lines)
        rows[essentials.title if preset_name in first else preset.subject].append(
            (Text(preset_name, "bold"), description)
        )
    table = _table_with_columns("preset", "what the preset shows, and its source")
    for subject, subject_rows in rows.items():
        if subject_rows:
            table.add_row("", Text(subject, "bold underline"), end_section=True)
        for row in subject_rows:
            table.add_row(*row, end_section=True)
    return table


def talks_table() -> Table:
    from hadamard_tui.tours import paths, talks

    table = _table_with_columns("name", "subject, and presets")
    headings = {True: "Guided paths: predict, run, understand", False: "Talks"}
    for wanted, heading in headings.items():
        table.add_row("", Text(heading, "bold underline"), end_section=True)
        for talk_name, talk in talks().items():
            if (talk_name in paths()) == wanted:
                presets = Text(", ".join(stop.preset for stop in talk.stops), "dim")
                table.add_row(
                    Text(talk_name, "bold"), Group(Text(talk.title, "bold"), presets), end_section=True
                )
    table.caption = "hadamard-tui demo NAME opens one of them."
    return table


def families_table() -> Table:
    table = _table_with_columns("family", "description", "kinds")
    for family, folder in catalogue.FOLDERS.items():
        meaning = first_sentence(docstring(importlib.import_module(folder))).partition(": ")[2]
        table.add_row(Text(family, "bold"), meaning.rstrip("."), ", ".join(catalogue.members(family)))
    return table


def members_list(family: str) -> Group:
    """Return the parts of a family, with descriptions and fields. Raises: BadInput for an unknown family."""
    family = FORMER.get(family, SINGULAR.get(family, family))
    if family not in catalogue.FOLDERS:
        families = list(catalogue.FOLDERS)
        near = difflib.get_close_matches(family, families, n=2)
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        raise BadInput(family, f"there is no such family; {guess}there are {', '.join(families)}")
    members = catalogue.members(family)
    rows = {
        kind: [_hyperparameter_row(field) for field in fields_of(member)] for kind, member in members.items()
    }
    all_rows = [COLUMNS, *(row for kind_rows in rows.values() for row in kind_rows)]
    widths = [max(cell_len(row[column]) for row in all_rows) for column in range(len(COLUMNS) - 1)]
    parts: list[Text | Padding] = []
    for kind, member in members.items():
        parts.append(Text(kind, "bold"))
        parts += [Padding(line, (0, 0, 0, 2)) for line in (summary_of(member), *_further_lines(member))]
        if rows[kind]:
            parts.append(Padding(_hyperparameter_grid(rows[kind], widths), (0, 0, 0, 2)))
        parts.append(Text())
    return Group(*parts[:-1])


def first_sentence(text: str) -> str:
    line = " ".join(text.split())
    return re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]


def written(default: object) -> str:
    return "none" if default is None else msgspec.json.encode(default).decode()


def _table_with_columns(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in columns[:-1]:
        table.add_column(column)
    table.add_column(columns[-1], ratio=1)
    return table


def _hyperparameter_grid(rows: list[tuple[str, ...]], widths: list[int]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for column_name, width in zip(COLUMNS[:-1], widths, strict=True):
        grid.add_column(width=min(width, WIDEST_COLUMN), style="dim" if column_name != COLUMNS[0] else "")
    grid.add_column()
    for row in (COLUMNS, *rows):
        grid.add_row(*row, style="dim" if row is COLUMNS else "")
    return grid


def _hyperparameter_row(field: Field) -> tuple[str, ...]:
    default = "required" if field.required else written(field.default)
    allowed = ", ".join(filter(None, field.choices)) or f"{ALLOWED[field.kind]} {field.limits}".strip()
    return field.name, default, allowed, f"{field.title}: {field.help}" if field.help else field.title


def _further_lines(member: type[Part]) -> list[str | Text]:
    """Return further lines about a part; none for most families.

    They are the example of a claim, the cost of an expensive measure, or the statement of a theory line.
    """
    if example := getattr(member, "example", ""):
        return [example]
    if issubclass(member, Measure) and (cost := member().schedule().expensive):
        return [f"Expensive: each value needs {cost}. In long runs, only some points have a value."]
    line: Any = member
    return [head(statement(line()))] if hasattr(member, "formula") else []
