"""Texts with expressions in braces: allowed names, their values, and refusals."""

from __future__ import annotations

import copy
import json
import tomllib

import msgspec
import pytest

from engine.core.expressions import BadExpression, fill, plain
from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.runtime.sweep_run import run_sweep
from engine.spec import changes, preset_index, presets, reading
from engine.spec.document_expressions import as_document
from engine.spec.documents import first, in_full, sweep_of

DOCUMENT = {
    "title": "{d} features and {2*steps} steps, on {replicas} draws",
    "story": "A learner fits {train} rows of {n} {{as it is}}; a target of {r} features.",
    "axes": [{"name": "size", "values": [8, 16]}, {"name": "rate", "values": [0.125]}],
    "problem": {"matrix": {"kind": "gaussian", "n": 40, "d": 12}, "target": {"kind": "sparse", "r": 3}},
    "protocol": {"kind": "steps", "steps": 6, "train": "n/2"},
    "run": {"replicas": 2, "device": "cpu"},
    "learners": [
        {"name": "GD{1}", "architecture": "linear", "update": {"kind": "gd", "lr": "rate/size"}},
    ],
    "pictures": [
        {
            "title": "Loss after {steps} steps, size = {size}",
            "x": "step",
            "measure": "loss",
            "at": {"size": 16},
            "marks": [{"name": "{y}, or 1/{d}", "y": "1/d"}],
        }
    ],
    "claims": [
        {
            "kind": "value",
            "text": "After {at} of {steps} steps less than {below} is left",
            "at": 3,
            "below": 9,
        }
    ],
}


def changed(*settings):
    raw = copy.deepcopy(DOCUMENT)
    for setting in settings:
        reading.apply(raw, setting)
    return raw


def texts(raw):
    described = sweep_of(raw).experiment
    (picture,), (claim,) = described.pictures, described.claims
    return [described.title, described.story, picture.title, picture.marks[0].name, claim.text]


def test_texts_contain_the_numbers_of_the_set_up():
    assert texts(DOCUMENT) == [
        "12 features and 12 steps, on 2 draws",
        "A learner fits 20 rows of 40 {as it is}; a target of 3 features.",
        "Loss after 6 steps, size = 16",
        "0.0833333, or 1/12",
        "After 3 of 6 steps less than 9 is left",
    ]


def test_texts_follow_changed_numbers_of_the_set_up():
    raw = changed("protocol.steps=500", "problem.matrix.n=30", "problem.matrix.d=5", "run.replicas=3")
    for change in ("problem.target.r=2", "claims[0].at=4", "claims[0].below=1.5", "pictures[0].at.size=8"):
        reading.apply(raw, change)
    assert texts(raw) == [
        "5 features and 1000 steps, on 3 draws",
        "A learner fits 15 rows of 30 {as it is}; a target of 2 features.",
        "Loss after 500 steps, size = 8",
        "0.2, or 1/5",
        "After 4 of 500 steps less than 1.5 is left",
    ]


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        ("title=After {stepz}", "title", "{stepz} cannot be computed: 'stepz' is unknown; braces must hold"),
        ("story=After {1/0}", "story", "{1/0} cannot be computed: the expression divides by zero"),
        ("pictures[0].title=A {", "pictures[0].title", "'{' has no matching brace; write {{ or }} for"),
        (
            "pictures[0].marks[0].name=W_{l}",
            "pictures[0].marks[0].name",
            "{l} cannot be computed: 'l' is unknown",
        ),
        (
            "claims[0].text=After {}",
            "claims[0].text",
            "{} cannot be computed: the expression is not complete",
        ),
        ("claims[0].text=After } it", "claims[0].text", "'}' has no matching brace; write {{ or }} for"),
    ],
)  # fmt: skip
def test_a_bad_expression_in_a_text_is_refused_with_its_place(change, where, reason):
    with pytest.raises(BadInput) as refusal:
        sweep_of(changed(change))
    assert refusal.value.where.startswith(where)
    assert reason in refusal.value.fault
    assert "\n" not in str(refusal.value)


def test_the_message_lists_the_names_that_a_text_may_use():
    with pytest.raises(BadInput, match=r"braces must hold an expression of size, rate, d, n, m, .*at, below"):
        sweep_of(changed("claims[0].text=After {stepz}"))


