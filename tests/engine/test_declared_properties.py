"""Declared properties of parts: true of every member, and not inherited by a class that differs."""

from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd
from discovery import variants

from engine.architectures.dense import Dense
from engine.architectures.linear import Linear
from engine.architectures.spindly import Spindly
from engine.core import catalogue
from engine.core.groups import TRIVIAL
from engine.core.parts import Finding
from engine.core.streams import Streams
from engine.losses.square import Square
from engine.measures import named
from engine.measures.loss import AverageLoss
from engine.planning.run_plan import plan_run
from engine.problems.matrices import drawn_rows
from engine.problems.matrices.gaussian import Gaussian
from engine.problems.matrices.hadamard import Hadamard
from engine.problems.matrices.rademacher import Rademacher
from engine.problems.targets.feature import Feature
from engine.solvers.ridge import Ridge
from engine.symmetry.verdict import verdict
from engine.theory import RotationInvariant, on_learner
from engine.theory.ri_signed import RISigned
from engine.training.evaluators import ByPredictions, ByWeights, evaluator
from engine.updates import Diagonal
from engine.updates.adam import Adam
from engine.updates.egu import EGU
from engine.updates.egu_pm import EGUPM
from engine.updates.gd import GD
from engine.updates.hypentropy import Hypentropy
from engine.updates.winnow import Winnow

D, REPLICAS, ERRORS = 4, 1500, 4.5
FAMILIES = {
    kind: member
    for kind, member in catalogue.members("matrices").items()
    if "d" in member.__struct_fields__  # others bring data of their own
}


def of_family(kind: str) -> list[Any]:
    """Its members: each choice of each field, with rows that are repeated and without."""
    described = [{**words, "d": D} for words in variants(FAMILIES[kind])]
    described += [{**words, "repeat": 2} for words in described]
    return [msgspec.convert(words, FAMILIES[kind]) for words in described]


def instances(matrix, replicas=REPLICAS):
    streams = Streams(range(replicas))
    return np.asarray(matrix.instances(drawn_rows(matrix, streams), streams), float)


def assert_mean(sample, expected, subject):
    """The mean over replicas, the first dimension, is as expected up to ERRORS standard errors."""
    error = np.maximum(sample.std(0) / np.sqrt(len(sample)), 1e-6)
    assert (abs(sample.mean(0) - expected) / error).max() < ERRORS, subject


@pytest.mark.parametrize("kind", FAMILIES)
def test_declared_independent_signs_have_the_moments_of_independent_signs(kind):
    for matrix in of_family(kind):
        if not matrix.structure().independent_signs or matrix.rotate:
            continue
        x = instances(matrix)
        first, second = x[:, 0], x[:, 1]
        assert_mean(first, 0, f"mean of {matrix}")
        assert_mean(first[:, :, None] * first[:, None], np.eye(D), f"entries of {matrix}")
        assert_mean(first[:, :, None] * second[:, None], 0, f"rows of {matrix}")
        assert_mean(first.prod(1) * second.prod(1), 0, f"products of {matrix}")


@pytest.mark.parametrize("kind", FAMILIES)
def test_matrix_families_have_their_declared_structure(kind):
    for matrix in of_family(kind):
        x = instances(matrix, 8)
        if matrix.structure().is_orthogonal:
            np.testing.assert_allclose(x @ x.swapaxes(1, 2), np.tile(D * np.eye(D), (8, 1, 1)), atol=1e-6)
        if matrix.structure().has_orthogonal_rows:
            rows = np.asarray(matrix.rows(Streams(range(8))), float)
            np.testing.assert_allclose(
                rows @ rows.swapaxes(1, 2), np.tile(D * np.eye(D), (8, 1, 1)), atol=1e-6
            )
        if matrix.structure().is_hadamard and not matrix.rotate:
            np.testing.assert_array_equal(abs(x), 1)
        if matrix.structure().is_shifted_hadamard and matrix.repeat is None:
            np.testing.assert_allclose(
                x @ x.swapaxes(1, 2), np.tile(D / 4 * (np.eye(D - 1) + 1), (8, 1, 1)), atol=1e-6
            )
        for values, allowed in (("signs", {-1.0, 1.0}), ("bits", {0.0, 1.0})):
            if matrix.structure().entry_values == values:
                assert set(np.unique(x)) <= allowed, matrix
            if matrix.structure().feature_values == values:
                assert set(np.unique(matrix.named(drawn_rows(matrix, Streams([1]))))) <= allowed, matrix


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.slow
def test_declared_random_order_and_signs_are_random(kind):
    for matrix in of_family(kind):
        if matrix.repeat is not None:
            continue
        rows = np.asarray(matrix.rows(Streams(range(1000))), float)
        signed = 2 * rows - 1 if matrix.structure().is_shifted_hadamard else rows
        if matrix.structure().random_signs:
            assert_mean(signed, 0, f"signs of {matrix}")
        if matrix.structure().random_order:
            products = signed[:, :, :, None] * signed[:, :, None]  # whatever the sign of a row
            averages = products.mean(0)
            error = np.maximum(products.std(0) / np.sqrt(len(rows)), 1e-6)
            assert (abs(averages - averages.mean(0)) / error).max() < ERRORS, matrix


