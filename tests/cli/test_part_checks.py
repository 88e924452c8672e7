"""`parts new` and `parts check`: templates pass as they are, and wrong parts fail their check."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.core import catalogue
from engine.core.parts import BadInput
from hadamard_tui.headless.part_checks import check_part
from hadamard_tui.headless.part_files import SINGULAR, TEMPLATES, write_new

from .conftest import Answer

Call = Callable[..., Answer]


def test_templates_correspond_to_families_of_parts():
    assert {file.stem for file in TEMPLATES.glob("*.py")} - {"__init__"} == {*SINGULAR}
    assert {*SINGULAR} - {"panels"} == {*catalogue.FOLDERS} - {"claims"}


@pytest.mark.slow
def test_the_templates_pass_their_checks(tmp_path: Path):
    kinds = {family: write_new(family, tmp_path / f"my_{family}_2.py") for family in SINGULAR.values()}
    assert kinds["update"] == "my-update-2"
    program = [
        sys.executable,
        "-m",
        "hadamard_tui",
        "parts",
        "check",
        *sorted(map(str, tmp_path.glob("*.py"))),
    ]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "fails" not in done.stdout
    for kind in kinds.values():
        assert f"{kind} (" in done.stdout
    assert len(re.findall(r"twin +holds", done.stdout)) == 4


HEAD = '''"""Wrong rules."""

import torch

from engine.core.parts import Verdict
from engine.updates import Rate, Update
'''

RULE = '''

class {name}(Update, frozen=True, tag="{tag}"):
    """Steps along gradients. Source: none."""

    lr: Rate = 0.01

    def step(self, params, gradients, rates, state):
        return {{name: w - rates[name] * ({step}) for name, w in params.items()}}, state
{more}
'''

INVARIANCE = """
    def invariance(self, matrix, single):
        return Verdict(True, "it moves along gradients, which lie in the span")
"""

TWIN = """

def naive_twin(rule, w, gradients):
    return w - rule.lr * gradients.sum(0)
"""

WRONG = {
    "seeds": ("torch.randn_like(gradients[name])", ""),
    "batch": ("gradients[name].mean(0, keepdim=True)", ""),
    "rates": ("gradients[name] / len(w)", ""),
    "float32": ("(gradients[name] * 1e9).sin()", ""),
    "verdict": ("gradients[name].sign()", INVARIANCE),
    "twin": ("2 * gradients[name]", TWIN),
    "run": ("gradients['v']", ""),
    "fuzz": ("gradients[name] if rates[name] == 0.01 else gradients['v']", ""),
}
"""Step of a rule, and more of its code, by the check that it fails."""


LINES = '''"""Lines of theory."""

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.theory import Line, LineStructure


'''
LINE = '''

class {name}(Line, frozen=True, tag="{tag}"):
    """A constant line. Source: none needed."""

    title: ClassVar[str] = "constant"
    measure: ClassVar[str] = "loss"
    formula: ClassVar[str] = "c"
    source: ClassVar[str] = "none needed"

    def structure(self):
        return LineStructure(direction="{direction}")

    def holds(self, experiment):
        return Finding(experiment.problem.label_values == "signs", "it is about labels of two signs")

    def binds(self, learner, experiment):
        return Finding(True, "it is about every learner that there is")

    def value(self, at):
        return np.full(len(at.k), {height})
'''
LINE_OUTCOMES = {
    ("TooHigh", "too-high", "lower", 2.0): "fails",
    ("HighEnough", "high-enough", "upper", 1e6): "holds",
    ("NotExact", "not-exact", "exact", 1e6): "fails",
    ("Mere", "mere", "reference", 2.0): "—",
}


OPTIMIZERS = """import torch


class Half(torch.optim.SGD):
    pass


class Unsure(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(os.urandom(1)[0])
"""


WRONG_PANEL = """from hadamard_tui.panels.panel import Panel

PANEL = Panel("wrong", "a panel that returns a number", lambda context: 1)
"""


@pytest.mark.slow
def test_wrong_parts_fail_the_checks_of_their_faults(tmp_path: Path):
    """One process checks all files, because a process needs longer to start than for most checks."""
    rules = (
        RULE.format(name=subject.title(), tag=subject, step=step, more=more)
        for subject, (step, more) in WRONG.items()
    )
    lines = (
        LINE.format(name=name, tag=tag, direction=direction, height=height)
        for name, tag, direction, height in LINE_OUTCOMES
    )
    texts = {
        "rules.py": HEAD + "".join(rules),
        "lines.py": LINES + "".join(lines),
        "optimizers.py": f"import os\n\n{OPTIMIZERS}",
        "panel.py": WRONG_PANEL,
    }
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    program = [sys.executable, "-m", "hadamard_tui", "parts", "check", *texts]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (1, "")
    titles_and_checks = re.split(r"^([\w-]+ \([\w ]+\))\n", done.stdout, flags=re.MULTILINE)[1:]
    checks = dict(zip(titles_and_checks[::2], titles_and_checks[1::2], strict=True))
    assert len(checks) == len(WRONG) + len(LINE_OUTCOMES) + 3
    for subject in WRONG:
        assert re.search(rf"^  {subject} +fails ", checks[f"{subject} (updates)"], re.MULTILINE), subject
    for (_, tag, *_), word in LINE_OUTCOMES.items():
        assert re.search(rf"^  measurement +{word} ", checks[f"{tag} (theory)"], re.MULTILINE), tag
    assert "fails" not in checks["Half (optimizer of torch)"]
    assert re.search(r"seeds +fails", checks["Unsure (optimizer of torch)"])
    of_panel = checks["wrong (panels)"]
    assert re.search(r"name +holds", of_panel)
    assert re.search(r"show +fails +the panel returns int, not Plot, HeatMap, Nets or Text", of_panel)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("updates", "adam"),
        ("updates", "sign"),
        ("architectures", "two-weight"),
        ("solvers", "lls"),
        ("losses", "logistic"),
        ("matrices", "hadamard"),
        ("targets", "sparse"),
        ("measures", "norm"),
        ("theory", "ri-signed"),
        ("protocols", "steps"),
    ],
)
@pytest.mark.slow
def test_built_in_parts_pass_their_checks(family: str, kind: str):
    failed = [check for check in check_part(family, catalogue.members(family)[kind]) if check.holds is False]
    assert failed == []


@pytest.mark.parametrize(
    ("family", "file", "fault"),
    [
        ("updat", "mine.py", "no family with a template has this name; did you mean update?"),
        ("claims", "mine.py", "no family with a template"),
        ("update", "my-rule.py", "its name must be that of a Python module"),
        ("update", "class.py", "its name must be that of a Python module"),
        ("update", "mine.toml", "its name must be that of a Python module"),
        ("update", "there.py", "this file exists"),
    ],
)
def test_new_refuses_other_families_and_names(tmp_path: Path, family: str, file: str, fault: str):
    (tmp_path / "there.py").touch()
    with pytest.raises(BadInput, match=fault):
        write_new(family, tmp_path / file)


def test_the_former_name_of_the_parts_list_works_with_a_hint(call: Call):
    code, out, err = call("list", "losses")
    assert (code, err) == (0, "the command list is now called parts list: hadamard-tui parts list losses\n")
    assert out == call("parts", "list", "losses").out
