"""Numbers as papers write them: the grammar against exact fractions, and where presets may use them."""

import copy
import math
import random
import time
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from looping import looped

from engine.core import catalogue
from engine.core.expressions import DEEPEST, LONGEST, BadExpression, evaluate, evaluate_each, holds, tabulated
from engine.core.expressions import exact as value_of
from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.runtime.run import run
from engine.spec import presets, reading
from engine.spec.documents import sweep_of

NAMES = {"d": 128, "n": 96, "m": 3, "eta": 0.25}


def grown(random_, depth):
    """Random expression, its exact value, and its precedence: atom, power, product or sum."""
    kind = random_.choice(["number", "name"] if depth == 0 else ["+", "-", "*", "/", "^", "neg", "(", "2d"])
    if kind == "number":
        text = random_.choice(["0", "1", "2", "7", "12", "2.5", ".5", "3.", "1e2", "25E-2"])
        return text, Fraction(text), 3
    if kind == "name":
        name = random_.choice(list(NAMES))
        return name, Fraction(NAMES[name]), 3
    left_text, value, rank = grown(random_, depth - 1)
    if kind == "(":
        return f"({left_text})", value, 3
    if kind == "neg":
        return random_.choice(["-", "−"]) + (left_text if rank >= 2 else f"({left_text})"), -value, 0
    if kind == "^":
        power = random_.choice([0, 1, 2, 3])
        sign = random_.choice(["^", "**", " ^ "])
        return (left_text if rank == 3 else f"({left_text})") + f"{sign}{power}", value**power, 2
    right, other, right_rank = grown(random_, depth - 1)
    if kind == "2d":
        number = random_.choice(["2", "3", "0.5"])
        return f"{number}{random_.choice(['', ' '])}({right})", Fraction(number) * other, 0.5
    if kind == "/" and other == 0:
        kind = "*"
    least = {"+": (0, 0.5), "-": (0.5, 1), "*": (1, 1), "/": (1, 2)}[kind]
    left_text, right = (
        text if has >= needs else f"({text})"
        for text, has, needs in zip((left_text, right), (rank, right_rank), least, strict=True)
    )
    sign = random_.choice({"*": ["*", "·", " × "], "-": ["-", " − "]}.get(kind, [kind, f" {kind} "]))
    exact = {"+": value + other, "-": value - other, "*": value * other}.get(kind)
    return left_text + sign + right, value / other if exact is None else exact, 1 if kind in "*/" else 0


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("sin(x)cos(2x) - abs(x - 1)", lambda x: np.sin(x) * np.cos(2 * x) - abs(x - 1)),
        ("exp(-x^2/2) + log2(4) sqrt(x + 3)", lambda x: np.exp(-(x**2) / 2) + 2 * np.sqrt(x + 3)),
        ("-x**3 + 2(x + 1)", lambda x: -(x**3) + 2 * (x + 1)),
        ("7", lambda x: 7 + 0 * x),
    ],
)
def test_tabulated_equals_the_function_at_every_x_and_leaves_x_unchanged(text, of):
    x = np.linspace(-2, 2, 9).reshape(3, 3)
    before = x.copy()
    np.testing.assert_allclose(tabulated(text, x), of(x), rtol=1e-14)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("text", ["sin(d)", "cos(1)", "exp(1)", "abs(d)", "x"])
def test_preset_numbers_cannot_use_x_or_functions_of_x(text):
    with pytest.raises(BadExpression, match="is unknown"):
        evaluate(text, NAMES)


@pytest.mark.slow
def test_random_expressions_equal_exact_fractions():
    random_ = random.Random(7)
    seen = 0
    for _ in range(3000):
        text, exact, _ = grown(random_, random_.randint(0, 4))
        if len(text) > LONGEST or abs(exact) > 1e12:
            continue
        seen += 1
        assert value_of(text, NAMES) == exact, text
        assert evaluate(text, NAMES) == float(exact), text
    assert seen > 2000


