"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

STANDARD_OUTPUT = Path("-")


def flag(option: str, help: str, **more: Any) -> Any:
    """Return an option without a value, such as --json."""
    return typer.Option(option, metavar="", help=help, **more)


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PLACE=VALUE",
        help="Change one value: --set problem.matrix.d=256 or --set 'learners.GD.update.lr=1/(4d)'. "
        "Repeat --set for more values.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="DEVICE", help="Device (run.device): auto, cpu, cuda or cuda:1."),
]

Place = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="Where to run. local:cuda spreads sweep points, or groups of replicas, over all CUDA devices of "
        "this machine.",
    ),
]

RUNS = (
    "Name of a preset, preset file (.toml), result (.json) or stored run (@last, @NAME, a date or "
    ".run). Results and stored runs contain their experiment."
)
Fresh = Annotated[
    bool, flag("--fresh", help="Compute every sweep point anew, without stored results of earlier runs.")
]


def _request_parts(files: list[Path] | None) -> None:
    if files:
        from engine.core.outside import outside

        outside.request(files)


def _load_only_requested_parts(wanted: bool) -> None:
    if wanted:
        from engine.core.outside import outside

        outside.only_requested()


def configured_parts() -> list[Path]:
    from hadamard_tui.state import config

    return config.files_of_parts()


Parts = Annotated[
    list[Path] | None,
    typer.Option(
        "--parts",
        metavar="FILE.py",
        help="Load your own parts from a Python file, which is executed. Repeat --parts for more files.",
        callback=_request_parts,
        expose_value=False,
    ),
]
NoParts = Annotated[
    bool,
    flag(
        "--no-parts",
        help="Do not load parts from the configuration file or from installed packages.",
        callback=_load_only_requested_parts,
        expose_value=False,
        is_eager=True,
    ),
]

Theme = Annotated[
    str | None, typer.Option("--theme", metavar="THEME", help="Colours: dark, light or contrast.")
]
Ascii = Annotated[bool, flag("--ascii", help="Draw with ASCII characters only.")]
ComputedBy = Annotated[
    str | None,
    typer.Option(
        "--path",
        metavar="PATH",
        help="Backend (run.path): auto, or a name such as dense or structured.",
    ),
]

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Also write the result as JSON to a file. With -, print the JSON and nothing else.",
    ),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        metavar="FILE.md",
        help="Also write the result as Markdown to a file. With -, print the Markdown and nothing else.",
    ),
]
