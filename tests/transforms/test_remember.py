"""Facts that are remembered with a kernel's tree change no result."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.remember import Recent, remember, remember_or_raise, remembered
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa import lower
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms import NotApplicable, analyse
from autocomp.targets.simulator.transforms.registry import TRANSFORMATIONS
from autocomp.targets.simulator.transforms.syntax.affine import Interval
from autocomp.targets.simulator.transforms.syntax.arithmetic import simplify

from .conftest import naive

BOUNDS = st.dictionaries(st.sampled_from("ijk"), st.tuples(st.integers(0, 5), st.integers(5, 40)))


def test_a_result_is_computed_once_for_an_object_and_not_part_of_it() -> None:
    asked: list[ast.Name] = []

    @remembered
    def length(name: ast.Name) -> int:
        asked.append(name)
        return len(name.name)

    one, equal = ast.Name("abc"), ast.Name("abc")
    assert [length(one), length(one), length(equal)] == [3, 3, 3]
    assert len(asked) == 2
    assert (one, hash(one), repr(one)) == (ast.Name("abc"), hash(equal), repr(equal))


def test_the_last_results_are_computed_once() -> None:
    computed: list[str] = []
    last = Recent[None](2)
    for name in "abaabcba":
        last.of(name, lambda name=name: computed.append(name))  # type: ignore[misc]
    assert "".join(computed) == "abca"


def test_a_refusal_is_remembered_without_what_led_to_it() -> None:
    def refuse() -> int:
        raise NotApplicable("it does not fit", hint="another one may")

    owner = ast.Name("abc")
    for _ in range(2):
        with pytest.raises(NotApplicable, match="it does not fit") as refused:
            remember_or_raise(owner, "refuse", 0, refuse, NotApplicable)
        assert refused.value.hint == "another one may"
        assert "refuse" not in [entry.name for entry in refused.traceback]
    kept = vars(owner)["refuse"][0]
    assert kept.__traceback__ is None
    assert kept.__context__ is None


def test_a_machine_goes_to_other_processes_without_what_is_remembered_with_it() -> None:
    machine = isa.load("tiny")
    lower(machine)  # tables of the core, which no other process can read
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_what_else_it_depends_on_tells_results_apart() -> None:
    node = ast.Name("n")
    assert [remember(node, "plus", add, lambda add=add: 1 + add) for add in (1, 2, 1)] == [2, 3, 2]


@settings(deadline=None)
@given(st.lists(BOUNDS, min_size=2, max_size=4))
def test_expressions_fold_by_the_bounds_at_hand(scopes: list[dict[str, Interval]]) -> None:
    text = "void solution(int8_t A[64]) { f(i % 8 + 0, (j < 12) ? j : 12, k / 6 * 6 + k % 6); }"
    shared = kernel.parse(text).entry.body.statements[0]
    for ranges in scopes:
        assert simplify(shared, ranges) == simplify(kernel.parse(text).entry.body.statements[0], ranges)


@pytest.mark.parametrize("shape", [(32, 48, 16), pytest.param((50, 23, 41), marks=pytest.mark.long)])
def test_versions_that_share_their_nodes_become_what_they_become_alone(shape: tuple[int, int, int]) -> None:
    shared = naive(*shape)
    text = kernel.print_kernel(shared.given)
    compared = 0
    for item in TRANSFORMATIONS:
        for proposal in item.candidates(shared)[:5]:
            try:
                together = shared.with_kernel(item.apply(shared, proposal.parameters)).kernel
            except NotApplicable:
                continue
            alone = analyse(kernel.parse(text), shared.accelerator)
            assert alone.with_kernel(item.apply(alone, proposal.parameters)).kernel == together
            compared += 1
    assert compared > 5