def test_a_count_is_rounded_up_from_the_exact_product_of_decimals():
    assert 2.49 * 100 > 249
    assert evaluate("ceil(alpha*(d - 1))", {"alpha": 2.49, "d": 101}) == 249
    assert evaluate("floor(alpha*n)", {"alpha": 0.29, "n": 100}) == 29
    assert evaluate("floor(d*x)", {"d": 3, "x": 1 / 3}) == 1, "the float that rounds a third stands for it"
    assert holds("alpha*n <= 249", {"alpha": 2.49, "n": 100})


@pytest.mark.slow
def test_floor_and_ceil_of_random_decimals_equal_integer_arithmetic():
    random_ = random.Random(3)
    for _ in range(2000):
        digits, places, n = random_.randint(1, 10**6), random_.randint(0, 6), random_.randint(1, 4000)
        decimal = float(f"{digits}e-{places}")
        product, names = digits * n, {"a": decimal, "n": n}
        assert evaluate("ceil(a*n)", names) == -(-product // 10**places), names
        assert evaluate("floor(a*n)", names) == product // 10**places, names
        assert evaluate(f"ceil({digits}e-{places}*n)", names) == -(-product // 10**places), names


@looped(
    ("text", "value"),
    [
        ("0.1 + 0.2", Fraction(3, 10)),
        ("1/3 + 1/6", Fraction(1, 2)),
        ("eta^-2", Fraction(16)),
        ("sqrt(0.0625 d)/3", None),
        ("sqrt(4/9)", Fraction(2, 3)),
        ("sqrt(2d)", Fraction(16)),
        ("log2(d/2^10)", Fraction(-3)),
        ("log2(d n)", None),
        ("2^(1/2)", None),
        ("pi/pi", None),
        ("ceil(2.5 log(d))", Fraction(13)),
    ],
)
def test_a_value_is_a_fraction_only_if_all_operations_are_rational(text, value):
    exact_value = value_of(text, NAMES)
    assert isinstance(exact_value, float) if value is None else exact_value == value
    assert isinstance(exact_value, Fraction) == (value is not None)


def test_numbers_with_too_many_digits_are_refused_or_rounded_within_one_second():
    began = time.process_time()
    for text in ("10**10**10", "9^9^9", "1e999999999", "2^4000 2^4000", "1.5^(10^9)"):
        with pytest.raises(BadExpression, match="too large"):
            evaluate(text, {})
    assert evaluate("1e-999999999", {}) == evaluate("0.5^(10^9)", {}) == 0
    assert evaluate("1^(10^12)", {}) == 1
    nines = "9" * 90
    assert evaluate(f"{nines}/{nines}", {}) == 1
    assert evaluate("((1/7)^1000 + 1)^3", {}) == 1
    assert time.process_time() - began < 1


def test_a_preset_counts_exactly_along_an_axis_of_decimals():
    document = {
        "axes": [{"name": "alpha", "values": [2.49, 1.1]}],
        "problem": {"matrix": {"kind": "gaussian", "n": 400, "d": 101}, "target": "feature"},
        "protocol": {"kind": "steps", "steps": 3, "train": "ceil(alpha*(d-1))"},
        "learners": [{"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": 0.01}}],
    }
    points = sweep_of(document).points
    assert [point.experiment.protocol.train for point in points] == [249, 110]


@looped(
    ("text", "value"),
    [
        ("1/(2d)", 1 / 256),
        ("2d/3", 256 / 3),
        ("1 − k/d".replace("k", "n"), 0.25),
        ("-d^2", -(128**2)),
        ("2^-3", 1 / 8),
        ("2^3^2", 512),
        ("--3", 3),
        ("2*-3", -6),
        ("6/2*3", 9),
        ("6-2-1", 3),
        ("3(n-1)(m+1)", 3 * 95 * 4),
        ("d(d-1)/2", 128 * 127 / 2),
        ("2d·n", 2 * 128 * 96),
        ("sqrt(d/2)", 8),
        ("log(d)", math.log(128)),
        ("2log2(d)", 14),
        ("log2(sqrt(d))", 3.5),
        ("300/eta", 1200),
        ("d(π/2 − 1)", 128 * (math.pi / 2 - 1)),
        ("2pi^2", 2 * math.pi**2),
        (" 0.15 ", 0.15),
        ("0.0078125", 0.0078125),
    ],
)
def test_expressions_follow_the_notation_of_papers(text, value):
    assert evaluate(text, NAMES) == pytest.approx(value, rel=1e-15)


@looped(
    ("text", "reason"),
    [
        ("", "not complete"),
        ("1/", "not complete"),
        ("(1", "closing parenthesis"),
        ("1)", "')' is misplaced"),
        ("2 3", "'3' is misplaced"),
        ("*2", "'*' is misplaced"),
        ("d 2", "'2' is misplaced"),
        ("1/2d", "two ways"),
        ("2^2d", "two ways"),
        ("6/2(3)", "two ways"),
        ("1/x", "'x' is unknown"),
        ("dn", "'dn' is unknown"),
        ("sqrt d", "sqrt needs parentheses"),
        ("exp(2)", "'exp' is unknown"),
        ("1/(d-128)", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("sqrt(-1)", "sqrt(-1) is not defined"),
        ("log(0)", "log(0) is not defined"),
        ("(-8)^(1/3)", "no real number"),
        ("9^9^9", "too large"),
        ("1e308*10", "too large"),
        ("1e999-1e999", "too large"),
        ("1;2", "';' does not belong"),
        ("d.real", "'.' does not belong"),
        ("__import__(d)", "'__import__' is unknown"),
        ("'a'", '"\'" does not belong'),
        ("1" * (LONGEST + 1), "longer than 200 characters"),
        ("(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1), "nested"),
        ("-" * (DEEPEST + 1) + "1", "nested"),
    ],
)
def test_an_expression_without_a_value_is_refused_with_the_reason(text, reason):
    with pytest.raises(BadExpression) as caught:
        evaluate(text, NAMES)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


LINEAR = {"kind": "linear"}
GOOD = {
    "problem": {"matrix": {"kind": "hadamard", "d": "2^4"}, "target": {"kind": "feature", "index": 3}},
    "protocol": {"kind": "one-pass", "loss": "square"},
    "learners": [
        {"name": "GD", "architecture": LINEAR, "update": {"kind": "gd", "lr": "1/(2d)"}},
        {
            "name": "net",
            "architecture": {"kind": "dense", "widths": ["d/2", 4]},
            "update": {"kind": "gd", "lr": 0.01},
        },
        {"name": "LLS", "solver": {"kind": "lls"}},
    ],
    "claims": [
        {
            "kind": "value",
            "text": "It halves",
            "curve": "GD",
            "at": "n/2",
            "equals": "1/2",
            "within": "1/100",
            "measure": {"kind": "loss"},
        }
    ],
}


def changed(*overrides):
    described = copy.deepcopy(GOOD)
    for override in overrides:
        reading.apply(described, override)
    return described


def test_every_number_of_an_experiment_can_be_an_expression():
    described = changed(
        "problem.noise=1/m", "problem.target.index=d-1", "run.seed=3n", "problem.matrix.repeat=2*1"
    )
    experiment = reading.parse(described)
    assert experiment.problem.matrix.shape() == (64, 16)
    assert (experiment.problem.target.index, experiment.problem.noise, experiment.run.seed) == (15, 1.0, 192)
    assert experiment.learners[0].update.lr == 1 / 32
    assert experiment.learners[1].architecture.widths == (8, 4)
    claim = experiment.claims[0]
    assert (claim.at, claim.equals, claim.within) == (32, 0.5, 0.01)


def test_names_d_n_and_m_count_features_instances_and_targets():
    described = changed("problem.matrix={kind='gaussian', d=16, n=24}", "problem.target=all", "claims=[]")
    described["learners"][0]["update"]["lr"] = ["1/d", "1/n", "1/(4m)"]
    assert reading.parse(described).learners[0].update.lr == (1 / 16, 1 / 24, 1 / 64)


def test_expressions_can_use_additional_names():
    described = changed("problem.matrix.d=size", "learners.GD.update.lr=eta/d")
    experiment = reading.parse(described, {"size": 32, "eta": 0.5})
    assert (experiment.problem.matrix.d, experiment.learners[0].update.lr) == (32, 1 / 64)


def test_titles_names_and_the_rate_best_are_not_read_as_expressions():
    described = changed("title=d", "claims=[]", "learners.GD.update.lr=best", "learners.GD.name=n/2")
    experiment = reading.parse(described)
    assert (experiment.title, experiment.learners[0].name, experiment.learners[0].update.lr) == (
        "d",
        "n/2",
        "best",
    )


def test_a_part_given_by_its_kind_accepts_fields_later():
    described = changed("problem.target=feature", "learners[2].solver=ridge", "protocol=one-pass")
    assert reading.parse(described).learners[2].solver == catalogue.make("solvers", "ridge")
    reading.apply(described, "problem.target.index=5")
    reading.apply(described, "learners.LLS.solver.lam=d")
    experiment = reading.parse(described)
    assert (experiment.problem.target.index, experiment.learners[2].solver.lam) == (5, 16.0)


@looped(
    ("override", "place", "reason"),
    [
        ("learners[0].update.lr=1/x", "learners[0].update.lr", "'1/x' does not fit: 'x' is unknown"),
        ("learners[0].update.lr=1/x", "learners[0].update.lr", "an expression of d, n, m, or best"),
        ("learners[0].update.lr=-1/d", "learners[0].update.lr", "-1/d = -0.0625 does not fit; it must be a"),
        ("learners[0].update.lr=['1/d', '1/(d-d)']", "learners[0].update.lr[1]", "divides by zero"),
        ("learners[1].architecture.widths=['d/3']", "learners[1].architecture.widths[0]", "5.333333333 is"),
        ("learners[0].layer_rates={w='1/y'}", "learners[0].layer_rates.w", "'y' is unknown"),
        ("claims[0].at=n/3", "claims[0].at", "there is no evaluation point at 5.333333333; take 5"),
        ("claims[0].at=2n", "claims[0].at", "32 is past the end"),
        ("claims[0].at=x/2", "claims[0].at", "it must be a number or an expression of d, n, m"),
        ("run.seed=2^53", "run.seed", "too large"),
        ("run.seed=", "run.seed", "this is empty; enter a whole number"),
        ("problem.matrix.d=n", "problem.matrix.d", "not known until matrix and target are set; it"),
        ("problem.target.index=m", "problem.target.index", "a whole number or an expression of d, n"),
        ("problem.target=featur", "problem.target.kind", "did you mean feature?"),
        ("learners[0].update=gdd", "learners[0].update.kind", "did you mean gd?"),
        ("problem.noise=" + "(" * 300, "problem.noise", "does not fit: the expression is longer than"),
    ],
)  # fmt: skip
def test_a_bad_expression_is_refused_with_place_cause_and_remedy(override, place, reason):
    with pytest.raises(BadInput) as caught:
        reading.parse(changed(override))
    assert caught.value.where == place
    assert reason in caught.value.fault
    assert "\n" not in str(caught.value)


def test_an_invalid_problem_is_refused_before_invalid_expressions():
    with pytest.raises(BadInput, match=r"^problem\.matrix\.d: 92 is not an order"):
        reading.parse({"learners": GOOD["learners"], **changed("problem.matrix.d=92")})
    for lost in ("problem", "problem.matrix", "problem.target"):
        described = {"learners": GOOD["learners"], **changed()}
        node, _, name = lost.rpartition(".")
        del (reading.value_at(node, described) if node else described)[name]
        with pytest.raises(BadInput, match="missing") as caught:
            reading.parse(described)
        assert caught.value.where == lost


def test_overrides_need_no_quotes():
    described = changed("learners.GD.update.lr=[1/(4d), 1/d, 0.5]", "learners.net.architecture.widths=[d]")
    experiment = reading.parse(described)
    assert experiment.learners[0].update.lr == (1 / 64, 1 / 16, 0.5)
    assert experiment.learners[1].architecture.widths == (16,)
    for override in ('learners.GD.update.lr="1/(4d)"', "learners.GD.update.lr=1/(4d)"):
        assert reading.parse(changed(override)).learners[0].update.lr == 1 / 64


def test_a_full_experiment_keeps_its_expressions_and_parses_to_the_same():
    described = reading.parse(copy.deepcopy(GOOD))
    full = reading.in_full(GOOD, described)
    assert reading.parse(full) == described
    assert full["problem"]["matrix"]["d"] == "2^4"
    assert full["learners"][0]["update"]["lr"] == "1/(2d)"
    assert full["learners"][1]["architecture"]["widths"] == ["d/2", 4]
    assert full["run"]["replicas"] == 1
    assert reading.in_full({}, described) == msgspec.json.decode(msgspec.json.encode(described))


def test_hadamard_128_writes_rates_and_claims_as_expressions():
    written = presets.document("hadamard-128")
    assert written["learners"][0]["update"]["lr"] == "1/(2d)"
    assert {claim["at"] for claim in written["claims"] if claim["kind"] == "value"} == {"d/2", "d/4"}
    assert presets.load("hadamard-128").learners[0].update.lr == 1 / 256


@pytest.mark.parametrize(
    ("name", "d"),
    [("hadamard-128", 16), ("sawtooth-32", 64), ("rates-128", 16), ("vaw-128", 64), ("orthogonal-128", 16)],
)
def test_exact_claims_of_presets_hold_for_another_d(name, d):
    described = presets.load(name, [f"problem.matrix.d={d}", "run.device=cpu", "run.replicas=2"])
    assert described.problem.matrix.d == d
    outcomes = judge(of_one(described, run(described)))
    exact = [
        outcome
        for outcome in outcomes
        if outcome.claim.measure is None
        and any(getattr(outcome.claim, form, None) is not None for form in ("follows", "equals"))
    ]
    assert exact
    for outcome in exact:
        assert outcome.holds, f"{outcome.claim.text}: {outcome.detail}"


@pytest.mark.parametrize("d", [16, 64, 256, 1024])
def test_presets_load_with_another_d(d):
    for preset_name in (
        "hadamard-128",
        "hadamard-1024",
        "hadamard-4096-all-targets",
        "threshold-64",
        "rank-64",
    ):
        experiment = presets.load(preset_name, [f"problem.matrix.d={d}"])
        assert experiment.problem.matrix.d == d
        assert experiment.claims


def test_a_matrix_can_use_its_own_d():
    described = changed("problem.matrix={kind='gaussian', d='2^3', n='3d'}", "claims=[]")
    assert reading.parse(described).problem.matrix.shape() == (24, 8)
    assert reading.in_full(described, reading.parse(described))["problem"]["matrix"]["n"] == "3d"
    with pytest.raises(BadInput, match="not known until matrix"):
        reading.parse(changed("problem.matrix={kind='gaussian', n='3d'}", "claims=[]"))


def test_every_claim_of_hadamard_128_holds_with_twice_the_features():
    described = presets.load("hadamard-128", ["problem.matrix.d=256", "run.device=cpu"])
    for outcome in judge(of_one(described, run(described))):
        assert outcome.holds, f"{outcome.claim.text}: {outcome.detail}"


@pytest.mark.parametrize("d", [32, 256])
def test_presets_of_128_features_load_with_other_numbers_of_features(d):
    for preset_name in presets.names():
        if preset_name.endswith("-128"):
            assert presets.load(preset_name, [f"problem.matrix.d={d}"]).problem.matrix.d == d


OF_TWO = (
    "x+y",
    "2x",
    "1/x",
    "1/log(x)",
    "sqrt(x)",
    "x^y",
    "(x-1)^-2",
    "-log(x)/y",
    "ceil(x)*floor(y)",
    "n/(1/x)",
)


def test_array_expressions_equal_entrywise_values_and_are_nan_without_a_value():
    draws = np.random.default_rng(0)
    x = np.concatenate([[0, 1, -1, 1e300, np.nan, 4], 10 * draws.normal(size=40)])
    y = np.concatenate([[1, 0, 0.5, -3, 1, 0], draws.normal(size=40)])
    for text in OF_TWO:
        computed = evaluate_each(text, {"x": x, "y": y, "n": 3.0})
        for number, *numbers in zip(computed.tolist(), x.tolist(), y.tolist(), strict=True):
            try:
                expected = evaluate(text, {"x": numbers[0], "y": numbers[1], "n": 3.0})
            except (BadExpression, ValueError):
                expected = math.nan
            assert number == pytest.approx(expected, rel=1e-14, nan_ok=True), (text, numbers)
    assert evaluate_each("x*y", {"x": x[:, None], "y": y}).shape == (46, 46)
