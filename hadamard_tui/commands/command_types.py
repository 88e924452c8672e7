"""Command classes with plain help texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hadamard_tui.commands.loading import refuse_preset


class _PlainHelp:
    """Mixin for plain help: no <bool> after --help, and paragraphs without line breaks."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.help: str | None = "\n\n".join(
            " ".join(paragraph.split()) for paragraph in (self.help or "").split("\n\n")
        )

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class Command(_PlainHelp, TyperCommand):
    """Single command."""


class SubjectGroup(_PlainHelp, TyperGroup):
    """Group of commands on one subject."""


class CommandGroup(SubjectGroup):
    """Group of all commands. If a user types a preset in place of a command, the error says how to run it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            refuse_preset(args[0])
        return super().resolve_command(ctx, args)


HELP = {"help_option_names": ["-h", "--help"]}


def new_group(cls: type[SubjectGroup] = SubjectGroup) -> typer.Typer:
    return typer.Typer(cls=cls, add_completion=False, context_settings=HELP)


def documented_functions(group: typer.Typer) -> Iterator[Callable[..., Any]]:
    for registered in (group.registered_callback, *group.registered_commands):
        if registered is not None and registered.callback is not None:
            yield registered.callback
    for subgroup in group.registered_groups:
        if subgroup.typer_instance is not None:
            yield from documented_functions(subgroup.typer_instance)
