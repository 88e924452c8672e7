"""Hadamard matrices of every order that Sylvester's doubling and Paley's constructions reach."""

import numpy as np
import pytest
from building import experiment
from looping import looped
from naive import sylvester

from engine.core.parts import BadInput
from engine.problems.hadamard_matrices import hadamard, nearest, reached

ORDERS = [d for d in range(1, 301) if reached(d)]

UNREACHED = {92, 116, 156, 172, 184, 188, 232, 236, 260, 268, 292}
"""The multiples of 4 up to 300 that are no 2^a(q + 1) with q ≡ 3, nor 2^a·2(q + 1) with q ≡ 1 (mod 4)."""


def prime_powers(below: int) -> set[int]:
    primes = [p for p in range(2, below) if all(p % divisor for divisor in range(2, p))]
    return {p**k for p in primes for k in range(1, below.bit_length()) if p**k < below}


@looped("d", ORDERS)
def test_rows_are_orthogonal_signs_and_the_first_row_and_column_are_ones(d):
    H = hadamard(d)
    assert set(np.unique(H)) <= {-1, 1}
    assert np.array_equal(H.T.astype(int) @ H, d * np.eye(d))
    assert (H[0] == 1).all()
    assert (H[:, 0] == 1).all()


def test_exactly_the_orders_of_the_constructions_are_reached():
    powers = prime_powers(301)
    first = {q + 1 for q in powers if q % 4 == 3}
    second = {2 * (q + 1) for q in powers if q % 4 == 1}
    cores = {1, 2} | first | second
    expected = {core << a for core in cores for a in range(9)} & set(range(1, 301))
    assert set(ORDERS) == expected
    assert set(range(4, 301, 4)) - expected == UNREACHED


def test_orders_from_prime_power_fields_are_reached():
    fields = {28: 27, 52: 25, 100: 49, 244: 243, 252: 125}
    for d, q in fields.items():
        assert d in (q + 1, 2 * (q + 1))
        assert reached(d)


@pytest.mark.parametrize("d", [2**a for a in range(9)])
def test_hadamard_of_a_power_of_two_is_the_sylvester_matrix(d):
    assert np.array_equal(hadamard(d), sylvester(d))


def test_multiples_of_a_paley_order_are_doubled_paley_matrices():
    assert np.array_equal(hadamard(40), np.kron(sylvester(2), hadamard(20)))
    assert np.array_equal(hadamard(112), np.kron(sylvester(4), hadamard(28)))


def test_the_same_order_always_gives_the_same_matrix():
    assert np.array_equal(hadamard(36), hadamard(36))


@pytest.mark.parametrize(
    ("d", "below", "above"), [(3, 2, 4), (14, 12, 16), (92, 88, 96), (188, 180, 192), (260, 256, 264)]
)
@pytest.mark.parametrize("kind", ["hadamard", "hadamard01"])
def test_an_unreached_order_is_refused_with_the_nearest_orders(kind, d, below, above):
    assert nearest(d) == (below, above)
    with pytest.raises(BadInput) as caught:
        experiment({"kind": kind, "d": d}, {"kind": "feature", "index": 0})
    assert caught.value.where == "problem.matrix.d"
    assert f"take {below} or {above}" in caught.value.fault
