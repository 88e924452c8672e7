"""Command classes with plain help texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from hadamard_tui.commands.loading import refuse_preset


class _Converter(NamedTuple):
    """Converts the words of one option or argument. Only types other than text need typer's converter.

    `make_typers` returns typer's converter, which imports pydantic.
    """

    make_typers: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        annotation = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if annotation is str and isinstance(value, str):
            return value
        if annotation == list[str] and isinstance(value, list | tuple):
            return [str(word) for word in value]
        return self.make_typers().coerce(value, param, ctx)


class QuickOption(TyperOption):
    """Option that converts texts without pydantic.

    An import of pydantic would take longer than the import of typer.
    """

    def get_runtime_param(self) -> Any:
        return _Converter(super().get_runtime_param)


class QuickArgument(TyperArgument):
    """Argument that is like a QuickOption."""

    def get_runtime_param(self) -> Any:
        return _Converter(super().get_runtime_param)


class _PlainHelp:
    """Mixin for plain help: no <bool> after --help, and paragraphs without line breaks."""

    params: list[Any]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for parameter in self.params:
            parameter.__class__ = QuickOption if isinstance(parameter, TyperOption) else QuickArgument
        self.help: str | None = "\n\n".join(
            " ".join(paragraph.split()) for paragraph in (self.help or "").split("\n\n")
        )

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
            option.__class__ = QuickOption
        return option


class Command(_PlainHelp, TyperCommand):
    """Single command."""


class SubjectGroup(_PlainHelp, TyperGroup):
    """Group of commands on one subject."""


class CommandGroup(SubjectGroup):
    """Group of all commands. The commands are created when a command is first looked up.

    If a user types a preset in place of a command, the error says how to run it.
    """

    make_commands: Callable[[], MutableMapping[str, Any]]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._create_commands()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._create_commands()
        return super().list_commands(ctx)

    def _create_commands(self) -> None:
        if not self.commands:
            self.commands = self.make_commands()

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
