"""`presets`, `parts list`, `schema` and `--version` are complete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import get_args

import pytest

from engine import __version__
from engine.core import catalogue
from engine.learners.learner import AnySchedule
from engine.spec import presets
from engine.spec.experiment import SUBJECTS
from engine.spec.fields import fields_of
from hadamard_tui.headless.listing import first_sentence

from .conftest import Answer

Call = Callable[..., Answer]


def squeezed(text: str) -> str:
    """A text without its spaces and line breaks."""
    return "".join(text.split())


@pytest.mark.parametrize("command", [[], ["run"], ["presets"], ["demo"]])
def test_the_help_names_no_types_of_flags(call: Call, command: list[str]) -> None:
    text = call(*command, "--help").out
    assert re.search(r"--help +-h +Show this message", text)
    assert "<bool>" not in text


@pytest.mark.parametrize(
    "command", ["run", "verify", "judge", "bench", "presets", "theory", "parts list", "demo", "serve"]
)
def test_help_paragraphs_fill_their_lines_and_arguments_have_single_brackets(call: Call, command: str):
    text = call(*command.split(), "--help").out
    usage, *paragraphs = re.split(r"\n *\n", text.partition("╭")[0].strip())
    assert usage.startswith("Usage: ")
    assert "[[" not in usage
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.splitlines()]
        for line, following in pairwise(lines):
            assert len(f"{line} {following.split()[0]}") > 78, paragraph


@pytest.mark.slow
def test_every_preset_is_listed_with_title_and_source(call: Call) -> None:
    code, out, _ = call("presets")
    assert code == 0
    loaded, listed = (
        {preset_name: presets.load(preset_name) for preset_name in presets.names()},
        squeezed(out),
    )
    for name, preset in loaded.items():
        for text in (name, preset.title, preset.source, first_sentence(preset.story)):
            assert squeezed(text) in listed
    trimmed = re.sub(r"(?<! ) +\n", "\n", out)
    headings = [subject for subject in SUBJECTS if f" {subject}\n" in trimmed]
    assert headings == [
        subject for subject in SUBJECTS if subject in {preset.subject for preset in loaded.values()}
    ]


def test_list_alone_lists_the_families_and_their_members(call: Call) -> None:
    code, out, _ = call("parts", "list")
    assert code == 0
    for family in catalogue.FOLDERS:
        assert family in out
        assert all(kind in out for kind in catalogue.members(family))


@pytest.mark.parametrize("family", catalogue.FOLDERS)
def test_every_member_is_listed_with_its_fields(family: str, call: Call) -> None:
    code, out, _ = call("parts", "list", family)
    assert code == 0
    for kind, member in catalogue.members(family).items():
        assert f"\n{kind}\n" in f"\n{out}"
        for field in fields_of(member):
            assert f"  {field.name} " in out
            assert squeezed(field.help.split()[0]) in squeezed(out)


def test_the_schema_contains_every_kind(call: Call) -> None:
    code, out, _ = call("schema")
    assert code == 0
    kinds = {
        kind
        for definition in json.loads(out)["$defs"].values()
        for kind in definition.get("properties", {}).get("kind", {}).get("enum", ())
    }
    chosen = set(catalogue.FOLDERS) - {"losses", "theory"}  # presets name these alone
    schedules = {schedule.__struct_config__.tag for schedule in get_args(AnySchedule)}
    assert kinds == schedules | {kind for family in chosen for kind in catalogue.members(family)}


@pytest.mark.slow
def test_the_schema_accepts_expressions_where_presets_use_them(call: Call) -> None:
    _, out, _ = call("schema")
    schema = json.loads(out)
    expression = {"$ref": "#/$defs/Expression"}
    parts = schema["$defs"]
    number = {"type": "number", "exclusiveMinimum": 0}
    rate = parts["GD"]["properties"]["lr"]
    assert rate["anyOf"][0] == {"anyOf": [number, expression]}
    assert rate["anyOf"][1]["items"] == {"anyOf": [number, expression]}
    assert parts["Value"]["properties"]["at"]["anyOf"][1] == expression
    assert parts["Hadamard"]["properties"]["d"]["title"] == "d"
    assert parts["Hadamard"]["properties"]["d"]["default"] == 128
    assert parts["Value"]["properties"]["text"]["type"] == "string"
    assert parts["Problem"]["properties"]["matrix"]["anyOf"][-1] == {
        "enum": sorted(set(catalogue.members("matrices")) - {"file"})
    }
    written = re.compile(parts["Expression"]["pattern"])
    for preset in map(presets.document, presets.names()):
        for learner in preset["learners"]:
            for value in (learner.get("update") or {}).values():
                assert not isinstance(value, str) or written.match(value)


def test_the_version_option_prints_the_version(call: Call) -> None:
    assert call("--version") == (0, f"hadamard-tui {__version__}\n", "")


@pytest.mark.parametrize("text", ["", "One", "One. Two.", "Is\nit? Yes.", "1.5 of it."])
def test_the_first_sentence_ends_at_a_full_stop(text: str) -> None:
    assert first_sentence(text) == {"One. Two.": "One.", "Is\nit? Yes.": "Is it?"}.get(text, text)


@pytest.mark.parametrize(("word", "family"), [("loss", "losses"), ("claim", "claims"), ("line", "theory")])
def test_a_family_is_also_listed_by_its_singular(call: Call, word: str, family: str) -> None:
    assert call("parts", "list", word) == call("parts", "list", family)
