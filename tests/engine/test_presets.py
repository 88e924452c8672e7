"""Every preset loads, runs, and its claims hold; presets are found and refused by name."""

import re
from functools import cache
from pathlib import Path

import crossing
import pytest
from building import measures_of
from looping import looped

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.results.outcomes import judge, unexpected_divergence
from engine.results.results import of_one
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets, theory_pages
from engine.spec.check import check
from engine.spec.documents import sweep_of
from engine.spec.experiment import Experiment
from engine.spec.reading import read_raw
from hadamard_tui.browsing import preview

NAMES = presets.names()

QUICK = 0.4
"""Seconds that a preset takes at most to be run by `make test`, as the gallery measured it when it drew it.

All these take five seconds together; `make test-all` and `make verify` run the others, too.
"""

NOT_SLOW = 10.0
"""Most seconds of a preset of which only the beginning runs."""

KEPT = preview.shipped()


def quicker(seconds: float) -> list[str]:
    """Presets that take less time or have no chart in the gallery yet; all of them with `--whole`."""
    return [
        name
        for name in NAMES
        if crossing.all_combinations or name not in KEPT or KEPT[name].seconds < seconds
    ]


REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "statements.md").read_text(encoding="utf-8")

STATEMENTS = re.findall(r"^\| [^|]+ \| [^|]+ \| `([^`]+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
"""The presets and their claims that the page of statements names, row by row."""


@pytest.mark.slow
@pytest.mark.parametrize("preset_name", quicker(QUICK))
def test_a_preset_runs_and_its_claims_hold(preset_name):
    results = run_sweep(sweep_of(presets.document(preset_name, ["run.device=cpu"])))
    for outcome in judge(results):
        assert outcome.holds, f"{outcome.claim.text}: {outcome.detail}"
    if not results.sweep.axes:
        assert unexpected_divergence(results.sweep.experiment, results.traces[0]) == []


planned = cache(lambda name: sweep_of(presets.document(name)))
"""All points of a preset."""


def loaded(name: str) -> Experiment:
    """Return the first point of a preset, as `presets.load` does, without reading the preset again."""
    return planned(name).experiment


@looped("name", NAMES)
@pytest.mark.slow
def test_a_preset_has_a_title_a_story_and_a_source(name):
    described = loaded(name)
    for text in (described.title, described.story):
        assert len(text.split()) >= 2
    assert len(described.source.split()) >= 2 or [*theory_pages.cited(described.source)]
    assert "\n" not in described.title


@pytest.mark.slow
@looped("name", NAMES)
def test_a_preset_has_a_claim_per_learner_with_distinct_texts(name):
    sweep = planned(name)
    check(sweep.experiment)
    learners = {learner.name for point in sweep.points for learner in point.experiment.learners}
    compared = {learner.name for learner in sweep.experiment.learners if learner.role == "learner"}
    assert 1 <= len(learners) <= 9
    assert len(sweep.claims) >= 2
    named = {getattr(claim, field) for claim in sweep.claims for field in claim.curve_fields} - {None}
    is_about_every_learner = any(claim.curve is None for claim in sweep.claims)
    for learner in compared:
        assert is_about_every_learner or any(
            curve == learner or curve.startswith(f"{learner}, ") for curve in named
        ), f"no claim of {name} names the learner {learner}"
    texts = [claim.text for claim in sweep.claims]
    assert len(set(texts)) == len(texts)


@pytest.mark.slow
def test_every_claim_on_the_statements_page_belongs_to_its_preset():
    tables = PAGE.partition("| section | number | preset |")[0]  # later rows say which numbers are no claims
    headings = tables.count("| statement | source | preset | claim |\n|---|---|---|---|\n")
    assert len(STATEMENTS) + 2 * headings == len(re.findall(r"^\|", tables, re.MULTILINE))
    for name, text in STATEMENTS:
        assert text in [claim.text for claim in loaded(name).claims], f"{name}: {text}"


def test_every_preset_is_on_the_statements_page():
    assert {name for name, _ in STATEMENTS} == set(NAMES)


@pytest.mark.slow
def test_every_part_is_used_in_a_preset_except_user_files():
    used: dict[str, set[str]] = {family: set() for family in catalogue.FOLDERS}
    lines = catalogue.defaults("theory")
    shapes = {line.kind for line in lines if line.structure().direction == "shape"}
    for name in NAMES:
        described = loaded(name)
        used["matrices"].add(described.problem.matrix.kind)
        used["targets"].add(described.problem.target.kind)
        used["protocols"].add(described.protocol.kind)
        used["losses"].add(described.protocol.loss)
        everywhere = [
            learner_of_point
            for point in planned(name).points
            for learner_of_point in point.experiment.learners
        ]
        for learner in everywhere:
            for family in ("architectures", "updates", "solvers"):
                if (part := getattr(learner, family[:-1])) is not None:
                    used[family].add(part.kind)
            if learner.tends_to is not None:
                used["solvers"].add(learner.tends_to.kind)
        used["measures"] |= {
            measure.kind for learner in described.learners for measure in measures_of(learner, described)
        }
        for claim in described.claims:
            named = {getattr(claim, field) for field in claim.line_fields} - {None}
            learners = {f"{learner.name}, " for learner in everywhere}  # values of axes follow a name
            used["theory"] |= {name for name in named if not f"{name}, ".startswith((*learners,))}
        used["theory"] |= {picture.relative for picture in described.pictures} & set(
            catalogue.members("theory")
        )
        drawn = {line for picture in described.pictures for line in picture.lines or ()}
        used["theory"] |= drawn & shapes  # a claim beside a line says something of its height
    del used["claims"]  # each has an example of its own
    for family, kinds in used.items():
        needed = {kind for kind, part in catalogue.members(family).items() if not part.experimental}
        assert needed - {"file"} <= kinds <= set(catalogue.members(family)), family


AT_INIT = {"kind": "at-init"}
"""The protocol of presets that name none; it has a single record."""

SINGLE_TRAINING_RUNS = [
    name
    for name in quicker(NOT_SLOW)
    if "axes" not in (raw := read_raw(presets.path_of(name))) and raw.get("protocol", AT_INIT) != AT_INIT
]


@pytest.mark.slow
@pytest.mark.parametrize("preset", SINGLE_TRAINING_RUNS)
def test_claims_do_not_hold_before_training(preset):
    described = presets.load(preset, ["run.device=cpu"])
    rounds = iter([1, 0])
    trace = run(described, gate=lambda: next(rounds))
    later = [claim for claim in described.claims if getattr(claim, "at", None) != 0]
    assert later
    for outcome in judge(of_one(described, trace)):
        if outcome.claim in later:
            assert not outcome.holds, outcome.claim.text


def test_the_five_presets_of_the_first_release_exist():
    wanted = {"hadamard-128", "hadamard-128-weights", "rademacher-128", "gaussian-128", "dense-128"}
    assert wanted <= set(NAMES)


def test_a_preset_is_loaded_with_overrides():
    described = presets.load("hadamard-128", ["problem.matrix.d=256", "learners.GD.update.lr=0.015625"])
    assert described.problem.matrix.d == 256
    assert described.learners[0].update.lr == 1 / 64


def test_a_preset_is_loaded_by_its_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(presets.path_of("hadamard-128").read_text())
    assert presets.load(str(file)) == presets.load("hadamard-128")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hadamard-129", "did you mean"),
        ("hadamrd-128", "hadamard-128"),
        ("zzz", "hadamard-tui presets lists the presets"),
        ("", "hadamard-tui presets lists the presets"),
        ("absent.toml", "no such file"),
        ("folder/absent", "no such file"),
    ],
)
def test_an_unknown_preset_is_refused_with_the_nearest_names(name, words):
    with pytest.raises(BadInput) as caught:
        presets.load(name)
    assert words in caught.value.fault
    assert "\n" not in str(caught.value)


def test_errors_in_a_preset_name_the_file_and_the_place(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(presets.path_of("hadamard-128").read_text().replace('lr = "1/(2d)"', "lr = -1"))
    with pytest.raises(BadInput) as caught:
        presets.load(str(file))
    assert caught.value.where == f"{file}: learners[0].update.lr"
    file.write_text("[problem\n")
    with pytest.raises(BadInput) as caught:
        presets.load(str(file))
    assert caught.value.where.startswith(f"{file}: line 1")
    with pytest.raises(BadInput) as caught:
        presets.load("hadamard-128", ["problem.matrix.d=92"])
    assert str(caught.value).startswith("hadamard-128: problem.matrix.d: 92 is not an order")


def test_the_second_of_two_learners_with_one_name_is_refused():
    raw = presets.document("hadamard-128")
    raw["learners"][3]["name"] = raw["learners"][1]["name"]
    with pytest.raises(BadInput) as caught:
        sweep_of(raw)
    assert (caught.value.where, caught.value.fault) == (
        "learners[3].name",
        "another learner has the name 'least squares'; take a different name",
    )
