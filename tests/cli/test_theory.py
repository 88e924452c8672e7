"""`theory` prints the theory pages."""

from __future__ import annotations

from collections.abc import Callable

from engine.spec.theory_pages import sections

from .conftest import Answer


def test_theory_prints_a_section_with_its_chart_and_lists_all_sections(call: Callable[..., Answer]):
    code, out, _ = call("theory", "conventions#losses")
    assert code == 0
    assert "ln 2 · (1 − k/d)" in " ".join(out.split())
    assert "┤" in out
    assert "<!--" not in out
    code, out, _ = call("theory")
    assert code == 0
    for address in sections():
        assert address in "".join(out.split())
    code, out, err = call("theory", "loses")
    assert (code, out) == (2, "")
    assert "did you mean conventions#losses?" in err
