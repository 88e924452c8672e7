"""A renamed word of presets is accepted in its old place, and the program gives the new word."""

import copy
import tomllib

import pytest

from engine.core.parts import BadInput
from engine.spec import documents, presets, reading, upgrade
from engine.spec.upgrade import noted, sentence, upgraded

NEW = """
axes = [{ name = "rate", values = [0.1, 0.2], set = "learners.GD.update.lr" }]
problem = { matrix = { kind = "hadamard", d = 8 }, target = "feature" }
protocol = { kind = "one-pass", loss = "square" }
run = { device = "cpu" }

[[learners]]
name = "GD"
architecture = "linear"
update = { kind = "gd", lr = 0.1 }
schedule = { kind = "cosine", steps = 8 }

[[pictures]]
measure = "loss"
curves = "rate"
summary = "median"
lines = ["ri-signed"]
relative = "ri-permuted"

[[claims]]
kind = "line"
text = "It is so"
never_below = "ri-signed"
"""

RENAMED = {
    "updates": {"steepest": "gd"},
    "updates.gd": {"step": "lr"},
    "matrices": {"walsh": "hadamard"},
    "losses": {"l2": "square"},
    "Schedule": {"half-cosine": "cosine"},
    "Schedule.cosine": {"length": "steps"},
    "architectures": {"straight": "linear"},
    "Picture": {"over_replicas": "summary"},
    "Picture.summary": {"middle": "median"},
    "Problem": {"rows": "matrix"},
    "theory": {"rotations": "ri-signed", "permutations": "ri-permuted"},
}

FORMER = (
    NEW.replace("matrix = { kind", "rows = { kind")
    .replace('"hadamard"', '"walsh"')
    .replace('"gd", lr', '"steepest", step')
    .replace('"linear"', '"straight"')
    .replace('"cosine", steps', '"half-cosine", length')
    .replace('summary = "median"', 'over_replicas = "middle"')
    .replace('"ri-signed"', '"rotations"')
    .replace('"ri-permuted"', '"permutations"')
)


@pytest.fixture
def renamed(monkeypatch):
    monkeypatch.setattr(upgrade, "RENAMED", RENAMED)


def document(text):
    return tomllib.loads(text)


@pytest.mark.usefixtures("renamed")
def test_former_kinds_keys_and_words_are_read_as_the_new_ones():
    former = document(FORMER)
    before = copy.deepcopy(former)
    assert documents.sweep_of(former) == documents.sweep_of(document(NEW))
    assert documents.in_full(former, documents.first(former)) == documents.in_full(
        document(NEW), documents.first(document(NEW))
    )
    assert former == before


@pytest.mark.usefixtures("renamed")
def test_only_former_words_are_noted_with_their_replacements():
    with noted() as words:
        documents.sweep_of(document(FORMER))
    expected = {former: new for names in RENAMED.values() for former, new in names.items()}
    assert words == {former: new for former, new in expected.items() if former != "l2"}
    with noted() as words:
        documents.sweep_of(document(NEW))
    assert words == {}


def test_a_document_is_unchanged_without_renamed_words():
    raw = document(NEW)
    assert upgraded(raw) == raw
    with pytest.raises(BadInput):
        documents.sweep_of(document(FORMER))


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize(
    ("change", "place", "value"),
    [
        ("learners.GD.update.step=0.3", "learners[0].update.lr", 0.3),
        ("learners.GD.update.kind=steepest", "learners[0].update.kind", "gd"),
        ("problem.rows.d=16", "problem.matrix.d", 16),
        ("problem.rows=walsh", "problem.matrix", "walsh"),
        ("pictures[0].over_replicas=max", "pictures[0].summary", "max"),
    ],
)
def test_a_change_can_use_a_former_place_or_value(change, place, value):
    raw = document(NEW)
    reading.apply(raw, change)
    assert reading.value_at(place, raw) == value


