"""Properties of every part of the catalogue."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import crossing
import msgspec
import numpy as np
import pytest
from building import LLS, experiment, raw
from discovery import FAMILIES, PART_IDS, PARTS, default_of, fields, plain, problem_for, ready, variants
from looping import looped
from msgspec import inspect

from engine.core import catalogue
from engine.core.parts import BadInput, summary_of
from engine.runtime.run import run
from engine.spec import reading
from engine.spec.fields import fields_of


def is_sentence(text: str) -> bool:
    """One line of several words."""
    return "\n" not in text and len(text.split()) >= 4 and text == text.strip()


@pytest.fixture
def files(tmp_path):
    """Instances [8, 16] and their labels [8, 1], by family."""
    X = np.random.default_rng(0).standard_normal((8, 16))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 3])
    return {"matrices": str(tmp_path / "X.npy"), "targets": str(tmp_path / "y.npy")}


def test_every_family_has_members_and_kinds_are_lower_case_words():
    for family in FAMILIES:
        members = catalogue.members(family)
        assert members
        assert list(members) == sorted(members)
        for kind, member in members.items():
            assert kind == kind.lower().replace(" ", "-").replace("_", "-")
            assert member.__module__.startswith(catalogue.FOLDERS[family] + ".")


def test_every_file_of_a_family_holds_a_member():
    for family, folder in catalogue.FOLDERS.items():
        module_names = {module.name for module in pkgutil.iter_modules(import_module(folder).__path__)}
        members = {member.__module__.rpartition(".")[2] for member in catalogue.members(family).values()}
        assert module_names == members


@looped(("family", "kind", "member"), PARTS, ids=PART_IDS)
def test_documentation_begins_with_a_sentence_and_names_its_source(family, kind, member):
    summary = summary_of(member)
    assert member.__doc__, "a docstring of its own"
    assert is_sentence(summary)
    assert summary.endswith("."), summary
    if family != "claims" and not (family in ("matrices", "targets") and kind == "file"):
        assert "Source:" in member.__doc__, "every part but claims and the user's own files has a source"


@looped("member", [member for *_, member in PARTS], ids=PART_IDS)
@pytest.mark.slow
def test_every_optional_field_defaults_to_none(member):
    # Presets that are saved, and command lines that are copied, say None by leaving the field out.
    assert all(field.default is None for field in fields_of(member) if field.optional)


@looped(("family", "kind", "member"), PARTS, ids=PART_IDS)
def test_every_field_has_a_title_and_a_description(family, kind, member):
    for field in fields(member):
        assert isinstance(field.type, inspect.Metadata), f"{kind}.{field.name} has no Meta"
        schema = field.type.extra_json_schema or {}
        assert schema.get("title"), f"{kind}.{field.name} has no title"
        assert schema.get("description"), f"{kind}.{field.name} has no description"


@looped(("family", "kind", "member"), PARTS, ids=PART_IDS)
def test_every_default_is_valid(family, kind, member):
    for field in fields(member):
        if field.encode_name in ready(family, kind, "X.npy"):
            continue
        default = default_of(field)
        if default is msgspec.NODEFAULT:
            assert field.required
            continue
        words = {**ready(family, kind, "X.npy"), field.encode_name: msgspec.to_builtins(default)}
        assert getattr(catalogue.make(family, **words), field.name) == default


@looped(("family", "kind", "member"), PARTS, ids=PART_IDS)
def test_a_part_survives_writing_and_reading(family, kind, member, tmp_path):
    for words in [{**ready(family, kind, "X.npy"), **variant} for variant in variants(member)]:
        part = catalogue.make(family, **words)
        assert part.kind == kind
        assert catalogue.make(family, **msgspec.to_builtins(part)) == part


NUMBERS = [
    (family, kind, field.name)
    for family, kind, member in PARTS
    for field in fields(member)
    if isinstance(plain(field.type), inspect.FloatType)
]


@looped(("family", "kind", "field"), NUMBERS)
@looped("value", [float("nan"), float("inf"), 1e300])
def test_parts_refuse_non_finite_and_huge_numbers(family, kind, field, value):
    words = {**ready(family, kind, "X.npy"), field: value}
    with pytest.raises(msgspec.ValidationError):
        catalogue.make(family, **words)


WHOLE = [
    (family, kind, field.name)
    for family, kind, member in PARTS
    for field in fields(member)
    if isinstance(plain(field.type), inspect.IntType)
]


@looped(("family", "kind", "field"), WHOLE)
def test_parts_refuse_whole_numbers_too_large_for_any_run(family, kind, field):
    words = {**ready(family, kind, "X.npy"), field: 2**40}
    with pytest.raises(msgspec.ValidationError):
        catalogue.make(family, **words)


@pytest.mark.parametrize("target", catalogue.members("targets"))
@pytest.mark.parametrize("matrix", catalogue.members("matrices"))
@pytest.mark.slow
def test_every_matrix_runs_with_every_target_or_gives_a_reason(matrix, target, files):
    variants_of_matrix = variants(catalogue.members("matrices")[matrix])
    for words in (
        variants_of_matrix if crossing.all_combinations or target == "feature" else variants_of_matrix[:1]
    ):
        of_matrix = {**ready("matrices", matrix, files["matrices"]), **words}
        of_target = ready("targets", target, files["targets"])
        described = raw(of_matrix, of_target, {"GD": {"update": "gd"}, "LLS": LLS}, replicas=2, noise=0.1)
        refused = None
        try:
            trace = run(reading.parse(described))
        except BadInput as error:
            refused = error
        if refused:
            settings_of_texts = {
                "problem.matrix.header",
                "problem.matrix.separator",
                "problem.matrix.decimal",
            }
            assert refused.where.startswith("problem.target") or refused.where in settings_of_texts
            assert is_sentence(refused.fault)
            continue
        n, d = catalogue.make("matrices", **of_matrix).shape()
        for curve in trace.curves:
            if curve.diverged_at is not None:
                assert (matrix, curve.name, words) == (
                    "bundled",
                    "GD",
                    {"kind": matrix, "standardise": False},
                )
                continue
            assert curve.complete
            assert curve.length == n + 1
            assert np.isfinite(curve.mean("loss")).all()
            assert curve.weights.shape == (n + 1, d)


@pytest.mark.slow
def test_targets_are_refused_only_by_incompatible_matrices(files):
    refused = set()
    for matrix in catalogue.members("matrices"):
        for target in catalogue.members("targets"):
            described = raw(
                ready("matrices", matrix, files["matrices"]), ready("targets", target, files["targets"])
            )
            try:
                reading.parse(described)
            except BadInput:
                refused.add((matrix, target))
    of_one_entry, of_classes = {"interval"}, {"clusters", "digits", "unconstrained", "wilson"}
    families = set(catalogue.members("matrices"))
    expected = {(matrix, "file") for matrix in families - {"file"}}
    expected |= {(matrix, "function") for matrix in families - of_one_entry}
    expected |= {(matrix, "linear-spline") for matrix in families - of_one_entry}
    expected |= {(matrix, "classes") for matrix in families - of_classes}
    expected |= {(matrix, target) for matrix in of_one_entry for target in ("feature", "sparse", "weights")}
    matrices = {
        name: catalogue.make("matrices", **ready("matrices", name, files["matrices"])) for name in families
    }
    of_signs = {name for name, matrix in matrices.items() if matrix.structure().feature_values == "signs"}
    assert {"rademacher", "xor", "hadamard"} <= of_signs
    expected |= {(matrix, "parity") for matrix in families - of_signs}
    assert refused == expected


BRIEF = {
    "epochs": {"epochs": 5},
    "erm": {"steps": 5},
    "flow": {"time": 0.1},
    "steps": {"steps": 5},
    "to-consistency": {"passes": 5},
}
"""Fields that shorten long protocols."""


@pytest.mark.parametrize("protocol", catalogue.members("protocols"))
@pytest.mark.parametrize("loss", catalogue.members("losses"))
def test_every_protocol_runs_with_every_loss(protocol, loss):
    net = {"kind": "dense", "widths": [8], "activation": "relu"}
    learners = {"GD": {"update": "gd"}, "LLS": LLS, "relu": {"update": "gd", "architecture": net}}
    words = raw(**problem_for(loss), learners=learners, d=8)
    words["protocol"] = {"kind": protocol, "loss": loss, **BRIEF.get(protocol, {})}
    if protocol == "flow" and not catalogue.members("losses")[loss].continuous_slope:
        with pytest.raises(BadInput, match=r"protocol\.loss"):
            reading.parse(words)
        return
    trace = run(reading.parse(words))
    assert all(curve.complete for curve in trace.curves)
    recorded = {"loss"}.union(*(curve.measures for curve in trace.curves))
    about_them = {kind for kind, line in catalogue.members("theory").items() if line.measure in recorded}
    assert {line.kind for line in trace.lines} == about_them


def test_two_members_of_the_same_kind_are_refused(monkeypatch):
    monkeypatch.setitem(catalogue.FOLDERS, "twice", "engine.updates")
    import engine.updates.gd as module

    class Other(module.GD, frozen=True, tag="gd"):
        """Another rule of the same name."""

    Other.__module__ = "engine.updates.momentum"
    import engine.updates.momentum as place

    monkeypatch.setattr(place, "Other", Other, raising=False)
    with pytest.raises(ValueError, match="are called 'gd'"):
        catalogue.members("twice")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_member_is_found_by_its_kind(family):
    members = catalogue.members(family)
    assert {kind: catalogue.find(family, kind) for kind in members} == members
    for kind in ("", "nobody", "__init__", "../x", "a.b"):
        assert catalogue.find(family, kind) is None


def test_a_member_is_found_in_a_file_of_another_name(monkeypatch):
    monkeypatch.setattr(catalogue, "file_names", lambda package: ())
    assert catalogue.find("updates", "gd") is catalogue.members("updates")["gd"]


@pytest.mark.slow
def test_finding_a_line_imports_no_other_line():
    program = (
        "import sys; from engine.core import catalogue; catalogue.find('theory', 'ri-signed')\n"
        "print(*(name for name in sys.modules if name.startswith('engine.theory.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["engine.theory.ri_signed"]


def test_an_experiment_survives_writing_and_reading():
    described = experiment({"kind": "gaussian", "n": 4}, learners={"LLS": LLS}, d=8)
    assert reading.parse(msgspec.to_builtins(described)) == described
    assert reading.parse(msgspec.json.decode(msgspec.json.encode(described))) == described
