"""Characters that a terminal would obey are refused in presets, and escaped wherever input is quoted."""

import copy

import pytest
from building import LLS, gd, raw
from looping import looped

from engine.core.parts import BadInput
from engine.core.texts import counted, listed
from engine.spec import presets, reading

GOOD = {
    **raw(
        learners={"GD": gd(0.01), "least squares": LLS},
        claims=[{"kind": "value", "text": "It halves", "curve": "GD", "at": 8, "equals": 0.5, "within": 0.1}],
        d=16,
    ),
    "title": "A title",
    "story": "One.\nTwo.\tThree.",
    "source": "A source",
}
COMMAND = "\x1b]52;c;cm0gLXJmIC8=\x07"

EVIL = {
    "an OSC sequence": COMMAND,
    "a carriage return": "\r",
    "a line break": "\n",
    "a tab": "\t",
    "NUL": "\0",
    "DEL": "\x7f",
    "a C1 control": "\x9b2J",
    "a right-to-left override": "\u202e",
    "a zero-width space": "\u200b",
    "a soft hyphen": "\xad",
    "a line separator": "\u2028",
    "a paragraph separator": "\u2029",
    "an undecodable byte": "\udcff",
}


def refused(described) -> BadInput:
    with pytest.raises(BadInput) as caught:
        reading.parse(described)
    assert str(caught.value).isprintable()
    return caught.value


@looped("evil", EVIL)
@looped("place", ["title", "source", "learners[0].name", "claims[0].text", "claims[0].curve", "run.device"])
def test_preset_texts_with_control_characters_are_refused(place: str, evil: str) -> None:
    described = copy.deepcopy(GOOD)
    reading.put(described, place, f"a{EVIL[evil]}b")
    error = refused(described)
    assert error.where == place
    assert "which terminals do not show as text; leave it out" in error.fault


@pytest.mark.parametrize("evil", sorted(set(EVIL) - {"a line break", "a tab"}))
def test_a_story_may_contain_only_line_breaks_and_tabs_as_control_characters(evil: str) -> None:
    assert reading.parse(copy.deepcopy(GOOD)).story == GOOD["story"]
    assert refused({**GOOD, "story": f"a{EVIL[evil]}b"}).where == "story"


@pytest.mark.parametrize("evil", EVIL)
def test_keys_and_paths_with_control_characters_are_refused(evil: str) -> None:
    assert refused({**GOOD, f"a{EVIL[evil]}b": 1}).fault.startswith("the key 'a")
    described = copy.deepcopy(GOOD)
    described["learners"][0]["layer_rates"] = {EVIL[evil]: 1.0}
    assert refused(described).where == "learners[0].layer_rates"
    described = copy.deepcopy(GOOD)
    described["problem"]["matrix"] = {"kind": "file", "path": f"{EVIL[evil]}.npy"}
    assert refused(described).where == "problem.matrix.path"


def test_texts_may_contain_letters_of_any_language_and_plain_emoji() -> None:
    described = copy.deepcopy(GOOD)
    for title in (
        "‖w*‖² ≤ ½ – Übung",
        "学習",
        "تعلّم",
        "שלום",
        "🚀 é\u00a0e\u0301",
        "[/x] :star: $(rm) `a` %s",
    ):
        described["title"] = title
        assert reading.parse(described).title == title


def test_joined_emoji_are_refused_with_the_remedy() -> None:
    error = refused({**GOOD, "title": "👩\u200d🔬"})
    assert "holds U+200D (zero width joiner)" in error.fault
    assert error.fault.endswith("; use an emoji that is a single character")


def test_a_data_folder_with_a_line_break_in_its_name_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a\nb").mkdir()
    monkeypatch.chdir(tmp_path / "a\nb")
    described = copy.deepcopy(GOOD)
    described["problem"]["matrix"] = {"kind": "file", "path": "X.npy"}
    assert "its folder holds a line break" in refused(described).fault


def test_a_preset_file_with_control_characters_in_its_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a\x1b[2Jb.toml").write_text(presets.path_of("hadamard-128").read_text())
    with pytest.raises(BadInput) as caught:
        presets.load("a\x1b[2Jb.toml")
    assert str(caught.value).startswith(r"a\x1b[2Jb.toml: its name holds U+001B (control character)")


@pytest.mark.parametrize("evil", EVIL)
def test_error_messages_stay_printable_and_short_for_any_quoted_input(evil: str) -> None:
    error = BadInput(f"--set {EVIL[evil]}", f"there is no {EVIL[evil]}" + "x" * 10_000 + " a b" * 1000)
    for text in (str(error), error.where, error.fault):
        assert text.isprintable()
    assert len(str(error)) < 1200
    assert str(error) == f"{error.where}: {error.fault}"


def test_a_long_value_is_quoted_with_its_start_and_end() -> None:
    described = copy.deepcopy(GOOD)
    described["protocol"]["loss"] = "fast" * 100_000 + "er"
    assert len(error := str(refused(described))) < 250
    assert "'fastfast" in error
    assert "faster' is unknown; the choices are" in error


MANY = {f"learner {number}": gd(0.01) for number in range(300)}


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (
            "learners[0]",
            gd(0.01, kind="conv", depth=1024) | {"name": "deep", "layer_rates": {"w": 1.0}},
            "there is no layer w; the layers are w1, w2, w3, w4, w5, … w1024 (1024 in all)",
        ),
        ("claims[0].curve", "nobody", "'learner 4', … 'learner 299' (300 in all)"),
    ],
)
def test_a_long_list_of_choices_keeps_its_start_and_end(place, value, told):
    described = {**raw(learners=MANY, d=16), "claims": copy.deepcopy(GOOD["claims"])}
    described["claims"][0] |= {"curve": "learner 1"}
    described["claims"][0].pop("learner", None)
    reading.put(described, place, value)
    assert told in refused(described).fault


def test_a_short_list_of_choices_is_complete():
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(str(number) for number in range(7)) == "0, 1, 2, 3, 4, 5, 6"


def test_counts_of_1_are_singular():
    assert [counted(number, "row") for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