def test_declared_equal_starts_are_equal_across_features():
    declared = set()
    for kind, member in catalogue.members("architectures").items():
        for words in variants(member):
            architecture = msgspec.convert(words, member)
            if architecture.structure().starts_alike:
                declared.add(kind)
                start = architecture.start(Streams(range(3))("init"), D)
                for layer_name in architecture.layers:
                    assert architecture.layout(D).shapes[layer_name] == (D,), architecture
                    np.testing.assert_array_equal(
                        start[layer_name], start[layer_name][:1, :1].repeat(D, 1).repeat(3, 0)
                    )
    assert declared >= {"linear", "neuron", "spindly", "two-weight"}


class Correlated(Gaussian, frozen=True, tag="correlated"):
    """Gaussian rows of which neighbouring entries are correlated."""

    def rows(self, streams):
        rows = super().rows(streams)
        return rows + np.roll(rows, 1, axis=2)


class Stretched(Gaussian, frozen=True, tag="stretched"):
    """Gaussian rows of which a learner sees the first entry ten times larger."""

    def instances(self, rows, streams):
        return rows * np.where(np.arange(rows.shape[2]) == 0, 10.0, 1.0)


class Wide(Gaussian, frozen=True, tag="wide"):
    """The same with other defaults."""

    n: int = 3


class Negated(Correlated, frozen=True, tag="negated"):
    """Isotropic rows of a subclass that declares the isotropy itself."""

    def structure(self):
        return super().structure()._replace(isotropic=True)

    @property
    def second_moment(self):
        return 1.0

    def rows(self, streams):
        return -Gaussian.rows(self, streams)


class Halves(Negated, frozen=True, tag="halves"):
    """The same at half the size."""

    def structure(self):
        return super().structure()._replace(isotropic=True)

    @property
    def second_moment(self):
        return 0.25

    def rows(self, streams):
        return Gaussian.rows(self, streams) / 2


class Broken(Hadamard, frozen=True, tag="broken"):
    """Rows that are no Hadamard matrix."""

    def rows(self, streams):
        return np.abs(super().rows(streams))


class Dependent(Rademacher, frozen=True, tag="dependent"):
    """Signs of which every row has the same twice."""

    def rows(self, streams):
        rows = super().rows(streams)
        rows[:, :, 1] = rows[:, :, 0]
        return rows


def with_matrix(matrix, **words):
    described = experiment("gaussian", learners={"GD": gd(0.01)}, d=D, **words)
    return msgspec.structs.replace(
        described, problem=msgspec.structs.replace(described.problem, matrix=matrix)
    )


def holds(kind, described):
    return catalogue.make("theory", kind).holds(described)


@pytest.mark.parametrize("matrix", [Correlated(d=D), Stretched(d=D)])
def test_a_family_with_correlated_or_stretched_rows_is_not_isotropic(matrix):
    assert not matrix.structure().isotropic
    finding = holds("ri-gaussian", with_matrix(matrix))
    assert not finding.holds
    requirement = "requires Gaussian instances, or points of a sphere"
    assert finding.reason == f"{requirement}, and the matrix is {matrix.kind}"
    assert not holds("noise", with_matrix(matrix, noise=0.1)).holds


def test_features_are_seen_only_for_untransformed_rows():
    assert Gaussian(d=D).structure().features_are_seen
    assert not Gaussian(d=D, rotate=True).structure().features_are_seen
    assert not Stretched(d=D).structure().features_are_seen
    assert data_of(with_matrix(Stretched(d=D))).w_star is None


def test_a_family_with_new_defaults_or_own_declaration_keeps_the_gaussian_bound():
    for matrix in (Wide(d=D), Negated(d=D)):
        assert holds("ri-gaussian", with_matrix(matrix)).holds
    assert not Correlated(d=D).structure().isotropic, "the word of a derived class is not that of its base"


