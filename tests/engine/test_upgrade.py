"""Documents of the first edition keep their meaning, and are refused where they had none."""

import copy

import pytest
from building import gd, raw

from engine.core.parts import BadInput
from engine.spec import reading
from engine.spec.upgrade import upgraded


def test_marks_in_picture_lines_move_to_picture_marks():
    mark = {"kind": "mark", "x": 3}
    picture = {"measure": "loss", "lines": ["ri-signed", mark], "marks": [{"name": "two", "y": 2}]}
    (upgraded_picture,) = upgraded({"pictures": [picture]})["pictures"]
    expected = {"measure": "loss", "lines": ["ri-signed"], "marks": [{"name": "two", "y": 2}, {"x": 3}]}
    assert upgraded_picture == expected
    assert upgraded({"pictures": [{"lines": [mark]}]})["pictures"] == [{"marks": [{"x": 3}]}]
    for other in ({"lines": ["svd"]}, {"lines": []}, {"lines": 3}, 4):
        assert upgraded({"pictures": [other]})["pictures"] == [other]


FORMER = [
    ({"k": 8, "loss": "1/2", "within": 0.1}, {"kind": "value", "at": 8, "equals": "1/2", "within": 0.1}),
    ({"k": "d/2", "below": 0.1}, {"kind": "value", "at": "d/2", "below": 0.1}),
    ({"k": 8, "above": 0.1, "of": "loss"}, {"kind": "value", "at": 8, "above": 0.1}),
    (
        {"k": 8, "error": 0.25, "within": 0.1},
        {"kind": "value", "measure": "error", "at": 8, "equals": 0.25, "within": 0.1},
    ),
    ({"k": 8, "rank": 4}, {"kind": "value", "measure": "rank", "at": 8, "equals": 4}),
    ({"k": 8, "of": "error", "below": 0.1}, {"kind": "value", "measure": "error", "at": 8, "below": 0.1}),
    (
        {"k": 8, "of": "train", "below": 0.1},
        {"kind": "value", "measure": {"kind": "loss", "rows": "train"}, "at": 8, "below": 0.1},
    ),
    (
        {"k": 8, "of": "unseen", "below": 0.1},
        {"kind": "value", "measure": {"kind": "loss", "rows": "test"}, "at": 8, "below": 0.1},
    ),
    (
        {"never_below": "ri-signed", "standard_errors": 4},
        {"kind": "line", "never_below": "ri-signed", "standard_errors": 4},
    ),
    ({"never_above": "ri-signed"}, {"kind": "line", "never_above": "ri-signed"}),
    (
        {"follows": "ri-signed", "within": 0.1, "k": None},
        {"kind": "line", "follows": "ri-signed", "within": 0.1},
    ),
    ({"same_as": "B", "within": 0.1}, {"kind": "same-as", "other": "B", "within": 0.1}),
    ({"diverges": True}, {"kind": "diverges"}),
]


def document(*claims):
    return raw("hadamard", "all", {"A": gd(0.1), "B": gd(0.2)}, d=16, labels="sign", claims=list(claims),
               spectrum=True, train_loss=True)  # fmt: skip


@pytest.mark.parametrize(("former", "today"), FORMER, ids=[str(former) for former, _ in FORMER])
def test_a_claim_of_the_first_edition_is_read_as_its_current_form(former, today):
    words = document({"text": "It is so", "learner": "A", **former})
    before = copy.deepcopy(words)
    expected = document({"text": "It is so", "curve": "A", **today})
    assert upgraded(words)["claims"] == expected["claims"]
    assert reading.parse(words) == reading.parse(expected)
    assert words == before
    assert reading.in_full(words, reading.parse(words)) == reading.in_full(expected, reading.parse(expected))


def test_expressions_in_former_claims_are_kept():
    words = document({"text": "It is so", "learner": "A", "k": "d/2", "loss": "1/2", "within": 0.1})
    (claim,) = reading.in_full(words, reading.parse(words))["claims"]
    assert (claim["at"], claim["equals"]) == ("d/2", "1/2")


