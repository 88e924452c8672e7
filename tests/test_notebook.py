"""The notebook of the docs runs from the first cell to the last, and holds no outputs of a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "notebook.ipynb"


def code_cells() -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_is_stored_without_outputs():
    assert code_cells()
    for cell in code_cells():
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_and_write_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, cell in enumerate(code_cells()):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert (tmp_path / "law.pdf").read_bytes().startswith(b"%PDF")
