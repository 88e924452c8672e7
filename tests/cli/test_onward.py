"""Hints after a preset: the next stop of its paths, its break, and other learners."""

from __future__ import annotations

from hadamard_tui.tours import break_at, onward, stops_of


def test_a_stop_names_the_next_stop_its_break_and_other_successful_learners() -> None:
    following, change, learners = onward("hadamard-128")
    assert following.startswith("Next: hadamard-128-weights (path gradient-descent:")
    assert change.startswith("Break it: hadamard-tui run hadamard-128 --set 'learners.GD.update=")
    assert learners.startswith("Learners that also learn this target: EGU")
    assert onward("hadamard-128", "B")[1].startswith(
        "Break it with B: update of GD becomes p-norm. With p-norm steps, "
    )


def test_the_last_stop_of_a_path_is_announced() -> None:
    assert onward("junk-flow-degrees")[0].startswith("This is the last stop (path parities:")


def test_a_preset_outside_all_paths_has_no_next_stop() -> None:
    assert onward("wendel") == onward(None) == onward("no.toml") == ()


def test_a_stop_of_a_talk_takes_its_break_from_a_path() -> None:
    talk = stops_of("alt2021")
    assert talk is not None
    assert talk[0].breaks == break_at("hadamard-128") is not None
