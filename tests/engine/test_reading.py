"""Bad input: one line with the exact place, the fault, and a remedy."""

import copy

import msgspec
import pytest
from building import LLS, gd, raw
from looping import looped

from engine.core.parts import BadInput
from engine.spec import reading

GOOD = raw(
    learners={
        "GD": gd(0.01),
        "hyp": {"update": {"kind": "hypentropy", "beta": 0.5}},
        "net": gd(0.01, kind="dense", widths=[4]),
        "least squares": LLS,
    },
    claims=[{"kind": "value", "text": "It halves", "curve": "GD", "at": 8, "equals": 0.5, "within": 0.1}],
    d=16,
)

BAD = [
    # override, place, what the message must contain
    ("problem.matrix.dd=3", "problem.matrix.dd", ["unknown key", "did you mean d?", "kind, d, permute"]),
    ("problem.matrx.d=3", "problem.matrx", ["unknown key", "did you mean matrix?", "target", "noise"]),
    ("colour=3", "colour", ["unknown key", "title", "learners"]),
    ("learners[0].lr=3", "learners[0].lr", ["unknown key", "update", "solver"]),
    ("learners[0].update.rate=3", "learners[0].update.rate", ["unknown key", "kind", "lr"]),
    ("learners.hyp.update.momentum=0.1", "learners[1].update.momentum", ["unknown key", "lr, beta"]),
    (
        "problem.matrix.kind=hadamart",
        "problem.matrix.kind",
        ["'hadamart' is unknown", "did you mean hadamard?", "gaussian"],
    ),
    (
        "learners[0].update.kind=gdd",
        "learners[0].update.kind",
        ["'gdd'", "did you mean gd?", "egu"],
    ),
    ("learners[3].solver.kind=pinv", "learners[3].solver.kind", ["'pinv' is unknown", "lls"]),
    ("protocol.kind=two-pass", "protocol.kind", ["'two-pass' is unknown", "one-pass"]),
    ("protocol.loss=hing", "protocol.loss", ["'hing' is unknown", "did you mean hinge?", "square"]),
    (
        "learners.net.architecture.init=random",
        "learners[2].architecture.init",
        ["'random' is unknown", "gaussian", "zero", "diagonal"],
    ),
    ("learners.net.architecture.widths=[]", "learners[2].architecture.widths", ["[]", "1"]),
    (
        "learners.net.architecture.widths=[4,0]",
        "learners[2].architecture.widths[1]",
        ["0", ">= 1"],
    ),
    ("learners.net.architecture.scale=0", "learners[2].architecture.scale", ["0 does not fit", "> 0"]),
    ("learners[0].update.lr=-1", "learners[0].update.lr", ["-1 does not fit", "number > 0"]),
    ("learners[0].update.lr=0.0", "learners[0].update.lr", ["0.0 does not fit", "number > 0"]),
    ("learners[0].update.lr=fast", "learners[0].update.lr", ["'fast' is unknown", "a number", "best"]),
    ("learners[0].update.lr=inf", "learners[0].update.lr", ["inf is not a finite number"]),
    ("learners[0].update.lr=nan", "learners[0].update.lr", []),
    ("problem.matrix.d=68719476736", "problem.matrix.d", ["a whole number <= 1073741824"]),
    ("problem.matrix.repeat=9999999", "problem.matrix", ["319999968 instances", "16777216"]),
    ("learners.net.architecture.scale=1e300", "learners[2].architecture.scale", ["too large", "1e+38"]),
    ("problem.noise=-0.1", "problem.noise", ["-0.1 does not fit", ">= 0"]),
    ("problem.noise=nan", "problem.noise", ["nan"]),
    ("problem.noise=inf", "problem.noise", ["inf", "<= 1000000"]),
    ("problem.matrix.d=1", "problem.matrix.d", ["1 does not fit", "whole number >= 2"]),
    ("problem.matrix.d=92", "problem.matrix.d", ["92 is not an order", "take 88 or 96"]),
    ("problem.matrix.d=16.0", "problem.matrix.d", ["16.0 does not fit", "a whole number"]),
    ("problem.matrix.d=16.5", "problem.matrix.d", ["16.5 does not fit", "a whole number"]),
    ("problem.matrix.permute=1", "problem.matrix.permute", ["1 does not fit", "true or false"]),
    ("problem.target.index=16", "problem.target.index", ["no feature 16", "0 … 15"]),
    ("problem.target.index=-1", "problem.target.index", ["-1 does not fit", ">= 0"]),
    ("run.seed=-1", "run.seed", ["-1 does not fit", ">= 0"]),
    ("run.replicas=0", "run.replicas", ["0", ">= 1"]),
    ("run.dtype=float16", "run.dtype", ["'float16' is unknown", "float32", "float64"]),
    ("run.device=gpu", "run.device", ["'gpu' does not fit", "auto, cpu, cuda or cuda:1"]),
    ("run=3", "run", ["3 does not fit", "a table"]),
    ("learners=3", "learners", ["3 does not fit", "a list"]),
    ("learners=[]", "learners", ["[]", "1"]),
    ("learners[1].name=GD", "learners[1].name", ["the name 'GD'"]),
    ("learners[1].name=''", "learners[1].name", ["this is empty; enter text of length >= 1"]),
    ("learners[0].solver.kind=lls", "learners[0].solver", ["a solver takes the place"]),
    ("learners[2].update.kind=egu", "learners[2].update", ["egu", "dense", "take `egu-pm` or `hypentropy`"]),
    ("learners[2].update.kind=eg", "learners[2].update", ["eg", "dense", "take `egu-pm` or `hypentropy`"]),
    ("claims[0].curve=SGD", "claims[0].curve", ["no learner 'SGD'", "'GD'", "'least squares'"]),
    ("claims[0].at=17", "claims[0].at", ["17 is past the end of the run, k = 16"]),
    ("claims[0].at=-1", "claims[0].at", ["there is no evaluation point at -1; take 0"]),
    ("claims[0].at=8.5", "claims[0].at", ["there is no evaluation point at 8.5; take 8"]),
    ("claims[0].below=0.5", "claims[0].equals", ["exactly one of", "between"]),
    ("claims[0].between=[1, 0]", "claims[0].equals", ["exactly one of"]),
    ("claims[0].kind=lime", "claims[0].kind", ["did you mean line?"]),
    ("claims[0].picture=x", "claims[0].picture", ["no picture 'x'", "none"]),
    ("claims[0].k=3", "claims[0].k", ["unknown key; it is called at here"]),
    ("claims[0].learner=GD", "claims[0].learner", ["unknown key; it is called curve here"]),
    ("claims[0].within=-1", "claims[0].within", ["-1 does not fit", ">= 0"]),
]


