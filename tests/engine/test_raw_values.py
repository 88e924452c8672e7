"""Malicious preset files and overrides are refused at once in one line."""

import os
import time
import tomllib
from pathlib import Path

import pytest

from engine.core.parts import BadInput
from engine.spec import presets, raw_values, reading

MALICIOUS = {
    "an integer of 5000 digits": ("a = 1\nb = " + "9" * 5000, "line 2: a whole number is too large"),
    "a hexadecimal integer of 5000 digits": ("a = 0x" + "f" * 5000, "a: the number is too large"),
    "3000 lists in one another": ("a = " + "[" * 3000, "nested too deeply"),
    "3000 tables in one another": ("a = " + "{a=" * 3000, "nested too deeply"),
    "100 lists in one another": ("a = " + "[" * 100 + "]" * 100, "nested too deeply"),
    "a key of 20 000 dots": ("\na" + ".a" * 20_000 + " = 1", "line 2: a key has more than 64 parts"),
    "a key of 20 000 spaced dots": ("a" + " . 'a'" * 20_000 + " = 1", "line 1: a key has more than 64 parts"),
    "a table of 20 000 dots": ("[a" + ".a" * 20_000 + "]", "line 1: a key has more than 64 parts"),
    "a key of 20 000 escaped quotes": (r'"\"".' * 20_000 + "a = 1", "line 1: a key has more than 64 parts"),
    "a key behind strings": (
        r"""a = '#' # "
b = '''
"'''
c = "'\"#"
""" + "a." * 20_000 + "a = 1",
        "line 5: a key has more than 64 parts",
    ),
    "many escaped quotes that do not end": ('a = "' + r"\"" * 100_000, "line 1, the end: malformed TOML"),
    "many texts that do not end": ((r'"\"' + "\n") * 40_000, "line 1, column 4: malformed TOML"),
    "a long text that does not end": ('a = """' + r'\""".' * 40_000, "malformed TOML"),
    "many words far apart": (("a" + " " * 500) * 400, "malformed TOML"),
    "a key of 64 long parts": (("'" + "x" * 3_000 + "'.") * 63 + "a", "malformed TOML"),
    "a key of 60 dots": ("a" + ".a" * 60 + " = 1", "nested too deeply"),
    "a long word": ("a = '" + "x" * 200_000 + "'", "a: unknown key"),
    "many quotes": ("a = " + '"' * 200_000, "malformed TOML"),
    "many tables": ("\n".join(f"[t{number}]" for number in range(5_000)), "unknown key"),
}  # fmt: skip


def refusal(call) -> str:
    """Text of the refusal, within a limit of CPU time that an endless loop would exceed."""
    began = time.process_time()
    with pytest.raises(BadInput) as caught:
        call()
    assert time.process_time() - began < 4
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 1000
    return text


@pytest.mark.parametrize("case", MALICIOUS)
def test_a_malicious_preset_is_refused_quickly_in_one_line(case: str, tmp_path: Path) -> None:
    text, reason = MALICIOUS[case]
    file = tmp_path / "it.toml"
    file.write_text(text)
    assert reason in refusal(lambda: presets.load(str(file)))


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("run.seed=" + "9" * 5000, "a whole number is too large"),
        ("run.seed=0x" + "f" * 5000, "run.seed: the number is too large"),
        ("run.seed=" + "[" * 3000, "nested too deeply"),
        ("run.seed={a" + ".a" * 20_000 + "=1}", "a key has more than 64 parts"),
        ("run.seed={" + r'"\"".' * 20_000 + "a=1}", "a key has more than 64 parts"),
        ("a" + ".a" * 20_000 + "=1", "no field is nested so deeply"),
        ("learners[" + "9" * 5000 + "].name=x", "there is no '999"),
        ("title=" + "x" * 100_000 + "\x1b", "title: holds U+001B"),
        ("run.seed=1\nrun.device='cpu'", r"run.seed: holds a line break"),
        ("run.dtype=\udcff", "bytes that are not UTF-8"),
    ],
)
def test_a_malicious_override_is_refused_quickly_in_one_line(override: str, reason: str) -> None:
    assert reason in refusal(lambda: presets.load("hadamard-128", [override]))


def test_a_story_of_many_short_sentences_is_accepted() -> None:
    described = reading.read_raw(presets.path_of("hadamard-128"))
    reading.apply(described, "story='" + "It is so. " * 200 + "e.g. a.b.c.d'")
    assert reading.parse(described).story.endswith("a.b.c.d")


DOTS = {
    "a text": '"' + "x. " * 200 + '"',
    "a text after a quote": r'"\"' + "x. " * 200 + r'\""',
    "a literal text": "'" + "x. " * 200 + "\"'",
    "a text of many lines": '"""' + "x. " * 200 + r'"" \""" ' + "x. " * 200 + '"""""',
    "a literal text of many lines": "'''\n" + "x. " * 200 + "'' \\" + "x. " * 200 + "'''''",
    "a comment": '1 # \' """ ' + "x. " * 200,
    "numbers": "[" + "1.5, " * 200 + "]",
    "texts in a list": "[" + "'a.', \"b.\", " * 200 + "]",
}


@pytest.mark.parametrize("case", DOTS)
def test_dots_outside_keys_are_accepted(case: str) -> None:
    text = f"a = {DOTS[case]}\nb = {DOTS[case]}\n"
    assert raw_values.toml(text) == tomllib.loads(text)


def test_a_key_may_have_64_parts() -> None:
    raw_values.toml("a." * 63 + "a = 1")
    with pytest.raises(BadInput):
        raw_values.toml("a." * 64 + "a = 1")


def test_a_preset_of_hundreds_of_megabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "it.toml").open("wb") as file:
        file.truncate(1 << 40)
    assert "too large; at most 256 KiB are read" in refusal(lambda: presets.load(str(tmp_path / "it.toml")))


def test_a_path_that_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.toml")
    (tmp_path / "folder.toml").mkdir()
    for path in (str(tmp_path / "it.toml"), "/dev/zero", str(tmp_path / "folder.toml")):
        error = refusal(lambda path=path: presets.load(path))
        assert error.startswith(path)
        assert "not a regular file" in error


@pytest.mark.parametrize(
    "path", ["x" * 300 + ".toml", "a\0b.toml", "loop.toml", "it.toml/x.toml", "~nosuchuser/x.toml"]
)
def test_an_impossible_path_is_refused_in_one_line(path: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.toml").write_text("")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    refusal(lambda: presets.load(path))
    for kind in ("matrix", "target"):
        part = f'problem.{kind}={{kind="file", path="{path}"}}'.replace("\0", "\\u0000")
        refusal(
            lambda part=part: presets.load(
                "hadamard-128", ['problem.matrix={kind="file", path="it.toml"}', part]
            )
        )


def test_a_missing_working_folder_is_reported(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    error = refusal(lambda: presets.load("hadamard-128", ['problem.matrix={kind="file", path="X.npy"}']))
    assert "problem.matrix.path: cannot be found" in error
