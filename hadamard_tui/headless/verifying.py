"""The command `verify`: runs of presets, and checks of their claims."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleRenderable
from rich.table import Table
from rich.text import Text

from engine.results.outcomes import judge, unexpected_divergence
from engine.spec import presets
from hadamard_tui.headless.compute import compute_all
from hadamard_tui.headless.console import ProgressLines

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.spec.experiment import Experiment


@dataclass(frozen=True)
class Verified:
    """Finished run of a preset: the outcomes of its claims, and the learners that diverged unexpectedly."""

    preset: str
    experiment: Experiment
    outcomes: list[Outcome]
    strayed: list[str]
    seconds: float
    environment: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return not self.strayed and all(outcome.holds for outcome in self.outcomes)


def verify(names: Sequence[str], errors: Console) -> Iterator[Verified]:
    """Run presets one by one, each on one thread, and yield the outcomes.

    More threads would save no time, because tensors of presets are small. On a busy machine, threads would
    even wait for one another.

    Raises: BadInput before the first run, if one of the presets cannot run.
    """
    sweeps = []
    for preset_name in names:
        with presets.former_words(preset_name, partial(errors.print, soft_wrap=True)):
            sweeps.append((preset_name, presets.sweep_of(preset_name, presets.document(preset_name))))
    lines = ProgressLines(errors)
    for number, (preset_name, sweep) in enumerate(sweeps, start=1):
        lines.label = f"{preset_name} ({number} of {len(sweeps)}): "
        began = time.perf_counter()
        results = compute_all(sweep, errors, threads=1, lines=lines)
        yield Verified(
            preset_name,
            sweep.experiment,
            judge(results),
            [] if sweep.axes else unexpected_divergence(sweep.experiment, results.traces[0]),
            time.perf_counter() - began,
            results.traces[0].environment,
        )


def shown(verified: Verified) -> ConsoleRenderable:
    table = Table.grid(padding=(0, 2, 0, 0))
    sign = _verdict_text(verified.holds)
    table.add_row(sign, Text.assemble((verified.preset, "bold"), f"  {verified.seconds:.1f} s"))
    for outcome in verified.outcomes:
        table.add_row(
            Text("  ") + _verdict_text(outcome.holds is True),
            Text.assemble(outcome.claim.text, (f"  {outcome.detail}", "dim")),
        )
    for learner_name in verified.strayed:
        table.add_row(Text("  ") + _verdict_text(False), f"{learner_name} diverged, and no claim expects it")
    return table


def total(all_verified: Sequence[Verified]) -> str:
    outcomes = [outcome for verified in all_verified for outcome in verified.outcomes]
    holding = sum(outcome.holds is True for outcome in outcomes)
    return f"{holding} of {len(outcomes)} claims of {len(all_verified)} presets hold."


def _verdict_text(holds: bool) -> Text:
    return Text("✓ holds", "green") if holds else Text("✗ fails", "bold red")


def as_json(all_verified: Sequence[Verified]) -> dict[str, Any]:
    return {
        "schema": 1,
        "holds": all(verified.holds for verified in all_verified),
        "presets": [
            {
                "preset": verified.preset,
                "holds": verified.holds,
                "seconds": round(verified.seconds, 3),
                "environment": verified.environment,
                "diverged": verified.strayed,
                "claims": [
                    {
                        "text": outcome.claim.text,
                        "holds": outcome.holds,
                        "measured": outcome.measured,
                        "detail": outcome.detail,
                    }
                    for outcome in verified.outcomes
                ],
            }
            for verified in all_verified
        ],
    }


def as_markdown(all_verified: Sequence[Verified]) -> str:
    lines = ["# Claims of the presets, measured", "", total(all_verified)]
    for verified in all_verified:
        experiment = verified.experiment
        where = ", ".join(verified.environment.get(key, "") for key in ("device", "dtype"))
        lines += ["", f"## {verified.preset}: {experiment.title}", "", " ".join(experiment.story.split()), ""]
        lines += [f"Source: {experiment.source}. Run in {verified.seconds:.1f} s on {where}.", ""]
        lines += ["| | claim | measured |", "|---|---|---|"]
        for outcome in verified.outcomes:
            word = "holds" if outcome.holds else "**fails**"
            lines.append(
                f"| {word} | {_escaped_cell(outcome.claim.text)} | {_escaped_cell(outcome.detail)} |"
            )
        lines += [
            f"| **fails** | {learner_name} does not diverge | it did |" for learner_name in verified.strayed
        ]
    return "\n".join(lines) + "\n"


def _escaped_cell(text: str) -> str:
    return text.replace("|", "\\|")
