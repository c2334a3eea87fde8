"""The algebra of sums agrees with numbers: whatever the atoms' values, a sum's value is the sum of the values."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from autocomp.linear import Linear

NUMBERS = st.integers(-9, 9)
ATOMS = "abc"
VALUES = st.fixed_dictionaries(dict.fromkeys(ATOMS, NUMBERS))


@st.composite
def sums(draw: st.DrawFn) -> Linear[str]:
    coefficients = draw(st.dictionaries(st.sampled_from(ATOMS), NUMBERS.filter(bool)))
    return Linear(draw(NUMBERS), tuple(coefficients.items()))


def value(of: Linear[str], atoms: Mapping[str, int]) -> int:
    return of.constant + sum(factor * atoms[atom] for atom, factor in of.terms)


@given(sums(), sums(), NUMBERS, VALUES)
def test_sums_differences_and_multiples_have_the_values_of_their_parts(
    left: Linear[str], right: Linear[str], number: int, atoms: Mapping[str, int]
) -> None:
    first, second = value(left, atoms), value(right, atoms)
    assert value(left + right, atoms) == first + second
    assert value(left - right, atoms) == first - second
    assert value(left.times(number), atoms) == first * number
    assert value(left.plus(number), atoms) == first + number


@given(sums(), sums())
def test_each_atom_stands_in_one_term_and_no_coefficient_is_0(left: Linear[str], right: Linear[str]) -> None:
    terms = (left + right).terms
    assert len(dict(terms)) == len(terms)
    assert all(factor for _, factor in terms)


@given(sums())
def test_a_sum_less_itself_is_nothing(one: Linear[str]) -> None:
    assert (one - one).is_constant
    assert (one - one).constant == 0
