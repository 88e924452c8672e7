"""What there is to choose from: presets, families, and the parts of a family."""

from __future__ import annotations

import difflib
import importlib
import re

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from engine import catalogue
from engine.fields import Field, fields_of
from engine.parts import BadInput, Part, summary_of

NOTHING = "—"


def presets_table() -> Table:
    """Every preset with its title, the first sentence of its story, and its source."""
    from engine import presets

    table = _table("preset", "what it shows", "source")
    for name in presets.names():
        try:
            preset = presets.load(name)
        except BadInput as error:
            table.add_row(Text(name, "bold"), Text(str(error), "red"), "")
            continue
        story = Text(first_sentence(preset.story), "dim")
        table.add_row(Text(name, "bold"), Group(preset.title, story), preset.source, end_section=True)
    return table


def families_table() -> Table:
    """Every family with its meaning and the kinds of its members."""
    table = _table("family", "what it is", "kinds")
    for family, folder in catalogue.FOLDERS.items():
        meaning = (importlib.import_module(folder).__doc__ or "").strip()
        table.add_row(Text(family, "bold"), meaning, ", ".join(catalogue.members(family)))
    return table


def members_table(family: str) -> Table:
    """Every member of a family with its meaning, and its fields below it.

    Raises: BadInput for a family that does not exist.
    """
    if family not in catalogue.FOLDERS:
        known = list(catalogue.FOLDERS)
        near = difflib.get_close_matches(family, known, n=2)
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        raise BadInput(family, f"there is no such family; {guess}there are {', '.join(known)}")
    table = _table("kind", "default", "allowed", "meaning")
    for kind, member in catalogue.members(family).items():
        if table.rows:
            table.add_row()
        table.add_row(Text(kind, "bold"), "", "", Text(summary_of(member), "bold"))
        for field in fields_of(member):
            default = "required" if field.required else written(field.default)
            table.add_row(f"  {field.name}", default, _allowed(field), _meaning(field))
        for fact in _facts(member):
            table.add_row("", "", "", Text(fact, "dim"))
    return table


def first_sentence(text: str) -> str:
    """The beginning of a text up to its first full stop, on one line."""
    line = " ".join(text.split())
    return re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]


def written(value: object) -> str:
    """A default as a preset file would say it."""
    return "none" if value is None else msgspec.json.encode(value).decode()


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in columns[:-1]:
        table.add_column(column)
    table.add_column(columns[-1], ratio=1)
    return table


def _allowed(field: Field) -> str:
    if field.choices:
        return ", ".join(field.choices)
    words = {"flag": "true, false", "whole": "whole", "number": "number", "text": "text", "wholes": "wholes"}
    return " ".join(filter(None, (words[field.kind], field.limits)))


def _meaning(field: Field) -> str:
    return f"{field.title}: {field.help}" if field.help else field.title


def _facts(member: type[Part]) -> list[str]:
    """What a bound says and where it is proved; other parts say all in their fields."""
    sense, formula, source = (getattr(member, name, None) for name in ("sense", "formula", "source"))
    return [f"{sense}: {formula}", f"source: {source}"] if formula else []
