"""Every run on a data file says in one line how the file was read; standard output has only the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer

Call = Callable[..., Answer]

PRESET = """
title = "Own data"
problem = { matrix = { kind = "file", path = "X.csv", label = "kind" }, target = "file" }
protocol = { kind = "one-pass", loss = "square" }
run = { device = "cpu" }
learners = [{ name = "GD", architecture = "linear", update = { kind = "gd", lr = 0.005 } }]
claims = [{ text = "GD starts at 1", kind = "value", curve = "GD", at = 0, equals = 1, within = 1e-6 }]
"""

ROWS = np.random.default_rng(0).standard_normal((12, 3)).round(3)

SENTENCE = (
    "data: X.csv: 12 rows × 3 columns, header x0 … x2, label column 'kind', left out: "
    "column 0 (counts the rows: 0, 1, 2 …); labels: ham = −1, spam = +1\n"
)


@pytest.fixture
def preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Preset on a table as pandas writes it, with words as labels."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{number},{a},{b},{c},{'spam' if a > 0 else 'ham'}" for number, (a, b, c) in enumerate(ROWS)]
    Path("X.csv").write_text("\n".join([",x0,x1,x2,kind", *lines, ""]))
    Path("my.toml").write_text(PRESET)
    return "my.toml"


def test_a_run_describes_its_data_file_on_standard_error(preset: str, call: Call) -> None:
    code, out, err = call("run", preset)
    assert code == 0
    assert err == SENTENCE
    assert "12 rows" not in out


def test_json_output_contains_the_description_of_the_data(preset: str, call: Call) -> None:
    code, out, err = call("run", preset, "--json")
    assert (code, err) == (0, SENTENCE)
    instances, labels = json.loads(out)["data"]
    assert (instances["place"], instances["rows"], instances["columns"]) == ("problem.matrix", 12, 3)
    assert (instances["header"], instances["label"]) == (True, "column 'kind'")
    assert instances["left_out"] == [{"columns": "column 0", "reason": "counts the rows: 0, 1, 2 …"}]
    assert (labels["place"], labels["classes"]) == ("problem.target", "ham = −1, spam = +1")
    assert f"data: {instances['sentence']}; {labels['sentence']}\n" == SENTENCE


def test_a_run_without_files_has_no_description_of_data(call: Call) -> None:
    code, out, err = call(
        "run", "hadamard-128", "--set", "problem.matrix.d=8", "--set", "claims=[]", "--json"
    )
    assert (code, err, json.loads(out)["data"]) == (0, "", [])


@pytest.mark.parametrize("command", ["verify", "judge"])
def test_verify_and_verdict_describe_the_data_file(command: str, preset: str, call: Call) -> None:
    code, out, err = call(command, preset, "--json")
    assert err.startswith(SENTENCE)
    assert json.loads(out)
    assert code in (0, 1)


def test_a_sweep_over_files_describes_each_file_once(preset: str, call: Call) -> None:
    Path("Z.csv").write_text(Path("X.csv").read_text().replace("x0", "z0"))
    axis = '[[axes]]\nname = "data"\nset = "problem.matrix.path"\nvalues = ["X.csv", "Z.csv", "X.csv"]\n'
    pictures = '[[pictures]]\nx = "k"\nmeasure = "loss"\ncurves = "data"\n'
    words = 'names = ["X", "Z", "again"]\n'
    Path("sweep.toml").write_text(PRESET.replace("claims", "#") + axis + words + pictures)
    code, _, err = call("run", "sweep.toml", "--fresh")
    assert code == 0
    assert err == SENTENCE + SENTENCE.replace("X.csv", "Z.csv").replace("x0", "z0")


def test_an_ambiguous_file_is_one_line_with_the_required_setting(preset: str, call: Call) -> None:
    Path("X.csv").write_text("0,1\n1,0\n0,0\n1,1\n")
    code, out, err = call("run", preset, "--set", "problem.matrix.label=1")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "problem.matrix.header: it is not clear whether the first line is a header" in err
    code, _, err = call(
        "run", preset, "--set", "problem.matrix.label=1", "--set", "problem.matrix.header=true"
    )
    assert err.startswith("data: X.csv: 3 rows × 1 column, header 0")
    assert code == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (r'separator="\t"', 'the choices are ",", ";", space, tab, "|"'),
        ("decimal=x", """decimal: 'x' is unknown; the choices are ",", ".\""""),
        ("lable=kind", "lable: unknown key; did you mean label?"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_known_settings(
    setting: str, message: str, preset: str, call: Call
) -> None:
    code, _, err = call("run", preset, "--set", f"problem.matrix.{setting}")
    assert code == 2
    assert message in err


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_out_to_a_dash_writes_json_to_standard_output_instead_of_a_file(
    more: tuple[str, ...], preset: str, call: Call
) -> None:
    code, out, _ = call("run", preset, "--out", "-", *more)
    assert code == 0
    assert json.loads(out)["experiment"]["resolved"]["title"] == "Own data"
    assert not Path("-").exists()


def test_by_replica_can_be_combined_with_a_dash(preset: str, call: Call) -> None:
    code, out, _ = call("run", preset, "--out", "-", "--by-replica")
    assert code == 0
    assert len(json.loads(out)["pictures"][0]["curves"][0]["by_replica"]) == 1


def test_a_report_to_a_dash_is_the_only_standard_output(preset: str, call: Call) -> None:
    code, out, _ = call("verify", preset, "--report", "-")
    assert code == 0
    assert out.startswith("# Claims of the presets, measured\n")
    assert "| holds | GD starts at 1 |" in out
    assert "✓" not in out
    assert not Path("-").exists()


def test_a_report_to_a_dash_beside_json_is_refused(preset: str, call: Call) -> None:
    code, out, err = call("verify", preset, "--report", "-", "--json")
    assert (code, out) == (2, "")
    assert err == "error: --report -: standard output already has the JSON; give --report a file\n"
