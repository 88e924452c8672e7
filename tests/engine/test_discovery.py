"""Groups of learners keep all crossings, and the learners of a group fit into one experiment."""

from crossing import crossings
from discovery import EVERY, crossed_groups, loss_of, traits

PROBLEMS = ("hadamard", "gaussian")
GROUPS = [case.values for case in crossed_groups(EVERY, problem=PROBLEMS).args[1]]


def test_learner_groups_contain_every_crossing_once():
    grouped = [(name, problem) for learners, problem in GROUPS for name in learners]
    assert sorted(grouped) == sorted(crossings(name=traits(EVERY), problem=PROBLEMS))


def test_learners_of_a_group_have_one_loss_and_one_architecture_or_solver():
    for learners, _ in GROUPS:
        parts = {(learner.get("architecture") or learner["solver"])["kind"] for learner in learners.values()}
        assert len(parts) == len({loss_of(learner) for learner in learners.values()}) == 1