@pytest.mark.usefixtures("renamed")
def test_an_axis_can_set_a_former_place():
    raw = document(NEW.replace("update.lr", "update.step"))
    rates = [point.experiment.learners[0].update.lr for point in documents.sweep_of(raw).points]
    assert rates == [0.1, 0.2]


@pytest.mark.usefixtures("renamed")
def test_an_axis_can_have_former_words_as_values():
    raw = document(
        NEW.replace("values = [0.1, 0.2]", 'values = ["steepest", "egu"]').replace("update.lr", "update")
    )
    kinds = [point.experiment.learners[0].update.kind for point in documents.sweep_of(raw).points]
    assert kinds == ["gd", "egu"]


@pytest.mark.usefixtures("renamed")
def test_a_table_with_both_a_former_and_the_new_key_is_refused():
    raw = document(NEW)
    raw["learners"][0]["update"]["step"] = 0.2
    del raw["axes"], raw["pictures"][0]["curves"]
    with pytest.raises(BadInput, match="unknown key; it is called lr here") as caught:
        documents.sweep_of(raw)
    assert caught.value.where == "learners[0].update.step"


@pytest.mark.usefixtures("renamed")
def test_a_learner_name_is_not_replaced_as_a_former_line_name():
    raw = document(NEW.replace('"GD"', '"rotations"').replace("learners.GD", "learners.rotations"))
    raw["pictures"][0]["relative"] = "rotations"
    with noted() as words:
        sweep = documents.sweep_of(raw)
    assert sweep.experiment.pictures[0].relative == "rotations"
    assert words == {}


@pytest.mark.usefixtures("renamed")
def test_former_words_are_reported_in_one_line():
    assert sentence("mine", {"step": "lr", "l2": "square"}) == (
        "mine: step is now called lr, l2 is now called square"
    )


@pytest.mark.usefixtures("renamed")
def test_a_preset_file_with_former_words_is_reported_once(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(FORMER, encoding="utf-8")
    answers = []
    with presets.former_words("mine.toml", answers.append):
        raw = presets.document(str(file))
    (answer,) = answers
    assert answer.startswith("mine.toml: ")
    assert "step is now called lr" in answer
    assert raw["learners"][0]["update"]["lr"] == 0.1
    with presets.former_words("mine.toml", answers.append):
        presets.document("hadamard-128")
    assert len(answers) == 1


FIRST_EDITION = {
    "claims": (
        [{"text": "It", "learner": "GD", "k": 8, "of": "norm-1", "below": 9}],
        {"learner": "curve", "k": "at", "norm-1": "norm, 1", "of": "measure"},
    ),
    "run": ({"train_loss": True, "device": "cpu"}, {"train_loss": "measures"}),
    "pictures": (
        [{"measure": "loss", "lines": [{"kind": "mark", "x": 3}]}],
        {"a mark in `lines`": "marks"},
    ),
}


@pytest.mark.parametrize("part", FIRST_EDITION)
def test_words_of_the_first_edition_are_noted_with_their_replacements(part):
    value, expected = FIRST_EDITION[part]
    raw = document(NEW)
    del raw["axes"], raw["pictures"], raw["claims"]
    with noted() as words:
        reading.parse({**raw, part: value})
    assert words == expected


def test_the_former_field_after_of_a_jacobian_gap_becomes_a_coordinate():
    picture = {"x": "sigma", "measure": {"kind": "jacobian-gap", "after": 8}, "at": {"K": 2}}
    (picture_of_today,) = upgraded({"pictures": [picture]})["pictures"]
    assert picture_of_today == {
        "x": "sigma",
        "measure": {"kind": "jacobian-gap", "most": 9},
        "at": {"K": 2, "j": 8},
    }


def test_a_removed_backend_is_read_as_its_replacement():
    with upgrade.noted() as words:
        described = presets.load("hadamard-128", ["run.path=by-blocks"])
    assert described.run.path == "dense"
    assert words == {"by-blocks": "dense"}
