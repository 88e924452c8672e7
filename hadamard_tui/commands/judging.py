"""Commands that judge claims and learners, and that measure the speed of this machine."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hadamard_tui import NAME
from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.loading import load, print_error
from hadamard_tui.commands.options import (
    STANDARD_OUTPUT,
    Device,
    Markdown,
    NoParts,
    Out,
    Parts,
    Settings,
    flag,
)
from hadamard_tui.terminal.standard_streams import Delivery, echo

commands = new_group()
command = partial(commands.command, cls=Command)


@command("verify")
def verify_presets(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="PRESET|FILE.toml", help="Presets; all by default.")
    ] = None,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.md",
            help="Also write a report in Markdown to a file. With -, print the report and nothing else.",
        ),
    ] = None,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run presets and judge their claims.

    The exit code is 1 if a claim does not hold, or if a learner diverges unexpectedly.
    """
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.spec import presets
    from hadamard_tui.headless import console, verifying

    prints_report = report == STANDARD_OUTPUT
    if prints_report and as_json:
        raise BadInput("--report -", "standard output already has the JSON; give --report a file")
    if prints_report:
        report = None
    elif report is not None:
        files.check(report, "--report")
    done = []
    with Delivery() as delivery:
        for verified in verifying.verify(names or presets.names(), console.errors()):
            done.append(verified)
            if not as_json and not prints_report:
                delivery.attempt(lambda: console.output().print(verifying.shown(done[-1])))
            if delivery.hindered and report is None:
                return 0  # nobody would read the results of the other presets
        if as_json:
            delivery.attempt(lambda: echo(json.dumps(verifying.as_json(done), ensure_ascii=False).encode()))
        elif prints_report:
            delivery.attempt(lambda: echo(verifying.as_markdown(done), nl=False))
        else:
            delivery.attempt(lambda: console.output().print(verifying.total(done)))
        if report is not None:
            delivery.attempt(lambda: files.write(report, verifying.as_markdown(done).encode(), "--report"))
    return 0 if all(verified.holds for verified in done) else 1


@command("judge")
def judge(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.py:CLASS|PRESET",
            help="An update rule (egu), an optimizer of torch.optim or pytorch-optimizer (AdamW), a class in "
            "a Python file, which is executed (my_rule.py:MyOptimizer), or a preset.",
        ),
    ],
    settings: Settings = None,
    device: Device = None,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
    out: Out = None,
    markdown: Markdown = None,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Judge the symmetries of an optimizer, or of the learners of a preset, and compare losses with bounds.

    An optimizer is tested in two ways. Do rotations, permutations, sign flips or scalings of the inputs
    change what it learns? Is its loss below the bound on rotation-invariant learners? Use --set for arguments
    of its constructor: --set 'betas=[0.9, 0.99]'. For a preset, the output is a verdict on each learner, from
    its structure, from measurements, and from the bounds on its loss.

    The exit code is 1 if structure and measurement disagree, or if a bound is violated.
    """
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.spec import presets
    from hadamard_tui.headless import console

    if out == STANDARD_OUTPUT:
        out, as_json = None, True
    prints_markdown = markdown == STANDARD_OUTPUT
    if prints_markdown and as_json:
        raise BadInput("--markdown -", "standard output already has the JSON; give --markdown a file")
    if out is not None:
        files.check(out)
    if markdown is not None and not prints_markdown:
        files.check(markdown, "--markdown")
    if target in presets.names() or target.endswith(presets.FILES):
        from hadamard_tui.headless import verdicts

        page = verdicts.page(load(target, settings, device), console.errors())
    else:
        if device:
            raise BadInput(target, "--device is for presets; an optimizer is judged on the CPU")
        from hadamard_tui.headless import rule_pages

        page = rule_pages.page(target, settings or (), console.errors())
    encoded = json.dumps(page.as_json, ensure_ascii=False).encode()
    with Delivery() as delivery:
        if as_json:
            delivery.attempt(lambda: echo(encoded))
        elif prints_markdown:
            delivery.attempt(lambda: echo(page.as_markdown, nl=False))
        else:
            delivery.attempt(lambda: console.output().print(page.shown(console.output())))
        if out is not None:
            delivery.attempt(lambda: files.write(out, encoded))
        if markdown is not None and not prints_markdown:
            delivery.attempt(lambda: files.write(markdown, page.as_markdown.encode(), "--markdown"))
    return 0 if page.is_sound else 1


@command("verdict", hidden=True)
def judge_by_former_name(
    preset: Annotated[str, typer.Argument(metavar="PRESET|FILE.toml")],
    settings: Settings = None,
    device: Device = None,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
) -> int:
    """Judge a preset. This is the former name of the command judge."""
    from engine.core.texts import message

    print_error(f"the command verdict is now called judge: {NAME} judge {message(preset)}")
    return judge(preset, settings, device, as_json=as_json)


@command("bench")
def bench_machine(
    quick: Annotated[
        bool, flag("--quick", help="Run only the short benchmarks, which take seconds.")
    ] = False,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
) -> None:
    """Time the engine on this machine, and compare it with the reference machine.

    This takes about a minute.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy reads this variable at import
    from hadamard_tui.headless import bench, console

    timings = list(bench.timed(quick, console.errors()))
    if as_json:
        echo(json.dumps(bench.as_json(timings), ensure_ascii=False).encode())
    else:
        console.output().print(bench.table(timings))
