"""Names that do not say what they hold become fewer, room by room."""

from __future__ import annotations

from tests.names import counts, limits


def test_no_room_has_more_names_that_do_not_say_what_they_hold() -> None:
    allowed = limits()
    none = {"never": 0, "rarely": 0}
    risen = {
        room: (kinds, allowed.get(room, none))
        for room, kinds in counts().items()
        if any(count > allowed.get(room, none)[kind] for kind, count in kinds.items())
    }
    assert risen == {}, "name what the new locals hold (tests/names.py lists the words)"