@pytest.mark.parametrize(("kind", "noise"), [("ri-gaussian", 0.0), ("noise", 0.1)])
def test_gaussian_bounds_require_entries_of_mean_square_1(kind, noise):
    assert holds(kind, with_matrix(Negated(d=D), noise=noise)).holds
    finding = holds(kind, with_matrix(Halves(d=D), noise=noise))
    assert finding == (False, "requires entries of mean square 1, but the `second_moment` of halves is not 1")


def test_a_hadamard_subclass_with_other_rows_loses_its_declarations():
    broken, matrix = Broken(d=D).structure(), Broken(d=D)
    for claim in (
        "is_hadamard",
        "is_orthogonal",
        "has_orthogonal_rows",
        "is_sylvester",
        "random_signs",
        "random_order",
    ):
        assert not getattr(broken, claim), claim
    assert broken.entry_values == "any"
    assert broken.constant_column is None
    for kind in ("ri-signed", "ri-permuted", "duplicates"):
        assert not holds(kind, with_matrix(matrix)).holds
    assert not holds("ri-rademacher", with_matrix(Dependent(d=D))).holds


class Labelled(Feature, frozen=True, tag="labelled"):
    """Labels that are no feature."""

    def combination(self, matrix, streams):
        return None


class Signed(GD, frozen=True, tag="signed"):
    """A step by signs."""

    def step(self, params, gradients, rates, state):
        return {
            tensor_name: w - rates[tensor_name] * gradients[tensor_name].sign()
            for tensor_name, w in params.items()
        }, state


class Halved(Adam, frozen=True, tag="halved", kw_only=True):
    """A step by halves."""

    def step(self, params, gradients, rates, state):
        return super().step(params, gradients, rates, state)


class Doubling(EGU, frozen=True, tag="doubling"):
    """Other factors."""

    def multiply(self, params, factors, state):
        return params, state


class Axis(Linear, frozen=True, tag="axis"):
    """A neuron that sees one entry only."""

    def predict(self, params, instances):
        return super().predict(params, instances)


class Chosen(Ridge, frozen=True, tag="chosen"):
    """Another solution."""

    def begin(self, data, streams=None):
        return super().begin(data, streams)


class Cubic(Square, frozen=True, tag="cubic"):
    """Another loss."""

    def value(self, predictions, labels):
        return (predictions - labels).abs() ** 3


class Squaring(Dense, frozen=True, tag="squaring"):
    """A net with the squares of the entries as inputs of its first layer."""

    def first(self, params, instances):
        return (instances.rows**2 @ params["W1"].mT).mT


class Signs(Dense, frozen=True, tag="signs"):
    """A net that starts with signs."""

    def _drawn_layer(self, stream, number, fan_out, fan_in, size):
        return np.sign(super()._drawn_layer(stream, number, fan_out, fan_in, size))


class Longer(Dense, frozen=True, tag="longer"):
    """A net that acts with other factors."""

    def _layer_scalings(self, d):
        return [scaling._replace(forward=2.0) for scaling in super()._layer_scalings(d)]


class Fitted(Linear, frozen=True, tag="fitted"):
    """A neuron with weights that are made of the instances."""

    def fitted(self, params, instances):
        return {**params, "w": params["w"] + instances.rows[:, 0]}


class Shifted(Dense, frozen=True, tag="shifted"):
    """A net of which somebody measures other signals."""

    def preactivations(self, params, instances):
        return [signal + 1 for signal in super().preactivations(params, instances)]


class Wider(Dense, frozen=True, tag="wider"):
    """A dense net with other defaults."""

    width: int | None = 5
    depth: int | None = 2


class Frozen(Dense, frozen=True, tag="frozen"):
    """A net that declares which properties still hold."""

    def first(self, params, instances):
        return 2 * super().first(params, instances)

    def invariance(self, d):
        return super().invariance(d)


@pytest.mark.parametrize("member", [Squaring, Signs, Longer, Fitted, Shifted])
def test_a_net_subclass_with_replaced_methods_loses_its_declarations(member):
    net = member()
    judged = net.invariance(D)
    assert judged.group == TRIVIAL
    assert net.kind in judged.reason
    structure = net.structure()
    assert (structure.signals, structure.hidden_layers, net.structure_at(D).linear_layers) == (None,) * 3
    assert not structure.trains_weights
    assert not structure.starts_at_zero


def test_a_net_with_new_defaults_or_own_declaration_stays_invariant():
    assert Wider().invariance(D).invariant is True
    assert Wider().structure().signals.widths == (5, 5)
    assert Frozen().invariance(D).invariant is True
    assert Frozen().structure().signals is None, "what it does not say again is taken back"


