"""Write the diagnoses of the bundled sets into docs/how-to/own-data.md.

`python docs/own_data.py [SET …]` measures the missing ones, and stores each in docs/own-data.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from engine.diagnosis.answer import as_json
from engine.diagnosis.diagnosing import diagnose
from engine.diagnosis.plan import plan_of
from engine.diagnosis.table_reading import BUNDLED, read_table

PAGE = Path(__file__).parent / "how-to" / "own-data.md"
STORED = Path(__file__).with_name("own-data.json")
BEGIN, END = "<!-- answers -->\n", "<!-- end of answers -->\n"
SEEDS = 0, 1, 2


def measure(names: list[str]) -> None:
    for name in names:
        for seed in SEEDS:
            if f"{name} {seed}" in read_stored():
                continue
            table = read_table(name, None)
            described = as_json(diagnose(table, plan_of(table, seed, shows_all=False)))
            stored_keys = ("rows", "decided_at", "loss", "answers", "pairs", "learners", "examples")
            answer = {key: described[key] for key in stored_keys}
            answer["features"] = len(described["features"])
            stored = read_stored() | {f"{name} {seed}": answer}  # another process may have written meanwhile
            STORED.write_text(json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n")
            write()


def read_stored() -> dict[str, Any]:
    return json.loads(STORED.read_text()) if STORED.exists() else {}


def write() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{answers()}{END}{after}", encoding="utf-8")


def answers() -> str:
    stored = read_stored()
    lines = [
        "",
        "| set | rows × columns | examples | L1, L2 | trees, RBF | seeds |",
        "|---|---|---|---|---|---|",
    ]
    for name in BUNDLED:
        runs = [stored[f"{name} {seed}"] for seed in SEEDS if f"{name} {seed}" in stored]
        if not runs:
            continue
        words = [
            " / ".join(dict.fromkeys(run["pairs"][number]["verdict"] for run in runs)) for number in (0, 1)
        ]
        size = f"{runs[0]['rows']} × {runs[0]['features']}"
        lines.append(f"| {name} | {size} | {runs[0]['decided_at']} | {words[0]} | {words[1]} | {len(runs)} |")
    lines.append("")
    for name in BUNDLED:
        if f"{name} {SEEDS[0]}" in stored:
            lines += [f"**{name}.** {' '.join(stored[f'{name} {SEEDS[0]}']['answers'])}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    measure(sys.argv[1:] or [*BUNDLED])
    write()
