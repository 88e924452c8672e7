"""Every code block of the README and of docs/ names its language and works unchanged.

Commands, the blocks in `sh`, are run by tests/cli/test_commands_of_pages.py.
"""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest
from code_blocks import PAGES, Block, blocks, blocks_of

from engine.judging import rule_judgement
from engine.results.outcomes import judge
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of

CHECKED = ("sh", "python", "toml")
"""Languages whose blocks are run."""

OUTPUT = "text"
"""The language of what a program prints."""


def test_blocks_are_found_with_their_line_and_language():
    page = "a\n```toml\nb = 1\n```\n\n~~~~\n```\nc\n~~~~\n"
    assert blocks_of(page, "page.md") == [
        Block("page.md", 2, "toml", "b = 1\n"),
        Block("page.md", 6, "", "```\nc\n"),
    ]
    assert len(blocks_of("```sh\na\n```\n```text\nb\n```\n", "page.md")) == 2


def test_fences_of_pages_come_in_pairs():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = sum(line.lstrip().startswith(("```", "~~~")) for line in text.splitlines())
        assert fences == 2 * len(blocks_of(text, page.name)), page.name


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.place)
def test_every_code_block_names_a_known_language(block: Block):
    assert block.language in (*CHECKED, OUTPUT)


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.place)
def test_a_preset_runs_and_its_claims_hold(block: Block):
    results = run_sweep(sweep_of(tomllib.loads(block.text)))
    outcomes = judge(results)
    assert results.complete
    assert outcomes
    assert all(outcome.holds for outcome in outcomes), [outcome.detail for outcome in outcomes]


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.place)
def test_a_module_can_be_imported(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    # Judgements at all rates take long; a command of the README makes one.
    monkeypatch.setattr(rule_judgement, "RATES", (0.01, 0.1))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "block.py"
    file.write_text(block.text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("block", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "block", module)
    spec.loader.exec_module(module)
    defines_a_part = "class " in block.text
    assert not defines_a_part or module.__doc__