class Once(Linear, frozen=True, tag="once"):
    """A neuron with squared weights, without a gradient of its own."""

    def predict(self, params, instances):
        return instances.products(params["w"] ** 2)


@pytest.mark.slow
def test_a_net_with_its_own_prediction_gets_its_gradient_and_no_weights():
    data = data_of(experiment("gaussian", "feature", d=D))
    params = {"w": torch.full((1, D), 3.0, dtype=torch.float64)}
    gradient = Once().gradient(params, data.instances, torch.ones_like)["w"]
    expected = 6.0 * data.instances.rows.sum(1)
    torch.testing.assert_close(gradient, expected.to(gradient.dtype))
    assert Once().weights(params) is None


class Distance(Square, frozen=True, tag="distance"):
    """Four times the distance."""

    def value(self, predictions, labels):
        return 4 * (predictions - labels).abs()


def test_a_loss_subclass_with_its_own_value_gets_its_own_slope():
    predictions, labels = torch.tensor([[1.0, -2.0, 0.5]]), torch.tensor([[0.0, 0.0, 1.0]])
    loss = Distance()
    assert loss.average(predictions, labels).item() == pytest.approx(4 * 3.5 / 3)
    torch.testing.assert_close(loss.slope(predictions, labels), torch.tensor([[4.0, -4.0, -4.0]]))
    assert loss.continuous_slope is loss.steady is False


def test_a_custom_loss_is_evaluated_by_predictions_and_square_by_weights():
    data, order, zero = data_of(experiment("hadamard", d=D)), None, torch.zeros(1, D, dtype=torch.float64)
    chosen = evaluator(data, Distance(), zero, 1, (), order)
    assert isinstance(chosen, ByPredictions)
    assert isinstance(evaluator(data, Square(), zero, 1, (), order), ByWeights)


def of_signs(adaptive):
    """A rule with sign steps, of a class derived from this rule or base of rules."""

    class Signed(adaptive, frozen=True, tag="signed-sizes", kw_only=True):
        """A step by signs."""

        lr: float = 0.1

        def step(self, params, gradients, rates, state):
            return {
                tensor_name: w - rates[tensor_name] * gradients[tensor_name].sign()
                for tensor_name, w in params.items()
            }, state

    return Signed(shared=True)


@pytest.mark.parametrize("base", [Adam, Diagonal])
def test_a_subclass_of_a_diagonal_rule_inherits_no_invariance(base):
    assert of_signs(base).invariance(Hadamard(d=D), True).group == TRIVIAL


def test_a_multiplicative_subclass_with_its_own_step_has_no_multiplicative_step():
    class Halving(EGU, frozen=True, tag="halving"):
        """Half of the weights, whatever the gradient."""

        def step(self, params, gradients, rates, state):
            return {tensor_name: w / 2 for tensor_name, w in params.items()}, state

    assert EGU().structure().by_factors
    assert Winnow().structure().by_factors
    assert not Halving().structure().by_factors
    assert Halving().multiplicative_step(Linear()) is None


def test_a_rule_subclass_with_its_own_start_is_not_invariant():
    class Ones(GD, frozen=True, tag="ones"):
        """Gradient descent from 1."""

        def start(self, params):
            return {tensor_name: torch.ones_like(w) for tensor_name, w in params.items()}, {}

    replaced = [rule.structure().own_start for rule in (GD(), Adam(), EGU(), Ones())]
    assert replaced == [False, False, True, True]
    assert Ones().invariance(Hadamard(d=D), True).group == TRIVIAL


def test_multiplicative_steps_exclude_net_subclasses_with_changed_weights():
    class Cubed(Spindly, frozen=True, tag="cubed"):
        """A spindly net of another power."""

        def weights(self, params):
            return params["u"] ** 3

    assert (Spindly().structure().power, Cubed().structure().power) == (2, None)
    assert GD().multiplicative_step(Spindly()) is not None
    assert GD().multiplicative_step(Cubed()) is None
    for rule in (EGUPM(), Hypentropy()):
        assert rule.multiplicative_step(Linear()) is not None
        assert rule.multiplicative_step(Axis()) is None


def test_a_line_subclass_with_its_own_value_binds_no_learner():
    class Doubled(RISigned, frozen=True, tag="doubled-bound"):
        """Twice the bound."""

        def value(self, at):
            return 2 * super().value(at)

    described = experiment("hadamard", learners={"GD": gd(0.01)}, d=D)
    assert holds("ri-signed", described).holds
    assert not Doubled().holds(described).holds
    assert not Doubled().binds(described.learners[0], described).holds
    assert (Doubled().structure().direction, Doubled().structure().group) == ("reference", None)


