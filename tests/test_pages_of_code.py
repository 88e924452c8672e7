"""The pages about the code name files and definitions that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "docs/explanation/architecture.md")
FOLDERS = ("engine", "hadamard_tui", "tests", "benchmarks", "docs", "presets")
PATH = r"[\w*/-]+(?:\.\w+)?\.(?:py|toml|md|json)|[\w-]+(?:/[\w-]+)*/"
PLACEHOLDER = re.compile(r"\bmine\b|\bPAGE\b|\*")
DEFINITION = r"^\s*(?:async )?(?:def|class) {0}\b|^\s*{0}\b[^=\n(]*(?::|=)|^\s*{0},"


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    """A page without its blocks of Python, TOML and shell commands."""
    return re.sub(r"```(?:python|toml|sh)\n.*?```", "", text, flags=re.DOTALL)


@cache
def files() -> tuple[str, ...]:
    """Paths of all files that pages may name, from the root of the repository."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    paths = (path.relative_to(ROOT) for path in (*ROOT.glob("*.*"), *below))
    return tuple(str(path) for path in paths if "__pycache__" not in path.parts)


@cache
def sources() -> str:
    return "\n".join((ROOT / file).read_text(encoding="utf-8") for file in files() if file.endswith(".py"))


def matching(path: str) -> list[str]:
    """Files whose path ends with `path`, or that are below this folder."""
    if path.endswith("/"):
        return [file for file in files() if f"/{path}" in f"/{file}"]
    return [file for file in files() if f"/{file}".endswith(f"/{path}")]


def defines(text: str, word: str) -> bool:
    """Whether a text defines or declares a function, class, constant, attribute or parameter `word`."""
    return bool(re.search(DEFINITION.format(re.escape(word)), text, re.MULTILINE))


def named_paths(text: str) -> list[str]:
    """Paths in the diagrams of a page, and those that stand alone between backticks."""
    diagrams = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    alone = [span for span in re.findall(r"`([^`\n]+)`", text) if re.fullmatch(PATH, span)]
    drawn = [path for diagram in diagrams for path in re.findall(rf"(?<![\w.])(?:{PATH})", diagram)]
    return [path for path in dict.fromkeys((*alone, *drawn)) if not PLACEHOLDER.search(path)]


def placed_names(text: str) -> list[tuple[str, str]]:
    """Names that a page places in a file: `name(…)` (`path.py`)."""
    pairs = re.findall(r"`([\w.]+)(?:\([^`]*)?`\s*\(`([\w/]+\.py)`\)", text)
    return [(dotted.rpartition(".")[2], path) for dotted, path in pairs]


def code_names(text: str) -> list[str]:
    """Names of code between backticks: calls, and words with an underscore or in CamelCase."""
    spans = re.findall(r"`([^`\n]+)`", text)
    calls = [call for span in spans for call in re.findall(r"(\w+)\(", span)]
    words = [word for span in spans for word in re.findall(r"\w+", span) if re.fullmatch(PATH, span) is None]
    cased = [word for word in words if re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+|(?:[A-Z][a-z]+){2,}", word)]
    return list(dict.fromkeys(word for word in (*calls, *cased) if word != "ClassVar"))


@pytest.mark.parametrize("path", PAGES)
def test_files_named_on_pages_exist(path):
    paths = named_paths(without_code(page(path)))
    assert len(paths) > 15
    assert [path for path in paths if not matching(path)] == []


@pytest.mark.parametrize("path", PAGES)
def test_names_on_pages_are_defined_in_their_stated_files(path):
    misplaced = []
    for word, module in placed_names(without_code(page(path))):
        texts = [(ROOT / file).read_text(encoding="utf-8") for file in matching(module)]
        if not any(defines(text, word) for text in texts):
            misplaced.append((word, module))
    assert misplaced == []


@pytest.mark.parametrize("path", PAGES)
def test_definitions_named_on_pages_exist(path):
    names = code_names(without_code(page(path)))
    assert len(names) > 10
    modules = {Path(file).stem for file in files()}
    assert [word for word in names if word not in modules and not defines(sources(), word)] == []


def test_the_check_of_pages_finds_wrong_paths_and_names():
    text = "`engine/nothing.py`, `plan_run` (`engine/runtime/store.py`), `signed_hadamard`, `plan_run(x)`"
    assert named_paths(text) == ["engine/nothing.py", "engine/runtime/store.py"]
    assert [path for path in named_paths(text) if not matching(path)] == ["engine/nothing.py"]
    assert placed_names(text) == [("plan_run", "engine/runtime/store.py")]
    assert not defines((ROOT / "engine/runtime/store.py").read_text(encoding="utf-8"), "plan_run")
    assert [word for word in code_names(text) if not defines(sources(), word)] == ["signed_hadamard"]
