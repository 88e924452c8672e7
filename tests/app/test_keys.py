"""Input of a terminal becomes messages: keys, garbled sequences, and pastes as text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from textual import events

from hadamard_tui.terminal.terminal_input import InputReader

PIECES = st.sampled_from(
    ["\x1b", "\x1b[", "\x1b[I", "\x1b[q", "\x1b[200~", "\x1b[48;9;9;9;9t", "\x1b[97u", "\x1b]0;title\x07",
     "\x1bP", "201~", "[201", "\x03", "q", "\r", "é", "😀", "x" * 40, "\x1b[1114112u"]
)  # fmt: skip


@pytest.mark.parametrize("garbage", ["\x1b[1114112u", "\x1b[99999999999u", "\x1b[55296u"])
def test_garbled_input_produces_no_key_and_does_not_affect_the_next_key(garbage: str) -> None:
    keys = InputReader()
    assert keys.messages(garbage) == []
    assert [key.key for key in keys.messages("r") if isinstance(key, events.Key)] == ["r"]


@pytest.mark.parametrize("garbage", ["\x1b[1114112u", "\x1b[99999999999u", "\x1b[55296u"])
def test_garbled_input_loses_no_neighbouring_keys(garbage: str) -> None:
    messages = InputReader().messages(f"a\x1b[5~{garbage}b\x1b[48;25;80;25;80t")
    assert [key.key for key in messages if isinstance(key, events.Key)] == ["a", "pageup", "b"]
    assert any(isinstance(message, events.Resize) for message in messages)


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 200)))
def test_any_paste_split_over_reads_arrives_as_one_text(pasted: str, cuts: list[int]) -> None:
    assume("\x1b[201~" not in pasted)
    sent = f"\x1b[200~{pasted}\x1b[201~r"
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    keys = InputReader()
    messages = [message for start, end in pairwise(edges) for message in keys.messages(sent[start:end])]
    paste, key = messages
    assert isinstance(paste, events.Paste)
    assert paste.text == pasted
    assert isinstance(key, events.Key)
    assert key.key == "r"


def test_a_delay_within_a_paste_produces_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, now = InputReader(), 0.0
    monkeypatch.setattr("textual._parser.get_time", lambda: now)
    messages = []
    for part in ("\x1b[200~a\x1b", "", "[q\x1b[20", "", "1~"):
        messages += keys.messages(part)
        assert keys.patience is None
        now += 1.0
    assert [message.text for message in messages if isinstance(message, events.Paste)] == ["a\x1b[q"]
    assert len(messages) == 1


def test_only_a_lone_escape_waits_for_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, now = InputReader(), 0.0
    monkeypatch.setattr("textual._parser.get_time", lambda: now)
    assert keys.messages("a\x1b")
    assert keys.patience is not None
    now = 1.0
    [key] = keys.messages("")
    assert isinstance(key, events.Key)
    assert key.key == "escape"
    assert keys.patience is None