def changed(*overrides):
    described = copy.deepcopy(GOOD)
    for override in overrides:
        reading.apply(described, override)
    return described


def refusal(described):
    with pytest.raises(BadInput) as caught:
        reading.parse(described)
    assert "\n" not in str(caught.value)
    assert str(caught.value) == f"{caught.value.where}: {caught.value.fault}"
    return caught.value


def test_the_valid_experiment_is_accepted():
    assert reading.parse(copy.deepcopy(GOOD)).problem.matrix.d == 16


@looped(("override", "place", "reasons"), BAD, ids=[case[0] for case in BAD])
@pytest.mark.slow
def test_bad_values_are_refused_with_place_and_remedy(override, place, reasons):
    error = refusal(changed(override))
    assert error.where == place
    for part in reasons:
        assert part in error.fault, error.fault


def without(path):
    described = copy.deepcopy(GOOD)
    node = described
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]
    return described


MISSING = [
    (("problem",), "problem", []),
    (("problem", "matrix"), "problem.matrix", []),
    (("problem", "target", "kind"), "problem.target.kind", ["feature", "constant", "all"]),
    (("protocol",), "protocol", []),
    (("learners",), "learners", []),
    (("learners", 0, "name"), "learners[0].name", []),
    (
        ("learners", 0, "architecture"),
        "learners[0].architecture",
        ["and an update, or a solver"],
    ),
    (("learners", 0, "update"), "learners[0].update", ["and an update, or a solver"]),
    (("learners", 0, "update", "kind"), "learners[0].update.kind", ["gd", "egu"]),
    (("claims", 0, "kind"), "claims[0].kind", ["value", "line", "slope"]),
    (("claims", 0, "at"), "claims[0].at", []),
    (("claims", 0, "within"), "claims[0].equals", ["within", "standard_errors"]),
    (("claims", 0, "equals"), "claims[0].equals", ["exactly one of"]),
    (("claims", 0, "text"), "claims[0].text", []),
]


@pytest.mark.parametrize(("path", "place", "reasons"), MISSING, ids=[case[1] for case in MISSING])
def test_missing_fields_are_named(path, place, reasons):
    error = refusal(without(path))
    assert error.where == place
    for part in (*reasons, *(["missing"] if place != "claims[0].equals" else [])):
        assert part in error.fault, error.fault


def test_an_untrained_experiment_needs_neither_protocol_nor_target():
    net = {"name": "net", "architecture": {"kind": "dense", "widths": [4]}}
    fitted = {"name": "LLS", "solver": "lls"}
    for learner in (net, fitted):
        described = {"problem": {"matrix": {"kind": "sphere", "n": 2, "d": 4}}, "learners": [learner]}
        read = reading.parse(described)
        assert (read.protocol.kind, read.problem.target.kind) == ("at-init", "zero")
        assert reading.in_full(described, read)["problem"]["target"] == {"kind": "zero"}
    trained = {**described, "learners": [{**net, "update": {"kind": "gd", "lr": 0.1}}]}
    assert refusal(trained).where == "protocol"
    assert refusal({**trained, "protocol": "steps"}).where == "problem.target"


