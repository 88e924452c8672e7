"""`verify` prints which claims hold as text, JSON and report; its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import SMALL, Answer

Call = Callable[..., Answer]

CLAIM = "After half the examples, GD still has loss one half"


@pytest.fixture
def wrong(small: Path) -> Path:
    """The small preset beside it, with a claim that fails and a learner that diverges unexpectedly."""
    file = small.with_name("wrong.toml")
    file.write_text(SMALL.replace("equals = 0.5", "equals = 0.25").replace("lr = 0.1", "lr = 1e9"))
    return file


def test_verify_accepts_a_preset_with_holding_claims(small: Path, call: Call) -> None:
    code, out, err = call("verify", "small.toml")
    assert (code, err) == (0, "")
    assert out.count("✓ holds") == 2
    assert CLAIM in out
    assert "0.5 = 0.5 ± 1e-05" in " ".join(out.split())


def test_verify_shows_failed_claims_and_unexpected_divergence(wrong: Path, call: Call) -> None:
    code, out, _ = call("verify", "small.toml", "wrong.toml")
    assert code == 1
    assert out.count("✓ holds") == 2
    assert out.count("✗ fails") == 3
    assert out.endswith("1 of 2 claims of 2 presets hold.\n")
    assert "EGU diverged, and no claim expects it" in out


def test_json_of_verify_contains_every_claim_with_its_measurement(wrong: Path, call: Call) -> None:
    code, out, _ = call("verify", "--json", "small.toml", "wrong.toml")
    told = json.loads(out)
    assert code == 1
    assert told["holds"] is False
    good, bad = told["presets"]
    assert (good["preset"], good["holds"], good["diverged"]) == ("small.toml", True, [])
    assert (bad["preset"], bad["holds"], bad["diverged"]) == ("wrong.toml", False, ["EGU"])
    assert [claim["text"] for claim in good["claims"]] == [CLAIM]
    assert good["claims"][0]["measured"] == pytest.approx(0.5, abs=1e-5)


def test_the_verify_report_lists_every_claim_with_its_outcome(wrong: Path, call: Call) -> None:
    call("verify", "small.toml", "wrong.toml", "--report", "report.md")
    report = wrong.with_name("report.md").read_text(encoding="utf-8")
    assert "1 of 2 claims of 2 presets hold." in report
    assert "## small.toml: Eight features" in report
    assert "Look at this. Then at that." in report
    assert f"| holds | {CLAIM} |" in report
    assert f"| **fails** | {CLAIM} |" in report
    assert "| **fails** | EGU does not diverge | it did |" in report


def test_verify_refuses_an_unknown_preset_before_any_run(small: Path, call: Call) -> None:
    code, out, err = call("verify", "small.toml", "hadamrd-128")
    assert code == 2
    assert out == ""
    assert "did you mean hadamard-128" in err


SIZES = """
axes = [{ name = "size", values = [8, 16, 32] }]
learners = [{ name = "GD", architecture = "linear", update = { kind = "gd", lr = "1/(2d)" } }]
pictures = [{ x = "size", measure = "loss", read = { first_below = 0.6 } }]
claims = [{ kind = "slope", text = "GD needs d examples", curve = "GD", between = [0.8, 0.9] }]
problem = { matrix = { kind = "hadamard", d = "size", permute = true, row_signs = true }, target = "feature" }
protocol = "one-pass"
run = { device = "cpu" }
"""


def test_a_claim_about_all_points_of_an_axis_is_verified(small: Path, call: Call) -> None:
    file = small.with_name("sizes.toml")
    file.write_text(SIZES)
    code, out, _ = call("verify", "sizes.toml")
    assert code == 0
    assert "over 3 points the slope is" in " ".join(out.split())
    file.write_text(SIZES.replace("[0.8, 0.9]", "[0.9, 1.2]"))
    assert call("verify", "sizes.toml").code == 1
    code, out, _ = call("run", "sizes.toml", "--fresh")
    assert code == 1
    assert "✗ fails  GD needs d examples" in out


@pytest.mark.parametrize("command", ["verify", "run"])
def test_an_error_at_a_later_point_begins_with_the_name_of_the_preset(
    command: str, small: Path, call: Call
) -> None:
    file = small.with_name("sizes.toml")
    file.write_text(SIZES.replace("[8, 16, 32]", "[8, 16, 17]"))
    code, out, err = call(command, "sizes.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: sizes.toml: problem.matrix.d where size = 17: ")