def test_overrides_of_a_former_claim_use_its_field_names():
    words = document({"text": "It is so", "learner": "A", "k": 8, "below": 0.5})
    reading.apply(words, "claims[0].k=4")
    assert reading.parse(words).claims[0].at == 4
    words = document({"kind": "value", "text": "It is so", "curve": "A", "at": 8, "below": 0.5})
    reading.apply(words, "claims[0].at=4")
    assert reading.parse(words).claims[0].at == 4
    reading.apply(words, "claims[0].k=5")
    with pytest.raises(BadInput, match="unknown key; it is called at here") as caught:
        reading.parse(words)
    assert caught.value.where == "claims[0].k"


@pytest.mark.parametrize(
    ("claim", "where"),
    [
        ({"k": 8, "loss": 0.5, "within": 0.1, "below": 0.5}, "claims[0].equals"),
        ({"k": 8, "loss": 0.5, "error": 0.5, "within": 0.1}, "claims[0].error"),
        ({"k": 8, "below": 0.5, "follows": "ri-signed"}, "claims[0].follows"),
        ({"k": 8, "loss": 0.5}, "claims[0].equals"),
        ({"loss": 0.5, "within": 0.1}, "claims[0].at"),
        ({"k": 8}, "claims[0].kind"),
        ({"k": 8, "of": "nothing", "below": 1}, "claims[0].measure.kind"),
        ({"k": 8, "of": 3, "below": 1}, "claims[0].measure"),
        ({"diverges": False}, "claims[0].diverges"),
        ({"same_as": "A", "within": 0.1}, "claims[0].other"),
        ({"follows": "ri-signed", "within": 0.1, "k": 4}, "claims[0].at"),
        ({"k": 8, "below": 0.5, "typo": 1}, "claims[0].typo"),
    ],
)
def test_impossible_claims_of_former_versions_are_refused(claim, where):
    with pytest.raises(BadInput) as caught:
        reading.parse(document({"text": "It is so", "learner": "A", **claim}))
    assert caught.value.where == where
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("claims", [None, 3, "x", [3], ["x"], [[]], {"kind": "value"}])
def test_invalid_claim_entries_are_refused(claims):
    with pytest.raises(BadInput) as caught:
        reading.parse({**document(), "claims": claims})
    assert caught.value.where.startswith("claims")


TRAIN, TEST = {"kind": "loss", "rows": "train"}, {"kind": "loss", "rows": "test"}
SPECTRUM, RANK = {"kind": "spectrum"}, {"kind": "rank"}


@pytest.mark.parametrize(
    ("switches", "measures"),
    [
        ({"train_loss": True}, [TRAIN, TEST]),
        ({"spectrum": True, "train_loss": False}, [SPECTRUM, RANK]),
        (
            {"spectrum": True, "train_loss": True, "measures": ["norm"]},
            [{"kind": "norm"}, SPECTRUM, RANK, TRAIN, TEST],
        ),
        ({"spectrum": False, "measures": ["rank", TRAIN]}, [TRAIN]),
    ],
)
def test_switches_of_the_first_edition_become_measures(switches, measures):
    words = {**raw("hadamard", "all", {"A": gd(0.1)}, d=16), "run": {"seed": 1, **switches}}
    expected = {**words, "run": {"seed": 1, "measures": measures}}
    assert reading.parse(words) == reading.parse(expected)
    assert reading.in_full(words, reading.parse(words)) == reading.in_full(expected, reading.parse(expected))


@pytest.mark.parametrize(
    ("switches", "where"),
    [({"train_loss": 3}, "run.train_loss"), ({"spectrum": True, "measures": 3}, "run.measures")],
)
def test_invalid_switches_are_refused(switches, where):
    with pytest.raises(BadInput) as caught:
        reading.parse({**raw("hadamard", "all", {"A": gd(0.1)}, d=16), "run": switches})
    assert caught.value.where == where
