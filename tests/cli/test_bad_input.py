"""Bad input of every kind: one line on stderr that names place and remedy, nothing on stdout, exit 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import crossing
import numpy as np
import pytest

from .conftest import Answer

FROM_FILES = """
[problem]
matrix = { kind = "file", path = "X.npy" }
target = { kind = "file", path = "y.npy" }
[protocol]
kind = "one-pass"
[[learners]]
name = "GD"
architecture = { kind = "linear" }
update = { kind = "gd" }
"""

CASES = {
    "a preset with a typo": ("run hadamrd-128", ["hadamrd-128", "hadamard-128"]),
    "a missing file": ("run missing.toml", ["missing.toml", "no such file"]),
    "malformed TOML": ("run malformed.toml", ["malformed.toml", "line 3", "malformed TOML"]),
    "an unknown key": ("run small.toml --set problem.matrix.dd=4", ["problem.matrix.dd", "did you mean d?"]),
    "an unknown kind": (
        "run small.toml --set problem.matrix.kind=hadamrd",
        ["problem.matrix.kind", "did you mean hadamard?", "gaussian"],
    ),
    "an unknown loss": ("run small.toml --set protocol.loss=hing", ["protocol.loss", "did you mean hinge?"]),
    "a value out of range": ("run small.toml --set run.replicas=0", ["run.replicas", "whole number >= 1"]),
    "a value of another type": ("run small.toml --set learners.GD.update.lr=fast", ["lr", "a number"]),
    "no Hadamard order": ("run small.toml --set problem.matrix.d=14", ["problem.matrix.d", "take 12 or 16"]),
    "an index beyond d": ("run small.toml --set problem.target.index=8", ["problem.target.index", "0 … 7"]),
    "EGU with a negative start": ("run small.toml --set learners.EGU.update.w0=-1", ["w0", "> 0"]),
    "an unknown learner": ("run small.toml --set learners.XX.update.lr=1", ["'XX'", "[0] GD, [1] EGU"]),
    "a claim past the end": ("run small.toml --set problem.matrix.d=2 --set problem.target.index=0",
                             ["claims[0].at", "--set 'claims=[]'"]),
    "a malformed --set": ("run small.toml --set d", ["--set d", "PLACE=VALUE"]),
    "two values for one --set": ("run small.toml --set a=1 b=2", ["b=2", "its own --set"]),
    "--set without a value": ("run small.toml --set", ["--set", "--help"]),
    "too much memory": (
        "run small.toml --set run.replicas=16000000 --set problem.matrix.d=4096",
        ["GiB", "take run.replicas = "],
    ),
    "too wide a net": (
        "run small.toml --set learners.GD.architecture.kind=dense "
        "--set learners.GD.architecture.widths=[9999999,9999999]",
        ["learners[0].architecture", "GiB", "a smaller learner"],
    ),
    "too large a d": (
        "run small.toml --set problem.matrix.d=68719476736",
        ["problem.matrix.d", "1073741824"],
    ),
    "features for which there is no memory": (
        "run small.toml --set problem.matrix.d=1073741824 --set 'claims=[]' --set protocol.examples=60",
        ["a 1073741824 × 1073741824 matrix needs", "GiB", "problem.matrix.d = "],
    ),
    "too many instances": ("run small.toml --set problem.matrix.repeat=9999999", ["matrix:", "16777216"]),
    "too large a start": ("run small.toml --set learners.EGU.update.w0=1e300", ["w0", "too large", "1e+38"]),
    "a device that is not there": ("run small.toml --device cuda:99", ["cuda:99 is not available", "cpu"]),
    "no device at all": ("run small.toml --device gpu", ["run.device", "cuda:1"]),
    "data that is not finite": ("run nan.toml", ["problem.matrix.path", "nan", "row 1, column 2"]),
    "data that does not match": ("run short.toml", ["problem.target.path", "3 rows", "4 instances"]),
    "--out into a missing folder": ("run small.toml --out no/x.json", ["--out no/x.json", "no folder"]),
    "--out as a chart": ("run small.toml --out x.svg", ["--out x.svg", "JSON", "--export x.svg"]),
    "--out onto a folder": ("run small.toml --out nan", ["--out nan", "is a folder"]),
    "--out onto a device": ("run small.toml --out /dev/null", ["--out /dev/null", "regular file"]),
    "run without a preset": ("run", ["PRESET", "run --help"]),
    "an unknown option": ("run small.toml --jsn", ["--jsn", "--json", "run --help"]),
    "an unknown family": ("parts list updatess", ["updatess", "did you mean updates?", "matrices"]),
    "an unknown command": ("lst", ["lst", "Did you mean 'list'", "--help"]),
    "a preset as a command": ("hadamard-128", ["--preset hadamard-128", "run hadamard-128"]),
    "options of the app before a command": ("--device cpu run small.toml", ["put them after run"]),
}  # fmt: skip


@pytest.fixture
def files(small: Path) -> None:
    """Files of the cases, in the working directory."""
    Path("malformed.toml").write_text('title = "x"\nstory = [1,\ny = 2')
    for name, instances, labels in (
        ("nan", np.array([[1.0, 2, 3], [4, 5, np.nan]]), np.ones(2)),
        ("short", np.ones((4, 2)), np.ones(3)),
    ):
        Path(name).mkdir()
        np.save(f"{name}/X.npy", instances)
        np.save(f"{name}/y.npy", labels)
        Path(f"{name}.toml").write_text(FROM_FILES.replace('path = "', f'path = "{name}/'))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_reported_on_one_line_with_exit_2(case: str, call: Callable[..., Answer]) -> None:
    command, parts = CASES[case]
    before = sorted(Path().rglob("*"))
    code, out, err = call(*command.replace("'", "").split())
    assert code == 2
    assert out == ""
    assert err.endswith("\n")
    (line,) = (
        line for line in err.splitlines() if not re.match(r"\d+ s: ", line)
    )  # progress, if it takes long
    assert all(part in line for part in parts), err
    assert sorted(Path().rglob("*")) == before


HOSTILE = [
    "",
    "a\x1b[2J\nb",
    "\udcff",
    "x" * 100_000,
    "a.b[" * 99,
    "[" * 5000,
    "9" * 5000,
    "x" * 300 + ".toml",
    "/",
]
"""Arguments as a shell may pass them; \\udcff is how Python represents a byte that is not UTF-8."""

TAKERS = [
    "run {}",
    "run small.toml --set {}",
    "run small.toml --set title={}\x1b",
    "run small.toml --set run.seed={}",
    "run small.toml --set {}=1",
    "run small.toml --device {}",
    "run small.toml --path {}",
    "run small.toml --export {}",
    "run small.toml --out no/x/{}",
    "verify {}",
    "verify small.toml --report no/x/{}",
    "judge {}",
    "parts list {}",
    "serve --preset {}",
    "serve --port {}",
    "bench {}",
    "config {}",
    "schema {}",
    "presets {}",
    "{}",
    "--preset {} --theme {}",
    "--view {}",
    "demo {}",
]


@pytest.mark.slow
@pytest.mark.parametrize("taker", TAKERS)
def test_every_command_refuses_hostile_arguments_on_one_printable_line(
    taker: str, small: Path, call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for hostile in HOSTILE if crossing.all_combinations else HOSTILE[TAKERS.index(taker) % 2 :: 2]:
        code, out, err = call(*(word.replace("{}", hostile) for word in taker.split(" ")))
        assert (code, out) == (2, ""), (hostile[:20], err[:300])
        assert err.endswith("\n")
        assert err[:-1].isprintable()
        assert len(err) < 2500, hostile[:20]
    assert list(Path().iterdir()) == [small.relative_to(small.parent)]


def test_a_share_of_0_is_refused_with_a_message_about_the_share_alone(
    small: Path, call: Callable[..., Answer]
) -> None:
    claim = '{kind = "share", text = "None", curve = "GD", at = 4, below = 0.1, share = 0}'
    code, _, err = call("run", "small.toml", "--set", f"claims=[{claim}]")
    assert code == 2
    assert err == "error: small.toml: claims[0].share: 0 does not fit; it must be a number > 0\n"


@pytest.mark.parametrize("command", ["run", "share"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--on", "moon"),
            "--on: 'moon' is not a place to run; use local:cuda for all CUDA devices of this machine",
        ),
        (("--on", "local:cuda", "--device", "cpu"), "--device: --on local:cuda uses all CUDA devices"),
        (("--on", "local:cuda"), "--on local:cuda: this machine has no CUDA device that torch can use"),
    ],
)
def test_an_unavailable_device_is_reported_on_one_line(call, monkeypatch, command, options, words):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    code, out, err = call(command, "hadamard-128", *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {words}")
    assert err.count("\n") == 1