@pytest.mark.parametrize(
    ("change", "where"),
    [("title={size} features", "title"), ("claims[0].text=Of {2size}", "claims[0].text")],
)
def test_a_text_that_varies_along_an_axis_is_refused(change, where):
    with pytest.raises(BadInput, match=r"at size = 16, rate = 0\.125, the text .* differs") as refusal:
        sweep_of(changed(change))
    assert refusal.value.where == where


def test_a_text_may_name_an_axis_of_one_value():
    assert texts(changed("title=A rate of {rate}"))[0] == "A rate of 0.125"


def test_a_number_in_a_text_is_written_in_its_digits():
    names = {"x": 2.5, "million": 1 << 20, "small": 1e-5}
    assert (
        fill("{x} {2x} {-x} {-2x} {million} {1/3} {small}", names) == "2.5 5 −2.5 −5 1048576 0.333333 1e-05"
    )
    for text in ("no braces", "{}{{", "a}b{c", "{{x}}"):
        assert fill(plain(text), {}) == text
    with pytest.raises(BadExpression):
        fill("{{x}}}", names)


def test_documents_keep_text_expressions_and_json_has_both_forms():
    full = in_full(DOCUMENT, first(DOCUMENT))
    assert full["title"] == DOCUMENT["title"]
    assert full["pictures"][0]["marks"][0] == {"name": "{y}, or 1/{d}", "x": None, "y": "1/d"}
    assert full["claims"][0]["text"] == DOCUMENT["claims"][0]["text"]
    assert first(full) == first(DOCUMENT)
    assert in_full(full, first(full)) == full
    results = run_sweep(sweep_of(full))
    document = json.loads(encode(full, results, judge(results)))
    assert document["experiment"]["given"]["title"] == DOCUMENT["title"]
    assert document["experiment"]["resolved"]["title"] == "12 features and 12 steps, on 2 draws"
    assert document["pictures"][0]["title"] == "Loss after 6 steps, size = 16"
    assert document["claims"][0]["text"] == "After 3 of 6 steps less than 9 is left"


def test_an_experiment_written_as_a_document_escapes_braces_in_texts():
    described = first(DOCUMENT)
    document = as_document(described)
    assert document["story"].endswith("40 {{as it is}}; a target of 3 features.")
    assert first(document) == described
    assert document["learners"][0]["name"] == "GD{1}"
    assert as_document(DOCUMENT) == msgspec.to_builtins(DOCUMENT)


def test_texts_follow_renamed_and_removed_axes():
    raw = changed("title=A rate of {rate}/{d} {{rate}}")
    changes.rename_axis(raw, "rate", "speed")
    assert raw["title"] == "A rate of {speed}/{d} {{rate}}"
    changes.put_numbers(raw, {"speed": 0.5})
    assert raw["title"] == "A rate of {0.5}/{d} {{rate}}"


def test_preset_lists_resolve_texts_and_digest_them_like_plain_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain_text = PRESET.replace("{2*steps}", "12").replace("{n}", "8").replace("{steps}", "6")
    (tmp_path / "mine.toml").write_text(PRESET)
    (tmp_path / "plain.toml").write_text(plain_text)
    mine, other = map(preset_index.entry_of, ("mine.toml", "plain.toml"))
    assert mine.title == other.title == "12 steps"
    assert mine.claims == other.claims == ("Of 8 rows",)
    assert mine.digest == other.digest
    assert presets.load("mine.toml") == presets.load("plain.toml")


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("{2*steps} steps", "T", False),
        ("Of {n} rows", "Of all rows", False),
        ("After {steps}", "At the end", False),
        ("1 + 1", "3", True),
        ('measure = "loss"', 'measure = "residual"', True),
    ],
    ids=["title", "text of a claim", "title of a picture", "number of a claim", "measure of a picture"],
)
def test_a_digest_changes_with_numbers_and_not_with_texts(old: str, new: str, differs: bool):
    before, after = (preset_index.digest(tomllib.loads(text)) for text in (PRESET, PRESET.replace(old, new)))
    assert (before != after) is differs


PRESET = """
title = "{2*steps} steps"
pictures = [{ x = "step", measure = "loss", title = "After {steps}" }]
problem = { matrix = { kind = "hadamard", d = "2^3" }, target = "feature" }
protocol = { kind = "steps", steps = 6 }
learners = [{ name = "GD", architecture = "linear", update = { kind = "gd", lr = "1/(2d)" } }]
claims = [{ kind = "value", text = "Of {n} rows", at = "6", below = "1 + 1" }]
"""


@pytest.mark.slow
def test_the_preset_index_lists_every_shipped_preset():
    assert [entry.name for entry in preset_index.index()] == presets.names()