def test_a_line_with_its_own_binds_method_uses_it():
    class ForTwo(RotationInvariant, frozen=True):
        """A bound for rotation-invariant learners whose names have two letters."""

        def binds(self, learner, experiment):
            finding = super().binds(learner, experiment)
            return finding if len(learner.name) == 2 else Finding(False, f"{learner.name} is not two letters")

    learners = {"GD": gd(0.01), "descent": gd(0.01)}
    described = experiment("hadamard", learners=learners, d=D)
    bound = [
        on_learner(ForTwo(), learner, described, verdict(learner, described)).holds
        for learner in described.learners
    ]
    assert bound == [True, False]


def test_a_plan_derives_the_verdict_on_each_learner_once(monkeypatch):
    described = experiment("hadamard", learners={"GD": gd(0.01), "LLS": LLS}, d=D)
    expected = plan_run(described)
    judged = []

    def counted(learner, setup):
        judged.append(learner.name)
        return verdict(learner, setup)

    monkeypatch.setattr("engine.planning.run_plan.verdict", counted)
    monkeypatch.setattr("engine.theory.verdict", counted)
    assert plan_run(described) == expected
    assert judged == ["GD", "LLS"]
    assert [line.on_learners["GD"].holds for line in expected.lines if line.line == RISigned()] == [True]


def test_two_measures_with_the_same_name_are_refused(monkeypatch):
    class Other(AverageLoss, frozen=True, tag="other-loss"):
        """Twice the loss."""

        def value(self, probe):
            return 2 * super().value(probe)

    assert AverageLoss().structure().is_risk
    assert not Other().structure().is_risk
    members = {**catalogue.members("measures"), "other-loss": Other}
    monkeypatch.setattr(catalogue, "members", lambda family: members)
    with pytest.raises(ValueError, match="two measures are called 'loss'"):
        named.__wrapped__()


def test_subclasses_that_override_methods_lose_their_declarations():
    labelled = Labelled().structure(Hadamard(d=D))
    assert (labelled.unit, labelled.fixed_feature, labelled.values) == (False, None, "any")
    signed = Signed().structure()
    assert (signed.along_gradients, signed.stable_up_to) == (False, None)
    assert Doubling().structure().exponentiates is None
    assert (Axis().structure_at(D).linear_layers, Axis().structure().starts_at_zero) == (None, False)
    assert not Chosen().structure().linear_in_labels
    assert not Cubic().is_square
    assert (Cubic().constant, Square().constant) == (None, 1.0)


@pytest.mark.parametrize("part", [Signed(), Halved(), Axis(), Chosen()])
def test_a_part_with_overridden_methods_has_the_trivial_invariance_group(part):
    described = experiment(learners={"GD": gd(0.01), "LLS": LLS}, d=D)
    trained, solved = described.learners
    place = {"updates": "update", "architectures": "architecture", "solvers": "solver"}
    (field,) = (name for family, name in place.items() if f"engine.{family}" in str(type(part).__mro__))
    learner = msgspec.structs.replace(solved if field == "solver" else trained, **{field: part})
    judged = verdict(learner, described)
    assert judged.group == TRIVIAL
    assert part.kind in judged.reason


RULES = [
    msgspec.convert(words, member)
    for member in catalogue.members("updates").values()
    for words in variants(member)
]


def moved_by_single_gradients(rule, times, steps):
    """Displacement of a weight after every step, for one gradient 1 at each of these times."""
    params, state = rule.start({"w": torch.zeros(len(times), 1, dtype=torch.float64)})
    moved = []
    for step in range(steps):
        gradient = (torch.tensor(times) == step).double()[:, None]
        params, state = rule.step(params, {"w": gradient}, {"w": 0.1}, state)
        moved.append(params["w"][:, 0].numpy().copy())
    return np.array(moved)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.response(1) is not None], ids=lambda rule: str(rule.kind)
)
def test_a_response_equals_the_movement_by_single_gradients(rule):
    moved = moved_by_single_gradients(rule, [0, 3], 9)
    np.testing.assert_allclose(moved[:, 0], -0.1 * rule.response(9), rtol=1e-14)
    np.testing.assert_allclose(moved[3:, 1], -0.1 * rule.response(6), rtol=1e-14)
    assert not moved[:3, 1].any()


def test_only_gd_sgd_and_momentum_have_a_response():
    assert {rule.kind for rule in RULES if rule.response(1) is not None} == {"gd", "sgd", "momentum"}