def test_a_file_matrix_needs_a_path():
    error = refusal(changed("problem.matrix.kind=file"))
    assert error.where == "problem.matrix.path"
    assert "missing" in error.fault


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["problem.matrix.kind=gaussian"], "gaussian with target feature has other labels; take square loss"),
        (["problem.noise=0.1"], "noise makes labels real numbers; take square"),
    ],
)
def test_logistic_loss_needs_signs(overrides, reason):
    error = refusal(changed("protocol.loss=logistic", *overrides))
    assert error.where == "protocol.loss"
    assert reason in error.fault


def test_an_unknown_bound_in_a_claim_is_refused_with_the_known_ones():
    for form in ("never_below", "follows"):
        described = copy.deepcopy(GOOD)
        described["claims"] = [
            {"kind": "line", "text": "It", "curve": "GD", form: "ri-hadamard", "within": 0.1}
        ]
        error = refusal(described)
        assert error.where == f"claims[0].{form}"
        assert "agd-majoriser" in error.fault


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("title = \n", "line 1, column 9", "malformed TOML"),
        ("title = 'a'\n\nstory = [1,\n", "", "malformed TOML"),
        ("[run]\nseed = 1\nseed = 2\n", "line 3", "malformed TOML"),
        ("[run]\n[run]\n", "line 2", "malformed TOML"),
        ('a = """\nno end\n', "line 3", "malformed TOML"),
    ],
)
def test_malformed_toml_is_refused_with_its_line(text, place, reason, tmp_path):
    (tmp_path / "it.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        reading.read_raw(tmp_path / "it.toml")
    assert place in caught.value.where
    assert caught.value.where
    assert reason in caught.value.fault
    assert "\n" not in str(caught.value)


def test_a_binary_or_missing_file_is_refused(tmp_path):
    (tmp_path / "it.toml").write_bytes(b"title = '\xff\xfe'")
    with pytest.raises(BadInput, match="not a text file in UTF-8"):
        reading.read_raw(tmp_path / "it.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        reading.read_raw(tmp_path / "absent.toml")


def test_an_empty_file_lacks_a_problem():
    assert refusal({}).where == "problem"


def test_problems_and_learners_must_be_tables():
    assert refusal({**GOOD, "problem": [1, 2]}).where == "problem"
    assert refusal({**GOOD, "learners": [3]}).where == "learners[0]"


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("problem.matrix.d=32", ("problem", "matrix", "d"), 32),
        (" problem.matrix.d = 32 ", ("problem", "matrix", "d"), 32),
        ("learners[1].update.beta=0.25", ("learners", 1, "update", "beta"), 0.25),
        ("learners.hyp.update.beta=0.25", ("learners", 1, "update", "beta"), 0.25),
        ("learners.least squares.name=LLS", ("learners", 3, "name"), "LLS"),
        ("learners[1].name='a b'", ("learners", 1, "name"), "a b"),
        ("title=Half = half", ("title",), "Half = half"),
        ("run.seed=7", ("run", "seed"), 7),
        ("problem.matrix.permute=false", ("problem", "matrix", "permute"), False),
        ("learners.net.architecture.widths=[3, 2]", ("learners", 2, "architecture", "widths"), [3, 2]),
        ("source=", ("source",), ""),
    ],
)
def test_overrides_address_list_items_by_number_or_name(override, place, value):
    described = changed(override)
    reading.parse(described)
    for step in place:
        described = described[step]
    assert described == value


def test_overrides_create_missing_tables():
    described = changed("run.seed=3")
    del described["run"]
    reading.apply(described, "run.seed=4")
    assert reading.parse(described).run.seed == 4


