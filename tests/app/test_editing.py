"""Claims, names, axes and pictures follow changes of the set-up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.planning.run_plan import is_recorded
from engine.problems.targets.linear_spline import LinearSpline
from engine.results.outcomes import judge
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents, presets
from engine.spec.axis import Axis
from engine.spec.changes import SET_UP
from engine.spec.differences import differences
from engine.spec.experiment import Experiment
from engine.spec.fields import UNTAGGED, fields_of
from engine.spec.reading import Raw, apply
from hadamard_tui.editing.document_edits import fitting_claims
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.history import place_in_words
from hadamard_tui.editing.typed_text import text_of, value_of
from hadamard_tui.sharing.command_line import overrides
from hadamard_tui.sharing.exporting import as_toml
from hadamard_tui.state.state_file import Memory


@pytest.fixture
def talk() -> EditableExperiment:
    return EditableExperiment.of("hadamard-128")


@pytest.fixture
def edge() -> EditableExperiment:
    return EditableExperiment.of("edge-of-stability")


def whys(editable: EditableExperiment) -> dict[int, str]:
    """Reasons of the claims that are left out, by number."""
    return {number: claim.why.fault for number, claim in editable.left_out.items()}


def test_claims_with_expressions_follow_a_change_of_the_problem(talk: EditableExperiment):
    talk.put("problem.matrix.d", 64)
    assert talk.changed
    assert len(talk.experiment.claims) == len(presets.load("hadamard-128").claims)
    assert talk.experiment.claims[0].at == 32  # type: ignore[attr-defined]
    assert talk.document["claims"][0]["at"] == "d/2"
    assert not talk.left_out


def test_a_changed_learner_suspends_the_judgement_of_claims_until_it_is_restored(
    talk: EditableExperiment,
):
    assert not talk.sweep().unjudged
    before = talk.value("learners[0].update.lr")
    talk.put("learners[0].update.lr", 0.001)
    assert talk.sweep().unjudged == dict.fromkeys(range(8), SET_UP)
    talk.put("learners[0].update.lr", before)
    talk.put("run.seed", 7)
    assert not talk.sweep().unjudged
    talk.switch_learner(3)
    assert set(talk.sweep().unjudged.values()) == {SET_UP}


def test_an_added_claim_of_a_changed_preset_is_judged(talk: EditableExperiment):
    talk.put("problem.matrix.d", 16)
    number = talk.add("claims")
    assert talk.error is None
    assert len(talk.experiment.claims) == number + 1
    outcomes = judge(run_sweep(talk.sweep()))
    assert [outcome.holds for outcome in outcomes] == [None] * number + [True]
    assert {outcome.detail for outcome in outcomes[:number]} == {SET_UP}


def test_claims_of_a_changed_set_up_are_judged_after_it_is_saved(
    talk: EditableExperiment,
):
    talk.put("problem.matrix.d", 64)
    talk.saved_as("mine.toml", talk.document)
    assert not talk.sweep().unjudged
    talk.put("problem.matrix.d", 32)
    assert set(talk.sweep().unjudged.values()) == {SET_UP}


def test_a_title_with_expressions_follows_changes_while_the_document_keeps_the_expressions(
    tmp_path: Path,
):
    text = presets.path_of("hadamard-128").read_text()
    title = next(line for line in text.splitlines() if line.startswith("title"))
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(title, 'title = "On {replicas} draws of {d} {{features}}"'))
    editable = EditableExperiment.of(str(file))
    assert not editable.changed
    editable.put("run.replicas", 7)
    assert editable.experiment.title == "On 7 draws of 128 {features}"
    assert editable.document["title"] == "On {replicas} draws of {d} {{features}}"
    editable.put("learners[0].name", "G{1}")
    assert editable.error is None
    assert editable.experiment.title == "mine: replicas 1 → 7, GD is called G{1}"
    again = EditableExperiment(editable.document, str(file))
    assert again.document == editable.document
    assert again.experiment == editable.experiment


def test_removing_a_learner_leaves_out_only_its_claims_and_gives_the_reason(talk: EditableExperiment):
    talk.remove_learner(0)
    names = "'least squares', 'EGU', 'EGU±', 'spindly'"
    assert whys(talk) == dict.fromkeys((0, 1, 6), f"there is no learner 'GD'; the learners are {names}")
    assert talk.error is None
    assert len(talk.experiment.claims) == 5
    assert len(talk.raw["claims"]) == 8


def test_switching_a_learner_on_restores_its_claims_also_after_a_restart(
    talk: EditableExperiment,
):
    talk.switch_learner(0)
    assert set(talk.left_out) == {0, 1, 6}
    memory = Memory(experiment=talk.document, preset=talk.preset, off=talk.off, left_out=talk.claims_left_out)
    again = EditableExperiment(memory.set_up() or {}, memory.preset, memory.off, memory.left_out)
    assert set(again.left_out) == {0, 1, 6}
    again.switch_learner(0)
    assert not again.left_out
    assert again.document == presets.document("hadamard-128")


def test_a_claim_without_an_evaluation_point_is_left_out_until_one_exists(talk: EditableExperiment):
    talk.put("protocol", {"kind": "erm", "loss": "square", "every": 3, "steps": 1})
    assert whys(talk)[0] == "there is no evaluation point at 64; take 63"
    assert set(whys(talk)) == {0, 3, 4, 5, 6, 7}
    talk.put("protocol", presets.document("hadamard-128")["protocol"])
    assert not talk.changed


def test_the_measure_of_a_claim_is_recorded_without_being_listed():
    editable = EditableExperiment.of("rank-64")
    editable.put("run.measures", [])
    assert editable.error is None
    assert not whys(editable)
    assert is_recorded("rank", editable.experiment)


def test_an_error_in_the_problem_leaves_out_no_claim(talk: EditableExperiment):
    talk.put("problem.matrix.d", 92)
    assert talk.error is not None
    assert talk.error.where == "problem.matrix.d"
    assert not talk.left_out


def test_renaming_a_learner_letter_by_letter_renames_it_in_claims(talk: EditableExperiment):
    for learner_name in ("G", "", "E", "EG", "EGU", "EGU ", "EGU 2"):
        talk.put("learners[0].name", learner_name)
    assert talk.error is None
    assert not talk.left_out
    curves = [claim["curve"] for claim in talk.document["claims"]]
    assert curves == ["EGU 2", "EGU 2", "least squares", "EGU", "EGU±", "spindly", "EGU 2", "EGU"]


@pytest.mark.slow
def test_renaming_an_axis_letter_by_letter_keeps_its_points(edge: EditableExperiment):
    before = edge.sweep().points
    for axis_name in ("et", "e", "", "k", "ke", "k_"):
        edge.put("axes[0].name", axis_name)
    assert edge.error is None
    assert not edge.left_out
    assert [point.names["k_"] for point in edge.sweep().points] == [0.05, 0.1, 0.2, 0.3]
    assert [point.experiment.learners for point in edge.sweep().points] == [
        point.experiment.learners for point in before
    ]
    assert edge.experiment.title == "edge-of-stability: eta is called k_"


@pytest.mark.slow
def test_renaming_a_picture_renames_it_in_claims(edge: EditableExperiment):
    before = [claim["picture"] for claim in edge.document["claims"]]
    assert before.count("loss") > 1
    for picture_name in ("los", "", None, "sharpness", "cost"):
        edge.put("pictures[1].name", picture_name)
    assert edge.error is None
    assert not edge.left_out
    after = [claim["picture"] for claim in edge.document["claims"]]
    assert after == ["cost" if picture_name == "loss" else picture_name for picture_name in before]
    assert edge.document["pictures"][0]["beneath"] == "cost"


@pytest.mark.slow
def test_renaming_an_axis_renames_it_in_learners_that_are_off(edge: EditableExperiment):
    edge.copy_learner(0)
    edge.switch_learner(1)
    edge.put("axes[0].name", "rate")
    edge.switch_learner(1)
    assert edge.error is None
    assert [learner["update"]["lr"] for learner in edge.document["learners"]] == ["rate", "rate"]


def speaks_of_rates(claim: dict[str, Any], *rates: float) -> bool:
    """Whether a claim names one of these rates, in a curve or as a place."""
    return any(f"eta = {rate:g}" in str(claim.get("curve")) or claim.get("at") == rate for rate in rates)


def test_editing_the_values_of_an_axis_leaves_out_claims_at_removed_values(edge: EditableExperiment):
    claims = enumerate(edge.document["claims"])
    gone = {number for number, claim in claims if speaks_of_rates(claim, 0.2, 0.3)}
    edge.put("axes[0].values", [0.05, 0.1, 0.15])
    assert [point.names["eta"] for point in edge.sweep().points] == [0.05, 0.1, 0.15]
    assert edge.experiment.title == "edge-of-stability: eta.values [0.05, 0.1, 0.2, 0.3] → [0.05, 0.1, 0.15]"
    assert set(whys(edge)) == gone
    assert {1, 2} < gone
    assert whys(edge)[1] == "there is no curve 'GD, eta = 0.2'; eta is 0.05, 0.1, 0.15"


def test_an_axis_converts_between_values_and_a_range(edge: EditableExperiment):
    edge.give_axis_by(0, "range")
    unsaid = {"values": None, "names": None, "log": False, "symbol": None, "set": None, "until": None}
    assert edge.document["axes"] == [{"name": "eta", "from": 0.05, "to": 0.3, "points": 4, **unsaid}]
    edge.put("axes[0].points", 6)
    edge.give_axis_by(0, "values")
    assert edge.document["axes"][0]["values"] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert edge.error is None


def test_an_added_axis_makes_a_point_per_value_and_keeps_all_claims(talk: EditableExperiment):
    assert talk.add("axes") == 0
    assert talk.error is None
    assert not talk.left_out
    talk.put("learners[0].update.lr", "a/(2d)")
    sweep = talk.sweep()
    assert [point.experiment.learners[0].update.lr for point in sweep.points] == [1 / 256, 1 / 128]  # type: ignore[union-attr]


def test_removing_an_axis_replaces_it_by_its_first_value(edge: EditableExperiment):
    claims = edge.document["claims"]
    edge.remove("axes", 0)
    assert edge.error is None
    assert edge.document["learners"][0]["update"]["lr"] == 0.05
    assert edge.experiment.protocol.extent(100).last == 6000
    assert {picture["x"] for picture in edge.document["pictures"]} == {"step"}
    assert {picture["read"] for picture in edge.document["pictures"]} == {None}
    assert {picture["curves"] for picture in edge.document["pictures"]} == {"learner"}
    assert set(whys(edge)) >= {number for number, claim in enumerate(claims) if "eta" in str(claim["curve"])}


def test_removing_the_axis_of_a_heat_map_turns_it_into_curves():
    editable = EditableExperiment.of("critical-line")
    editable.remove("axes", 0)
    assert editable.error is None
    assert {picture["y"] for picture in editable.document["pictures"]} == {None}
    assert editable.document["learners"][0]["architecture"]["cw"] == 1


def test_removing_the_first_picture_leaves_out_claims_about_it():
    editable = EditableExperiment.of("catapult")
    editable.put("claims[0].picture", None)
    editable.remove("pictures", 0)
    assert "there is no picture 'where it lands'" in whys(editable)[0]


def test_removing_a_picture_clears_references_to_it_from_beneath(edge: EditableExperiment):
    assert edge.document["pictures"][0]["beneath"] == edge.document["pictures"][1]["name"]
    edge.remove("pictures", 1)
    assert edge.error is None
    assert edge.document["pictures"][0].get("beneath") is None


def test_pictures_and_claims_can_be_added_and_removed(talk: EditableExperiment):
    assert talk.add("pictures") == 0
    assert talk.add("claims") == 8
    assert talk.error is None
    assert not talk.left_out
    talk.remove("pictures", 0)
    talk.remove("claims", 8)
    assert not talk.changed


def test_an_error_of_a_picture_names_its_place(edge: EditableExperiment):
    edge.put("pictures[0].x", "eta*sto")
    assert edge.error is not None
    assert (edge.error.where, edge.error.fault[:15]) == ("pictures[0].x", "there is no 'st")


def test_an_invalid_point_of_an_axis_is_reported_before_the_run():
    editable = EditableExperiment.of("hadamard-d")
    editable.give_axis_by(0, "values")
    editable.put("axes[0].values", [16, 92])
    with pytest.raises(BadInput):
        editable.sweep()
    assert editable.error is not None
    assert editable.error.where == "problem.matrix.d where size = 92"


@pytest.mark.slow
def test_saved_presets_and_copied_commands_carry_axes_pictures_and_claims(edge: EditableExperiment):
    edge.put("axes[0].values", [0.1, 0.2])
    edge.put("pictures[1].y_log", False)
    edge.put("learners[0].name", "descent")
    edge.add("pictures")
    edge.add("axes")
    documents.sweep_of(reading_of(as_toml(edge.document)))
    raw = presets.document("edge-of-stability")
    for change in overrides("edge-of-stability", edge.document):
        apply(raw, change)
    assert documents.in_full(raw, documents.first(raw)) == edge.document


def reading_of(toml: str) -> Raw:
    import tomllib

    return tomllib.loads(toml)


STEPS = {
    "schedule": {"kind": "cosine", "warm_up": 3, "steps": "n/2"},
    "clip": {"norm": 2.0, "value": None},
    "noise": {"sigma": "1/d", "on": "weights"},
    "decay": {"rate": 0.01, "p": "1"},
}


@pytest.mark.slow
def test_step_options_survive_editing_saving_and_copying(
    talk: EditableExperiment,
):
    for step, table in STEPS.items():
        place = f"learners[0].{step}"
        talk.put_kind(place, table.get("kind", UNTAGGED))
        for field, value in table.items():
            talk.put(f"{place}.{field}", value)
        assert talk.error is None, step
    talk.put("learners[0].role", "reference")
    talk.put("learners[0].rate_unit", "start-sharpness")
    assert talk.experiment.learners[0].noise.sigma == 1 / 128  # type: ignore[union-attr]
    saved = documents.in_full(raw := reading_of(as_toml(talk.document)), documents.first(raw))
    copied = presets.document("hadamard-128", overrides("hadamard-128", talk.document))
    assert saved == copied == talk.document
    again = EditableExperiment(saved, "hadamard-128")
    assert {step: again.value(f"learners[0].{step}") for step in STEPS} == STEPS
    for step in STEPS:
        again.put_kind(f"learners[0].{step}", None)
    assert again.experiment.learners[0].plain_steps


@pytest.mark.parametrize(
    ("step", "kind", "at", "reason"),
    [
        ("schedule", "step", ".factor_per_stage", "missing"),
        ("clip", UNTAGGED, ".norm", "`clip` needs exactly one of `norm` and `value`"),
        ("noise", UNTAGGED, ".sigma", "missing"),
        ("decay", UNTAGGED, ".rate", "missing"),
    ],
)
def test_a_missing_value_of_a_step_option_is_reported_at_its_field(
    talk: EditableExperiment, step: str, kind: str, at: str, reason: str
):
    talk.put_kind(f"learners[0].{step}", kind)
    assert talk.error is not None
    assert (talk.error.where, talk.error.fault) == (f"learners[0].{step}{at}", reason)
    talk.put_kind(f"learners[0].{step}", None)
    assert talk.error is None
    assert not talk.changed


def test_changing_the_kind_of_a_schedule_keeps_shared_fields(talk: EditableExperiment):
    talk.put("learners[0].schedule", {"kind": "cosine", "warm_up": 3, "steps": 50.0})
    talk.put_kind("learners[0].schedule", "linear")
    shared_fields = {"warm_up": 3, "steps": 50.0}
    assert talk.document["learners"][0]["schedule"] == {"kind": "linear", "constant": 0.0, **shared_fields}


def test_a_claim_can_have_its_own_measure(talk: EditableExperiment):
    talk.put_kind("claims[3].measure", "norm")
    talk.put("claims[3].measure.p", "1")
    assert talk.experiment.claims[3].measure == catalogue.make("measures", "norm", p="1")
    talk.put_kind("claims[3].measure", None)
    assert not talk.changed


@pytest.mark.slow
def test_a_learner_runs_only_at_points_that_meet_its_condition(edge: EditableExperiment):
    edge.copy_learner(0)
    edge.put("learners[1].where", "eta > 0.1")
    assert [len(point.experiment.learners) for point in edge.sweep().points] == [1, 1, 2, 2]
    edge.put("learners[1].where", "eta >")
    assert edge.error is not None
    assert edge.error.where.startswith("learners[1].where")
    talk = EditableExperiment.of("hadamard-128")
    talk.put("learners[0].where", "eta > 0.1")
    assert talk.error is not None
    assert (talk.error.where, talk.error.fault[:16]) == ("learners[0].where", "'eta' is unknown")


@pytest.mark.parametrize("place", ["problem.matrix.d", "run.seed", "learners[0].update.lr"])
def test_an_empty_field_is_an_error_that_names_the_expected_value(talk: EditableExperiment, place: str):
    talk.put(place, "")
    assert talk.error is not None
    assert talk.error.where == place
    assert talk.error.fault.startswith("this is empty; enter a ")


def test_a_duplicate_name_is_reported_at_the_renamed_learner(talk: EditableExperiment):
    talk.put("learners[0].name", "EGU")
    for _ in range(2):
        assert talk.error is not None
        assert (talk.error.where, talk.error.fault) == (
            "learners[0].name",
            "another learner has the name 'EGU'; take a different name",
        )
        talk.put("run.seed", 7)
    talk.put("learners[0].name", "GD")
    talk.put("learners[2].name", "GD")
    assert talk.error.where == "learners[2].name"


def test_invalid_claims_are_left_out_with_two_reads_of_the_set_up():
    """Reading a set-up with many claims takes a while, and keys wait meanwhile."""
    raw = presets.document("information-digits")
    renamed = [{**learner, "name": f"other {number}"} for number, learner in enumerate(raw["learners"])]
    spoken_of = [number for number, claim in enumerate(raw["claims"]) if "curve" in claim]
    reads = []

    def read(raw_document: dict[str, Any]) -> Experiment:
        reads.append(raw_document)
        return documents.first(raw_document)

    _, _, claims = fitting_claims({**raw, "learners": renamed}, read)
    assert list(claims.left_out) == spoken_of
    assert len(spoken_of) > 4
    assert len(reads) == 2
    for number in spoken_of:
        assert claims.left_out[number].why.where.startswith(f"claims[{number}]")


def test_differences_include_axes():
    raw = presets.document("edge-of-stability")
    other = presets.document("edge-of-stability", ["axes[0].log=true"])
    settings = ["pictures=[]", "claims=[]", "learners[0].update.lr=0.1", "protocol.steps=9"]
    none = presets.document("edge-of-stability", ['axes=[{name="b", from=1, to=2}]', *settings])
    assert [*map(str, differences(raw, other))] == ["eta.log no → yes"]
    assert [*map(str, differences(raw, none)[:3])] == ["steps 300/eta → 9", "along b", "not along eta"]


SPLINE = next(field for field in fields_of(LinearSpline) if field.name == "points")
FIELDS = {field.name: field for struct in (Axis, Picture) for field in fields_of(struct)} | {"spline": SPLINE}


@pytest.mark.parametrize(
    ("field_name", "typed", "value"),
    [
        ("values", "0.1, 0.2, 1e-6", [0.1, 0.2, 1e-6]),
        ("values", "1, 2, any", [1, 2, "any"]),
        ("values", "{K = 2, C = 3}, {K = 4, C = 5}", [{"K": 2, "C": 3}, {"K": 4, "C": 5}]),
        ("values", 'true, "a, b"', [True, "a, b"]),
        ("curves", "eta", "eta"),
        ("curves", "eta, learner", ["eta", "learner"]),
        ("at", "cw = 2, layer = d/2", {"cw": 2, "layer": "d/2"}),
        ("at", "", {}),
        ("read", "last", "last"),
        ("read", "first_below = 0.1, over = rows", {"first_below": 0.1, "over": "rows"}),
        ("read", "", None),
        ("marks", '{name = "2/η", y = 2}', [{"name": "2/η", "y": 2}]),
        ("contours", '{line = "svd", level = 1}', [{"line": "svd", "level": 1}]),
        ("lines", "svd, ri-signed", ["svd", "ri-signed"]),
        ("lines", "", None),
        ("points", "7", 7),
        ("spline", "[-1, 0], [0, 1.5], [2, 0.5]", [[-1, 0], [0, 1.5], [2, 0.5]]),
    ],
)
def test_typed_text_is_parsed_like_toml_and_shown_text_survives_a_round_trip(
    field_name: str, typed: str, value: Any
):
    assert value_of(FIELDS[field_name], typed) == value
    assert value_of(FIELDS[field_name], text_of(value)) == value


def test_copies_are_numbered_consecutively_and_numbers_in_names_are_kept(talk: EditableExperiment):
    def copied(learner_name: str) -> str:
        place = next(place for place, learner in enumerate(talk.learners) if learner["name"] == learner_name)
        return str(talk.learners[talk.copy_learner(place)]["name"])

    assert [copied("GD"), copied("GD 2"), copied("GD 2")] == ["GD 2", "GD 3", "GD 4"]
    talk.put("learners[0].name", "rate 10")
    assert copied("rate 10") == "rate 10 2", "there is no learner “rate”, so 10 is part of the name"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("learners[0].update.lr", "rate η of A (GD)"),
        ("learners[2].name", "name of C (EGU)"),
        ("problem.matrix.d", "d of the matrix"),
        ("protocol.nothing", "nothing of the protocol"),
        ("claims[1].at where eta = 2", "at of claim 2 where eta = 2"),
        ("learners[99].update.lr", "lr of learner 100"),
        ("axes", "the axes"),
    ],
)
def test_a_place_in_a_document_has_a_readable_name(talk: EditableExperiment, place: str, words: str):
    assert place_in_words(talk, place) == words
