"""Names say what they hold: words that never do are not used, and words that rarely do become fewer."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.names import NEVER, ROOT, TOPS, limits, names_by_room, vague

LARGEST_SHARE = 0.015

VAGUE_SHARE, FEW = 0.04, 3
"""Share of vague names that no room reaches, unless it has only a few of them."""


@pytest.fixture(scope="module")
def rooms() -> dict[str, Counter[str]]:
    """How often each room of the code assigns each name."""
    return names_by_room()


def test_no_name_is_a_forbidden_word(rooms: dict[str, Counter[str]]) -> None:
    used = {room: sorted(NEVER & names.keys()) for room, names in rooms.items()}
    assert {room: words for room, words in used.items() if words} == {}


def test_no_folder_exceeds_its_limit_of_vague_names(rooms: dict[str, Counter[str]]) -> None:
    allowed = limits()
    risen = {
        room: (vague(names), allowed.get(room, 0))
        for room, names in rooms.items()
        if vague(names) > allowed.get(room, 0)
    }
    assert risen == {}, "say what the new names hold (tests/names.py has the words), or measure the room anew"


def test_limits_equal_the_current_counts_of_vague_names(rooms: dict[str, Counter[str]]) -> None:
    counts = {room: vague(names) for room, names in rooms.items()}
    loose = {room: limit for room, limit in limits().items() if counts.get(room, -1) < limit}
    assert loose == {}, "run `python tests/names.py`, so that these limits do not let the counts rise again"


def test_the_share_of_vague_names_of_a_folder_is_small(rooms: dict[str, Counter[str]]) -> None:
    counts = {room: vague(names) for room, names in rooms.items()}
    shares = {room: count / rooms[room].total() for room, count in counts.items() if count > FEW}
    assert {room: share for room, share in shares.items() if share >= VAGUE_SHARE} == {}


def test_names_of_tests_begin_with_their_subject() -> None:
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [name for path in paths for name in re.findall(r"def test_(\w+)", path.read_text("utf-8"))]
    assert len(names) > 3000
    assert [name for name in names if re.search(r"^what_|_whom_|_told(_|$)|_tells_of_", name)] == []


@pytest.mark.parametrize("tops", [("engine", "hadamard_tui"), TOPS])
def test_no_word_is_a_large_share_of_all_names(rooms: dict[str, Counter[str]], tops: tuple[str, ...]) -> None:
    counts = Counter[str]()
    for room, names in rooms.items():
        if room.partition("/")[0] in tops:
            counts.update(names)
    shares = {word: count / counts.total() for word, count in counts.items() if len(word) >= 3}
    assert {word: share for word, share in shares.items() if share > LARGEST_SHARE} == {}