@pytest.mark.parametrize(
    ("override", "place", "reason"),
    [
        ("problem.matrix.d", "--set problem.matrix.d", "PLACE=VALUE"),
        ("=3", "--set =3", "PLACE=VALUE"),
        (".=3", "--set", "PLACE=VALUE"),
        ("[]=3", "--set", "PLACE=VALUE"),
        ("learners[9].name=x", "--set learners", "[0] GD, [1] hyp"),
        ("learners[9]=x", "--set learners[9]", "[0] GD, [1] hyp"),
        ("learners.SGD.name=x", "--set learners.SGD", "[0] GD, [1] hyp"),
        ("learners[-1].name=x", "--set learners", "[0] GD, [1] hyp"),
        ("problem.matrix.d.x=3", "--set problem.matrix.d", "no fields"),
        ("problem.matrix.d.x.y=3", "--set problem.matrix.d", "no fields"),
        ("claims[3].k=1", "--set claims", "there is no [3]"),
    ],
)
def test_overrides_of_missing_places_are_refused(override, place, reason):
    with pytest.raises(BadInput) as caught:
        changed(override)
    assert caught.value.where.startswith(place)
    assert reason in caught.value.fault
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "path", "table"),
    [
        ("problem.matrix.kind=gaussian", ("problem", "matrix"), {"kind": "gaussian", "d": 16}),
        ("problem.target.kind=all", ("problem", "target"), {"kind": "all"}),
        ("learners[1].update.kind=egu", ("learners", 1, "update"), {"kind": "egu"}),
        ("learners.hyp.update.kind=egu", ("learners", 1, "update"), {"kind": "egu"}),
        ("learners.net.architecture.kind=linear", ("learners", 2, "architecture"), {"kind": "linear"}),
        ("learners[0].update.kind=egu-pm", ("learners", 0, "update"), {"kind": "egu-pm", "lr": 0.01}),
    ],
)
def test_an_override_of_kind_drops_fields_unknown_to_the_new_kind(override, path, table):
    described = changed("problem.matrix.permute=true", "problem.target.index=2", override)
    node = described
    for step in path:
        node = node[step]
    assert node == table
    reading.parse(described)


def test_an_override_with_an_unknown_kind_is_refused_when_read():
    error = refusal(changed("learners.hyp.update.kind=newton"))
    assert error.where == "learners[1].update.kind"


def test_reading_does_not_modify_its_input():
    described = copy.deepcopy(GOOD)
    reading.parse(described)
    assert described == GOOD
    assert msgspec.to_builtins(reading.parse(described))["problem"]["matrix"]["d"] == 16


def test_pictures_have_distinct_names():
    described = copy.deepcopy(GOOD)
    described["pictures"] = [{"name": "a", "measure": "loss"}, {"measure": "loss"}, {"measure": "loss"}]
    described["claims"][0]["picture"] = "a"
    reading.parse(described)
    described["pictures"][2]["name"] = "a"
    error = refusal(described)
    assert error.where == "pictures[2].name"
    assert "another picture has the name" in error.fault


@pytest.mark.parametrize(
    ("form", "useless"),
    [
        ({"kind": "line", "never_below": "ri-signed"}, "at"),
        ({"kind": "line", "follows": "ri-signed", "within": 0.1}, "equals"),
        ({"kind": "diverges"}, "within"),
        ({"kind": "share", "at": 8, "below": 0.5}, "standard_errors"),
    ],
)
def test_a_field_without_effect_in_a_claim_is_refused(form, useless):
    described = copy.deepcopy(GOOD)
    described["claims"] = [{"text": "It is so", "curve": "GD", **form}]
    reading.parse(described)
    described["claims"][0][useless] = 1
    assert refusal(described).where == f"claims[0].{useless}"


@pytest.mark.parametrize(("table", "key"), [("", "problem"), ("problem", "matrix"), ("problem", "target")])
def test_a_mistyped_required_key_is_named_with_its_correction(table, key):
    described = copy.deepcopy(GOOD)
    holder = described[table] if table else described
    typed = key.replace("e", "", 1).replace("i", "", 1)
    holder[typed] = holder.pop(key)
    error = refusal(described)
    assert error.where == f"{table}.{typed}".lstrip(".")
    assert f"unknown key; did you mean {key}?" in error.fault


def test_an_override_with_a_new_learner_name_adds_a_learner():
    raw = {"learners": [{"name": "GD", "architecture": "linear", "update": {"kind": "gd"}}]}
    reading.put(raw, "learners.Adam.update.kind", "adam")
    reading.put(raw, "learners.Adam.update.lr", 0.5)
    reading.put(raw, "learners.lasso.solver", {"kind": "lasso"})
    reading.put(raw, "learners.net.architecture", {"kind": "dense", "widths": [4]})
    reading.put(raw, "learners.net.update.kind", "gd")
    assert raw["learners"][1:] == [
        {"name": "Adam", "architecture": "linear", "update": {"kind": "adam", "lr": 0.5}},
        {"name": "lasso", "solver": {"kind": "lasso"}},
        {"name": "net", "architecture": {"kind": "dense", "widths": [4]}, "update": {"kind": "gd"}},
    ]


def test_an_override_of_a_number_of_an_unknown_learner_is_refused():
    raw = {"learners": [{"name": "GD", "architecture": "linear", "update": {"kind": "gd"}}]}
    reason = r"no 'Gd'; there are \[0\] GD; to add a learner, set learners\.Gd\.update\.kind"
    with pytest.raises(BadInput, match=reason):
        reading.put(raw, "learners.Gd.update.lr", 0.5)
    assert len(raw["learners"]) == 1
